// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// mcast: which multicast groups and sources this host wants, and the IGMP that says so: the host side of IGMPv3
// (RFC 3376), falling back to IGMPv2 (RFC 2236) and v1 while an older querier is heard. For IPv6 the same in MLDv2
// (RFC 3810), falling back to MLDv1 (RFC 2710); groups and sources are numbers of cfg.book then. A pure state machine:
// the caller owns the clock, the frames and the NIC filter.
//
//   join() and leave() ──▶ state ──▶ tick() ──▶ cfg.send()      input() ◀── every IGMP message of the interface
//
// Time is the caller's: now_ns of one monotonic clock that never runs backwards. Nothing is sent but from tick(), so
// join() may be called before the port is started, and joins made together share one report.
//
// Threads: the thread that owns the interface (main before the lcore starts, the lcore after); counters from any
// thread. Memory:  create() allocates everything, 300 bytes per group; nothing else allocates, blocks, logs or makes a
// system call.

#include <stdbool.h>

#include <tl_base.h>
#include <tl_ip6_book.h>

#define TL_MCAST_GROUPS 64 // joined at the same time, unless cfg.groups says otherwise
#define TL_MCAST_GROUPS_MAX 16384
#define TL_MCAST_SOURCES 16   // per group
#define TL_MCAST_MSG_MAX 1400 // the longest message handed to send()
#define TL_MCAST_NEVER UINT64_MAX

struct tl_mcast; // opaque

// Sends one IGMP message of len <= TL_MCAST_MSG_MAX bytes, its checksum filled in. The callee puts an IPv4 header in
// front: destination dst_be, protocol 2, TTL 1, TOS 0xc0 and the Router Alert option 94 04 00 00 (RFC 2113), so an IHL
// of 6; and an Ethernet header with tl_wire_mcast_mac(dst_be). igmp is valid for the call only. The callee must not
// call back into the instance. Of MLD the checksum is the callee's, too, for its pseudo-header; and the header is of
// IPv6: hop limit 1, the Router Alert option (RFC 2711) in a hop-by-hop header.
typedef void tl_mcast_send_fn(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len);

struct tl_mcast_cfg {
	tl_mcast_send_fn *send;
	void *send_ctx;		  // borrowed until destroy()
	uint32_t ip_be;		  // own address: messages that come from it are ignored; 0 if there is none
	struct tl_ip6_book *book; // borrowed until destroy(): speak MLD; NULL: IGMP
	uint16_t msg_max_bytes;	  // of a message, at most and 0: TL_MCAST_MSG_MAX
	uint32_t groups;	  // joined at the same time, at most TL_MCAST_GROUPS_MAX; 0: TL_MCAST_GROUPS
	uint64_t seed;		  // of the random delays; any value, equal seeds give equal delays
	uint8_t robustness; // transmissions of each state change, until a querier says otherwise; 0 means 2, at most 7
};

// Returns 0 and sets *out (caller owns it), or -EINVAL, -ENOMEM.
int tl_mcast_create(const struct tl_mcast_cfg *cfg, struct tl_mcast **out);

// Sends nothing: to say goodbye, leave() what was joined and tick() once before. NULL is allowed.
void tl_mcast_destroy(struct tl_mcast *m);

// Ask for a group, from one source (source_be) or from any (0). Counted: each join needs one leave of the same pair.
// Several sources of a group add up; any-source outweighs them while it lasts. 224.0.0.1, and ff02::1, may be joined
// and are never reported. Returns 0, -EINVAL (not a multicast group, not a unicast source) or -ENOSPC.
int tl_mcast_join(struct tl_mcast *m, uint32_t group_be, uint32_t source_be, uint64_t now_ns);

// Returns 0, or -ENOENT if that pair is not joined.
int tl_mcast_leave(struct tl_mcast *m, uint32_t group_be, uint32_t source_be, uint64_t now_ns);

// Report every group anew: what was said so far may not have counted (RFC 3590: MLD from no address).
void tl_mcast_tell_again(struct tl_mcast *m, uint64_t now_ns);

// A received IGMP or MLD message: the IP payload (struct tl_pkt: payload_off, payload_len), its checksum verified
// (tl_wire_l4_cksum_ok), and what its IP header says.
struct tl_mcast_packet {
	const uint8_t *message;
	uint16_t len;
	uint32_t src_be, dst_be; // of MLD: numbers of the book; dst_be 0: a host
	uint8_t hop_limit;	 // of IPv4: TTL
	bool alert;		 // has the Router Alert option
};

// One received message. Malformed ones, those that no router or host of the link may have sent, and unknown types are
// counted and change nothing. The work does not depend on the number of groups.
void tl_mcast_input(struct tl_mcast *m, const struct tl_mcast_packet *packet, uint64_t now_ns);

// Send what is due at now_ns. Needed only when now_ns >= tl_mcast_next_deadline(); harmless at any other time.
void tl_mcast_tick(struct tl_mcast *m, uint64_t now_ns);

// HOT. When tick() has something to do next (maybe the past: at once), TL_MCAST_NEVER if nothing is pending. One load.
uint64_t tl_mcast_next_deadline(const struct tl_mcast *m);

// HOT. Whether a datagram from source to group is wanted: the NIC filters by MAC only, 32 groups share one.
bool tl_mcast_accepts(const struct tl_mcast *m, uint32_t group_be, uint32_t source_be);

// The groups the NIC has to let in: 224.0.0.1 or ff02::1 (queries come to it), then those joined. Writes at most max,
// returns how many there are, at most one more than cfg.groups. Changes only by join() and leave().
unsigned tl_mcast_groups(const struct tl_mcast *m, uint32_t *out_be, unsigned max);

// Counters: igmp_reports_tx (messages; a v3 leave is a report), igmp_leaves_tx (v2), igmp_queries_rx, igmp_bad_rx; or
// the same beginning with mld_.
// Writes at most max, returns how many there are. Any thread.
unsigned tl_mcast_counters(const struct tl_mcast *m, struct tl_counter *out, unsigned max);
