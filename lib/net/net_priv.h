// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the files of net share: the instance, its counters, and the way down from a protocol to the wire.

#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include <tl_ip6_book.h>
#include <tl_net.h>
#include <tl_tcp.h>
#include <tl_wire.h>

struct tl_mcast;
struct tl_arp_table;
struct tl_frag_table;
struct tl_tcp_table;

#define TL_UDP_MAX 16

// One line per counter: the field of struct tl_net_stats and its public name. "rx_" and "drop_" lines partition
// in_pkts.
#define TL_NET_COUNTERS(X)                                                                                             \
	X(in_pkts)                                                                                                     \
	X(rx_arp_pkts)                                                                                                 \
	X(rx_icmp_pkts)                                                                                                \
	X(rx_igmp_pkts)                                                                                                \
	X(rx_udp_pkts)                                                                                                 \
	X(rx_tcp_pkts)                                                                                                 \
	X(rx_icmp6_pkts)                                                                                               \
	X(rx_nd_pkts) /* neighbour discovery */                                                                        \
	X(rx_mld_pkts)                                                                                                 \
	X(drop_other_pkts)    /* not for a protocol we speak */                                                        \
	X(drop_not_ours_pkts) /* other MAC or IP address, or a group or source we did not join */                      \
	X(drop_malformed_pkts)                                                                                         \
	X(drop_cksum_pkts)                                                                                             \
	X(rx_frag_pkts)	       /* taken in for a datagram */                                                           \
	X(drop_fragment_pkts)  /* not of UDP, or only counted */                                                       \
	X(drop_segmented_pkts) /* mbuf chain: larger than the port's buffers */                                        \
	X(drop_vlan_pkts)      /* tagged, and not as the port is */                                                    \
	X(drop_untagged_pkts)  /* the port has a VLAN */                                                               \
	X(drop_udp_no_port_pkts)                                                                                       \
	X(drop_frag_duplicate_pkts)                                                                                    \
	X(drop_frag_overlap_pkts) /* contradicts what came, or of a datagram that has been refused for that */         \
	X(frag_datagrams)	  /* begun: reassembled, refused, evicted, expired, or not complete yet */             \
	X(frag_reassembled)	  /* complete: for a port of ours but for the next two */                              \
	X(frag_bad_udp)		  /* wrong checksum or length */                                                       \
	X(frag_no_port)                                                                                                \
	X(frag_refused) /* their fragments overlap */                                                                  \
	X(frag_evicted) /* gave way to newer ones */                                                                   \
	X(frag_expired) /* not complete in time */                                                                     \
	X(nombuf)	/* a frame we wanted to send found no mbuf */                                                  \
	X(tcp_tx_full)	/* segments that waited, for a burst did in the port's queue */                                \
	X(arp_requests_tx)                                                                                             \
	X(arp_replies_tx)                                                                                              \
	X(arp_unresolved_pkts) /* waited for a neighbour that did not answer, or gave way to a newer one */            \
	X(arp_table_full_pkts) /* found no place to wait for a MAC: no entry is free, or too many mbufs wait */        \
	X(arp_conflicts_pkts)  /* another host claims our address */                                                   \
	X(icmp_replies_tx)                                                                                             \
	X(icmp6_replies_tx)                                                                                            \
	X(nd_solicitations_tx)                                                                                         \
	X(nd_advertisements_tx)                                                                                        \
	X(nd_conflicts_pkts)	  /* another host claims an address of ours */                                         \
	X(nd_duplicate_addresses) /* that we gave up for this */                                                       \
	X(tcp_active_opens)                                                                                            \
	X(tcp_passive_opens)                                                                                           \
	X(tcp_established)                                                                                             \
	X(tcp_closed)                                                                                                  \
	X(tcp_resets_rx)                                                                                               \
	X(tcp_resets_tx)                                                                                               \
	X(tcp_segments_tx)                                                                                             \
	X(tcp_retransmits)                                                                                             \
	X(tcp_timeouts) /* RTO expiries */                                                                             \
	X(tcp_tail_probes_tx)                                                                                          \
	X(tcp_sacks_rx)	 /* ACKs that named something new beyond a hole */                                             \
	X(tcp_sacks_tx)	 /* segments that named what is held beyond a hole, or came twice */                           \
	X(tcp_dsacks_rx) /* what we sent twice needlessly */                                                           \
	X(tcp_dsacks_tx) /* what came twice */                                                                         \
	X(tcp_dup_acks_rx)                                                                                             \
	X(tcp_challenge_acks_tx)                                                                                       \
	X(tcp_out_of_window_pkts)                                                                                      \
	X(tcp_old_timestamp_pkts)  /* PAWS */                                                                          \
	X(tcp_no_timestamp_pkts)   /* though both sides had agreed on them */                                          \
	X(tcp_out_of_order_pkts)   /* held until the gap was filled */                                                 \
	X(tcp_ooo_dropped_pkts)	   /* no room to hold them: the peer sends again */                                    \
	X(tcp_no_send_buffer_pkts) /* not taken, for the answer had no buffer: the peer sends again */                 \
	X(tcp_window_probes_tx)                                                                                        \
	X(tcp_keepalives_tx)                                                                                           \
	X(tcp_path_mtu_drops)  /* segments made smaller to fit the path */                                             \
	X(tcp_syn_cookies_tx)  /* SYNs answered without remembering them */                                            \
	X(tcp_syn_cookies_rx)  /* and ACKs of those */                                                                 \
	X(tcp_half_open_drops) /* handshakes that gave way to such an ACK */                                           \
	X(tcp_backlog_drops)   /* SYN beyond max_conns */                                                              \
	X(tcp_time_wait_reused)

