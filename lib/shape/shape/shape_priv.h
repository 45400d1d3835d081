// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// shape_priv: state shared by set-up and data path.

#include <stdatomic.h>

#include <tl_filter.h>
#include <tl_policer.h>
#include <tl_shape.h>

#define SHAPE_KEYS 6

// Field that an expression compares with one value: "dst host 192.0.2.1", "vlan 5".
enum shape_field { SHAPE_NO_FIELD, SHAPE_SRC_HOST, SHAPE_DST_HOST, SHAPE_VLAN };

struct shape_value {
	uint64_t words[2]; // an address, in network byte order, of IPv4 in the first four bytes; or a VLAN ID
	uint32_t version;  // of IP; 0: no address
};

#define SHAPE_FREE 0

struct shape_slot {
	struct shape_value value;
	uint32_t rule; // 1 + index; SHAPE_FREE
};

// Hash table of successive rules that compare the same field with different values: at most one of them matches.
struct shape_index {
	enum shape_field field;
	uint32_t n; // rules
	uint32_t mask;
	struct shape_slot slots[];
};

struct shape_rule {
	struct tl_filter *filter;
	uint32_t leaf;
	struct shape_index *index; // of this rule and those that follow; NULL: the rule stands alone
};

// Work for a frame between its classification and its class: enum tl_fair, weights, and a policer.
#define SHAPE_POLICED 0x80
#define SHAPE_WEIGHTED 0x40
#define SHAPE_FAIR 0x0f

struct shape_prefix {
	uint64_t ip[2], mask[2]; // bytes in network order; of IPv4 the first four
	bool is_ip6;
	uint32_t weight;
};

// Weights of a class, the longest prefixes first.
struct shape_weights {
	uint32_t n;
	struct shape_prefix of[TL_SHAPE_WEIGHTS_MAX];
};

// The classes, which a change replaces as a whole.
struct shape_set {
	struct tl_tree *tree;
	uint32_t n_rules, n_classes;
	uint32_t fallback;
	struct shape_rule *rules;	// in order
	uint8_t *work;			// by class: enum tl_fair, SHAPE_POLICED, SHAPE_WEIGHTED
	struct tl_policer *policers;	// by class; NULL: none has one
	struct shape_weights **weights; // by class, NULL: none; NULL: none has any
};

// Other classes, for the lcore to take.
struct shape_change {
	struct shape_set set; // then the one that was in force
	const uint32_t *to;   // by class in force: the one that continues it, or TL_TREE_REMOVED
	atomic_bool done;
};

struct tl_shape {
	struct tl_txq *txq;
	const struct tl_clock *clock;
	struct shape_set set;
	_Atomic(struct shape_change *) offered; // by main; the lcore takes it
	void (*flush)(struct tl_txq *q);	// the backend's
	uint16_t waiting;			// leading frames of the queue that the port did not accept
	uint64_t refused_ns;			// time up to which their wait is counted
	uint64_t busy_ns;			// time with such frames
	uint32_t backlog;			// frames in the tree
	struct tl_filter *bypass;
	uint64_t bypass_pkts;
	void (*leaving)(void *ctx, const struct tl_txq *queue); // of a replay; NULL: none
	void *leaving_ctx;
	uint64_t keys[SHAPE_KEYS]; // of the hash: secret, so that senders cannot choose the queue
	// Main's.
	struct tl_tree_rates *rates, *old_rates; // offered last, and the previous ones; NULL: those of create
};

static inline uint64_t shape_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// Return the slot of a value, or the free one for it.
static inline struct shape_slot *shape_index_slot(struct shape_index *index, const struct shape_value *value)
{
	uint64_t hash = shape_fold(
		value->words[0] ^ UINT64_C(0x9e3779b97f4a7c15), value->words[1] ^ UINT64_C(0xd1b54a32d192ed03));
	struct shape_slot *slot;

	for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
		slot = &index->slots[at & index->mask];
		if (slot->rule == SHAPE_FREE ||
			(slot->value.words[0] == value->words[0] && slot->value.words[1] == value->words[1] &&
				slot->value.version == value->version))
			return slot;
	}
}

// index.c: make tables of the rules. Return 0 or -ENOMEM with a message.
int shape_add_indexes(struct shape_set *set, const struct tl_shape_cfg *cfg, struct tl_err *err);

// index_dp.c: find the only rule of a table that a frame may match. NULL: none.
const struct shape_rule *shape_index_find(
	const struct shape_set *set, const struct shape_index *index, const struct rte_mbuf *m);

// weights.c: set up the weights of the classes. Return 0 or -ENOMEM with a message.
int shape_add_weights(struct shape_set *set, const struct tl_shape_cfg *cfg, struct tl_err *err);
void shape_free_weights(struct shape_set *set);

// shape_dp.c: enqueue pushed frames, and send frames within the rates. Return the number accepted by the port.
uint16_t shape_turn(struct tl_shape *shape, uint64_t now_ns);

// shape_dp.c: functions of queue, service and tree.
void shape_flush(struct tl_txq *q);
uint16_t shape_poll(void *shape, uint64_t mono_ns);
uint64_t shape_next_ns(void *shape);
void shape_drop(void *shape, void *frame);
