// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Declarations shared by the files of net: the instance, its counters, output from a protocol to the wire.

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_ip6_book.h>
#include <tl_net.h>
#include <tl_tcp.h>
#include <tl_wire.h>

struct tl_mcast;
struct tl_arp_table;
struct tl_frag_table;
struct tl_tcp_table;

// Counters, one per line: the field of struct tl_net_stats and its public name. "rx_" and "drop_" lines partition
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
	X(drop_other_pkts)    /* unsupported protocol */                                                               \
	X(drop_not_ours_pkts) /* other MAC or IP address, group or source not joined */                                \
	X(drop_malformed_pkts)                                                                                         \
	X(drop_cksum_pkts)                                                                                             \
	X(rx_frag_pkts)	       /* stored for reassembly */                                                             \
	X(drop_fragment_pkts)  /* not UDP, or reassembly is off */                                                     \
	X(drop_segmented_pkts) /* mbuf chain: larger than the port's buffers */                                        \
	X(drop_vlan_pkts)      /* tag differs from the port's VLAN */                                                  \
	X(drop_untagged_pkts)  /* untagged on a port with a VLAN */                                                    \
	X(drop_udp_no_port_pkts)                                                                                       \
	X(drop_frag_duplicate_pkts)                                                                                    \
	X(drop_frag_overlap_pkts) /* conflicts with another fragment, or of a refused datagram */                      \
	X(frag_datagrams)	  /* started: reassembled, refused, evicted, expired or incomplete */                  \
	X(frag_reassembled)	  /* complete; delivered except for the next two */                                    \
	X(frag_bad_udp)		  /* wrong checksum or length */                                                       \
	X(frag_no_port)                                                                                                \
	X(frag_refused) /* conflicting fragments */                                                                    \
	X(frag_evicted) /* replaced by newer datagrams */                                                              \
	X(frag_expired) /* incomplete at the timeout */                                                                \
	X(nombuf)	/* frames not sent: no mbuf */                                                                 \
	X(tcp_tx_full)	/* segments delayed: TX ring full */                                                           \
	X(arp_requests_tx)                                                                                             \
	X(arp_replies_tx)                                                                                              \
	X(arp_unresolved_pkts) /* held for an unresolved neighbour, and dropped */                                     \
	X(arp_table_full_pkts) /* not held for a MAC: table full, or too many mbufs held */                            \
	X(arp_conflicts_pkts)  /* another host claims our address */                                                   \
	X(icmp_replies_tx)                                                                                             \
	X(icmp6_replies_tx)                                                                                            \
	X(nd_solicitations_tx)                                                                                         \
	X(nd_advertisements_tx)                                                                                        \
	X(nd_conflicts_pkts)	  /* another host claims an address of ours */                                         \
	X(nd_duplicate_addresses) /* addresses given up after a conflict */                                            \
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
	X(tcp_sacks_rx)	 /* ACKs with a new SACK block */                                                              \
	X(tcp_sacks_tx)	 /* segments with SACK blocks */                                                               \
	X(tcp_dsacks_rx) /* spurious retransmissions */                                                                \
	X(tcp_dsacks_tx) /* duplicates reported */                                                                     \
	X(tcp_dup_acks_rx)                                                                                             \
	X(tcp_challenge_acks_tx)                                                                                       \
	X(tcp_out_of_window_pkts)                                                                                      \
	X(tcp_old_timestamp_pkts)  /* PAWS */                                                                          \
	X(tcp_no_timestamp_pkts)   /* missing although negotiated */                                                   \
	X(tcp_out_of_order_pkts)   /* held until the gap was filled */                                                 \
	X(tcp_ooo_dropped_pkts)	   /* no room: the peer retransmits */                                                 \
	X(tcp_no_send_buffer_pkts) /* no buffer for a reply: the peer retransmits */                                   \
	X(tcp_window_probes_tx)                                                                                        \
	X(tcp_keepalives_tx)                                                                                           \
	X(tcp_path_mtu_drops)  /* MSS reductions */                                                                    \
	X(tcp_syn_cookies_tx)  /* SYNs answered by a cookie */                                                         \
	X(tcp_syn_cookies_rx)  /* valid ACKs of cookies */                                                             \
	X(tcp_half_open_drops) /* handshakes evicted by such an ACK */                                                 \
	X(tcp_backlog_drops)   /* SYN beyond max_conns */                                                              \
	X(tcp_time_wait_reused)

