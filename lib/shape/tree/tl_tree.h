// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// tree: a tree of classes that share a rate, as tc-htb(8). A class has a guarantee (rate) and a limit (ceil). It
// borrows the unused rate of its siblings up to its ceil. Frames wait in the leaves.
//
// - In any window t a class sends at most cburst + ceil x t bytes, and at most its parent does. The root's ceil is its
//   rate.
// - Classes within their rate send first. The rest of the parent's rate goes to the classes with the lowest prio, by
//   weighted max-min: in proportion to quantum, up to the ceil of each. prio and quantum compare siblings, classes with
//   children included.
// - A class with frames keeps the tokens of its rate while others send first, up to the bursts of all of them: of rates
//   that add up to that of their parent each one holds, at most those bursts later, if ceil and cburst permit.
// - Time comes from the caller and has any origin below 2^63 ns; a time before the last one counts as the last one.
//
// A bucket is exact (docs/decisions/015-tokens-are-exact.md). A class may send while each charged bucket has tokens
// for a frame of mtu bytes, so a bucket of exactly mtu bytes is full before each frame and loses the tokens earned
// until the next call. Give bursts of at least mtu plus the tokens earned between two calls, and while its siblings and
// those of the classes above it send a frame each.
//
// Frames are opaque pointers, which a tree owns from enqueue to dequeue or drop.
//
// Threads: enqueue, dequeue and next_ns on one; stats, offer and rates_in_use on any one other. Memory: all of it is
// allocated by create; the three hot calls never allocate.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;
struct tl_tree;
struct tl_tree_rates;

#define TL_TREE_CLASSES_MAX (UINT32_C(1) << 16)
#define TL_TREE_FRAMES_MAX (UINT32_C(1) << 24)
#define TL_TREE_FLOWS_MAX (UINT32_C(1) << 16)  // of a class
#define TL_TREE_QUEUES_MAX (UINT32_C(1) << 24) // of all classes
#define TL_TREE_DEPTH_MAX 8		       // classes from the root to a leaf
#define TL_TREE_PRIOS 8
#define TL_TREE_RATE_MAX (UINT64_C(1) << 42)	 // bit/s
#define TL_TREE_BURST_MAX UINT64_C(576460752)	 // bytes
#define TL_TREE_MTU_MAX UINT32_C(65536)		 // bytes
#define TL_TREE_INTERVAL_MAX (UINT64_C(1) << 40) // ns
#define TL_TREE_WEIGHT_MAX 100			 // of a queue
#define TL_TREE_COLOURS 3			 // of policers (tl_meter.h)

struct tl_tree_class {
	const char *name; // for messages; borrowed for the call
	uint32_t parent;  // index of an earlier class; ignored for the first, which is the root
	uint64_t rate;	  // bit/s; 0: no guarantee; not for the root
	uint64_t ceil;	  // bit/s, rate to the parent's ceil; 0: rate. The root's is its rate
	uint64_t burst;	  // bytes that may leave at once within the rate, from mtu; 0: two of mtu and 1 ms of rate
	uint64_t cburst;  // the same of ceil
	uint32_t quantum; // weight: bytes per round of borrowing, from mtu; 0: in proportion to the rates of siblings
	uint32_t prio;	  // 0 to TL_TREE_PRIOS - 1; 0 borrows first
	// Limits of leaves, 0: none:
	uint32_t flows; // queues, a power of two, which share by deficit round robin; 0 or 1: one, first in first out
	uint32_t limit_pkts;  // frames that wait
	uint64_t limit_bytes; // bytes that wait, from mtu
	uint64_t limit_ns;    // a frame that has waited longer is dropped when its turn comes
	// CoDel (RFC 8289) on each queue of the leaf:
	uint64_t codel_target_ns;   // waiting time that a queue may keep up; 0: no CoDel
	uint64_t codel_interval_ns; // from target to TL_TREE_INTERVAL_MAX: drops begin when it was above for so long
};

struct tl_tree_cfg {
	const struct tl_tree_class *classes; // borrowed for the call
	uint32_t n_classes;		     // 1 to TL_TREE_CLASSES_MAX
	uint32_t mtu;			     // longest frame, with overhead, bytes, 1 to TL_TREE_MTU_MAX
	uint32_t overhead_bytes;	     // added to the length of each frame
	uint32_t frames; // that can wait in all leaves together, 1 to TL_TREE_FRAMES_MAX; 0: for tl_tree_adopt()
	uint64_t now_ns;
	void (*drop)(void *ctx, void *frame); // HOT: takes ownership of a dropped frame
	void *drop_ctx;
};

// Check a description and build the tree; all buckets are full. Return 0, and the caller owns *out; -EINVAL with a
// message that names the class, or -ENOMEM.
int tl_tree_create(const struct tl_tree_cfg *cfg, struct tl_tree **out, struct tl_err *err);

// Check a description. Return as tl_tree_create(); *at receives the index of the class in the message, 0 if it names
// none.
int tl_tree_check(const struct tl_tree_cfg *cfg, uint32_t *at, struct tl_err *err);

// Drop the waiting frames, and free. NULL is allowed. The caller destroys rates in use, unless they are those of
// create.
void tl_tree_destroy(struct tl_tree *tree);

// HOT. Take ownership of a frame of this many bytes, less than 2^31. cls is a leaf. hash, of the flow or of the source
// address, selects the queue of a leaf with flows. A full leaf drops this frame, or, with flows, the oldest one of its
// longest queue (in bytes, within a quarter).
void tl_tree_enqueue(struct tl_tree *tree, uint64_t now_ns, uint32_t cls, uint32_t hash, uint32_t bytes, void *frame);

