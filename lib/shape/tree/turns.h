// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// turns: the lists of a class with children: those of its children that may send, in the order of their turns.

#include "tree_priv.h"

static inline bool tree_is_in(const struct tree_node *n, uint32_t band)
{
	return n->turns[band].list != TREE_LISTS;
}

static inline void tree_set_used(struct tree_node *n, uint32_t used)
{
	n->used = used;
	n->work = used != 0 ? n->work & ~(uint32_t)TREE_IS_IDLE : n->work | TREE_IS_IDLE;
}

// Enter a list of the parent: in front with the rest of a round that was broken off, else last with a new one.
static inline void tree_join(struct tree_node *n, uint32_t band)
{
	struct tree_turn *turn = &n->turns[band];
	struct tree_node *parent = n->parent;
	uint32_t list = band * TL_TREE_PRIOS + n->rate->prio;
	struct tree_node *head = parent->heads[list];
	bool goes_on = turn->deficit > 0;

	if (!goes_on)
		turn->deficit += (int32_t)n->rate->quantum;
	turn->list = list;
	n->work |= band == TREE_GREEN ? TREE_PAYS_RATE : 0;
	if (head == NULL) {
		turn->next = turn->prev = parent->heads[list] = n;
		tree_set_used(parent, parent->used | 1u << list);
		return;
	}
	turn->next = head;
	turn->prev = head->turns[band].prev;
	turn->prev->turns[band].next = n;
	head->turns[band].prev = n;
	if (goes_on)
		parent->heads[list] = n;
}

// Leave a list of the parent, if in one. A class whose round is not on keeps only its debt.
static inline void tree_leave(struct tree_node *n, uint32_t band)
{
	struct tree_turn *turn = &n->turns[band];
	struct tree_node *parent = n->parent;
	uint32_t list = turn->list;

	if (list == TREE_LISTS)
		return;
	turn->list = TREE_LISTS;
	n->work &= band == TREE_GREEN ? ~(uint32_t)TREE_PAYS_RATE : UINT32_MAX;
	turn->prev->turns[band].next = turn->next;
	turn->next->turns[band].prev = turn->prev;
	if (parent->heads[list] != n) {
		turn->deficit = turn->deficit < 0 ? turn->deficit : 0;
	} else if (turn->next != n) {
		parent->heads[list] = turn->next;
	} else {
		parent->heads[list] = NULL;
		tree_set_used(parent, parent->used & ~(1u << list));
	}
}

static inline void tree_leave_both(struct tree_node *n)
{
	tree_leave(n, TREE_GREEN);
	tree_leave(n, TREE_EXCESS);
}

// Leave all lists. A leaf without frames loses the rest of its round; a class whose children wait for tokens does not.
static inline void tree_leave_idle(struct tree_node *n)
{
	tree_leave_both(n);
	for (uint32_t band = 0; n->leaf != NULL && band < TREE_BANDS; band++)
		n->turns[band].deficit = n->turns[band].deficit < 0 ? n->turns[band].deficit : 0;
}
