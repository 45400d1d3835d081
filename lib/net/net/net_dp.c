// SPDX-License-Identifier: BSD-3-Clause
// Received frames: checks, then the protocol. Each frame ends in one rx_ or drop_ counter.

#include <string.h>

#include <rte_mbuf.h>

#include <tl_mcast.h>
#include <tl_port.h>

#include "net_priv.h"

// MAC filter: ours, broadcast, or a group (RFC 1112, section 6.4, RFC 2464); the group address is checked later.
static bool is_our_mac(const struct tl_net *net, const uint8_t *dst)
{
	static const uint8_t broadcast[TL_ETHER_ADDR_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t group[] = {0x01, 0x00, 0x5e}, group6[] = {0x33, 0x33};

	return memcmp(dst, net->cfg.mac, sizeof(net->cfg.mac)) == 0 || memcmp(dst, group, sizeof(group)) == 0 ||
	       memcmp(dst, broadcast, sizeof(broadcast)) == 0 || memcmp(dst, group6, sizeof(group6)) == 0;
}

static bool is_our_group(const struct tl_net *net, const struct tl_pkt *pkt)
{
	const uint32_t leaves_be = tl_be32(0xe0000002);	 // 224.0.0.2 and
	const uint32_t reports_be = tl_be32(0xe0000016); // 224.0.0.22: for routers only

	if (pkt->kind == TL_PKT_IGMP) // sent by a router, not by the group's source
		return pkt->dst_be != leaves_be && pkt->dst_be != reports_be;
	return pkt->kind != TL_PKT_TCP && tl_mcast_accepts(net->mcast, pkt->dst_be, pkt->src_be);
}

static bool is_our_ip(const struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	if (TL_LIKELY(pkt->dst_be == net->cfg.ip_be))
		return (frame[0] & 1) == 0 &&
		       pkt->dst_be != 0; // RFC 1122, section 3.3.6: not in a link-layer broadcast
	return tl_ipv4_is_mcast(pkt->dst_be) && is_our_group(net, pkt);
}

static inline bool is_host(const struct tl_net *net, uint32_t ip_be)
{
	uint8_t class_a = (uint8_t)ip_be;

	return (uint8_t)(class_a - 1) < 223 && class_a != 127 && ip_be != net->broadcast_be;
}

// RFC 1122, section 3.2.1.3. A snooping switch may query from 0.0.0.0 (RFC 4541, section 2.1.1).
static inline bool is_host_source(const struct tl_net *net, const struct tl_pkt *pkt)
{
	return is_host(net, pkt->src_be) || (pkt->kind == TL_PKT_IGMP && pkt->src_be == 0);
}

bool tl_net_cksum_ok(const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt, uint8_t kind)
{
	bool looked_at = kind == TL_PKT_UDP || kind == TL_PKT_TCP;

	if (looked_at && (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
		return true;
	return tl_wire_l4_cksum_ok(frame, pkt);
}

// The sum of a frame with a right checksum is 0: the payload's is the complement of that of the rest.
static void note_sum(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	uint32_t header_len = pkt->payload_off - pkt->l4_off;
	uint8_t proto = pkt->kind == TL_PKT_TCP ? TL_IPPROTO_TCP : TL_IPPROTO_UDP;
	uint64_t sum = (uint64_t)pkt->src_be + pkt->dst_be + tl_be16(proto) +
		       tl_be16((uint16_t)(header_len + pkt->payload_len));

	net->summed = (struct tl_net_summed){.data = frame + pkt->payload_off,
		.len = pkt->payload_len,
		.sum = tl_cksum_fold(tl_cksum_add_few(sum, frame + pkt->l4_off, header_len))};
}

bool tl_net_long_sum_ok(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_udp_hdr *udp = (const struct tl_udp_hdr *)(frame + pkt->l4_off);

	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 || !tl_net_cksum_ok(m, frame, pkt, pkt->kind))
		return false;
	if (pkt->payload_len > TL_NET_SUM_BYTES && (pkt->kind == TL_PKT_TCP || udp->cksum_be != 0))
		note_sum(net, frame, pkt);
	return true;
}

// Return the counter of the reason to drop an IPv4 packet; NULL: accept.
static uint64_t *refuse_ip(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct tl_net_stats *stats = &net->stats;

	if (!is_our_ip(net, frame, pkt) || pkt->src_be == net->cfg.ip_be)
		return &stats->drop_not_ours_pkts;
	if (!is_host_source(net, pkt))
		return &stats->drop_malformed_pkts;
	if (pkt->kind == TL_PKT_FRAG)
		return NULL; // without own checksum
	return tl_net_cksum_ok(m, frame, pkt, pkt->kind) ? NULL : &stats->drop_cksum_pkts;
}

// Return the counter of the reason to drop for its VLAN; NULL: accept. A port has one VLAN or none; the tag is in the
// frame, or in the mbuf if the device stripped it. Priority tags (VLAN 0, IEEE 802.1Q) are dropped.
static uint64_t *refuse_vlan(
	struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	bool stripped = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
	bool inside = pkt->l2_len > TL_ETHER_LEN;
	uint16_t tci = stripped ? m->vlan_tci : pkt->vlan_tci;
	const struct tl_ether_hdr *ether = (const struct tl_ether_hdr *)frame;

	if (pkt->l2_len == 0) // truncated in a tag
		return &net->stats.drop_malformed_pkts;
	if (!stripped && !inside)
		return net->cfg.vlan == 0 ? NULL : &net->stats.drop_untagged_pkts;
	if (stripped == inside || pkt->l2_len > TL_ETHER_LEN + TL_VLAN_LEN || (tci & TL_VLAN_ID) != net->cfg.vlan)
		return &net->stats.drop_vlan_pkts;
	if (net->cfg.vlan == 0 || (inside && ether->type_be != tl_be16(TL_ETHERTYPE_VLAN)))
		return &net->stats.drop_vlan_pkts;
	return NULL;
}

static uint64_t *refuse(struct tl_net *net, const struct rte_mbuf *m, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct tl_net_stats *stats = &net->stats;

	if (TL_UNLIKELY(m->nb_segs > 1))
		return &stats->drop_segmented_pkts;
	if (TL_UNLIKELY(m->data_len < TL_ETHER_LEN))
		return &stats->drop_malformed_pkts;
	if (!is_our_mac(net, frame))
		return &stats->drop_not_ours_pkts;
	if (TL_UNLIKELY(net->cfg.vlan != 0 || pkt->l2_len != TL_ETHER_LEN ||
			(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)) {
		uint64_t *dropped = refuse_vlan(net, m, frame, pkt);
		if (dropped != NULL)
			return dropped;
	}
	switch (pkt->kind) {
	case TL_PKT_ARP:
		return NULL;
	case TL_PKT_IP6:
		return tl_ip6_refuse(net, m, frame, pkt);
	case TL_PKT_OTHER:
		return &stats->drop_other_pkts;
	case TL_PKT_BAD:
		return &stats->drop_malformed_pkts;
	case TL_PKT_BAD_CKSUM:
		return &stats->drop_cksum_pkts;
	default:
		return refuse_ip(net, m, frame, pkt);
	}
}

static void handle(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	struct tl_net_stats *stats = &net->stats;

	switch (pkt->kind) {
	case TL_PKT_TCP:
		tl_count(&stats->rx_tcp_pkts, 1);
		tl_tcp_input(net, m, frame, pkt);
		break;
	case TL_PKT_UDP:
		tl_count(tl_udp_input(net, frame, pkt) ? &stats->rx_udp_pkts : &stats->drop_udp_no_port_pkts, 1);
		break;
	case TL_PKT_ARP:
		tl_count(&stats->rx_arp_pkts, 1);
		tl_arp_input(net, frame + pkt->l3_off);
		break;
	case TL_PKT_ICMP:
		tl_count(&stats->rx_icmp_pkts, 1);
		tl_icmp_input(net, frame, pkt);
		break;
	case TL_PKT_IP6:
		tl_ip6_input(net, m, frame, pkt);
		break;
	case TL_PKT_FRAG: // counts by itself
		tl_frag_input(net, frame + pkt->l3_off);
		break;
	default: // IGMP: refuse() drops the rest
		tl_count(&stats->rx_igmp_pkts, 1);
		tl_igmp_input(net, frame, pkt);
	}
}

static inline bool is_group_mac6(const uint8_t *frame)
{
	uint16_t head;

	memcpy(&head, frame, sizeof(head));
	return head == 0x3333;
}

static inline bool is_group_mac(const uint8_t *frame)
{
	uint32_t head;

	memcpy(&head, frame, sizeof(head));
	return (head & 0xffffff) == 0x5e0001; // 01:00:5e in memory order
}

// True if src_be is a valid sender to a group, and the port accepts it.
static inline bool takes_source(const struct tl_net *net, struct tl_udp *udp, uint32_t src_be)
{
	if (TL_LIKELY(src_be == udp->known_src_be))
		return true;
	if (src_be == net->cfg.ip_be || !is_host(net, src_be) || (udp->source_be != 0 && udp->source_be != src_be))
		return false;
	udp->known_src_be = src_be;
	return true;
}

// The fast paths below have a constant for the length of the port's tag, 0 or TL_VLAN_LEN.
#define STEP static inline __attribute__((always_inline))

// True if the frame is of that kind and has the port's tag, or none if the port has none. A stripped tag is refused
// with the checksum.
STEP bool is_l2_ours(
	const struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt, uint8_t kind, uint8_t tag_len)
{
	uint16_t kind_and_len;
	uint32_t tag; // EtherType and TCI
	_Static_assert(offsetof(struct tl_pkt, l2_len) == offsetof(struct tl_pkt, kind) + 1, "one word");

	memcpy(&tag, frame + offsetof(struct tl_ether_hdr, type_be), sizeof(tag));
	if (tag_len != 0 && (tag & tl_be32(UINT32_C(0xffff0000) | TL_VLAN_ID)) != net->tag_be)
		return false;
	memcpy(&kind_and_len, &pkt->kind, sizeof(kind_and_len));
	return kind_and_len == ((TL_ETHER_LEN + tag_len) << 8 | kind);
}

static __attribute__((noinline)) void take_slowly(struct tl_net *net, struct tl_burst *burst, uint32_t i)
{
	struct rte_mbuf *m = burst->pkts[i];

	tl_net_take_frame(net, m, rte_pktmbuf_mtod(m, const uint8_t *), &burst->pkt[i]);
}

// Take a datagram that is long, has no checksum (RFC 768), or one that the device has checked.
static __attribute__((noinline)) void take_long_datagram(
	struct tl_net *net, struct tl_burst *burst, uint32_t i, struct tl_udp *udp)
{
	struct rte_mbuf *m = burst->pkts[i];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct tl_udp_hdr *header = (const struct tl_udp_hdr *)(frame + burst->pkt[i].l4_off);
	bool has_sum = header->cksum_be != 0 || !tl_net_sum_is_ours(m);

	if (has_sum && !tl_net_sum_ok(net, m, frame, &burst->pkt[i], TL_IPPROTO_UDP, TL_UDP_LEN)) {
		take_slowly(net, burst, i);
		return;
	}
	tl_count(&net->stats.rx_udp_pkts, 1);
	tl_udp_hand_over(udp, frame, &burst->pkt[i]);
}

// Take a short datagram between those addresses for that port, if its checksum, which IPv6 requires (RFC 8200, section
// 8.1), is right. pseudo: the sum of the pseudo-header without the length. The sum of the payload is noted: a reply
// need not sum it again. False: nothing was done.
STEP bool take_datagram(struct tl_net *net, struct tl_burst *burst, uint32_t i, const struct tl_udp_hdr *header,
	const struct tl_udp *udp, uint32_t src_be, uint32_t dst_be, uint64_t pseudo, bool is_ip6)
{
	const struct tl_pkt *pkt = &burst->pkt[i];
	const struct tl_udp_datagram datagram = {
		.payload = (const uint8_t *)(header + 1),
		.len = pkt->payload_len,
		.src_port_be = pkt->src_port_be,
		.src_ip_be = src_be,
		.dst_ip_be = dst_be,
	};
	uint64_t first;

	if (TL_UNLIKELY(datagram.len > TL_NET_SUM_BYTES || !tl_net_sum_is_ours(burst->pkts[i]) ||
			(is_ip6 && header->cksum_be == 0)))
		return false;
	memcpy(&first, header, sizeof(first));
	uint64_t sum = tl_cksum_add_tail(0, datagram.payload, datagram.len);
	if (TL_UNLIKELY(!tl_cksum_is_right(tl_cksum_add64(tl_cksum_add64(pseudo + header->len_be, first), sum))))
		return false;
	net->summed = (struct tl_net_summed){.data = datagram.payload, .sum = sum, .len = datagram.len};
	tl_count(&net->stats.rx_udp_pkts, 1);
	udp->fn(udp->ctx, &datagram);
	return true;
}

// Take a datagram to a joined group with one bound port. That port has joined each of its groups from its source: no
// filter is asked again. The slow path takes all others.
STEP void take_group_datagram(struct tl_net *net, struct tl_burst *burst, uint32_t i, uint8_t tag_len)
{
	const struct tl_pkt *pkt = &burst->pkt[i];
	const uint8_t *frame = rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *);
	struct tl_udp *udp = NULL;

	if (TL_LIKELY(is_l2_ours(net, frame, pkt, TL_PKT_UDP, tag_len) && burst->pkts[i]->nb_segs == 1 &&
		      is_group_mac(frame)))
		udp = tl_udp_find_unique(net, pkt);
	if (TL_UNLIKELY(udp == NULL || !takes_source(net, udp, pkt->src_be))) {
		take_slowly(net, burst, i);
		return;
	}
	uint64_t pseudo = (uint64_t)pkt->src_be + pkt->dst_be + tl_be16(TL_IPPROTO_UDP);
	if (TL_UNLIKELY(!take_datagram(net, burst, i, (const struct tl_udp_hdr *)(frame + pkt->l4_off), udp,
		    pkt->src_be, pkt->dst_be, pseudo, false)))
		take_long_datagram(net, burst, i, udp);
}

// Compare the first six of at least eight bytes.
STEP bool is_mac_ours(const struct tl_net *net, const uint8_t *frame)
{
	uint64_t head;

	memcpy(&head, frame, sizeof(head));
	return head << 16 == net->mac_bits;
}

STEP bool is_group_frame6(const struct tl_net *net, const struct tl_burst *burst, uint32_t i, uint8_t tag_len)
{
	const struct tl_pkt *pkt = &burst->pkt[i];
	const uint8_t *frame = rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *);

	return is_l2_ours(net, frame, pkt, TL_PKT_IP6, tag_len) && pkt->ip6_kind == TL_PKT_UDP &&
	       burst->pkts[i]->nb_segs == 1 && is_group_mac6(frame);
}

STEP bool take_datagram6(struct tl_net *net, struct tl_burst *burst, uint32_t i, const struct tl_udp *udp)
{
	const uint8_t *frame = rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *);

	return take_datagram(net, burst, i, (const struct tl_udp_hdr *)(frame + burst->pkt[i].l4_off), udp,
		udp->sender6.src_be, udp->group_be, udp->sender6.sum, true);
}

