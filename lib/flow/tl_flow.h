// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// flow: how many bytes of each flow have passed, so that a recording can keep the first of them and cut the rest.
//
// A flow is both directions of one conversation: two addresses with their ports (TCP, UDP, UDP-Lite, SCTP, DCCP), the
// protocol, IPv4 or IPv6, and the VLANs. Other protocols have no ports: one flow per pair of addresses and protocol.
// Not IP, too short for its own headers, or a fragment without the ports: the frame belongs to no flow.
//
// The table has a fixed size and buckets of one cache line, so a frame costs the same however many flows there are. A
// flow that finds its bucket full takes the place of the one silent for longest; that one, should it come back, begins
// anew, and more of it is kept than was asked for, never less. A flow is known by 64 bits of a hash whose key the
// sender cannot know: among a million flows one new in 10^13 is taken for another.
//
// Threads: identify() and keep() on one RX lcore; create() and destroy() on main; any may read the counters.
// Memory:  create/destroy: 16 bytes per entry, on the NUMA node named. Needs EAL.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

#define TL_FLOW_ENTRY_BYTES 16u
#define TL_FLOW_ENTRIES_MIN 1024u
#define TL_FLOW_ENTRIES_MAX (1u << 26)
#define TL_FLOW_CUTOFF_MIN 1024u
#define TL_FLOW_CUTOFF_MAX (1u << 30)

struct tl_err;
struct tl_flow_table; // opaque

struct tl_flow_cfg {
	uint32_t entries;      // a power of two, TL_FLOW_ENTRIES_MIN .. _MAX
	uint32_t cutoff_bytes; // TL_FLOW_CUTOFF_MIN .. _MAX
	uint64_t idle_ns;      // a flow silent for longer begins anew; its frames' own time, to 67 ms
	int socket_id;
	uint64_t seed; // of the hash: random, unknown outside
};

// Written by the RX lcore only.
struct tl_flow_stats {
	uint64_t flows;		// begun, those that began anew included
	uint64_t flows_evicted; // forgotten before they were idle
};

// The flow of one frame.
struct tl_flow_id {
	uint64_t print; // 0: none
	bool syn;	// the frame opens a TCP connection: SYN, or the SYN that answers it
};

// Returns 0 and sets *out (caller owns it), or -EINVAL, -ENOMEM with a sentence.
int tl_flow_create(const struct tl_flow_cfg *cfg, struct tl_flow_table **out, struct tl_err *err);
void tl_flow_destroy(struct tl_flow_table *table);
const struct tl_flow_stats *tl_flow_counters(const struct tl_flow_table *table);

// HOT. Which flow the frame of len contiguous bytes belongs to. It asks for that flow's cache line: for a burst, first
// identify all its frames.
void tl_flow_identify(const struct tl_flow_table *table, const uint8_t *frame, uint32_t len, struct tl_flow_id *out);

// HOT. Counts a frame of wire_bytes, stamped ts_ns, to its flow. True if it begins within the first cutoff_bytes of the
// flow, or belongs to none. A SYN begins the flow anew, unless the frame before it was one too.
bool tl_flow_keep(struct tl_flow_table *table, const struct tl_flow_id *id, uint32_t wire_bytes, uint64_t ts_ns);
