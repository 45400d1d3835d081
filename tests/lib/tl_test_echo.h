// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_echo: echoes against a second stack as peer, on a wire of two queues and in virtual time.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_clock.h>
#include <tl_echo.h>
#include <tl_err.h>
#include <tl_tcp.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_mbuf.h>
#include <tl_test_port.h>

#define IP(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define PORT(n) ((uint16_t)((n) >> 8 | ((n)&0xff) << 8))
#define OUR_IP IP(192, 0, 2, 1)
#define PEER_IP IP(192, 0, 2, 2)
#define GROUP IP(239, 1, 1, 1)
#define INBOX_MAX 4096
#define MS TL_NS_PER_MS

// One end of the wire; its frames go to the inbox of the other end.
struct end {
	struct tl_txq tx;
	struct end *other;
	unsigned n;
	struct rte_mbuf *inbox[INBOX_MAX];
};

struct bed {
	struct end ours, peers;
	struct tl_echo_host *host;
	struct tl_service service;
	struct tl_net *peer;
	struct tl_udp *peer_udp;
	struct tl_tcp_listener *listener;
	struct tl_tcp *peer_conn;
	uint64_t now_ns;
	unsigned mbufs;
	bool peer_deaf; // frames to the peer are held
	bool refuses;	// tl_net_send() fails
	bool stuck;	// TX accepts no frame
	bool isolated;	// ARP arrives on the second queue
	struct tl_rxq copies;
	unsigned n_copies;
	struct rte_mbuf *copied[16];
	unsigned marked;   // our frames with a request for a TX stamp
	unsigned accepted; // connections accepted by the peer
	unsigned syns;	   // SYNs that arrived at the peer
	uint64_t poll_tsc; // of our last poll
	unsigned n_calls;
	struct call { // flush of our TX queue
		unsigned frames;
		uint64_t received_msgs; // by then
		uint64_t begin_tsc;
	} calls[2 * TL_BURST];
	uint64_t syn_at_ns[16];
	size_t received; // bytes, by TCP or UDP
	uint8_t bytes[1 << 17];
};

static struct tl_clock *test_clock;

static struct tl_port *port;

static struct rte_mempool *pool;

static struct bed bed; // large: not for the stack

static bool stamped; // frames of our port carry RX stamps

static bool isolated; // our port is isolated

static struct tl_tx_stamp *tx_stamp; // NULL: no reply requests a stamp

static uint64_t gap_tsc; // since our last poll; 0: none

static inline void note_call(const struct tl_txq *q)
{
	struct tl_echo_stats stats;

	tl_echo_sample(bed.host, 0, &stats);
	if (bed.n_calls < TL_ARRAY_LEN(bed.calls))
		bed.calls[bed.n_calls++] = (struct call){q->n, stats.received_msgs, q->begin_tsc};
}

static inline bool is_arp(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const struct tl_ether_hdr *)->type_be == tl_be16(TL_ETHERTYPE_ARP);
}

// Receive from the second queue of an isolated port.
static inline uint16_t burst_of_copies(struct tl_rxq *q, struct tl_burst *b)
{
	b->n = (uint16_t)bed.n_copies;
	memcpy(b->pkts, bed.copied, b->n * sizeof(b->pkts[0]));
	b->tsc = rte_rdtsc();
	b->mono_ns = bed.now_ns;
	tl_count(&q->stats.rx_pkts, b->n);
	bed.n_copies = 0;
	return b->n;
}

static inline void flush_to_other(struct tl_txq *q)
{
	struct end *end = q->backend;

	q->begin_tsc = rte_rdtsc();
	if (end == &bed.ours && bed.host != NULL)
		note_call(q);
	if (bed.stuck && end == &bed.ours)
		return;
	for (uint16_t i = 0; i < q->n; i++) {
		bool refused = bed.refuses && end == &bed.ours;
		if (bed.isolated && end == &bed.peers && is_arp(q->pkts[i])) {
			CU_ASSERT_FATAL(bed.n_copies < TL_ARRAY_LEN(bed.copied));
			bed.copied[bed.n_copies++] = q->pkts[i];
			continue;
		}
		if (end->other->n < INBOX_MAX && !refused)
			end->other->inbox[end->other->n++] = q->pkts[i];
		else
			rte_pktmbuf_free(q->pkts[i]);
		bed.marked += (q->pkts[i]->ol_flags & RTE_MBUF_F_TX_IEEE1588_TMST) != 0;
		q->drop_tx_pkts += refused;
		q->tx_pkts += !refused;
	}
	q->end_tsc = rte_rdtsc();
	q->n = 0;
}