struct tl_net_stats {
#define X(field) uint64_t field;
	TL_NET_COUNTERS(X)
#undef X
};

// The latest accepted sender to an IPv6 group: a datagram from it needs no look-up of either address.
struct tl_udp_sender6 {
	uint64_t sum;	  // of the pseudo-header without the length
	uint32_t src_be;  // referenced number of the sender
	uint32_t port_be; // destination port; UINT32_MAX: no sender is known
	struct tl_ip6 src, dst;
};

struct tl_udp {
	struct tl_net *net;
	uint32_t group_be, source_be;
	uint32_t n_groups;    // consecutive groups
	uint32_t first_group; // group_be in host order
	uint16_t port_be;     // 0: slot free
	void (*fn)(void *ctx, const struct tl_udp_datagram *datagram);
	void *ctx;
	uint32_t n_shared;	// groups that another port takes, too: none of the datagrams is taken by the fast path
	struct tl_udp *next_v6; // of those with a group of IPv6, in their bucket
	void (*held_fn)(void *ctx, uint16_t len, bool left); // tl_udp_watch(); or NULL
	uint32_t n_held;				     // datagrams that wait for a next hop
	void (*dropped_fn)(void *ctx, uint16_t len);	     // the same; kept with ctx while the slot is free
	uint64_t known_src_be;				     // latest accepted sender; UINT64_MAX: none
	struct tl_udp_sender6 sender6;			     // the same for IPv6
	struct tl_udp *next_free;			     // of the free slots
};

// A group of a port, or a unicast port, among all of a net.
struct tl_udp_bind {
	uint64_t key; // of the group, 0: unicast, and the port; 0: free
	struct tl_udp *udp;
	struct tl_udp_bind *next; // in its bucket, in the order of opening; or of the free ones
};

struct tl_udp_table {
	struct tl_udp *slot; // n_slots
	struct tl_udp *free_slot;
	uint32_t n_slots;
	struct tl_udp_bind *bind, *free;
	struct tl_udp_bind **bucket; // by group and port
	struct tl_udp **bucket6;     // by address of an IPv6 group, and port
	unsigned shift;		     // of a hash of 64 bits to the index of a bucket
};

enum tl_ip6_state {
	TL_IP6_NONE,
	TL_IP6_TENTATIVE, // duplicate address detection runs
	TL_IP6_VALID,
	TL_IP6_DUPLICATE, // another host uses it
};

// An own IPv6 address.
struct tl_ip6_own {
	struct tl_ip6 ip, solicited; // solicited: its solicited-node group (RFC 4291, section 2.7.1)
	uint8_t state;		     // enum tl_ip6_state
	uint8_t left;		     // remaining solicitations, then advertisements
	uint64_t due_ns;
};

struct tl_ip6_host {
	struct tl_ip6_book book;
	struct tl_mcast *mld;
	struct tl_ip6_own own[2]; // configured; link-local, unless the first is
	uint8_t prefix_bits;
	uint32_t gateway_be; // address number
	uint32_t all_nodes_be;
	uint32_t n_kept;      // numbers that are never released
	uint64_t deadline_ns; // earliest due_ns of own[]
};

// Payload of a frame of this burst and its one's-complement sum, derived from a checksum found right (RFC 1624): a
// reply need not sum it again. The frames of a burst are all in memory at once, so the address identifies the payload.
struct tl_net_summed {
	const uint8_t *data; // NULL: none
	uint64_t sum;	     // in memory order, not folded
	uint32_t len;
};

typedef void (*tl_net_take_one)(struct tl_net *net, struct tl_burst *burst);