// Take a datagram to another group over IPv6 than the one before, or any frame by the slow path.
STEP void take_other_frame6(struct tl_net *net, struct tl_burst *burst, uint32_t i, uint8_t tag_len)
{
	const uint8_t *frame = rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *);
	struct tl_udp *udp = NULL;

	if (is_group_frame6(net, burst, i, tag_len))
		udp = tl_udp_look_up6(net, (const void *)(frame + TL_ETHER_LEN + tag_len), &burst->pkt[i]);
	if (udp == NULL || !take_datagram6(net, burst, i, udp))
		take_slowly(net, burst, i);
}

static __attribute__((noinline)) void take_other_untagged6(struct tl_net *net, struct tl_burst *burst, uint32_t i)
{
	take_other_frame6(net, burst, i, 0);
}

static __attribute__((noinline)) void take_other_tagged6(struct tl_net *net, struct tl_burst *burst, uint32_t i)
{
	take_other_frame6(net, burst, i, TL_VLAN_LEN);
}

// Take a segment over IPv6 to our MAC address. The slow path takes all others.
STEP void take_segment6(struct tl_net *net, struct tl_burst *burst, uint32_t i, uint8_t tag_len)
{
	struct rte_mbuf *m = burst->pkts[i];
	struct tl_pkt *pkt = &burst->pkt[i];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (TL_LIKELY(is_l2_ours(net, frame, pkt, TL_PKT_IP6, tag_len) && m->nb_segs == 1 && is_mac_ours(net, frame)))
		(tag_len == 0 ? tl_tcp_take_expected6 : tl_tcp_take_tagged6)(net, m, frame, pkt);
	else
		tl_net_take_frame(net, m, frame, pkt);
}

