// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// net: a host on the wire: Ethernet, ARP (RFC 826, 5227), IPv4 (RFC 791, 1122; reassembly for UDP only), ICMP echo (RFC
// 792), IPv6 (RFC 8200; no fragments), neighbour discovery (RFC 4861, 4862), ICMPv6 (RFC 4443), IGMP and MLD (through
// mcast), UDP (RFC 768) and TCP (tl_tcp.h). One instance per lcore, nothing shared, nothing global.
//
// Arguments ip_be, group_be and source_be take either family: an IPv4 address, or the number of an IPv6 address from
// tl_net_ip6().
//
// Threads: create/destroy on main; everything else on the owning lcore. tl_net_counters() on any thread.
// Memory:  everything is allocated in create(); frames come from the pool given there. Received mbufs are borrowed.
// Time:    the caller passes monotonic ns; no clock is read here, so a simulation can drive it.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_port.h>
#include <tl_wire.h>

struct tl_err;
struct tl_net;

#define TL_NET_GROUPS_MAX 16384
#define TL_NET_CONNS_MAX (UINT32_C(1) << 21)
#define TL_NET_UDP_MAX 4096

#define TL_NET_NEIGHBOURS 1024
#define TL_NET_NEIGHBOURS_MAX 65536

// A neighbour with a configured MAC.
struct tl_net_neighbour {
	uint32_t ip_be;
	struct tl_ip6 ip6; // used instead of ip_be when set
	uint8_t mac[TL_ETHER_ADDR_LEN];
};

struct tl_net_cfg {
	const char *name;	  // borrowed for the call; for messages and memory zones
	struct tl_txq *tx;	  // borrowed for life; of the same lcore
	struct rte_mempool *pool; // borrowed for life; data room >= mtu + 14, + 18 with a VLAN
	uint32_t pool_users;	  // stacks that share the pool, and its limits for held mbufs; 0: 1
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint32_t ip_be, mask_be;    // 0: no IPv4
	uint32_t gateway_be;	    // 0: none, only the prefix is reachable
	struct tl_ip6 ip6;	    // ::: no IPv6. A link-local address from the MAC (RFC 4291) is added
	uint8_t ip6_bits;	    // prefix length of ip6, 1..128
	struct tl_ip6 gateway6;	    // ::: none
	uint16_t vlan;		    // VLAN of every frame (IEEE 802.1Q), 1..4094; 0: untagged
	uint16_t mtu;		    // IP packet, bytes; 576..9600, with IPv6 at least 1280
	uint8_t ttl;		    // unicast TTL or hop limit; 0: 64 (RFC 1700)
	uint8_t dscp;		    // DSCP of everything except IGMP, ND and MLD, 0..63 (RFC 2474)
	uint32_t max_conns;	    // TCP connections at once, TIME-WAIT included; 1..TL_NET_CONNS_MAX
	uint32_t send_buffer_bytes; // send buffer per TCP connection, a power of two, 4 KiB..16 MiB
	uint32_t groups;	    // IPv4 multicast groups joined at once, at most TL_NET_GROUPS_MAX; 0: 64
	uint32_t udp_ports;	    // UDP ports open at once, at most TL_NET_UDP_MAX; 0: 16
	uint32_t udp_binds;	    // the same, each by the number of its groups; 0: udp_ports + groups
	uint32_t listeners;	    // TCP ports open at once, at most 65535; 0: 16
	uint32_t send_buffers;	    // connections with unacknowledged data at once; 0: all
	uint32_t own_buffers;	    // additional buffers for connections with tl_tcp_opts.own_buffer
	uint32_t neighbour_entries; // size of the neighbour table, 16..TL_NET_NEIGHBOURS_MAX; 0: TL_NET_NEIGHBOURS
	const struct tl_net_neighbour *neighbours; // borrowed for the call: static entries
	uint32_t n_neighbours;			   // at most half of neighbour_entries
	bool reassemble; // reassemble UDP datagrams from IPv4 fragments, 16 at once; false: fragments are only counted
	int socket_id;
	uint64_t seed; // 0 in service: secrets come from the kernel; otherwise the seed of a simulation, which
		       // determines them all
	// With several instances of one address, one per lcore, the followers do not announce, answer for or defend it,
	// and each connects only from local ports that RSS returns to it. may_connect NULL: from any.
	bool is_follower;
	bool (*may_connect)(void *ctx, uint32_t peer_be, uint16_t peer_port_be, uint16_t port_be);
	void *may_connect_ctx;
};

int tl_net_create(const struct tl_net_cfg *cfg, struct tl_net **out, struct tl_err *err);

// Abort open connections without sending, drop queued frames, free.
void tl_net_destroy(struct tl_net *net);

// Announce the addresses: gratuitous ARP (RFC 5227 section 3), sent with the next flush; IPv6 addresses become usable a
// second later if no other host has them (RFC 4862, section 5.4).
void tl_net_announce(struct tl_net *net, uint64_t mono_ns);