struct tl_net {
	struct tl_net_stats stats;
	struct tl_net_cfg cfg;
	char name[32];
	uint64_t mac_bits;	    // cfg.mac in the upper 48 bits, in memory order
	uint32_t tag_be;	    // EtherType and cfg.vlan, if that is not 0
	uint32_t broadcast_be;	    // directed broadcast; UINT32_MAX: none
	uint64_t now_ns;	    // set at the start of input() and tick()
	uint64_t rng;		    // seeded by a simulation
	uint32_t arp_generation;    // changes when a cached MAC may be stale: invalidates TCP's header templates
	struct tl_arp_table *arp;   // neighbours of both families
	struct tl_frag_table *frag; // NULL: fragments are only counted
	struct tl_mcast *mcast;
	struct tl_ip6_host *ip6; // NULL: no IPv6
	struct tl_tcp_table *tcp;
	uint32_t n_notes;	// deferred TCP bookkeeping
	struct rte_mbuf *spare; // allocated ahead for the first segment; NULL: none, as while there are notes
	struct tl_net_summed summed;
	struct tl_udp *latest;	// of the ports bound alone to their groups, the last that was looked up; or NULL
	struct tl_udp *latest6; // the same for groups of IPv6
	const tl_net_take_one *take_one; // by kind of frame, for a burst of one
	bool tcp_pending;		 // connections are pending at the end of the burst
	struct tl_udp_table udp;
};

// This stack's part of 1/share of the pool.
static inline uint32_t tl_net_pool_part(const struct tl_net *net, uint32_t share)
{
	return net->cfg.pool->size / share / net->cfg.pool_users;
}

// Draw n secret words, from the kernel or from the simulation's seed. Return 0 or -errno.
int tl_net_secret(struct tl_net *net, uint64_t *words, uint32_t n);

// True for limited or directed broadcast, which we neither send nor accept; a /31 and a /32 have none (RFC 3021).
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

// HOT. Check a received frame, and process it or count why not: for frames that no fast path takes.
void tl_net_take_frame(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);

// Choose the functions of tl_net_input(), by the port's VLAN.
void tl_net_choose_input(struct tl_net *net);

// ---- ip output, for both families

// HOT. Length of the IP header to ip_be.
static inline uint16_t tl_ip_len(uint32_t ip_be)
{
	return TL_UNLIKELY(tl_ip_is6(ip_be)) ? TL_IPV6_LEN : TL_IPV4_LEN;
}

// HOT. Sum of the pseudo-header to dst_be.
uint32_t tl_ip6_pseudo(const struct tl_net *net, uint32_t dst_be, uint8_t proto, uint16_t l4_len);
static inline uint32_t tl_ip_pseudo(const struct tl_net *net, uint32_t dst_be, uint8_t proto, uint16_t l4_len)
{
	if (TL_UNLIKELY(tl_ip_is6(dst_be)))
		return tl_ip6_pseudo(net, dst_be, proto, l4_len);
	return tl_cksum_pseudo(net->cfg.ip_be, dst_be, proto, l4_len);
}

// HOT. Checksum of len bytes of TCP or UDP behind the headers of m, with a checksum field of 0; or the value that
// checksum offload needs in the field. Short segments are summed in software.
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

// HOT. Insert the port's tag into an untagged frame.
static inline void tl_vlan_tag(const struct tl_net *net, struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint64_t head; // of both addresses
	uint32_t rest;
	_Static_assert(offsetof(struct tl_ether_hdr, type_be) == sizeof(head) + sizeof(rest), "addresses");
	_Static_assert(RTE_PKTMBUF_HEADROOM >= TL_VLAN_LEN, "own frames begin after the headroom");

	if (m->ol_flags != 0) // with checksum offload
		m->l2_len += TL_VLAN_LEN;
	m->data_off -= TL_VLAN_LEN;
	m->data_len += TL_VLAN_LEN;
	m->pkt_len += TL_VLAN_LEN;
	memcpy(&head, frame, sizeof(head));
	memcpy(&rest, frame + sizeof(head), sizeof(rest));
	memcpy(frame - TL_VLAN_LEN, &head, sizeof(head));
	memcpy(frame - TL_VLAN_LEN + sizeof(head), &rest, sizeof(rest));
	memcpy(frame - TL_VLAN_LEN + sizeof(head) + sizeof(rest), &net->tag_be, sizeof(net->tag_be));
}

// HOT. Queue a complete frame, tagged if the port is; owns m.
static inline void tl_net_push(struct tl_net *net, struct rte_mbuf *m)
{
	if (net->cfg.vlan != 0)
		tl_vlan_tag(net, m);
	tl_txq_push(net->cfg.tx, m);
}
// HOT. The same for a frame that has the tag.
static inline void tl_net_push_tagged(struct tl_net *net, struct rte_mbuf *m)
{
	tl_txq_push(net->cfg.tx, m);
}
#pragma GCC poison tl_txq_push // use tl_net_push(), which tags