// Take a datagram to the group of the one before over IPv6, from the sender of an earlier one; or any other frame.
STEP void take_group_datagram6(struct tl_net *net, struct tl_burst *burst, uint32_t i, uint8_t tag_len)
{
	const uint8_t *frame = rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *);
	const struct tl_udp *udp = NULL;

	if (TL_LIKELY(is_group_frame6(net, burst, i, tag_len)))
		udp = tl_udp_same6(net, (const void *)(frame + TL_ETHER_LEN + tag_len), &burst->pkt[i]);
	if (TL_UNLIKELY(udp == NULL || !take_datagram6(net, burst, i, udp)))
		(tag_len == 0 ? take_other_untagged6 : take_other_tagged6)(net, burst, i);
}

// Take an IPv4 segment to us. The slow path takes all others.
STEP void take_segment(struct tl_net *net, struct tl_burst *burst, uint32_t i, uint8_t tag_len)
{
	struct rte_mbuf *m = burst->pkts[i];
	struct tl_pkt *pkt = &burst->pkt[i];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (TL_LIKELY(is_l2_ours(net, frame, pkt, TL_PKT_TCP, tag_len) && m->nb_segs == 1 && is_mac_ours(net, frame) &&
		      pkt->dst_be == net->cfg.ip_be))
		tl_tcp_take_expected(net, m, frame, pkt);
	else
		tl_net_take_frame(net, m, frame, pkt);
}

