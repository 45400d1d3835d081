// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// shape: a class tree in front of a send queue. Frames pushed into the queue are classified and wait in the tree. At
// each flush and each turn of the lcore, frames within the rates go to the port.
//
// - A frame belongs to the first class whose expression matches, else to the fallback.
// - ARP, neighbour discovery, IGMP and MLD bypass the tree and are counted: a port that delays them loses its peers and
//   groups. ICMP echo replies and errors are classified. Replayed frames are classified without exception.
// - A policer of a class drops or marks frames before they are queued. Its time is that of the queue's flush.
// - Frames that the port does not accept stay in the queue. Meanwhile the tree dequeues only into its remaining room.
//
// Threads: create, destroy, sample and set_rates on main; the service on the lcore of the queue.
// Memory:  create/destroy; the data path allocates nothing. Waiting frames are mbufs of the port's pool.

#include <stdint.h>

#include <tl_base.h>
#include <tl_choices.h>
#include <tl_lcore.h>
#include <tl_port.h>
#include <tl_tree.h>

struct tl_err;
struct tl_policer_cfg;
struct tl_shape;

#define TL_SHAPE_WEIGHTS_MAX 64 // of a class

// Frames that bypass the tree, with and without a VLAN tag: ARP; IGMP; IPv6 with a hop-by-hop header, as in MLD (RFC
// 3810, section 5); ICMPv6 types of MLD (RFC 3810) and neighbour discovery (RFC 4861).
#define TL_SHAPE_CONTROL "arp or igmp or ip6[6] = 0 or (ip6[6] = 58 and ip6[40] >= 130 and ip6[40] <= 143)"

// Weight of the hosts of a prefix.
struct tl_shape_weight {
	uint8_t version; // of IP
	uint8_t bits;	 // leading bits that are compared; 0: any address
	uint8_t ip[16];	 // network byte order, the other bits 0; of IPv4 the first 4 bytes
	uint32_t weight; // 1 to TL_TREE_WEIGHT_MAX
};

struct tl_shape_class {
	struct tl_tree_class tree;
	const char *match; // of a leaf: expression in tcpdump's syntax; NULL: none; borrowed for the call
	enum tl_fair fair; // of a leaf with several flows: fields of the hash that selects the queue
	// With TL_FAIR_SOURCE or TL_FAIR_DESTINATION: weights of hosts, the longest prefix applies, others have 1;
	// hosts that the hash puts into one queue have that of its last frame; borrowed for the call
	const struct tl_shape_weight *weights;
	uint32_t n_weights;		     // up to TL_SHAPE_WEIGHTS_MAX
	const struct tl_policer_cfg *police; // of a leaf; NULL: none; borrowed for the call
};

struct tl_shape_cfg {
	struct tl_txq *txq; // borrowed for life: not flushed by others
	const struct tl_clock *clock;
	const struct tl_shape_class *classes; // as in tl_tree_cfg, parents first; borrowed for the call
	uint32_t n_classes;
	uint32_t fallback;		      // leaf of unmatched frames
	uint32_t mtu, overhead_bytes, frames; // as in tl_tree_cfg
	uint64_t now_ns;		      // monotonic
};

// Set up, and replace the flush function of the queue. Needs EAL. Return 0, or the errors of tl_tree_create(),
// tl_filter_create() and tl_policer_init() with a message.
int tl_shape_create(const struct tl_shape_cfg *cfg, struct tl_shape **out, struct tl_err *err);

// Before the service runs: classify all frames, as those of a replay are no frames of this host, and call leaving(ctx,
// queue) on the lcore before each send call, with the frames to be sent in the queue: first those not accepted before.
void tl_shape_set_leaving(struct tl_shape *shape, void (*leaving)(void *ctx, const struct tl_txq *queue), void *ctx);

// Restore the flush function of the queue, drop the waiting frames, and free. NULL is allowed.
void tl_shape_destroy(struct tl_shape *shape);

// The service comes after those that push. It is closed when no frame waits. Its finish drops waiting frames
// (TL_TREE_DROP_END); frames pushed later are sent unshaped.
void tl_shape_service(struct tl_shape *shape, struct tl_service *out);

// Sample the counters of a class.
void tl_shape_sample(const struct tl_shape *shape, uint32_t cls, struct tl_tree_stats *out);

// Sample the load of the tree.
void tl_shape_load(const struct tl_shape *shape, struct tl_tree_load *out);

// Return the time with frames that the port did not accept.
uint64_t tl_shape_busy_ns(const struct tl_shape *shape);

// Return the number of frames that bypassed the tree.
uint64_t tl_shape_bypassed(const struct tl_shape *shape);

// Replace all classes, on main, while the service runs. to[i] is the class that continues class i in force, of the same
// kind, with the same flows, limits and policer; TL_TREE_REMOVED: its frames move to the fallback, and count as arrived
// there. No frame is lost and no bucket filled. cfg: as for create; txq, clock and frames are ignored: the frames that
// can wait stay the same number. Return 0, or the errors of tl_shape_create(), -EBUSY: the previous change of rates is
// not complete, or -EAGAIN: the lcore did not take the classes for 150 ms; then nothing has changed.
int tl_shape_set_classes(
	struct tl_shape *shape, const struct tl_shape_cfg *cfg, const uint32_t *to, struct tl_err *err);

// Set rates, ceils, bursts, quanta and prios of all classes, without losing a frame. Return 0, or the error of
// tl_tree_rates_create(), or -EBUSY: the previous change is not complete.
int tl_shape_set_rates(struct tl_shape *shape, const struct tl_tree_class *classes, struct tl_err *err);