// HOT. Write Ethernet (without destination) and IP headers for l4_len bytes of proto to dst at the start of m, set
// pkt_len/data_len, finish the IP checksum, and return the start of the L4 header. Frames shorter than 60 bytes are
// padded with zeros.
uint8_t *tl_ip_build(struct tl_net *net, struct rte_mbuf *m, uint8_t proto, uint32_t dst_be, uint16_t l4_len);

// HOT. Resolve the next hop of a frame from tl_ip_build() and push it; owns m in every case. While the next hop is
// unresolved the latest frame per neighbour is held. Return 0 (sent or held) or -EHOSTUNREACH.
int tl_ip_output(struct tl_net *net, struct rte_mbuf *m, uint32_t dst_be);

// HOT. The MAC for dst_be (next hop or multicast), if it is known. False: unresolved.
bool tl_ip_next_hop_mac(struct tl_net *net, uint32_t dst_be, uint8_t mac[TL_ETHER_ADDR_LEN]);

// False for an own or broadcast address, or off the prefix without a gateway. Multicast groups are always reachable.
bool tl_ip_reachable(const struct tl_net *net, uint32_t dst_be);

// HOT. Next hop to the host dst_be; 0: none.
uint32_t tl_ip_next_hop_be(const struct tl_net *net, uint32_t dst_be);

// HOT. Set the length of m, at least the minimum of Ethernet.
void tl_ip_set_len(struct rte_mbuf *m, uint16_t len);

// HOT. True if the L4 checksum is right. The NIC's flag is used for UDP and TCP only: some NICs report "good" for
// packets that they did not check.
bool tl_net_cksum_ok(const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt, uint8_t kind);

