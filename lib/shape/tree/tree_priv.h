// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// tree_priv: what the files of this module share: nodes, queues, rates.

#include <stdatomic.h>

#include <tl_bucket.h>
#include <tl_coarse.h>
#include <tl_tree.h>
#include <tl_wheel.h>

#define TREE_LISTS (2 * TL_TREE_PRIOS)
#define TREE_SIZES 128 // classes of queue lengths

// Lists of a class with children: those of its children that may send. Band 0 has children within their rate, band 1
// all of them, in which those without tokens of their rate borrow. List: band * TL_TREE_PRIOS + prio.
enum { TREE_GREEN, TREE_EXCESS, TREE_BANDS };

struct tree_rate {
	uint64_t ceil, cburst, ceil_full_ns; // tokens per ns, 0: the parent's is enough; tokens; fills the bucket
	uint32_t quantum;		     // bytes
	uint32_t prio;
	uint64_t rate, burst, rate_full_ns;  // the same of rate; burst 0: none
	uint64_t rate_inverse, ceil_inverse; // for tl_bucket_wait()
	uint64_t owed;			     // tokens that a class with frames may keep, from burst
	uint64_t green_tokens;		     // with which a class that had none for a frame stops borrowing
};

struct tl_tree_rates {
	uint32_t n;
	struct tree_rate of[];
};

struct tree_node;

// Place in a circular list of the parent.
struct tree_turn {
	struct tree_node *next, *prev;
	int32_t deficit; // bytes left of the round; above 0 while it is on
	uint32_t list;	 // TREE_LISTS: in none
};

struct tree_frame {
	void *frame;
	uint64_t in_ns;
	struct tree_frame *next;
	uint32_t bytes; // with overhead
};

struct tree_flow {
	struct tree_frame *head, *tail;
	// Leaves with several flows:
	struct tree_flow *next, *prev;	    // those that have frames, circular
	struct tree_flow *longer, *shorter; // those of this size, circular
	uint32_t bytes;
	uint32_t size; // class of bytes
	int32_t deficit;
	uint32_t quantum; // bytes per round
};

// State of CoDel for a queue.
struct tree_codel {
	uint64_t above_ns; // when the waiting time will have been above the target for an interval; 0: it is not above
	uint64_t drop_ns;  // next drop
	uint32_t count, last_count; // of drops since dropping began; the same when it began
	bool dropping;
};

// Queues of a leaf with flows, by length.
struct tree_sizes {
	uint64_t used[TREE_SIZES / 64];
	struct tree_flow *heads[TREE_SIZES];
};

// Counters of a leaf. Frames that left are counted by their waiting time.
struct tree_counters {
	uint64_t in_pkts, in_bytes, sent_bytes;
	uint64_t delay_ns, delay_max_ns;
	uint64_t drop_pkts[TL_TREE_DROPS], drop_bytes[TL_TREE_DROPS];
	struct tl_coarse sent_pkts;
	uint64_t colour_pkts[TL_TREE_COLOURS], colour_bytes[TL_TREE_COLOURS];
};

struct tree_leaf {
	struct tree_flow *turn; // flow to send next, of those that have frames
	struct tree_flow *flows;
	struct tree_sizes *sizes;	   // NULL: one flow
	struct tree_codel *codel;	   // by flow; NULL: no CoDel
	bool is_plain;			   // one flow, and no CoDel
	uint32_t mask;			   // flows - 1
	uint32_t backlog_pkts, limit_pkts; // limit UINT32_MAX: none
	uint64_t backlog_bytes, limit_bytes, limit_ns;
	uint64_t target_ns, interval_ns; // of CoDel
	struct tree_counters count;	 // last
};

// Reasons for which a frame costs a class more than a part of its turn: it pays tokens of its ceil, which is below its
// parent's; it pays tokens of its rate, in the green list; it has nothing left to send: "used" is 0.
enum { TREE_PAYS_CEIL = 1, TREE_PAYS_RATE = 2, TREE_IS_IDLE = 4 };

