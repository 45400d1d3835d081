// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// wheel: nodes by the time when they may change their band: a hierarchical timing wheel (Varghese and Lauck, "Hashed
// and hierarchical timing wheels", 1987) exact to the ns. A node is at the level of the highest 6-bit digit in which
// its time and the wheel's differ, in the slot of that digit, so the earliest slot is two bit searches away, whatever
// the number of nodes.

#include "tree_priv.h"

static inline uint32_t wheel_slot_of(uint64_t now_ns, uint64_t when_ns)
{
	uint32_t level = (63 - (uint32_t)__builtin_clzll(now_ns ^ when_ns)) / 6;

	return level * TREE_WHEEL_SLOTS + (uint32_t)(when_ns >> (6 * level)) % TREE_WHEEL_SLOTS;
}

// Return the first time of a slot: no node in it is earlier.
static inline uint64_t wheel_time(const struct tree_wheel *w, uint32_t slot)
{
	uint32_t shift = 6 * (slot / TREE_WHEEL_SLOTS);
	uint64_t above = shift + 6 < 64 ? w->now_ns >> (shift + 6) << (shift + 6) : 0;

	return above | (uint64_t)(slot % TREE_WHEEL_SLOTS) << shift;
}

// Insert a node that is not in the wheel, with a time after the wheel's.
static inline void wheel_insert(struct tree_wheel *w, struct tree_node *n, uint64_t when_ns)
{
	uint32_t slot = wheel_slot_of(w->now_ns, when_ns), level = slot / TREE_WHEEL_SLOTS;
	struct tree_node *head = w->heads[slot];

	n->when_ns = when_ns;
	n->wheel_slot = slot;
	n->wheel_prev = NULL;
	n->wheel_next = head;
	if (head != NULL)
		head->wheel_prev = n;
	w->heads[slot] = n;
	w->slots[level] |= UINT64_C(1) << slot % TREE_WHEEL_SLOTS;
	w->levels |= 1u << level;
	w->next_ns = tl_min_u64(w->next_ns, wheel_time(w, slot));
}

// next_ns may stay too early.
static inline void wheel_remove(struct tree_wheel *w, struct tree_node *n)
{
	uint32_t slot = n->wheel_slot, level = slot / TREE_WHEEL_SLOTS;

	n->wheel_slot = TREE_OUT;
	if (n->wheel_next != NULL)
		n->wheel_next->wheel_prev = n->wheel_prev;
	if (n->wheel_prev != NULL) {
		n->wheel_prev->wheel_next = n->wheel_next;
		return;
	}
	w->heads[slot] = n->wheel_next;
	if (n->wheel_next != NULL)
		return;
	w->slots[level] &= ~(UINT64_C(1) << slot % TREE_WHEEL_SLOTS);
	if (w->slots[level] == 0)
		w->levels &= ~(1u << level);
}

// Have a node wait for a time after the wheel's, in place of another time.
static inline void wheel_schedule(struct tree_wheel *w, struct tree_node *n, uint64_t when_ns)
{
	if (n->wheel_slot != TREE_OUT) {
		if (n->when_ns == when_ns)
			return;
		wheel_remove(w, n);
	}
	wheel_insert(w, n, when_ns);
}

// Return the earliest slot; there is one.
static inline uint32_t wheel_first(const struct tree_wheel *w)
{
	uint32_t level = (uint32_t)__builtin_ctz(w->levels);

	return level * TREE_WHEEL_SLOTS + (uint32_t)__builtin_ctzll(w->slots[level]);
}

// Advance the wheel to now_ns, or to the first slot that is due. Return whether one is.
static inline bool wheel_advance(struct tree_wheel *w, uint64_t now_ns, uint32_t *out_slot)
{
	w->next_ns = TL_TREE_NEVER;
	if (w->levels != 0) {
		*out_slot = wheel_first(w);
		w->next_ns = wheel_time(w, *out_slot);
		if (w->next_ns <= now_ns) {
			w->now_ns = w->next_ns;
			return true;
		}
	}
	w->now_ns = now_ns;
	return false;
}