// HOT. The same for an untagged UDP datagram or TCP segment over IPv4, with the length of its L4 header. True for no
// frame with a stripped tag. The payload's sum of a long frame is noted.
#define TL_NET_SUM_BYTES 64 // up to here the sum is computed in place
bool tl_net_long_sum_ok(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt);
// HOT. True if the device has not judged the checksum, and left all tags in the frame.
static inline bool tl_net_sum_is_ours(const struct rte_mbuf *m)
{
	return (m->ol_flags & (RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_VLAN_STRIPPED)) == 0;
}
// HOT. True if the frame is short, without a verdict of the device, and its sum is right. False: call the other one.
static inline bool tl_net_short_sum_ok(
	const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt, uint8_t proto, uint32_t l4_len)
{
	uint64_t sum = (uint64_t)pkt->src_be + pkt->dst_be + tl_be16(proto) + tl_be16((uint16_t)l4_len);

	return l4_len <= TL_NET_SUM_BYTES && tl_net_sum_is_ours(m) &&
	       tl_cksum_is_right(tl_cksum_add_some(sum, frame + pkt->l4_off, l4_len));
}
static inline bool tl_net_sum_ok(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame,
	const struct tl_pkt *pkt, uint8_t proto, uint32_t header_len)
{
	uint32_t l4_len = header_len + pkt->payload_len;

	if (TL_LIKELY(tl_net_short_sum_ok(m, frame, pkt, proto, l4_len)))
		return true;
	if (l4_len > TL_NET_SUM_BYTES || (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		return tl_net_long_sum_ok(net, m, frame, pkt);
	return tl_net_cksum_ok(m, frame, pkt, pkt->kind); // the device's word, or there is none
}

// ---- ip6
int tl_ip6_init(struct tl_net *net);
void tl_ip6_fini(struct tl_net *net);
// HOT. Return the counter of the reason to drop a TL_PKT_IP6; NULL: accept. Then process it.
uint64_t *tl_ip6_refuse(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt);
void tl_ip6_input(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);
// HOT. Own source address for dst_be; never NULL.
static inline const struct tl_ip6_own *tl_ip6_source(const struct tl_net *net, uint32_t dst_be)
{
	const struct tl_ip6_own *own = net->ip6->own;
	bool local = (uint8_t)dst_be == TL_IP6_LINK_LOCAL;

	return &own[local && own[1].state != TL_IP6_NONE];
}
struct tl_ip6_own *tl_ip6_find_own(struct tl_net *net, const struct tl_ip6 *ip);
uint32_t tl_ip6_next_hop_be(const struct tl_net *net, uint32_t dst_be);
// HOT. Same as tl_ip_build().
struct tl_ip6_packet {
	const struct tl_ip6 *src, *dst;
	uint8_t next, hop_limit;
	uint16_t len; // bytes behind the header
	uint8_t dscp;
};
uint8_t *tl_ip6_build(struct tl_net *net, struct rte_mbuf *m, const struct tl_ip6_packet *packet);
// Set the checksum of an ICMPv6 message whose IPv6 header is at ip.
void tl_icmp6_finish(const struct tl_ipv6_hdr *ip, void *icmp, uint16_t len);
// Push to a group.
void tl_ip6_push_group(struct tl_net *net, struct rte_mbuf *m, const struct tl_ip6 *group);
void tl_icmp6_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
void tl_mld_send(void *ctx, uint32_t dst_be, const uint8_t *mld, uint16_t len); // a tl_mcast_send_fn

// ---- nd: neighbour discovery
void tl_nd_announce(struct tl_net *net);
void tl_nd_announce_again(struct tl_net *net); // own valid addresses
void tl_nd_tick(struct tl_net *net);
void tl_nd_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
// Solicit the neighbour: unicast to mac, or multicast if NULL.
void tl_nd_solicit(struct tl_net *net, uint32_t target_be, const uint8_t *mac);
// Confirm the next hop of dst_be: data sent to it was acknowledged (RFC 4861, section 7.3.1).
void tl_nd_confirm(struct tl_net *net, uint32_t dst_be);

// ---- arp
void tl_arp_input(struct tl_net *net, const uint8_t *packet); // ARP header first
void tl_arp_announce(struct tl_net *net);
void tl_arp_announce_tick(struct tl_net *net);

// ---- neighbour table of both families
int tl_arp_init(struct tl_net *net);
void tl_arp_fini(struct tl_net *net);
int tl_arp_add_static(struct tl_net *net); // configured entries; 0 or -ENOSPC
void tl_arp_tick(struct tl_net *net);
// HOT. Look up the MAC of next_hop_be. False: unresolved.
bool tl_arp_lookup(struct tl_net *net, uint32_t next_hop_be, uint8_t mac[TL_ETHER_ADDR_LEN]);
// Hold m (owned) for next_hop_be and request its MAC.
void tl_arp_hold(struct tl_net *net, uint32_t next_hop_be, struct rte_mbuf *m);
// Pin the next hop to dst_be while a connection lives; returns its address for tl_arp_unuse(), or 0: unreachable or no
// room.
uint32_t tl_arp_use(struct tl_net *net, uint32_t dst_be);
void tl_arp_unuse(struct tl_net *net, uint32_t next_hop_be);

// ---- frag
int tl_frag_init(struct tl_net *net);
void tl_frag_fini(struct tl_net *net);
// Take a fragment to us, from its IPv4 header on. It ends in exactly one rx_ or drop_ counter; a completed datagram is
// handed to its UDP port.
void tl_frag_input(struct tl_net *net, const uint8_t *packet);
void tl_frag_tick(struct tl_net *net);

// ---- igmp: passes received messages with their IP header fields to mcast; adds headers to messages of mcast and
// pushes them (a tl_mcast_send_fn, ctx is the net)
void tl_igmp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
#define TL_IGMP_IP_LEN (TL_IPV4_LEN + 4u) // with the Router Alert option
void tl_igmp_send(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len);

// ---- icmp, udp
void tl_icmp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt);
bool tl_udp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt); // false: no such port
// Report that a held datagram was sent, or dropped.
void tl_udp_held_ends(struct tl_net *net, const struct rte_mbuf *m, bool left);

// HOT. Report a frame that the send queue dropped to its port, if it is a datagram.
void tl_udp_dropped(void *net, const struct rte_mbuf *m);

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