__attribute__((noinline)) void tl_net_take_frame(
	struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	uint64_t *dropped = refuse(net, m, frame, pkt);

	if (dropped != NULL)
		tl_count(dropped, 1);
	else
		handle(net, m, frame, pkt);
}

STEP void begin(struct tl_net *net, const struct tl_burst *burst, uint32_t n)
{
	net->now_ns = burst->mono_ns;
	net->summed.data = NULL;
	tl_count(&net->stats.in_pkts, n);
}

STEP void end(struct tl_net *net)
{
	if (net->tcp_pending)
		tl_tcp_burst_done(net);
}

STEP void take_part(
	struct tl_net *net, struct tl_burst *burst, uint32_t from, uint32_t to, bool is_last, uint8_t tag_len)
{
	begin(net, burst, to - from);
	for (uint32_t i = from; i < to; i++) {
		if (burst->pkt[i].kind == TL_PKT_TCP)
			take_segment(net, burst, i, tag_len);
		else if (burst->pkt[i].kind != TL_PKT_IP6)
			take_group_datagram(net, burst, i, tag_len);
		else if (burst->pkt[i].ip6_kind == TL_PKT_TCP)
			take_segment6(net, burst, i, tag_len);
		else
			take_group_datagram6(net, burst, i, tag_len);
	}
	if (is_last)
		end(net);
}

