// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The flow table.

#include <tl_flow.h>

#define TL_FLOW_WAYS 4	       // entries per cache line
#define TL_FLOW_TICK_SHIFT 26  // 67 ms per tick of an entry; wraps after 9 years
#define TL_FLOW_SYN 0x80000000 // flag in used_bytes: the last frame was a SYN

struct tl_flow_entry {
	uint64_t print;	     // 0: free
	uint32_t used_bytes; // at most cutoff_bytes; or TL_FLOW_SYN
	uint32_t last_tick;  // tick of the last frame
};

struct tl_flow_bucket {
	struct tl_flow_entry entry[TL_FLOW_WAYS];
} TL_CACHE_ALIGNED;

_Static_assert(sizeof(struct tl_flow_entry) == TL_FLOW_ENTRY_BYTES, "stated in tl_flow.h");
_Static_assert(sizeof(struct tl_flow_bucket) == TL_CACHE_LINE, "a frame touches one cache line");

struct tl_flow_table {
	struct tl_flow_bucket *buckets;
	uint64_t bucket_mask;
	struct tl_flow_hash hash;
	uint64_t tunnels; // TL_ENCAP_UDP_PORTS: flows are those of innermost packets; 0: of outermost
	uint32_t cutoff_bytes;
	int32_t idle_ticks;
	struct tl_flow_stats stats;
} TL_CACHE_ALIGNED;

static inline struct tl_flow_bucket *tl_flow_bucket_of(const struct tl_flow_table *table, uint64_t print)
{
	return &table->buckets[print & table->bucket_mask];
}
