// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_crowd: a net with an echo, and many peers at several addresses, each with one connection to it. Segments of the
// peers are built here and passed to tl_net_input(); replies are checked and stored per peer.
//
// Threads: main. Memory: crowd_start() allocates, crowd_stop() frees; no allocation in between.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <tl_err.h>
#include <tl_net.h>
#include <tl_tcp.h>
#include <tl_wire.h>

#include "tcp_table.h"

#define CROWD_SERVICES 1001 // UDP ports, and TCP ports
#define CROWD_PORTS 60000   // peers per address
#define CROWD_FIRST_HOST 16
#define CROWD_ISN 1000u
#define CROWD_PAYLOAD_MAX 1460
#define CROWD_IP(host) tl_be32(0xc0000200u | (host)) // 192.0.2.0/24
#define CROWD_GROUP(i) tl_be32(0xef010000u + (i))    // from 239.1.0.0 on
#define CROWD_IP6(host) ((struct tl_ip6){{0x20, 0x01, 0x0d, 0xb8, [15] = (uint8_t)(host)}})
#define CROWD_DAD_NS (4 * TL_NS_PER_S) // until our address over IPv6 is in use

struct crowd_peer {
	uint32_t next; // next sequence number of the peer
	uint32_t seen; // next sequence number of the net
	uint16_t len;  // payload length of the last segment
	uint8_t flags; // flags of the last segment
	bool wrong;    // an out-of-sequence segment arrived
};

struct crowd {
	struct tl_net *net;
	bool is_ip6; // family of the peers and their segments
	struct tl_txq tx;
	struct tl_burst burst;
	struct tl_tcp_listener *listener;
	struct crowd_peer *peers;
	uint32_t n;
	uint32_t opened, closed;
	uint64_t now_ns;
	uint64_t frame_ns; // interval between two frames
	uint64_t echoed_bytes;
	uint64_t strays; // segments to no peer
};

// ---- the net's side

static inline void crowd_opened(void *ctx, struct tl_tcp *c)
{
	((struct crowd *)ctx)->opened++;
}

static inline void crowd_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	if (tl_tcp_send_held(c, data, len) >= 0)
		((struct crowd *)ctx)->echoed_bytes += len;
}

static inline void crowd_peer_closed(void *ctx, struct tl_tcp *c)
{
	tl_tcp_close(c);
}

static inline void crowd_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	((struct crowd *)ctx)->closed++;
}

static const struct tl_tcp_ops CROWD_OPS = {
	.opened = crowd_opened, .data = crowd_data, .peer_closed = crowd_peer_closed, .closed = crowd_closed};

// ---- the peers' side

static inline void crowd_hear(struct crowd *crowd, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(frame + pkt->l4_off);
	uint8_t low = crowd->is_ip6 ? tl_wire_ip6(frame, pkt)->dst.byte[15] : (uint8_t)tl_be32(pkt->dst_be);
	uint32_t host = (uint32_t)low - CROWD_FIRST_HOST;
	uint32_t i = host * CROWD_PORTS + tl_be16(pkt->dst_port_be) - 1;

	if (i >= crowd->n) {
		crowd->strays++;
		return;
	}
	struct crowd_peer *peer = &crowd->peers[i];
	if ((tcp->flags & TL_TCP_SYN) != 0)
		peer->seen = tl_be32(tcp->seq_be);
	peer->wrong |= tl_be32(tcp->seq_be) != peer->seen || tl_be32(tcp->ack_be) != peer->next;
	peer->seen += pkt->payload_len + ((tcp->flags & (TL_TCP_SYN | TL_TCP_FIN)) != 0);
	peer->len = pkt->payload_len;
	peer->flags = tcp->flags;
}

static inline void crowd_collect(struct tl_txq *q)
{
	for (uint16_t i = 0; i < q->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		struct tl_pkt pkt;
		tl_wire_parse(frame, q->pkts[i]->data_len, &pkt);
		if (pkt.kind == TL_PKT_TCP || (pkt.kind == TL_PKT_IP6 && pkt.ip6_kind == TL_PKT_TCP))
			crowd_hear(q->backend, frame, &pkt);
		rte_pktmbuf_free(q->pkts[i]);
	}
	q->n = 0;
}

// Write the IP header of a segment of peer i; return the sum of its pseudo-header.
static inline uint32_t crowd_write_ip(const struct crowd *crowd, uint32_t i, uint8_t *l3, uint16_t l4_len)
{
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)l3;
	struct tl_ipv6_hdr *ip6 = (struct tl_ipv6_hdr *)l3;
	uint32_t host = CROWD_FIRST_HOST + i / CROWD_PORTS;

	if (crowd->is_ip6) {
		*ip6 = (struct tl_ipv6_hdr){
			tl_be32(6u << 28), tl_be16(l4_len), TL_IPPROTO_TCP, 64, CROWD_IP6(host), CROWD_IP6(1)};
		return tl_cksum_pseudo6(&ip6->src, &ip6->dst, TL_IPPROTO_TCP, l4_len);
	}
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
		.ttl = 64,
		.proto = TL_IPPROTO_TCP,
		.src_be = CROWD_IP(host),
		.dst_be = CROWD_IP(1)};
	tl_wire_ipv4_finish(ip);
	return tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, l4_len);
}