struct tl_net_stats {
#define X(field) uint64_t field;
	TL_NET_COUNTERS(X)
#undef X
};

struct tl_udp {
	struct tl_net *net;
	uint32_t group_be, source_be;
	uint32_t n_groups; // from group_be on
	uint16_t port_be;  // 0: slot free
	void (*fn)(void *ctx, const struct tl_udp_datagram *datagram);
	void *ctx;
	struct tl_udp *next_unique;
	void (*held_fn)(void *ctx, uint16_t len, bool left); // tl_udp_watch_held(); or NULL
	uint32_t n_held;				     // of which it has not heard
	uint64_t known_src_be;				     // who sent last, of those that may; UINT64_MAX: nobody
};

enum tl_ip6_state {
	TL_IP6_NONE,
	TL_IP6_TENTATIVE, // another host may have it
	TL_IP6_VALID,
	TL_IP6_DUPLICATE, // another host has it
};

// An IPv6 address of ours.
struct tl_ip6_own {
	struct tl_ip6 ip, solicited; // and the group of those who look for it (RFC 4291, section 2.7.1)
	uint8_t state;		     // enum tl_ip6_state
	uint8_t left;		     // solicitations, then advertisements, still to be sent
	uint64_t due_ns;
};

struct tl_ip6_host {
	struct tl_ip6_book book;
	struct tl_mcast *mld;
	struct tl_ip6_own own[2]; // as configured; link-local, unless the first is
	uint8_t prefix_bits;
	uint32_t gateway_be; // its number
	uint32_t all_nodes_be;
	uint32_t n_kept;      // numbers given out for good
	uint64_t deadline_ns; // nothing to do for own[] before
};

struct tl_net {
	struct tl_net_stats stats;
	struct tl_net_cfg cfg;
	char name[32];
	uint32_t broadcast_be; // of our prefix; UINT32_MAX: it has none
	uint64_t now_ns;       // set at the top of input() and tick(), and by open/connect calls' callers through those
	uint64_t rng;	       // of a simulation's seed
	uint32_t arp_generation;    // changes when a cached MAC may have become wrong: for TCP's header templates
	struct tl_arp_table *arp;   // neighbours of both families
	struct tl_frag_table *frag; // NULL: fragments are only counted
	struct tl_mcast *mcast;
	struct tl_ip6_host *ip6; // NULL: no IPv6
	struct tl_tcp_table *tcp;
	uint32_t n_notes;	// of TCP segments that were sent with work left to do
	struct rte_mbuf *spare; // taken from the pool beforehand, for the next of them; or NULL
	uint32_t n_udp;		// no port is bound from this slot on
	struct tl_udp *unique;	// ports of one group, to the same number of which no other is bound; no frame has a tag
	bool tcp_pending;	// a connection has something left to do at the end of the burst
	struct tl_udp udp[TL_UDP_MAX];
};

