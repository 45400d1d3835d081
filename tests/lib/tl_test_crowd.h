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

#define CROWD_PORTS 60000 // peers per address
#define CROWD_FIRST_HOST 16
#define CROWD_ISN 1000u
#define CROWD_PAYLOAD_MAX 1460
#define CROWD_IP(host) tl_be32(0xc0000200u | (host)) // 192.0.2.0/24
#define CROWD_GROUP(i) tl_be32(0xef010000u + (i))    // from 239.1.0.0 on

struct crowd_peer {
	uint32_t next; // next sequence number of the peer
	uint32_t seen; // next sequence number of the net
	uint16_t len;  // payload length of the last segment
	uint8_t flags; // flags of the last segment
	bool wrong;    // an out-of-sequence segment arrived
};

struct crowd {
	struct tl_net *net;
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
	uint32_t host = (tl_be32(pkt->dst_be) & 0xff) - CROWD_FIRST_HOST;
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
		if (pkt.kind == TL_PKT_TCP)
			crowd_hear(q->backend, frame, &pkt);
		rte_pktmbuf_free(q->pkts[i]);
	}
	q->n = 0;
}

// Build the next segment of peer i, with len bytes of payload, as the only frame of the burst.
static inline void crowd_write(struct crowd *crowd, uint32_t i, uint8_t flags, uint16_t len)
{
	static const uint8_t mss_1460[] = {2, 4, 1460 >> 8, 1460 & 0xff};
	struct crowd_peer *peer = &crowd->peers[i];
	struct rte_mbuf *m = crowd->burst.pkts[0];
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
	uint16_t options_len = (flags & TL_TCP_SYN) != 0 ? sizeof(mss_1460) : 0;
	uint16_t l4_len = TL_TCP_LEN + options_len + len;

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
		.ttl = 64,
		.proto = TL_IPPROTO_TCP,
		.src_be = CROWD_IP(CROWD_FIRST_HOST + i / CROWD_PORTS),
		.dst_be = CROWD_IP(1)};
	tl_wire_ipv4_finish(ip);
	*tcp = (struct tl_tcp_hdr){.src_port_be = tl_be16((uint16_t)(1 + i % CROWD_PORTS)),
		.dst_port_be = tl_be16(7),
		.seq_be = tl_be32(peer->next),
		.ack_be = tl_be32((flags & TL_TCP_ACK) != 0 ? peer->seen : 0),
		.data_off = (uint8_t)((TL_TCP_LEN + options_len) << 2),
		.flags = flags,
		.window_be = tl_be16(65535)};
	memcpy(tcp + 1, mss_1460, options_len); // the payload is arbitrary memory
	uint32_t sum = tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, l4_len);
	tcp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, tcp, l4_len));
	m->data_len = TL_ETHER_LEN + TL_IPV4_LEN + l4_len;
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

// Create a net with room for n connections that listens on port 7. Exit with status 1 if out of memory.
static inline void crowd_start(
	struct crowd *crowd, uint32_t n, struct rte_mempool *pool, const struct tl_tcp_opts *opts)
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
		.socket_id = SOCKET_ID_ANY,
		.seed = 11};

	*crowd = (struct crowd){.n = n, .now_ns = 1000 * TL_NS_PER_S, .peers = calloc(n, sizeof(crowd->peers[0]))};
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
	crowd_tick(crowd);
	memset(rte_pktmbuf_mtod(crowd->burst.pkts[0], uint8_t *), 0, CROWD_PAYLOAD_MAX + 60);
	for (uint32_t i = 0; i < n; i += CROWD_PORTS)
		crowd_introduce(crowd, (uint8_t)(CROWD_FIRST_HOST + i / CROWD_PORTS));
}

static inline void crowd_stop(struct crowd *crowd)
{
	tl_net_destroy(crowd->net);
	tl_txq_flush(&crowd->tx);
	rte_pktmbuf_free(crowd->burst.pkts[0]);
	free(crowd->peers);
}