// Build the next segment of peer i, with len bytes of payload, as the only frame of the burst.
static inline void crowd_write(struct crowd *crowd, uint32_t i, uint8_t flags, uint16_t len)
{
	static const uint8_t mss_1460[] = {2, 4, 1460 >> 8, 1460 & 0xff};
	struct crowd_peer *peer = &crowd->peers[i];
	struct rte_mbuf *m = crowd->burst.pkts[0];
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t l4_off = TL_ETHER_LEN + (crowd->is_ip6 ? TL_IPV6_LEN : TL_IPV4_LEN);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(frame + l4_off);
	uint16_t options_len = (flags & TL_TCP_SYN) != 0 ? sizeof(mss_1460) : 0;
	uint16_t l4_len = TL_TCP_LEN + options_len + len;
	uint32_t sum = crowd_write_ip(crowd, i, frame + TL_ETHER_LEN, l4_len);

	*tcp = (struct tl_tcp_hdr){.src_port_be = tl_be16((uint16_t)(1 + i % CROWD_PORTS)),
		.dst_port_be = tl_be16(7),
		.seq_be = tl_be32(peer->next),
		.ack_be = tl_be32((flags & TL_TCP_ACK) != 0 ? peer->seen : 0),
		.data_off = (uint8_t)((TL_TCP_LEN + options_len) << 2),
		.flags = flags,
		.window_be = tl_be16(65535)};
	memcpy(tcp + 1, mss_1460, options_len); // the payload is arbitrary memory
	tcp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, tcp, l4_len));
	m->data_len = l4_off + l4_len;
	m->pkt_len = m->data_len;
	tl_wire_parse(frame, m->data_len, &crowd->burst.pkt[0]);
	peer->next += len + ((flags & (TL_TCP_SYN | TL_TCP_FIN)) != 0);
	crowd->now_ns += crowd->frame_ns;
	crowd->burst.mono_ns = crowd->now_ns;
}

// Build a datagram of 16 bytes from the first peer's host to the group with that number, as the only frame.
static inline void crowd_write_datagram(struct crowd *crowd, uint32_t group)
{
	struct rte_mbuf *m = crowd->burst.pkts[0];
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_udp_hdr *udp = (struct tl_udp_hdr *)(ip + 1);
	uint16_t len = TL_UDP_LEN + 16;

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + len),
		.ttl = 1,
		.proto = TL_IPPROTO_UDP,
		.src_be = CROWD_IP(CROWD_FIRST_HOST),
		.dst_be = CROWD_GROUP(group)};
	tl_wire_ipv4_finish(ip);
	tl_wire_mcast_mac(ip->dst_be, frame);
	*udp = (struct tl_udp_hdr){.src_port_be = tl_be16(7), .dst_port_be = tl_be16(30001), .len_be = tl_be16(len)};
	m->data_len = TL_ETHER_LEN + TL_IPV4_LEN + len;
	m->pkt_len = m->data_len;
	tl_wire_parse(frame, m->data_len, &crowd->burst.pkt[0]);
	crowd->now_ns += crowd->frame_ns;
	crowd->burst.mono_ns = crowd->now_ns;
}

static inline void crowd_give(struct crowd *crowd, uint32_t i, uint8_t flags, uint16_t len)
{
	crowd_write(crowd, i, flags, len);
	tl_net_input(crowd->net, &crowd->burst);
	tl_txq_flush(&crowd->tx);
	tl_net_sent(crowd->net);
}

static inline void crowd_tick(struct crowd *crowd)
{
	tl_net_tick(crowd->net, crowd->now_ns);
	tl_txq_flush(&crowd->tx);
}

static inline void crowd_open(struct crowd *crowd, uint32_t i)
{
	crowd->peers[i] = (struct crowd_peer){.next = CROWD_ISN + i};
	crowd_give(crowd, i, TL_TCP_SYN, 0);
	crowd_give(crowd, i, TL_TCP_ACK, 0);
}

// ---- begin and end

static inline void crowd_introduce(struct crowd *crowd, uint8_t host)
{
	uint8_t *frame = rte_pktmbuf_mtod(crowd->burst.pkts[0], uint8_t *);
	const struct tl_arp_hdr arp = {.hw_type_be = tl_be16(1),
		.proto_be = tl_be16(TL_ETHERTYPE_IPV4),
		.hw_len = 6,
		.proto_len = 4,
		.op_be = tl_be16(1),
		.sender_mac = {2, 0, 0, 0, 0, host},
		.sender_ip_be = CROWD_IP(host),
		.target_ip_be = CROWD_IP(1)};
	const uint8_t ether[TL_ETHER_LEN] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, host, 8, 6};

	memset(frame, 0, TL_ETHER_MIN_FRAME);
	memcpy(frame, ether, sizeof(ether));
	memcpy(frame + TL_ETHER_LEN, &arp, sizeof(arp));
	crowd->burst.pkts[0]->data_len = TL_ETHER_MIN_FRAME;
	crowd->burst.mono_ns = crowd->now_ns;
	tl_wire_parse(frame, TL_ETHER_MIN_FRAME, &crowd->burst.pkt[0]);
	tl_net_input(crowd->net, &crowd->burst);
	tl_txq_flush(&crowd->tx);
	frame[13] = 0; // IPv4 from here on
}