// The mbufs that this stack may hold back for one purpose: its part of that share of the pool.
static inline uint32_t tl_net_pool_part(const struct tl_net *net, uint32_t share)
{
	return net->cfg.pool->size / share / net->cfg.pool_users;
}

// Draws n secret words, from the kernel unless a simulation gave a seed. Returns 0 or -errno.
int tl_net_secret(struct tl_net *net, uint64_t *words, uint32_t n);

// Limited or directed broadcast, which we neither send nor take; a /31 and a /32 have none (RFC 3021).
static inline bool tl_ip_is_broadcast(const struct tl_net *net, uint32_t ip_be)
{
	return ip_be == UINT32_MAX || ip_be == net->broadcast_be;
}

static inline bool tl_ip_is_gateway(const struct tl_net *net, uint32_t ip_be)
{
	return ip_be != 0 && (ip_be == net->cfg.gateway_be || (net->ip6 != NULL && ip_be == net->ip6->gateway_be));
}

static inline bool tl_ip_on_link(const struct tl_net *net, uint32_t ip_be)
{
	return ((ip_be ^ net->cfg.ip_be) & net->cfg.mask_be) == 0;
}

// ---- ip: down to the wire. What follows takes addresses of both families.

// HOT. Of the header that goes before what is sent to ip_be.
static inline uint16_t tl_ip_len(uint32_t ip_be)
{
	return TL_UNLIKELY(tl_ip_is6(ip_be)) ? TL_IPV6_LEN : TL_IPV4_LEN;
}

// HOT. The pseudo-header of what we send to dst_be.
uint32_t tl_ip6_pseudo(const struct tl_net *net, uint32_t dst_be, uint8_t proto, uint16_t l4_len);
static inline uint32_t tl_ip_pseudo(const struct tl_net *net, uint32_t dst_be, uint8_t proto, uint16_t l4_len)
{
	if (TL_UNLIKELY(tl_ip_is6(dst_be)))
		return tl_ip6_pseudo(net, dst_be, proto, l4_len);
	return tl_cksum_pseudo(net->cfg.ip_be, dst_be, proto, l4_len);
}

// HOT. The checksum of len bytes of TCP or UDP to dst_be that stand behind the headers of m, their own field being 0;
// or what the device wants there, if it is to make it. What is short is summed sooner than that is said.
#define TL_IP_SUM_BYTES 128
uint16_t tl_ip_cksum(
	const struct tl_net *net, struct rte_mbuf *m, uint32_t dst_be, uint8_t proto, const void *l4, uint16_t len);
uint16_t tl_ip_ask_cksum(const struct tl_net *net, struct rte_mbuf *m, uint32_t dst_be, uint8_t proto, uint16_t len);
static inline bool tl_ip_asks_cksum(const struct tl_net *net, uint32_t len)
{
	return TL_UNLIKELY(len > TL_IP_SUM_BYTES && net->cfg.tx->checksums);
}

// HOT. An empty mbuf, or NULL (counted).
struct rte_mbuf *tl_net_alloc(struct tl_net *net);

// HOT. Puts the port's tag into a frame that has none.
void tl_vlan_tag(const struct tl_net *net, struct rte_mbuf *m);

// HOT. The way out of every frame, whole but for the tag; owns m.
static inline void tl_net_push(struct tl_net *net, struct rte_mbuf *m)
{
	if (net->cfg.vlan != 0)
		tl_vlan_tag(net, m);
	tl_txq_push(net->cfg.tx, m);
}
#pragma GCC poison tl_txq_push // past the tag

// HOT. Writes Ethernet (destination left blank) and IP headers for l4_len bytes of proto to dst at the start of m,
// sets pkt_len/data_len for everything, finishes the IP checksum, and returns where the L4 header goes. Frames shorter
// than 60 bytes are padded with zeros.
uint8_t *tl_ip_build(struct tl_net *net, struct rte_mbuf *m, uint8_t proto, uint32_t dst_be, uint16_t l4_len);