static __attribute__((noinline)) void take_many(struct tl_net *net, struct tl_burst *burst)
{
	tl_net_input_part(net, burst, 0, burst->n);
}

// The cost of a single frame counts most: one function per kind and tag, without a loop, saves few registers.
#define TAKE_ONE(name, take, tag_len)                                                                                  \
	static __attribute__((noinline)) void take_one_##name(struct tl_net *net, struct tl_burst *burst)              \
	{                                                                                                              \
		begin(net, burst, 1);                                                                                  \
		take(net, burst, 0, tag_len);                                                                          \
		end(net);                                                                                              \
	}
#define TAKE_ONE6(name, segment6, datagram6)                                                                           \
	static void take_one_##name(struct tl_net *net, struct tl_burst *burst)                                        \
	{                                                                                                              \
		if (burst->pkt[0].ip6_kind == TL_PKT_TCP)                                                              \
			take_one_##segment6(net, burst);                                                               \
		else                                                                                                   \
			take_one_##datagram6(net, burst);                                                              \
	}
#define BY_KIND(segment, datagram, frame6)                                                                             \
	{                                                                                                              \
		[TL_PKT_OTHER] = datagram, [TL_PKT_ARP] = datagram, [TL_PKT_ICMP] = datagram,                          \
		[TL_PKT_IGMP] = datagram, [TL_PKT_UDP] = datagram, [TL_PKT_TCP] = segment, [TL_PKT_IP6] = frame6,      \
		[TL_PKT_FRAG] = datagram, [TL_PKT_BAD] = datagram, [TL_PKT_BAD_CKSUM] = datagram                       \
	}

