// SPDX-License-Identifier: BSD-3-Clause
// UDP datagrams (RFC 768), received and sent.

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "net_priv.h"

static struct tl_udp_bind *find_bind(const struct tl_net *net, uint32_t group_be, uint16_t port_be)
{
	uint64_t key = tl_udp_key(group_be, port_be);
	struct tl_udp_bind *bind = *tl_udp_bucket(net, key);

	while (bind != NULL && bind->key != key)
		bind = bind->next;
	return bind;
}

bool tl_udp_input(struct tl_net *net, const uint8_t *frame, const struct tl_pkt *pkt)
{
	uint32_t group_be = tl_ip_is_mcast(pkt->dst_be) ? pkt->dst_be : 0;
	bool known = false;

	if (pkt->dst_port_be == 0)
		return false; // port 0 marks a free bind
	uint64_t key = tl_udp_key(group_be, pkt->dst_port_be);
	for (struct tl_udp_bind *bind = *tl_udp_bucket(net, key), *next; bind != NULL; bind = next) {
		next = bind->next; // the call may close the port
		if (bind->key != key || !tl_udp_takes(bind->udp, group_be, pkt))
			continue;
		known = true;
		tl_udp_hand_over(bind->udp, frame, pkt);
	}
	return known;
}

struct tl_udp *tl_udp_look_up(struct tl_net *net, const struct tl_pkt *pkt)
{
	if (!tl_ipv4_is_mcast(pkt->dst_be))
		return NULL;
	struct tl_udp_bind *bind = find_bind(net, pkt->dst_be, pkt->dst_port_be);
	if (bind == NULL || bind->udp->n_shared != 0)
		return NULL;
	net->latest = bind->udp;
	return bind->udp;
}

struct tl_udp *tl_udp_look_up6(struct tl_net *net, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt)
{
	struct tl_udp *udp = *tl_udp_bucket6(net, &ip->dst, pkt->dst_port_be);

	while (udp != NULL && (udp->n_shared != 0 || !tl_udp_is_noted(udp, ip, pkt)))
		udp = udp->next_v6;
	if (udp != NULL)
		net->latest6 = udp;
	return udp;
}

void tl_udp_note_sender6(struct tl_net *net, const struct tl_ipv6_hdr *ip, const struct tl_pkt *pkt)
{
	struct tl_ip6_book *book = &net->ip6->book;
	struct tl_udp_bind *bind = find_bind(net, pkt->dst_be, pkt->dst_port_be);
	struct tl_udp *udp = bind != NULL && tl_ip_is_mcast(pkt->dst_be) ? bind->udp : NULL;

	if (udp == NULL || udp->n_shared != 0 || !tl_udp_takes(udp, pkt->dst_be, pkt) || pkt->src_be == 0)
		return;
	tl_ip6_ref(book, pkt->src_be);
	if (udp->sender6.src_be != 0)
		tl_ip6_unref(book, udp->sender6.src_be);
	udp->sender6 = (struct tl_udp_sender6){.sum = tl_cksum_pseudo6(&ip->src, &ip->dst, TL_IPPROTO_UDP, 0),
		.src_be = pkt->src_be,
		.port_be = pkt->dst_port_be,
		.src = ip->src,
		.dst = ip->dst};
}

// Hold a datagram until its next hop is resolved.
static __attribute__((noinline)) int hold(struct tl_udp *udp, struct rte_mbuf *m, uint32_t dst_ip_be)
{
	uint32_t hop_be = tl_ip_next_hop_be(udp->net, dst_ip_be);

	if (hop_be == 0) {
		rte_pktmbuf_free(m);
		return -EHOSTUNREACH;
	}
	if (udp->held_fn != NULL)
		udp->n_held++;
	tl_arp_hold(udp->net, hop_be, m);
	return udp->held_fn != NULL ? TL_UDP_HELD : 0;
}

// Fields of an mbuf that are otherwise set on receive identify a datagram: port holds the index of the slot, hash.usr
// the length.
static inline void identify(const struct tl_udp *udp, struct rte_mbuf *m, uint16_t len)
{
	m->port = (uint16_t)(udp - udp->net->udp.slot);
	m->hash.usr = len;
}

// Return the slot of a datagram. NULL: none is sent by this frame.
static struct tl_udp *find_sender(struct tl_net *net, const struct rte_mbuf *m)
{
	return m->port < net->udp.n_slots ? &net->udp.slot[m->port] : NULL;
}

void tl_udp_dropped(void *net, const struct rte_mbuf *m)
{
	struct tl_udp *udp = find_sender(net, m);

	if (udp != NULL && udp->dropped_fn != NULL)
		udp->dropped_fn(udp->ctx, (uint16_t)m->hash.usr);
}

void tl_udp_held_ends(struct tl_net *net, const struct rte_mbuf *m, bool left)
{
	struct tl_udp *udp = find_sender(net, m);

	if (udp == NULL || udp->n_held == 0) // no UDP datagram, or its port was closed
		return;
	udp->n_held--;
	udp->held_fn(udp->ctx, (uint16_t)m->hash.usr, left);
}

int tl_udp_send(struct tl_udp *udp, uint32_t dst_ip_be, uint16_t dst_port_be, const void *payload, uint16_t len)
{
	struct tl_net *net = udp->net;
	uint16_t udp_len = TL_UDP_LEN + len;

	if (len > net->cfg.mtu - tl_ip_len(dst_ip_be) - TL_UDP_LEN)
		return -EMSGSIZE;
	struct rte_mbuf *m = tl_txq_has_room(net->cfg.tx) ? tl_net_alloc(net) : NULL;
	if (m == NULL)
		return -ENOBUFS;
	struct tl_udp_hdr *hdr = (struct tl_udp_hdr *)tl_ip_build(net, m, TL_IPPROTO_UDP, dst_ip_be, udp_len);

	*hdr = (struct tl_udp_hdr){
		.src_port_be = udp->port_be,
		.dst_port_be = dst_port_be,
		.len_be = tl_be16(udp_len),
	};
	memcpy(hdr + 1, payload, len);
	identify(udp, m, len);
	uint16_t cksum = tl_ip_cksum(net, m, dst_ip_be, TL_IPPROTO_UDP, hdr, udp_len);
	hdr->cksum_be = cksum != 0 ? cksum : 0xffff; // 0 means no checksum
	if (TL_UNLIKELY(!tl_ip_next_hop_mac(net, dst_ip_be, rte_pktmbuf_mtod(m, struct tl_ether_hdr *)->dst)))
		return hold(udp, m, dst_ip_be);
	tl_net_push(net, m);
	return 0;
}
