// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// mcast: multicast memberships of a host: the host side of IGMPv3 (RFC 3376) with fallback to IGMPv2 (RFC 2236) and v1
// while an older querier is present; for IPv6 MLDv2 (RFC 3810) with fallback to MLDv1 (RFC 2710), where groups and
// sources are numbers of cfg.book. A pure state machine: the caller owns the clock, the frames and the NIC filter.
//
//   join() and leave() ──▶ state ──▶ tick() ──▶ cfg.send()      input() ◀── every IGMP message of the interface
//
// Time is the caller's: now_ns of one monotonic clock. Only tick() sends, so join() may be called before the port is
// started, and joins made together share one report.
//
// Threads: the thread that owns the interface (main before the lcore starts, the lcore after); counters from any
//          thread.
// Memory:  create() allocates everything, 300 bytes per group; nothing else allocates, blocks, logs or makes a system
//          call.

#include <stdbool.h>

#include <tl_base.h>
#include <tl_ip6_book.h>

#define TL_MCAST_GROUPS 64 // groups joined at once, by default
#define TL_MCAST_GROUPS_MAX 16384
#define TL_MCAST_SOURCES 16   // per group
#define TL_MCAST_MSG_MAX 1400 // longest message handed to send()
#define TL_MCAST_NEVER UINT64_MAX

struct tl_mcast; // opaque

// Sends one IGMP message of len <= TL_MCAST_MSG_MAX bytes with its checksum. The callee adds an IPv4 header:
// destination dst_be, protocol 2, TTL 1, TOS 0xc0 and the Router Alert option 94 04 00 00 (RFC 2113), so an IHL of 6;
// and an Ethernet header with tl_wire_mcast_mac(dst_be). igmp is valid for the call only. The callee must not call back
// into the instance. For MLD the callee also computes the checksum, for its pseudo-header; the header is IPv6: hop
// limit 1, Router Alert (RFC 2711) in a hop-by-hop header.
typedef void tl_mcast_send_fn(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len);

struct tl_mcast_cfg {
	tl_mcast_send_fn *send;
	void *send_ctx;		  // borrowed until destroy()
	uint32_t ip_be;		  // own address: messages from it are ignored; 0: none
	struct tl_ip6_book *book; // borrowed until destroy(); selects MLD; NULL: IGMP
	uint16_t msg_max_bytes;	  // largest message; 0: TL_MCAST_MSG_MAX, its upper limit
	uint32_t groups;	  // groups joined at once, at most TL_MCAST_GROUPS_MAX; 0: TL_MCAST_GROUPS
	uint64_t seed;		  // seed of the random delays; any value
	uint8_t robustness;	  // transmissions of each state change, until a querier sets it; 0 means 2, at most 7
};

// Return 0 and set *out (caller owns it), or -EINVAL, -ENOMEM.
int tl_mcast_create(const struct tl_mcast_cfg *cfg, struct tl_mcast **out);

// Free; sends nothing. For an orderly end, leave() every group and tick() once before. NULL is allowed.
void tl_mcast_destroy(struct tl_mcast *m);

// Join a group, from one source (source_be) or from any (0). Counted: each join needs one leave of the same pair.
// Several sources of a group add up; any-source overrides them. 224.0.0.1 and ff02::1 may be joined and are never
// reported. Return 0, -EINVAL (not a multicast group, not a unicast source) or -ENOSPC.
int tl_mcast_join(struct tl_mcast *m, uint32_t group_be, uint32_t source_be, uint64_t now_ns);

// Return 0, or -ENOENT if that pair is not joined.
int tl_mcast_leave(struct tl_mcast *m, uint32_t group_be, uint32_t source_be, uint64_t now_ns);

// Report every group again: earlier reports may have been ignored (RFC 3590: MLD from the unspecified address).
void tl_mcast_report_again(struct tl_mcast *m, uint64_t now_ns);

// A received IGMP or MLD message: the IP payload (struct tl_pkt: payload_off, payload_len) with a verified checksum
// (tl_wire_l4_cksum_ok), and fields of its IP header.
struct tl_mcast_packet {
	const uint8_t *message;
	uint16_t len;
	uint32_t src_be, dst_be; // MLD: numbers of the book; dst_be 0: a host
	uint8_t hop_limit;	 // IPv4: TTL
	bool alert;		 // Router Alert option present
};

// Process a received message. Malformed ones, invalid senders and unknown types are counted and ignored. The cost does
// not depend on the number of groups.
void tl_mcast_input(struct tl_mcast *m, const struct tl_mcast_packet *packet, uint64_t now_ns);

// Send what is due at now_ns. Needed only when now_ns >= tl_mcast_next_deadline(); harmless at any other time.
void tl_mcast_tick(struct tl_mcast *m, uint64_t now_ns);

// HOT. Time of the next tick() with work (possibly past), TL_MCAST_NEVER if nothing is pending. One load.
uint64_t tl_mcast_next_deadline(const struct tl_mcast *m);

// HOT. Exact filter for a datagram from source to group: the NIC filters by MAC only, which 32 groups share.
bool tl_mcast_accepts(const struct tl_mcast *m, uint32_t group_be, uint32_t source_be);

// Groups for the NIC's filter: 224.0.0.1 or ff02::1 (destination of queries), then those joined. Writes at most max,
// returns their number, at most cfg.groups + 1. Changes only by join() and leave().
unsigned tl_mcast_groups(const struct tl_mcast *m, uint32_t *out_be, unsigned max);

// Counters: igmp_reports_tx (messages; a v3 leave is a report), igmp_leaves_tx (v2), igmp_queries_rx, igmp_bad_rx; for
// MLD with the prefix mld_. Writes at most max, returns their number. Any thread.
unsigned tl_mcast_counters(const struct tl_mcast *m, struct tl_counter *out, unsigned max);
