// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// flow: byte counts per flow, so that a recording can keep the first bytes of each flow and cut the rest.
//
// A flow is both directions of one conversation: two addresses with their ports (TCP, UDP, UDP-Lite, SCTP, DCCP), the
// protocol, IPv4 or IPv6, and the VLANs. Protocols without ports: one flow per pair of addresses and protocol. Frames
// that are not IP, have truncated headers, or are fragments without ports belong to no flow. On request the flow of an
// encapsulated frame is that of its innermost packet (tl_encap.h), within its VNI or VSID.
//
// The table has a fixed size and buckets of one cache line, so the cost per frame does not depend on the number of
// flows. In a full bucket a new flow replaces the one idle longest; if that one continues, it restarts, so more of
// it is kept than configured, never less. A flow is identified by 64 bits of a keyed hash: among a million flows one
// new flow in 10^13 collides.
//
// Threads: identify() and keep() on one RX lcore; create() and destroy() on main; any may read the counters.
// Memory:  create/destroy: 16 bytes per entry, on the given NUMA node. Needs EAL.

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
	uint64_t idle_ns;      // idle time after which a flow restarts, by frame timestamps, to 67 ms
	bool inner;	       // flows of innermost packets
	int socket_id;
	uint64_t seed; // key of the hash: random, secret
};

// Written by the RX lcore.
struct tl_flow_stats {
	uint64_t flows;		// started, restarts included
	uint64_t flows_evicted; // replaced before they were idle
};

#define TL_FLOW_KEYS 6

// Keys of the hash of a flow.
struct tl_flow_hash {
	uint64_t key[TL_FLOW_KEYS];
};

// The flow of one frame.
struct tl_flow_id {
	uint64_t print; // 0: none
	bool syn;	// first frame of a TCP connection: SYN or SYN-ACK
};

// Return 0 and set *out (caller owns it), or -EINVAL, -ENOMEM with a message.
int tl_flow_create(const struct tl_flow_cfg *cfg, struct tl_flow_table **out, struct tl_err *err);
void tl_flow_destroy(struct tl_flow_table *table);
const struct tl_flow_stats *tl_flow_counters(const struct tl_flow_table *table);

// Derive the keys of a hash from a seed.
void tl_flow_hash_init(struct tl_flow_hash *hash, uint64_t seed);

// HOT. Return a hash of the flow of the innermost packet of an encapsulated frame of len contiguous bytes, the same in
// both directions, and in any network (VNI, VSID); 0: the frame is not encapsulated, or the packet has no flow. *words:
// of a flow, xor of the words of 16 bits of its addresses and ports, on which alone a symmetric RSS hash depends.
uint64_t tl_flow_inner_hash(const struct tl_flow_hash *hash, const uint8_t *frame, uint32_t len, uint16_t *words);

// HOT. Return a hash of the flow of a frame of len contiguous bytes, the same in both directions; with inner that of
// its innermost packet, within its VNI or VSID. 0: the frame has no flow.
uint64_t tl_flow_print(const struct tl_flow_hash *hash, bool inner, const uint8_t *frame, uint32_t len);

// HOT. Same for the source address of an IP packet, in any VLAN. 0: not an IP packet, or truncated.
uint64_t tl_flow_source_print(const struct tl_flow_hash *hash, bool inner, const uint8_t *frame, uint32_t len);

// HOT. Identify the flow of a frame of len contiguous bytes, and prefetch its cache line: for a burst, identify all
// frames first.
void tl_flow_identify(const struct tl_flow_table *table, const uint8_t *frame, uint32_t len, struct tl_flow_id *out);

// HOT. Count a frame of wire_bytes, stamped ts_ns. True if it begins within the first cutoff_bytes of its flow, or has
// no flow. A SYN restarts the flow, unless the frame before it was one, too.
bool tl_flow_keep(struct tl_flow_table *table, const struct tl_flow_id *id, uint32_t wire_bytes, uint64_t ts_ns);