struct tree_node {
	uint64_t ctokens, ctokens_ns; // of ceil, and the time of which
	uint64_t tokens, tokens_ns;   // of rate
	const struct tree_rate *rate;
	struct tree_node *parent; // NULL: root
	uint64_t own_bytes;	  // sent within the rate
	uint32_t work;		  // of TREE_PAYS_CEIL, TREE_PAYS_RATE, TREE_IS_IDLE
	uint32_t used;		  // with children: bit i: heads[i] is not NULL; a leaf: 1: it has frames, not alone
	struct tree_turn turns[TREE_BANDS];
	struct tree_leaf *leaf;	   // NULL: has children
	struct tl_wheel_node wait; // until it may change its band
	struct tree_node *heads[TREE_LISTS];
} TL_CACHE_ALIGNED;

// Add the tokens of the rate, up to "most": the burst of a class that had no frames, "owed" of one that waits for
// others.
static inline void tree_earn_rate(struct tree_node *n, uint64_t now_ns, uint64_t most)
{
	const struct tree_rate *r = n->rate;
	uint64_t tokens = tl_bucket_earn(n->tokens, r->rate, now_ns - n->tokens_ns, r->rate_full_ns);

	n->tokens = tl_min_u64(tokens, most);
	n->tokens_ns = now_ns;
}

static inline void tree_earn_ceil(struct tree_node *n, uint64_t now_ns)
{
	const struct tree_rate *r = n->rate;
	uint64_t tokens = tl_bucket_earn(n->ctokens, r->ceil, now_ns - n->ctokens_ns, r->ceil_full_ns);

	n->ctokens = tl_min_u64(tokens, r->cburst);
	n->ctokens_ns = now_ns;
}

struct tl_tree {
	uint64_t now_ns;
	uint64_t mtu_cost; // tokens that a bucket needs
	struct tree_node *nodes;
	_Atomic(const struct tl_tree_rates *) offered;
	const struct tl_tree_rates *rates; // those that classes get, from change_ns on
	uint64_t change_ns;
	const struct tl_tree_rates *in_use; // those that all classes have
	uint32_t mtu, overhead_bytes;
	uint32_t active;	// leaves with frames
	struct tree_node *lone; // the only one of them, in no list; NULL: all are
	struct tree_frame *free;
	uint32_t n_nodes;
	uint32_t adopted; // nodes that have the rates
	struct tree_frame *frames;
	struct tree_flow *flows;
	void (*drop)(void *ctx, void *frame);
	void *drop_ctx;
	struct tl_wheel wheel;
	// Cold.
	struct tl_tree_rates *own_rates;
	struct tree_sizes *sizes;
	struct tree_codel *codels;
	struct tree_leaf **gone; // by class: counters of removed leaves, whose nearest class above it is; or NULL
};

// A value of a description.
struct tree_range {
	const char *name;
	uint64_t value, min, max;
};

// Return 0, or -EINVAL with a message that names the first value out of range, and where it is.
int tree_check_ranges(const char *where, const struct tree_range *ranges, size_t n, struct tl_err *err);

// Check the rates of classes whose parents are right, and compute them. Return 0, or -EINVAL with a message about class
// *at, or -ENOMEM.
int tree_rates_create(const struct tl_tree_class *classes, uint32_t n, uint32_t mtu, struct tl_tree_rates **out,
	uint32_t *at, struct tl_err *err);

// HOT. Drop a frame that a leaf cannot take.
void tree_refuse(struct tl_tree *tree, struct tree_leaf *leaf, uint32_t bytes, void *frame);

// HOT. Put a frame into a leaf with several queues, and drop from the longest what is beyond the limits.
void tree_push(struct tl_tree *tree, struct tree_leaf *leaf, uint32_t hash, uint32_t bytes, void *frame);

// HOT. Move the frames of a leaf of another tree, which have room, behind those of a leaf.
void tree_move(struct tree_leaf *leaf, struct tree_leaf *from);

// HOT. Have a leaf without frames, which got some, take its turns.
void tree_wake(struct tl_tree *tree, struct tree_node *leaf);

// Drop all frames of a leaf.
void tree_drop_all(struct tl_tree *tree, struct tree_leaf *leaf);

// HOT. Take the next frame of a leaf that has frames, and drop those that waited too long. NULL: none is left. What is
// returned is valid until the next frame is put.
const struct tree_frame *tree_pop(struct tl_tree *tree, struct tree_leaf *leaf);