// HOT. Set the weight, 1 to TL_TREE_WEIGHT_MAX, of the queue of a leaf with flows, before a frame for it: from its next
// round on it sends so many frames of mtu per round, by default one.
void tl_tree_set_weight(struct tl_tree *tree, uint32_t cls, uint32_t hash, uint32_t weight);

// HOT. Count a frame of a leaf by the colour that its policer gave it, before enqueue() or drop_policed().
void tl_tree_count_colour(struct tl_tree *tree, uint32_t cls, uint32_t colour, uint32_t bytes);

// HOT. Drop a frame in place of enqueue(): TL_TREE_DROP_POLICE.
void tl_tree_drop_policed(struct tl_tree *tree, uint32_t cls, uint32_t bytes, void *frame);

// HOT. Dequeue up to n frames that may leave now. Return their number. The caller owns and sends all of them; for a
// full TX ring it passes a smaller n.
uint32_t tl_tree_dequeue(struct tl_tree *tree, uint64_t now_ns, void **out, uint32_t n);

// Drop the waiting frames (TL_TREE_DROP_END), on the thread of dequeue. Neither enqueue nor dequeue may follow.
void tl_tree_end(struct tl_tree *tree);

#define TL_TREE_NEVER UINT64_MAX

// HOT. Return the time of the next call of dequeue that makes progress: no frame can leave before it. At that time
// a frame leaves, or the next call returns a more exact time. TL_TREE_NEVER: no frame waits.
uint64_t tl_tree_next_ns(const struct tl_tree *tree);

// Compute new rates, ceils, bursts, quanta and prios for the classes of a tree. Parents, flows and limits do not change
// and are ignored. Return as tl_tree_create().
int tl_tree_rates_create(const struct tl_tree *tree, const struct tl_tree_class *classes, struct tl_tree_rates **out,
	struct tl_err *err);
void tl_tree_rates_destroy(struct tl_tree_rates *rates);

// Offer new rates, which all classes have from the next dequeue on. No frame is lost and no bucket filled. With more
// than 128 classes some calls of dequeue prepare them, 128 each, and send nothing: no frame leaves by old rates after
// one by new ones. Until tl_tree_rates_in_use() returns them, offer no others, and keep those in use.
void tl_tree_offer_rates(struct tl_tree *tree, const struct tl_tree_rates *rates);
const struct tl_tree_rates *tl_tree_rates_in_use(const struct tl_tree *tree);

#define TL_TREE_REMOVED UINT32_MAX

// HOT. Have a tree without frames, which was created with 0 of them, take the place of another, on the thread of
// dequeue; nothing else reads both meanwhile. to[i] is the class of the tree that continues class i, both leaves or
// both with children, or TL_TREE_REMOVED; the root continues. Frames of a removed leaf go to the leaf "fallback", in
// the order of their queues and beyond its limits, and count as arrived there. What else it counted stays in the sums
// of the classes above it. Buckets continue, those of new classes are full; CoDel begins anew. Return the frames that
// moved to fallback. The other tree can only be sampled and destroyed.
struct tl_tree_moved {
	uint64_t pkts, bytes;
};
struct tl_tree_moved tl_tree_adopt(
	struct tl_tree *tree, struct tl_tree *from, uint64_t now_ns, const uint32_t *to, uint32_t fallback);

// HOT. Count the frames that moved to a leaf with a policer as green: they did not pass it.
void tl_tree_count_moved(struct tl_tree *tree, uint32_t cls, const struct tl_tree_moved *moved);

enum tl_tree_drop {
	TL_TREE_DROP_POLICE, // tl_tree_drop_policed()
	TL_TREE_DROP_LONG,   // longer than mtu
	TL_TREE_DROP_LIMIT,  // limit_pkts or limit_bytes
	TL_TREE_DROP_LATE,   // limit_ns
	TL_TREE_DROP_CODEL,  // codel_target_ns
	TL_TREE_DROP_MEMORY, // frames of the tree
	TL_TREE_DROP_END,    // tl_tree_end()
	TL_TREE_DROPS,
};

// in_pkts = sent_pkts + backlog_pkts + drop_pkts[0] + ..., at rest; the same of bytes, with overhead. Of leaves with a
// policer in_pkts is also the sum of the colours.
struct tl_tree_stats {
	uint64_t in_pkts, in_bytes;
	uint64_t sent_pkts, sent_bytes;
	uint64_t backlog_pkts, backlog_bytes;
	uint64_t drop_pkts[TL_TREE_DROPS], drop_bytes[TL_TREE_DROPS];
	uint64_t delay_mean_ns, delay_max_ns; // waiting time of sent frames; the mean is exact up to a sum of 2^67 ns
	uint64_t delay_p99_ns;		      // 99 % of them waited for at most this, up to an eighth too high
	uint64_t borrowed_bytes;	      // part of sent_bytes: beyond the rate of the class itself
	uint64_t colour_pkts[TL_TREE_COLOURS], colour_bytes[TL_TREE_COLOURS];
};

// Bytes that ever arrived at all leaves and passed their policers, those that ever left, and those that wait.
struct tl_tree_load {
	uint64_t in_bytes, sent_bytes, backlog_bytes;
};
void tl_tree_load(const struct tl_tree *tree, struct tl_tree_load *out);

// Sample the counters of a class; with children, those of its leaves together, except borrowed_bytes.
void tl_tree_sample(const struct tl_tree *tree, uint32_t cls, struct tl_tree_stats *out);