// HOT. Key of a group, or 0, and port; its bucket; that of an IPv6 group and port. What is in them is configured: the
// hash needs no key.
#define TL_UDP_HASH UINT64_C(0x9e3779b97f4a7c15)
static inline uint64_t tl_udp_key(uint32_t group_be, uint16_t port_be)
{
	return (uint64_t)group_be << 16 | port_be;
}
static inline struct tl_udp_bind **tl_udp_bucket(const struct tl_net *net, uint64_t key)
{
	return &net->udp.bucket[key * TL_UDP_HASH >> net->udp.shift];
}
static inline struct tl_udp **tl_udp_bucket6(const struct tl_net *net, const struct tl_ip6 *group, uint32_t port_be)
{
	uint64_t word[2];

	memcpy(word, group, sizeof(word));
	return &net->udp.bucket6[((word[0] ^ port_be) * TL_UDP_HASH + word[1]) * TL_UDP_HASH >> net->udp.shift];
}

// HOT. Find the only port for a datagram to a group. NULL: none, or several.
struct tl_udp *tl_udp_look_up(struct tl_net *net, const struct tl_pkt *pkt);
static inline struct tl_udp *tl_udp_find_unique(struct tl_net *net, const struct tl_pkt *pkt)
{
	struct tl_udp *udp = net->latest;

	if (TL_UNLIKELY(udp == NULL || udp->port_be != pkt->dst_port_be ||
			tl_be32(pkt->dst_be) - udp->first_group >= udp->n_groups))
		return tl_udp_look_up(net, pkt);
	return udp;
}

// HOT. Note the sender of an accepted datagram over IPv6, with the numbers of its addresses.
void tl_udp_note_sender6(struct tl_net *net, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt);

// HOT. Find the only port for a datagram to an IPv6 group, if its sender is noted. NULL: it is not. The second looks
// only at the port found last.
struct tl_udp *tl_udp_look_up6(struct tl_net *net, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt);
static inline bool tl_udp_is_noted(const struct tl_udp *udp, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt)
{
	return udp->sender6.port_be == pkt->dst_port_be && tl_ip6_equal(&udp->sender6.src, &ip->src) &&
	       tl_ip6_equal(&udp->sender6.dst, &ip->dst);
}
static inline struct tl_udp *tl_udp_same6(
	const struct tl_net *net, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt)
{
	struct tl_udp *udp = net->latest6;

	return udp != NULL && tl_udp_is_noted(udp, ip, pkt) ? udp : NULL;
}

// udp.c
int tl_udp_init(struct tl_net *net);
void tl_udp_fini(struct tl_net *net);

// ---- tcp
int tl_tcp_init(struct tl_net *net);
void tl_tcp_fini(struct tl_net *net);
// HOT. m is borrowed; an out-of-order segment is held by a reference. The checksum has been verified.
void tl_tcp_input(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt);
// HOT. Verify and process an IPv4 segment to our address, whose tag is the port's, if its connection expects it. Calls
// tl_net_take_frame() otherwise.
void tl_tcp_take_expected(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);
// HOT. The same for an IPv6 frame with a segment, to any address, without and with a tag.
void tl_tcp_take_expected6(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);
void tl_tcp_take_tagged6(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);
// HOT. Do the deferred bookkeeping: before any other access to a connection, and before now_ns moves.
void tl_tcp_settle_notes(struct tl_net *net);

static inline void tl_tcp_settle(struct tl_net *net)
{
	if (TL_UNLIKELY(net->n_notes != 0))
		tl_tcp_settle_notes(net);
}

// HOT. After the last frame of a burst, before tl_net_input() returns: send the ACKs that no data carried.
void tl_tcp_burst_done(struct tl_net *net);
void tl_tcp_tick(struct tl_net *net);
// Take an ICMP destination unreachable (RFC 5461) with ports and sequence number of the quoted segment. Time exceeded
// and parameter problem count as code 0.
void tl_tcp_unreachable(
	struct tl_net *net, uint8_t code, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be, uint32_t seq);
// Take an ICMP fragmentation needed (RFC 1191) for a segment of was_bytes bytes, headers included. mtu is the next
// link's; 0: not reported.
void tl_tcp_too_big(struct tl_net *net, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be, uint32_t seq,
	uint16_t mtu, uint16_t was_bytes);
// End the handshakes through next_hop_be, which did not answer.
void tl_tcp_arp_failed(struct tl_net *net, uint32_t next_hop_be);