// Take a burst out of the inbox, parsed and stamped.
static inline void take_burst(struct end *end, struct tl_burst *b)
{
	b->n = (uint16_t)(end->n < TL_BURST ? end->n : TL_BURST);
	memcpy(b->pkts, end->inbox, b->n * sizeof(b->pkts[0]));
	end->n -= b->n;
	memmove(end->inbox, end->inbox + b->n, end->n * sizeof(end->inbox[0]));
	b->tsc = rte_rdtsc();
	b->last_tsc = gap_tsc != 0 ? b->tsc - gap_tsc : 0;
	b->mono_ns = bed.now_ns;
	// 1 us and 2 us before the poll; the third has no stamp; the stamp of the fourth lies in the future.
	static const int64_t before_ns[] = {TL_NS_PER_US, 2 * TL_NS_PER_US, 0, -(int64_t)TL_NS_PER_US};
	for (uint16_t i = 0; i < b->n; i++)
		b->ts_ns[i] = tl_clock_wall_ns(test_clock, b->tsc) - (uint64_t)before_ns[i % TL_ARRAY_LEN(before_ns)];
	b->unstamped = stamped ? UINT64_C(1) << 2 : 0;
	for (uint16_t i = 0; i < b->n; i++)
		tl_wire_parse(rte_pktmbuf_mtod(b->pkts[i], uint8_t *), b->pkts[i]->data_len, &b->pkt[i]);
}

static inline void note_syns(const struct tl_burst *b)
{
	for (uint16_t i = 0; i < b->n; i++)
		if (b->pkt[i].kind == TL_PKT_TCP && (b->pkt[i].tcp_flags & TL_TCP_SYN) != 0 && bed.syns < 16)
			bed.syn_at_ns[bed.syns++] = bed.now_ns;
}

// Move frames across the wire until both inboxes are empty.
static inline void settle(void)
{
	static struct tl_burst burst;

	while (bed.ours.n != 0 || (bed.peers.n != 0 && !bed.peer_deaf)) {
		if (bed.ours.n != 0) {
			take_burst(&bed.ours, &burst);
			bed.poll_tsc = burst.tsc;
			bed.service.rx(bed.service.ctx, &burst);
			tl_txq_flush(&bed.ours.tx);
			bed.service.after_tx(bed.service.ctx, &burst);
			rte_pktmbuf_free_bulk(burst.pkts, burst.n);
		}
		if (bed.peers.n != 0 && !bed.peer_deaf) {
			take_burst(&bed.peers, &burst);
			note_syns(&burst);
			tl_net_input(bed.peer, &burst);
			tl_txq_flush(&bed.peers.tx);
			rte_pktmbuf_free_bulk(burst.pkts, burst.n);
		}
	}
}

static inline void run_ms(unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		bed.now_ns += MS;
		bed.service.tick(bed.service.ctx, bed.now_ns);
		tl_txq_flush(&bed.ours.tx);
		tl_net_tick(bed.peer, bed.now_ns);
		tl_txq_flush(&bed.peers.tx);
		settle();
	}
}

static inline void take_bytes(const void *data, uint32_t len)
{
	if (bed.received + len <= sizeof(bed.bytes))
		memcpy(bed.bytes + bed.received, data, len);
	bed.received += len;
}

static inline void peer_opened(void *ctx, struct tl_tcp *c)
{
	bed.accepted++;
	bed.peer_conn = c;
}

static inline void peer_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	take_bytes(data, len);
}

static inline void peer_conn_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	bed.peer_conn = NULL;
}

static const struct tl_tcp_ops peer_ops = {.opened = peer_opened, .data = peer_data, .closed = peer_conn_closed};

static inline void peer_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	take_bytes(d->payload, d->len);
}

static inline void join_ends(void)
{
	bed.ours.other = &bed.peers;
	bed.peers.other = &bed.ours;
	bed.ours.tx = (struct tl_txq){.flush_fn = flush_to_other, .backend = &bed.ours};
	bed.peers.tx = (struct tl_txq){.flush_fn = flush_to_other, .backend = &bed.peers};
}

static inline struct tl_net_cfg net_cfg(struct tl_txq *tx, uint8_t host, uint32_t ip_be)
{
	return (struct tl_net_cfg){.name = host == 1 ? "ours" : "peer",
		.tx = tx,
		.pool = pool,
		.mac = {2, 0, 0, 0, 0, host},
		.ip_be = ip_be,
		.mask_be = IP(255, 255, 255, 0),
		.mtu = 1500,
		.max_conns = 64,
		.send_buffer_bytes = 65536,
		.seed = host};
}

