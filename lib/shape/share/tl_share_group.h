// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// share_group: divides the bandwidth of one resource, such as a disk, among its users by what they have to do, once per
// interval. The capacity is given, or measured while a user waits for the resource.
//
// Measurement: in an interval in which a user waited for the resource almost all the time, the bytes done by all are
// the capacity; a quarter of each change counts, so that a stall costs little. An interval without progress is measured
// together with the next. While nobody waits the estimate grows, as the limits themselves may be the reason. Until the
// first wait, and after long growth, the capacity is unknown and nobody is limited.
//
// Threads: one. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_share.h>

#define TL_SHARE_MEMBERS_MAX 80 // 64 recordings, and readers beside them

// Measured capacity. Initialize bps to TL_SHARE_MAX.
struct tl_share_capacity {
	uint64_t bps;	  // TL_SHARE_MAX: unknown
	uint64_t busy_ns; // without progress so far
};

// What the users did in an interval.
struct tl_share_use {
	uint64_t done_bytes; // by all
	uint64_t busy_ns;    // longest wait of a user
};

// Measure an interval of elapsed_ns, not 0.
void tl_share_measure(struct tl_share_capacity *capacity, const struct tl_share_use *use, uint64_t elapsed_ns);

// Demand of a member when its share was divided last.
struct tl_share_demand {
	uint64_t in_bytes; // arrived since the start
	uint64_t bps;
};

// Return the demand of a member, and keep it: the rate that does within an interval of elapsed_ns, not 0, what waits,
// and what arrives if that continues as in the last one. If it has more than doubled, and bytes wait, it may have begun
// in the middle of the interval: then TL_SHARE_MAX, and the member has its whole share before the next division.
uint64_t tl_share_demand(struct tl_share_demand *last, uint64_t in_bytes, uint64_t backlog_bytes, uint64_t elapsed_ns);

// Totals of a user since its start, and its backlog.
struct tl_share_load {
	uint64_t in_bytes;	// arrived, with the backlog
	uint64_t backlog_bytes; // waiting now
	uint64_t done_bytes;
	uint64_t busy_ns; // time of waiting for the resource
};

struct tl_share_member {
	uint32_t weight, tier;		 // as in tl_share_node
	uint64_t floor, ceil;		 // bit/s
	struct tl_share_load load, last; // now, set by the caller; at the last division
	struct tl_share_demand demand;	 // at the last division
	uint64_t limit;			 // bit/s; TL_SHARE_MAX: none
};

struct tl_share_group {
	uint64_t given; // bit/s; 0: measured
	struct tl_share_capacity measured;
	uint32_t n;
	struct tl_share_member members[TL_SHARE_MEMBERS_MAX];
};

// Initialize a group without members. given 0: the capacity is measured.
void tl_share_group_init(struct tl_share_group *group, uint64_t given);

// Set the limits of all members from their loads, elapsed_ns (not 0) after the last call.
void tl_share_group_divide(struct tl_share_group *group, uint64_t elapsed_ns);