// The same over IPv6: the host answers a solicitation of ours.
static inline void crowd_introduce6(struct crowd *crowd, uint8_t host)
{
	uint8_t *frame = rte_pktmbuf_mtod(crowd->burst.pkts[0], uint8_t *);
	const uint8_t ether[TL_ETHER_LEN] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, host, 0x86, 0xdd};
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN);
	uint8_t nd[32] = {135, [24] = 1, 1, 2, 0, 0, 0, 0, host}; // solicitation with the host's own MAC (RFC 4861)
	struct tl_ip6 target = CROWD_IP6(1);

	memcpy(frame, ether, sizeof(ether));
	*ip = (struct tl_ipv6_hdr){tl_be32(6u << 28), tl_be16(sizeof(nd)), 58, 255, CROWD_IP6(host), target};
	memcpy(nd + 8, &target, sizeof(target));
	uint16_t cksum_be =
		tl_cksum_finish(tl_cksum_add(tl_cksum_pseudo6(&ip->src, &ip->dst, 58, sizeof(nd)), nd, sizeof(nd)));
	memcpy(nd + 2, &cksum_be, sizeof(cksum_be));
	memcpy(ip + 1, nd, sizeof(nd));
	crowd->burst.pkts[0]->data_len = TL_ETHER_LEN + TL_IPV6_LEN + sizeof(nd);
	crowd->burst.mono_ns = crowd->now_ns;
	tl_wire_parse(frame, crowd->burst.pkts[0]->data_len, &crowd->burst.pkt[0]);
	tl_net_input(crowd->net, &crowd->burst);
	tl_txq_flush(&crowd->tx);
}

static inline void crowd_start_family(
	struct crowd *crowd, uint32_t n, struct rte_mempool *pool, const struct tl_tcp_opts *opts, bool is_ip6)
{
	struct tl_err err = {0};
	struct tl_net_cfg cfg = {.name = "crowd",
		.tx = &crowd->tx,
		.pool = pool,
		.mac = {2, 0, 0, 0, 0, 1},
		.ip_be = CROWD_IP(1),
		.mask_be = tl_be32(0xffffff00),
		.mtu = 1500,
		.max_conns = n,
		.send_buffer_bytes = 4096,
		.send_buffers = 4096,
		.own_buffers = opts != NULL && opts->own_buffer ? 4096 : 0,
		.groups = 10001,
		.udp_ports = CROWD_SERVICES,
		.listeners = CROWD_SERVICES,
		.socket_id = SOCKET_ID_ANY,
		.seed = 11};

	if (is_ip6)
		cfg.ip6 = CROWD_IP6(1);
	cfg.ip6_bits = 64;
	*crowd = (struct crowd){
		.n = n, .is_ip6 = is_ip6, .now_ns = 1000 * TL_NS_PER_S, .peers = calloc(n, sizeof(crowd->peers[0]))};
	crowd->frame_ns = TL_NS_PER_US;
	crowd->tx.flush_fn = crowd_collect;
	crowd->tx.backend = crowd;
	crowd->burst.n = 1;
	crowd->burst.pkts[0] = rte_pktmbuf_alloc(pool);
	if (crowd->peers == NULL || crowd->burst.pkts[0] == NULL || tl_net_create(&cfg, &crowd->net, &err) != 0 ||
		tl_tcp_listen(crowd->net, tl_be16(7), n, &CROWD_OPS, crowd, opts, &crowd->listener) != 0) {
		fprintf(stderr, "no crowd of %u: %s\n", n, err.text);
		exit(1);
	}
	if (is_ip6)
		tl_net_announce(crowd->net, crowd->now_ns);
	crowd_tick(crowd);
	for (uint32_t i = 0; is_ip6 && i < CROWD_DAD_NS / TL_NS_PER_MS; i++) {
		crowd->now_ns += TL_NS_PER_MS;
		crowd_tick(crowd);
	}
	memset(rte_pktmbuf_mtod(crowd->burst.pkts[0], uint8_t *), 0, CROWD_PAYLOAD_MAX + 80);
	for (uint32_t i = 0; i < n; i += CROWD_PORTS)
		(is_ip6 ? crowd_introduce6 : crowd_introduce)(crowd, (uint8_t)(CROWD_FIRST_HOST + i / CROWD_PORTS));
}

// Create a net with room for n connections over IPv4 that listens on port 7. Exit with status 1 if out of memory.
static inline void crowd_start(
	struct crowd *crowd, uint32_t n, struct rte_mempool *pool, const struct tl_tcp_opts *opts)
{
	crowd_start_family(crowd, n, pool, opts, false);
}

static inline void crowd_stop(struct crowd *crowd)
{
	tl_net_destroy(crowd->net);
	tl_txq_flush(&crowd->tx);
	rte_pktmbuf_free(crowd->burst.pkts[0]);
	free(crowd->peers);
}