// After link up: announce the addresses and report the groups again, because switches may have lost them.
void tl_net_announce_again(struct tl_net *net, uint64_t mono_ns);

// HOT. Handle every frame of a parsed burst; the mbufs stay the caller's. Replies are pushed to tx, not flushed.
void tl_net_input(struct tl_net *net, struct tl_burst *burst);

// HOT. Handle only frames from..to-1; the others need not be parsed yet. For a burst in parts, in order, with a flush
// after each; deferred ACKs follow the last frame of the burst.
void tl_net_input_part(struct tl_net *net, struct tl_burst *burst, uint16_t from, uint16_t to);

// HOT. Do the deferred bookkeeping. Call it after the flush of the frames pushed by tl_net_input().
void tl_net_sent(struct tl_net *net);

// Run the timers of ARP, IGMP and TCP. Call at least every millisecond; frames are pushed to tx, not flushed.
void tl_net_tick(struct tl_net *net, uint64_t mono_ns);

// HOT. Read and set the time of the stack, which input and tick set, for what is sent in between. A time before the
// stack's has no effect.
uint64_t tl_net_now(const struct tl_net *net);
void tl_net_set_time(struct tl_net *net, uint64_t mono_ns);

// Resolve the next hop of a host. Return 0; -EAGAIN: a request is pushed to tx; -EHOSTUNREACH: off the prefix and no
// gateway.
int tl_net_resolve(struct tl_net *net, uint32_t dst_ip_be);

// Write name and value of each counter; return their number (at most max). Each frame given to tl_net_input() ends in
// exactly one counter named "rx_…" (handled) or "drop_…" (not); they sum up to in_pkts.
unsigned tl_net_counters(const struct tl_net *net, struct tl_counter *out, unsigned max);

// Return the number of an IPv6 address, host or group, valid for the life of net; 0: no IPv6, or too many (4096).
uint32_t tl_net_ip6(struct tl_net *net, const struct tl_ip6 *ip);

// HOT. Return the number of an IPv6 host for a call at once: received frames may reassign it. 0: no IPv6, or none free.
uint32_t tl_net_ip6_passing(struct tl_net *net, const struct tl_ip6 *ip);

// Translate a number from net to its IPv6 address. False: not such a number.
bool tl_net_ip6_of(const struct tl_net *net, uint32_t ip_be, struct tl_ip6 *out);

// ---- UDP

struct tl_udp; // one bound port

struct tl_udp_datagram {
	const uint8_t *payload; // borrowed for the call
	uint16_t len;
	uint16_t src_port_be;
	uint32_t src_ip_be;
	uint32_t dst_ip_be;
};

// Bind. group_be 0: unicast to our address; else the group is joined (source_be 0: from any source). fn runs on the
// lcore from within tl_net_input(). Return 0, -EADDRINUSE, -ENOSPC (cfg.udp_ports, cfg.udp_binds, cfg.groups),
// -EINVAL.
int tl_udp_open(struct tl_net *net, uint32_t group_be, uint32_t source_be, uint16_t port_be,
	void (*fn)(void *ctx, const struct tl_udp_datagram *datagram), void *ctx, struct tl_udp **out);

// Bind n consecutive groups from first_group_be on, of IPv4 if n > 1.
int tl_udp_open_groups(struct tl_net *net, uint32_t first_group_be, uint32_t n, uint32_t source_be, uint16_t port_be,
	void (*fn)(void *ctx, const struct tl_udp_datagram *datagram), void *ctx, struct tl_udp **out);

// Report the outcomes of datagrams after tl_udp_send(). For those that wait for their next hop it returns TL_UDP_HELD,
// and held is called once for each, with left set if it was sent: from within tl_net_input(), tl_net_tick(),
// tl_udp_send() or tl_udp_close(). dropped is called for each sent one that the send queue drops, also after
// tl_udp_close(), until the net is destroyed.
enum { TL_UDP_HELD = 1 };
void tl_udp_watch(
	struct tl_udp *udp, void (*held)(void *ctx, uint16_t len, bool left), void (*dropped)(void *ctx, uint16_t len));

// Leave the groups. udp is invalid afterwards.
void tl_udp_close(struct tl_udp *udp);

// HOT. Send one datagram from the bound port, copied. Return 0, -EMSGSIZE (over mtu - 28, IPv6: - 48), -ENOBUFS (no
// mbuf, or no room in the queue), or -EHOSTUNREACH (off the prefix and no gateway). While the next hop is unresolved
// the last datagram is held.
int tl_udp_send(struct tl_udp *udp, uint32_t dst_ip_be, uint16_t dst_port_be, const void *payload, uint16_t len);

// MAC addresses of the joined groups, for the port's filter; returns their number.
unsigned tl_net_group_macs(const struct tl_net *net, uint8_t (*out)[TL_ETHER_ADDR_LEN], unsigned max);
