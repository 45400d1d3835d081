// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// wheel: nodes by time: a hierarchical timing wheel (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987)
// with slots of 1 ns and no horizon. A node is at the level of the highest 6-bit digit in which its time and the
// wheel's differ, in the slot of that digit, so the earliest slot is two bit searches away, whatever the number of
// nodes. Nodes of one slot are in the order of their insertion.
//
// Earliest departure times (Saeed et al., "Carousel", SIGCOMM 2017) need no more: a frame has a node, and leaves when
// tl_wheel_pop() returns it. The levels take 5.6 KiB; Carousel's single level needs a slot for each step up to the
// horizon.
//
// Threads: one. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

#define TL_WHEEL_LEVELS 11 // of 6 bits: 64-bit times
#define TL_WHEEL_SLOTS 64
#define TL_WHEEL_OUT UINT32_MAX	  // slot of a node that is not in the wheel
#define TL_WHEEL_NEVER UINT64_MAX // time without a node

// Part of a structure that waits.
struct tl_wheel_node {
	uint64_t when_ns;
	struct tl_wheel_node *next, *prev; // of the slot, circular
	uint32_t slot;			   // TL_WHEEL_OUT: not in the wheel
};

struct tl_wheel {
	uint64_t now_ns;
	uint64_t next_ns;		 // no node is due before it; TL_WHEEL_NEVER: there is none
	uint32_t levels;		 // bit i: slots[i] is not 0
	uint64_t slots[TL_WHEEL_LEVELS]; // bit i: slot i has nodes
	struct tl_wheel_node *heads[TL_WHEEL_LEVELS * TL_WHEEL_SLOTS];
};

// Empty a wheel.
void tl_wheel_init(struct tl_wheel *wheel, uint64_t now_ns);

// HOT. Return the slot of a time that is not before the wheel's.
static inline uint32_t tl_wheel_slot_of(uint64_t now_ns, uint64_t when_ns)
{
	uint32_t level = (63 - (uint32_t)__builtin_clzll((now_ns ^ when_ns) | 1)) / 6;

	return level * TL_WHEEL_SLOTS + (uint32_t)(when_ns >> (6 * level)) % TL_WHEEL_SLOTS;
}

// HOT. Return the first time of a slot: no node in it is earlier.
static inline uint64_t tl_wheel_time(const struct tl_wheel *w, uint32_t slot)
{
	uint32_t shift = 6 * (slot / TL_WHEEL_SLOTS);
	uint64_t above = shift + 6 < 64 ? w->now_ns >> (shift + 6) << (shift + 6) : 0;

	return above | (uint64_t)(slot % TL_WHEEL_SLOTS) << shift;
}

// HOT. Insert a node that is not in the wheel, with a time not before the wheel's.
static inline void tl_wheel_insert(struct tl_wheel *w, struct tl_wheel_node *n, uint64_t when_ns)
{
	uint32_t slot = tl_wheel_slot_of(w->now_ns, when_ns), level = slot / TL_WHEEL_SLOTS;
	struct tl_wheel_node *head = w->heads[slot];

	n->when_ns = when_ns;
	n->slot = slot;
	if (head == NULL) {
		w->heads[slot] = n->next = n->prev = n;
		w->slots[level] |= UINT64_C(1) << slot % TL_WHEEL_SLOTS;
		w->levels |= 1u << level;
		w->next_ns = tl_min_u64(w->next_ns, tl_wheel_time(w, slot));
		return;
	}
	n->next = head;
	n->prev = head->prev;
	head->prev->next = n;
	head->prev = n;
}

// HOT. Remove a node from the wheel. next_ns may stay too early.
static inline void tl_wheel_remove(struct tl_wheel *w, struct tl_wheel_node *n)
{
	uint32_t slot = n->slot, level = slot / TL_WHEEL_SLOTS;

	n->slot = TL_WHEEL_OUT;
	if (n->next != n) {
		n->next->prev = n->prev;
		n->prev->next = n->next;
		if (w->heads[slot] == n)
			w->heads[slot] = n->next;
		return;
	}
	w->heads[slot] = NULL;
	w->slots[level] &= ~(UINT64_C(1) << slot % TL_WHEEL_SLOTS);
	if (w->slots[level] == 0)
		w->levels &= ~(1u << level);
}

// HOT. Have a node wait for a time not before the wheel's, in place of another time.
static inline void tl_wheel_schedule(struct tl_wheel *w, struct tl_wheel_node *n, uint64_t when_ns)
{
	if (n->slot != TL_WHEEL_OUT) {
		if (n->when_ns == when_ns)
			return;
		tl_wheel_remove(w, n);
	}
	tl_wheel_insert(w, n, when_ns);
}

// HOT. Advance the wheel to now_ns, or to the first slot that is due. Return whether one is: the caller then removes
// all its nodes, and inserts those again that are not due, before the next call. now_ns: not before the wheel's.
static inline bool tl_wheel_advance(struct tl_wheel *w, uint64_t now_ns, uint32_t *out_slot)
{
	w->next_ns = TL_WHEEL_NEVER;
	if (w->levels != 0) {
		uint32_t level = (uint32_t)__builtin_ctz(w->levels);
		*out_slot = level * TL_WHEEL_SLOTS + (uint32_t)__builtin_ctzll(w->slots[level]);
		w->next_ns = tl_wheel_time(w, *out_slot);
		if (w->next_ns <= now_ns) {
			w->now_ns = w->next_ns;
			return true;
		}
	}
	w->now_ns = now_ns;
	return false;
}

// HOT. Remove and return the earliest node that is due, of those of one time the first inserted; NULL: none is due. A
// node passes through at most TL_WHEEL_LEVELS slots. A now_ns before the wheel's is taken for the wheel's.
static inline struct tl_wheel_node *tl_wheel_pop(struct tl_wheel *w, uint64_t now_ns)
{
	struct tl_wheel_node *n;
	uint32_t slot;

	if (now_ns < w->next_ns)
		return NULL;
	while (tl_wheel_advance(w, tl_max_u64(now_ns, w->now_ns), &slot)) {
		if (slot < TL_WHEEL_SLOTS) { // of a single ns
			n = w->heads[slot];
			tl_wheel_remove(w, n);
			return n;
		}
		while ((n = w->heads[slot]) != NULL) {
			tl_wheel_remove(w, n);
			tl_wheel_insert(w, n, n->when_ns);
		}
	}
	return NULL;
}