// HOT. Resolves the next hop of a frame from tl_ip_build() and pushes it; owns m in every case. While the next hop is
// unresolved the latest frame per neighbour is held. Returns 0 (sent or held) or -EHOSTUNREACH.
int tl_ip_output(struct tl_net *net, struct rte_mbuf *m, uint32_t dst_be);

// HOT. The MAC for dst_be (next hop or multicast), without asking the network. False: not known.
bool tl_ip_next_hop_mac(struct tl_net *net, uint32_t dst_be, uint8_t mac[TL_ETHER_ADDR_LEN]);

// False: no host but us is there (own address, broadcast), or it is off the prefix and there is no gateway. A multicast
// group is always reachable.
bool tl_ip_reachable(const struct tl_net *net, uint32_t dst_be);

// HOT. The on-link host that takes a frame for the host dst_be; 0: there is none.
uint32_t tl_ip_next_hop_be(const struct tl_net *net, uint32_t dst_be);

// HOT. Gives m its length, at least what Ethernet demands.
void tl_ip_set_len(struct rte_mbuf *m, uint16_t len);

// HOT. Whether the L4 checksum is right. A NIC's word counts for UDP and TCP only: some report "good" for what they did
// not look at.
bool tl_net_cksum_ok(const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt, uint8_t kind);

// ---- ip6
int tl_ip6_init(struct tl_net *net);
void tl_ip6_fini(struct tl_net *net);
// HOT. The counter of the reason to drop a TL_PKT_IP6; NULL: none. Then what becomes of it.
uint64_t *tl_ip6_refuse(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt);
void tl_ip6_input(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);
// HOT. Which of ours speaks to dst_be; never NULL.
const struct tl_ip6_own *tl_ip6_source(const struct tl_net *net, uint32_t dst_be);
struct tl_ip6_own *tl_ip6_find_own(struct tl_net *net, const struct tl_ip6 *ip);
uint32_t tl_ip6_next_hop_be(const struct tl_net *net, uint32_t dst_be);
// HOT. As tl_ip_build().
struct tl_ip6_packet {
	const struct tl_ip6 *src, *dst;
	uint8_t next, hop_limit;
	uint16_t len; // behind the header
	uint8_t dscp;
};
uint8_t *tl_ip6_build(struct tl_net *net, struct rte_mbuf *m, const struct tl_ip6_packet *packet);
// The checksum of an ICMPv6 message whose IPv6 header stands at ip.
void tl_icmp6_finish(const struct tl_ipv6_hdr *ip, void *icmp, uint16_t len);
// To a group.
void tl_ip6_push_group(struct tl_net *net, struct rte_mbuf *m, const struct tl_ip6 *group);
void tl_icmp6_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
void tl_mld_send(void *ctx, uint32_t dst_be, const uint8_t *mld, uint16_t len); // a tl_mcast_send_fn

// ---- nd: neighbour discovery
void tl_nd_announce(struct tl_net *net);
void tl_nd_announce_again(struct tl_net *net); // the addresses that are ours
void tl_nd_tick(struct tl_net *net);
void tl_nd_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
// Ask for the neighbour: mac, where it was, or NULL.
void tl_nd_solicit(struct tl_net *net, uint32_t target_be, const uint8_t *mac);
// Data that was sent to dst_be arrived, so its next hop is there (RFC 4861, section 7.3.1).
void tl_nd_confirm(struct tl_net *net, uint32_t dst_be);

// ---- arp
void tl_arp_input(struct tl_net *net, const uint8_t *packet); // from its ARP header on
void tl_arp_announce(struct tl_net *net);
void tl_arp_announce_tick(struct tl_net *net);