TAKE_ONE(segment, take_segment, 0)
TAKE_ONE(datagram, take_group_datagram, 0)
TAKE_ONE(segment6, take_segment6, 0)
TAKE_ONE(datagram6, take_group_datagram6, 0)
TAKE_ONE6(frame6, segment6, datagram6)
TAKE_ONE(tagged_segment, take_segment, TL_VLAN_LEN)
TAKE_ONE(tagged_datagram, take_group_datagram, TL_VLAN_LEN)
TAKE_ONE(tagged_segment6, take_segment6, TL_VLAN_LEN)
TAKE_ONE(tagged_datagram6, take_group_datagram6, TL_VLAN_LEN)
TAKE_ONE6(tagged_frame6, tagged_segment6, tagged_datagram6)

static const tl_net_take_one UNTAGGED[] = BY_KIND(take_one_segment, take_one_datagram, take_one_frame6);
static const tl_net_take_one TAGGED[] =
	BY_KIND(take_one_tagged_segment, take_one_tagged_datagram, take_one_tagged_frame6);

void tl_net_choose_input(struct tl_net *net)
{
	net->take_one = net->cfg.vlan != 0 ? TAGGED : UNTAGGED;
}

void tl_net_input(struct tl_net *net, struct tl_burst *burst)
{
	if (TL_UNLIKELY(burst->n != 1))
		take_many(net, burst);
	else
		net->take_one[burst->pkt[0].kind](net, burst);
}

void tl_net_input_part(struct tl_net *net, struct tl_burst *burst, uint16_t from, uint16_t to)
{
	if (TL_UNLIKELY(net->cfg.vlan != 0))
		take_part(net, burst, from, to, to == burst->n, TL_VLAN_LEN);
	else
		take_part(net, burst, from, to, to == burst->n, 0);
}

uint64_t tl_net_now(const struct tl_net *net)
{
	return net->now_ns;
}

void tl_net_set_time(struct tl_net *net, uint64_t mono_ns)
{
	tl_tcp_settle(net);
	net->now_ns = tl_max_u64(net->now_ns, mono_ns);
}