static inline void set_up_all(const struct tl_echo_cfg *echoes, uint32_t n, bool peer_listens)
{
	struct tl_err err = {{0}};

	memset(&bed, 0, sizeof(bed));
	bed.mbufs = rte_mempool_in_use_count(pool);
	bed.now_ns = tl_clock_mono_ns(test_clock, rte_rdtsc());
	join_ends();
	bed.isolated = isolated;
	bed.copies.burst = burst_of_copies;
	struct tl_net_cfg peer_cfg = net_cfg(&bed.peers.tx, 2, PEER_IP);
	static const uint16_t others_be[] = {PORT(8007)}; // a UDP echo on another port of the appliance
	struct tl_echo_host_cfg cfg = {.net = net_cfg(&bed.ours.tx, 1, OUR_IP),
		.udp_ports_be = others_be,
		.n_udp_ports = TL_ARRAY_LEN(others_be),
		.echoes = echoes,
		.n_echoes = n,
		.port = port,
		.clock = test_clock,
		.copies = isolated ? &bed.copies : NULL,
		.stamped = stamped,
		.tx_stamp = tx_stamp};
	CU_ASSERT_EQUAL_FATAL(tl_net_create(&peer_cfg, &bed.peer, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_echo_host_create(&cfg, &bed.host, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_echo_hosts_start(&bed.host, 1, &err), 0);
	tl_echo_host_service(bed.host, &bed.service);
	CU_ASSERT_EQUAL_FATAL(tl_udp_open(bed.peer, 0, 0, PORT(4000), peer_datagram, NULL, &bed.peer_udp), 0);
	if (peer_listens)
		CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(bed.peer, PORT(5002), 8, &peer_ops, NULL, NULL, &bed.listener), 0);
	run_ms(20);
}

static inline void set_up(const struct tl_echo_cfg *echo, bool peer_listens)
{
	set_up_all(echo, 1, peer_listens);
}

static inline uint64_t outcomes(const struct tl_echo_stats *s)
{
	return s->echoed_msgs + s->refused_msgs + s->drop_no_conn_msgs + s->drop_full_msgs + s->drop_tx_msgs +
	       s->lost_unacked_msgs;
}

// No message has two outcomes.
static inline struct tl_echo_stats stats(void)
{
	struct tl_echo_stats s;

	tl_echo_sample(bed.host, 0, &s);
	CU_ASSERT(s.received_msgs >= outcomes(&s));
	return s;
}

// Close in order; nothing may be left, and each message has an outcome.
static inline void tear_down(void)
{
	bed.peer_deaf = false;
	bed.service.close(bed.service.ctx);
	if (bed.peer_conn != NULL)
		tl_tcp_close(bed.peer_conn);
	for (int i = 0; i < 3000 && !bed.service.closed(bed.service.ctx); i++)
		run_ms(1);
	CU_ASSERT(bed.service.closed(bed.service.ctx));
	struct tl_echo_stats s = stats();
	CU_ASSERT_EQUAL(s.received_msgs, outcomes(&s));
	tl_echo_host_destroy(bed.host);
	tl_net_destroy(bed.peer);
	for (unsigned i = 0; i < bed.ours.n; i++)
		rte_pktmbuf_free(bed.ours.inbox[i]);
	for (unsigned i = 0; i < bed.peers.n; i++)
		rte_pktmbuf_free(bed.peers.inbox[i]);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), bed.mbufs);
}

static const struct tl_echo_cfg mcast_echo = {.name = "e",
	.kind = TL_ECHO_KIND_MCAST_TO_TCP,
	.group_be = GROUP,
	.udp_port_be = PORT(5001),
	.connect_ip_be = PEER_IP,
	.connect_port_be = PORT(5002),
	.send_buffer_bytes = 4096,
	.keepalive_ns = 30 * TL_NS_PER_S,
	.reconnect_min_ns = 100 * MS,
	.reconnect_max_ns = 5 * TL_NS_PER_S};

static inline void multicast(const void *payload, uint16_t len)
{
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5001), payload, len), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
}

// Receive a datagram from unknown host n.
static inline void give_datagram_of(uint8_t n)
{
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "datagram", 8), 0);
	tl_txq_flush(&bed.peers.tx);
	struct tl_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(bed.ours.inbox[0], struct tl_ipv4_hdr *, TL_ETHER_LEN);
	ip->src_be = IP(192, 0, 2, n);
	tl_wire_ipv4_finish(ip);
	((struct tl_udp_hdr *)(ip + 1))->cksum_be = 0;
	settle();
}

static inline int test_echo_run(const char *suite)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("test_echo", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	port = tl_test_port("vdev:net_ring_e", 1, test_clock);
	if (port == NULL)
		return 1;
	return tl_test_run(suite);
}