// ---- neighbour: the table of both families
int tl_arp_init(struct tl_net *net);
void tl_arp_fini(struct tl_net *net);
int tl_arp_add_static(struct tl_net *net); // the configured ones; 0 or -ENOSPC
void tl_arp_tick(struct tl_net *net);
// HOT. Whether next_hop_be is resolved; its MAC.
bool tl_arp_lookup(struct tl_net *net, uint32_t next_hop_be, uint8_t mac[TL_ETHER_ADDR_LEN]);
// Hold m (owned) for next_hop_be and ask for it.
void tl_arp_hold(struct tl_net *net, uint32_t next_hop_be, struct rte_mbuf *m);
// Keep the neighbour on the way to dst_be, as long as a connection lives; returns its address for tl_arp_unuse(), or 0:
// there is no way, or no room.
uint32_t tl_arp_use(struct tl_net *net, uint32_t dst_be);
void tl_arp_unuse(struct tl_net *net, uint32_t next_hop_be);

// ---- frag
int tl_frag_init(struct tl_net *net);
void tl_frag_fini(struct tl_net *net);
// A fragment to us, from its IPv4 header on. It ends in exactly one rx_ or drop_ counter; the datagram that it
// completes is handed to its UDP port.
void tl_frag_input(struct tl_net *net, const uint8_t *packet);
void tl_frag_tick(struct tl_net *net);

// ---- igmp: hands received messages to mcast with what their IP header says; puts the headers in front of a message of
// mcast and pushes it (a tl_mcast_send_fn, ctx is the net)
void tl_igmp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
#define TL_IGMP_IP_LEN (TL_IPV4_LEN + 4u) // with the Router Alert option
void tl_igmp_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len);

// ---- icmp, udp
void tl_icmp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
bool tl_udp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt); // false: no such port
// A frame that waited for its next hop leaves, or never will.
void tl_udp_held_ends(struct tl_net *net, const struct rte_mbuf *m, bool left);

static inline bool tl_udp_takes(const struct tl_udp *udp, uint32_t group_be, const struct tl_pkt *pkt)
{
	return udp->port_be == pkt->dst_port_be && tl_be32(group_be) - tl_be32(udp->group_be) < udp->n_groups &&
	       (udp->source_be == 0 || udp->source_be == pkt->src_be);
}

static inline void tl_udp_hand_over(const struct tl_udp *udp, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_udp_datagram datagram = {
		.payload = frame + pkt->payload_off,
		.len = pkt->payload_len,
		.src_port_be = pkt->src_port_be,
		.src_ip_be = pkt->src_be,
		.dst_ip_be = pkt->dst_be,
	};

	udp->fn(udp->ctx, &datagram);
}

// HOT. The one port for a datagram to a group, whoever sent it. NULL: there is none, or more than one may take it.
static inline struct tl_udp *tl_udp_find_unique(const struct tl_net *net, const struct tl_pkt *pkt)
{
	struct tl_udp *udp = net->unique;

	while (udp != NULL && (udp->port_be != pkt->dst_port_be || udp->group_be != pkt->dst_be))
		udp = udp->next_unique;
	return udp;
}

// ---- tcp
int tl_tcp_init(struct tl_net *net);
void tl_tcp_fini(struct tl_net *net);
// HOT. m is borrowed; a segment that came too early is kept by a reference. The checksum has been verified.
void tl_tcp_input(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt);
// HOT. Do that work. Before anything else looks at a connection, and before now_ns moves.
void tl_tcp_settle_notes(struct tl_net *net);

static inline void tl_tcp_settle(struct tl_net *net)
{
	if (TL_UNLIKELY(net->n_notes != 0))
		tl_tcp_settle_notes(net);
}

// HOT. After the last frame of a burst, before tl_net_input() returns: sends the ACKs that no data carried.
void tl_tcp_burst_done(struct tl_net *net);
void tl_tcp_tick(struct tl_net *net);
// ICMP destination unreachable about a segment of ours (RFC 5461): ports and sequence number of the quoted segment.
// Time exceeded and parameter problem are as soft as code 0.
void tl_tcp_unreachable(
	struct tl_net *net, uint8_t code, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be, uint32_t seq);
// ICMP fragmentation needed (RFC 1191) about a segment of ours that was was_bytes long, headers and all: mtu is the
// next link's, 0 from an old router.
void tl_tcp_too_big(struct tl_net *net, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be, uint32_t seq,
	uint16_t mtu, uint16_t was_bytes);
// ARP gave up on next_hop_be.
void tl_tcp_arp_failed(struct tl_net *net, uint32_t next_hop_be);
