// SPDX-License-Identifier: BSD-3-Clause
// Tests of delayed replies: a host with an echo and a second stack as its peer, in virtual time.

#include <math.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

#include "delay.h"

#define IP(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define PORT(n) ((uint16_t)((n) >> 8 | ((n)&0xff) << 8))
#define OUR_IP IP(192, 0, 2, 1)
#define PEER_IP IP(192, 0, 2, 2)
#define GROUP IP(239, 1, 1, 1)
#define WIRE_MAX 4096
#define REPLIES_MAX 4096
#define US TL_NS_PER_US
#define MS TL_NS_PER_MS

// An end of the wire: its send queue, and the frames that are on the way to it.
struct end {
	struct tl_txq tx;
	struct end *other;
	unsigned n;
	struct rte_mbuf *frames[WIRE_MAX];
};

static struct tl_clock *test_clock;
static struct tl_port *port;
static struct rte_mempool *pool;

static struct {
	struct end ours, peers;
	struct tl_echo_host *host;
	struct tl_service echo, delay;
	struct tl_net *peer;
	struct tl_udp *peer_udp;
	struct tl_tcp *conn; // of the peer
	uint64_t now_ns;
	unsigned mbufs;		     // in use before
	bool stuck;		     // our port accepts nothing
	struct tl_ip6 replied6;	     // destination of our latest UDP frame over IPv6
	bool ended;		     // the peer's connection got FIN
	size_t bytes, n_replies;     // received by the peer: by TCP, by UDP
	uint64_t at_ns[REPLIES_MAX]; // by the serial number of a UDP reply
	uint32_t order[REPLIES_MAX];
	uint8_t stream[1 << 17];
} bed;

// ---- the wire

static void note_reply6(const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tl_pkt pkt;

	tl_wire_parse(frame, m->data_len, &pkt);
	if (pkt.kind == TL_PKT_IP6 && pkt.ip6_kind == TL_PKT_UDP)
		bed.replied6 = tl_wire_ip6(frame, &pkt)->dst;
}

static void flush_to_other(struct tl_txq *q)
{
	struct end *end = q->backend;

	q->begin_tsc = q->end_tsc = rte_rdtsc();
	if (bed.stuck && end == &bed.ours)
		return;
	for (uint16_t i = 0; i < q->n; i++) {
		CU_ASSERT_FATAL(end->other->n < WIRE_MAX);
		end->other->frames[end->other->n++] = q->pkts[i];
	}
	for (uint16_t i = 0; i < q->n && end == &bed.ours; i++)
		note_reply6(q->pkts[i]);
	q->tx_pkts += q->n;
	q->n = 0;
}

static void take_burst(struct end *end, struct tl_burst *b)
{
	b->n = (uint16_t)tl_min_u64(end->n, TL_BURST);
	memcpy(b->pkts, end->frames, b->n * sizeof(b->pkts[0]));
	end->n -= b->n;
	memmove(end->frames, end->frames + b->n, end->n * sizeof(end->frames[0]));
	b->tsc = rte_rdtsc();
	b->mono_ns = bed.now_ns;
	for (uint16_t i = 0; i < b->n; i++)
		tl_wire_parse(rte_pktmbuf_mtod(b->pkts[i], uint8_t *), b->pkts[i]->data_len, &b->pkt[i]);
}

// Pass frames in both directions until the wire is quiet.
static void cross(void)
{
	static struct tl_burst burst;

	tl_txq_flush(&bed.peers.tx);
	while (bed.ours.n != 0 || bed.peers.n != 0) {
		if (bed.ours.n != 0) {
			take_burst(&bed.ours, &burst);
			bed.echo.rx(bed.echo.ctx, &burst);
			tl_txq_flush(&bed.ours.tx);
			bed.echo.after_tx(bed.echo.ctx, &burst);
			rte_pktmbuf_free_bulk(burst.pkts, burst.n);
		}
		if (bed.peers.n != 0) {
			take_burst(&bed.peers, &burst);
			tl_net_input(bed.peer, &burst);
			tl_txq_flush(&bed.peers.tx);
			rte_pktmbuf_free_bulk(burst.pkts, burst.n);
		}
	}
}

// Have time pass at once.
static void pass(uint64_t ns)
{
	bed.now_ns += ns;
	while (bed.delay.poll(bed.delay.ctx, bed.now_ns) != 0)
		cross();
	bed.echo.tick(bed.echo.ctx, bed.now_ns);
	tl_txq_flush(&bed.ours.tx);
	tl_net_tick(bed.peer, bed.now_ns);
	cross();
}

static void pass_often(unsigned times, uint64_t ns)
{
	while (times-- > 0)
		pass(ns);
}

// ---- the peer

static void peer_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	uint32_t serial;

	CU_ASSERT_FATAL(d->len >= sizeof(serial));
	memcpy(&serial, d->payload, sizeof(serial));
	CU_ASSERT_FATAL(serial < REPLIES_MAX && bed.n_replies < REPLIES_MAX);
	CU_ASSERT_EQUAL(bed.at_ns[serial], 0);
	bed.at_ns[serial] = bed.now_ns;
	bed.order[bed.n_replies++] = serial;
}

static void peer_opened(void *ctx, struct tl_tcp *c)
{
	bed.conn = c;
}

static void peer_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	CU_ASSERT_FATAL(bed.bytes + len <= sizeof(bed.stream));
	memcpy(bed.stream + bed.bytes, data, len);
	bed.bytes += len;
}

static void peer_ended(void *ctx, struct tl_tcp *c)
{
	bed.ended = true;
	tl_tcp_close(c);
}

static void peer_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	bed.conn = NULL;
}

static const struct tl_tcp_ops peer_ops = {
	.opened = peer_opened, .data = peer_data, .peer_closed = peer_ended, .closed = peer_closed};

static void send_datagram(uint32_t serial, uint32_t dst_be, uint16_t dst_port_be)
{
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, dst_be, dst_port_be, &serial, sizeof(serial)), 0);
	cross();
}

static void send_serials(uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		send_datagram(first + i, OUR_IP, PORT(7));
}

static void connect_peer(void)
{
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &bed.conn), 0);
	pass_often(5, MS);
}

// ---- set-up and end

static struct tl_net_cfg net_cfg(struct tl_txq *tx, uint8_t host, uint32_t ip_be)
{
	return (struct tl_net_cfg){.name = host == 1 ? "ours" : "peer",
		.tx = tx,
		.pool = pool,
		.mac = {2, 0, 0, 0, 0, host},
		.ip_be = ip_be,
		.mask_be = IP(255, 255, 255, 0),
		.ip6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = host}},
		.ip6_bits = 64,
		.gateway6 = {{0xfe, 0x80, [11] = 0xff, 0xfe, [15] = host ^ 3}}, // the other end
		.mtu = 1500,
		.max_conns = 64,
		.send_buffer_bytes = 65536,
		.seed = host};
}

static void set_up(const struct tl_echo_cfg *echo)
{
	static struct tl_tcp_listener *listener;
	struct tl_err err = {{0}};

	memset(&bed, 0, sizeof(bed));
	bed.mbufs = rte_mempool_in_use_count(pool);
	bed.now_ns = tl_clock_mono_ns(test_clock, rte_rdtsc());
	bed.ours = (struct end){.tx = {.flush_fn = flush_to_other, .backend = &bed.ours}, .other = &bed.peers};
	bed.peers = (struct end){.tx = {.flush_fn = flush_to_other, .backend = &bed.peers}, .other = &bed.ours};
	struct tl_net_cfg peer = net_cfg(&bed.peers.tx, 2, PEER_IP);
	struct tl_echo_host_cfg cfg = {.net = net_cfg(&bed.ours.tx, 1, OUR_IP),
		.echoes = echo,
		.n_echoes = 1,
		.port = port,
		.clock = test_clock};
	CU_ASSERT_EQUAL_FATAL(tl_net_create(&peer, &bed.peer, &err), 0);
	tl_net_announce(bed.peer, bed.now_ns);
	CU_ASSERT_EQUAL_FATAL(tl_echo_host_create(&cfg, &bed.host, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_echo_hosts_start(&bed.host, 1, &err), 0);
	tl_echo_host_service(bed.host, &bed.echo);
	CU_ASSERT_TRUE_FATAL(tl_echo_delay_service(bed.host, &bed.delay));
	CU_ASSERT_EQUAL_FATAL(tl_udp_open(bed.peer, 0, 0, PORT(4000), peer_datagram, NULL, &bed.peer_udp), 0);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(bed.peer, PORT(5002), 8, &peer_ops, NULL, NULL, &listener), 0);
	pass_often(20, MS);
}

static struct tl_echo_stats stats(void)
{
	struct tl_echo_stats s;

	tl_echo_sample(bed.host, 0, &s);
	return s;
}

// Close. Each message has one outcome, and nothing is left.
static void tear_down(void)
{
	bed.stuck = false;
	bed.echo.close(bed.echo.ctx);
	if (bed.conn != NULL)
		tl_tcp_close(bed.conn);
	for (int i = 0; i < 3000 && !bed.echo.closed(bed.echo.ctx); i++)
		pass(MS);
	bed.delay.finish(bed.delay.ctx);
	struct tl_echo_stats s = stats();
	uint64_t outcomes = s.lost_unacked_msgs;
#define ADD(name) outcomes += s.name;
	TL_ECHO_PARTS(ADD)
	CU_ASSERT_EQUAL(s.received_msgs, outcomes);
	CU_ASSERT_EQUAL(s.waiting_msgs, 0);
	tl_echo_host_destroy(bed.host);
	tl_net_destroy(bed.peer);
	rte_pktmbuf_free_bulk(bed.ours.frames, bed.ours.n);
	rte_pktmbuf_free_bulk(bed.peers.frames, bed.peers.n);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), bed.mbufs);
}

static const struct tl_echo_cfg udp_echo = {
	.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7), .delay_ns = 5 * US, .delay_limit = 4096};
static const struct tl_echo_cfg tcp_echo = {.name = "t",
	.kind = TL_ECHO_KIND_TCP,
	.listen_port_be = PORT(7),
	.send_buffer_bytes = 4096,
	.max_connections = 4,
	.delay_ns = 500 * US,
	.delay_limit = 4096};
static const struct tl_echo_cfg mcast_echo = {.name = "m",
	.kind = TL_ECHO_KIND_MCAST_TO_TCP,
	.group_be = GROUP,
	.udp_port_be = PORT(5001),
	.connect_ip_be = PEER_IP,
	.connect_port_be = PORT(5002),
	.send_buffer_bytes = 65536,
	.reconnect_min_ns = 100 * MS,
	.reconnect_max_ns = 5 * TL_NS_PER_S,
	.delay_ns = 100 * US,
	.delay_limit = 64};

// ---- times

TL_TEST("a reply is sent at the first poll after its delay")
{
	struct tl_hist lateness, residence;

	set_up(&udp_echo);
	send_serials(0, 3);
	CU_ASSERT_EQUAL(stats().waiting_msgs, 3);
	pass(5 * US - 1);
	CU_ASSERT_EQUAL(bed.n_replies, 0);
	CU_ASSERT_EQUAL(bed.delay.next_ns(bed.delay.ctx), bed.now_ns + 1);
	pass(1);
	CU_ASSERT_EQUAL(bed.n_replies, 3);
	CU_ASSERT_EQUAL(stats().waiting_msgs, 0);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 3);
	CU_ASSERT_EQUAL(bed.delay.poll(bed.delay.ctx, bed.now_ns), 0);
	CU_ASSERT_EQUAL(bed.delay.next_ns(bed.delay.ctx), TL_WHEEL_NEVER);
	CU_ASSERT_TRUE(tl_echo_lateness(bed.host, 0, &lateness));
	tl_echo_residence(bed.host, 0, &residence);
	CU_ASSERT_EQUAL(lateness.count, 3);
	CU_ASSERT_EQUAL(residence.count, 3);
	tear_down();
}

// Every ns is polled: a reply leaves at its own.
TL_TEST("jitter shifts replies within its bounds and reorders them")
{
	struct tl_echo_cfg cfg = udp_echo;
	uint64_t sent_ns, least_ns = UINT64_MAX, most_ns = 0;
	bool reordered = false;

	cfg.jitter_ns = US;
	set_up(&cfg);
	sent_ns = bed.now_ns;
	send_serials(0, 1000);
	while (bed.n_replies < 1000 && bed.now_ns < sent_ns + 7 * US)
		pass(1);
	CU_ASSERT_EQUAL(bed.n_replies, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t stay_ns = bed.at_ns[i] - sent_ns;
		CU_ASSERT(stay_ns >= 4 * US && stay_ns <= 6 * US);
		least_ns = tl_min_u64(least_ns, stay_ns);
		most_ns = tl_max_u64(most_ns, stay_ns);
		reordered |= i > 0 && bed.order[i] < bed.order[i - 1];
	}
	CU_ASSERT(least_ns < 4100 && most_ns > 5900);
	CU_ASSERT_TRUE(reordered);
	tear_down();
}

TL_TEST("replies due at one time are sent in order, in bursts")
{
	set_up(&udp_echo);
	send_serials(0, 100);
	bed.now_ns += 3600 * TL_NS_PER_S; // as after a halt of the host
	CU_ASSERT_EQUAL(bed.delay.poll(bed.delay.ctx, bed.now_ns), 32);
	CU_ASSERT(bed.delay.next_ns(bed.delay.ctx) <= bed.now_ns);
	pass(0);
	CU_ASSERT_EQUAL(bed.n_replies, 100);
	for (uint32_t i = 0; i < bed.n_replies; i++)
		CU_ASSERT_EQUAL(bed.order[i], i);
	tear_down();
}

// The mean and the deviation of a table, linear between its points.
static void check_table(enum tl_jitter jitter, uint64_t jitter_ns, double deviation)
{
	static uint64_t after_ns[DELAY_POINTS + 1];
	struct tl_echo_cfg cfg = {.delay_ns = MS, .jitter_ns = jitter_ns, .jitter = jitter};
	double sum = 0, squares = 0;

	tl_delay_fill(after_ns, &cfg);
	for (int i = 0; i < DELAY_POINTS; i++) {
		double from = (double)after_ns[i], to = (double)after_ns[i + 1];
		CU_ASSERT(from <= to);
		sum += (from + to) / 2;
		squares += (from * from + from * to + to * to) / 3;
	}
	double mean = sum / DELAY_POINTS;
	CU_ASSERT_DOUBLE_EQUAL(mean, MS, MS / 200.0);
	CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / DELAY_POINTS - mean * mean), deviation, deviation / 100 + 1);
}

TL_TEST("each distribution has the configured mean and deviation")
{
	check_table(TL_JITTER_UNIFORM, 0, 0);
	check_table(TL_JITTER_UNIFORM, 300 * US, 300e3 / sqrt(3));
	check_table(TL_JITTER_NORMAL, 100 * US, 100e3);
	check_table(TL_JITTER_PARETO, 100 * US, 100e3);
}

TL_TEST("replies wait while the transmit queue is full")
{
	set_up(&udp_echo);
	send_serials(0, 200);
	bed.stuck = true;
	pass(5 * US);
	CU_ASSERT_EQUAL(stats().echoed_msgs, TL_BURST);
	CU_ASSERT_EQUAL(stats().waiting_msgs, 200 - TL_BURST);
	bed.stuck = false;
	pass(0);
	pass(0);
	CU_ASSERT_EQUAL(bed.n_replies, 200);
	tear_down();
}

// More senders than the stack has numbers for.
TL_TEST("a reply over IPv6 reaches its sender after messages of many others")
{
	struct tl_ip6 sender = {{0x20, 0x01, 0x0d, 0xb9, [15] = 7}}, other = sender, now;
	struct tl_udp_datagram d = {.payload = (const uint8_t *)"hello", .len = 5, .src_port_be = PORT(4000)};

	set_up(&udp_echo);
	pass_often(1500, MS); // until the addresses are known to be unique
	d.src_ip_be = tl_net_ip6_passing(bed.host->net, &sender);
	tl_delay_udp_datagram(&bed.host->echoes[0], &d);
	for (uint32_t i = 0; i < 16384; i++) {
		other.byte[13] = (uint8_t)(1 + (i >> 8));
		other.byte[14] = (uint8_t)i;
		(void)tl_net_ip6_passing(bed.host->net, &other);
	}
	CU_ASSERT_TRUE(tl_net_ip6_of(bed.host->net, d.src_ip_be, &now));
	CU_ASSERT_FALSE(tl_ip6_equal(&now, &sender));
	pass(5 * US);
	pass_often(10, MS); // for the address of the gateway
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
	CU_ASSERT_TRUE(tl_ip6_equal(&bed.replied6, &sender));
	tear_down();
}

// ---- limits

TL_TEST("messages beyond the limit are dropped and counted")
{
	struct tl_echo_cfg cfg = udp_echo;

	cfg.delay_limit = 64;
	set_up(&cfg);
	for (uint32_t round = 0; round < 3; round++) {
		send_serials(100 * round, 100);
		CU_ASSERT_EQUAL(stats().waiting_msgs, 64);
		pass(5 * US);
		CU_ASSERT_EQUAL(bed.n_replies, 64 * (round + 1));
		CU_ASSERT_EQUAL(stats().drop_delay_msgs, 36 * (round + 1));
	}
	tear_down();
}

TL_TEST("a message of several blocks arrives intact")
{
	static uint8_t payload[DELAY_BYTES_MAX];
	struct tl_udp_datagram d = {.payload = payload, .len = 40000};

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8));
	set_up(&mcast_echo);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bed.conn);
	for (int i = 0; i < 4; i++)
		tl_delay_mcast_datagram(&bed.host->echoes[0], &d);
	CU_ASSERT_EQUAL(stats().waiting_msgs, 3); // of 21 places each
	CU_ASSERT_EQUAL(stats().drop_delay_msgs, 1);
	CU_ASSERT_EQUAL(bed.bytes, 0);
	pass_often(200, MS);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1); // the send buffer holds no more
	CU_ASSERT_EQUAL(stats().drop_full_msgs, 2);
	CU_ASSERT_EQUAL(bed.bytes, d.len);
	CU_ASSERT_EQUAL(memcmp(bed.stream, payload, d.len), 0);
	d.len = 64 * 1000; // all places are free again
	tl_delay_mcast_datagram(&bed.host->echoes[0], &d);
	pass_often(200, MS);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 2);
	CU_ASSERT_EQUAL(memcmp(bed.stream + 40000, payload, d.len), 0);
	tear_down();
}

// ---- connections

TL_TEST("bytes of a connection keep their order under any jitter")
{
	struct tl_echo_cfg cfg = tcp_echo;
	uint32_t sent = 0, words = 20000;

	cfg.jitter_ns = cfg.delay_ns;
	set_up(&cfg);
	connect_peer();
	for (uint32_t i = 0; i < 20000 && bed.bytes < words * sizeof(sent); i++) {
		for (uint32_t n = 0; n < i % 40 && sent < words && tl_tcp_room(bed.conn) >= sizeof(sent); n++, sent++)
			CU_ASSERT_EQUAL(tl_tcp_send(bed.conn, &sent, sizeof(sent)), 0);
		pass(50 * US);
	}
	CU_ASSERT_EQUAL(bed.bytes, words * sizeof(sent));
	for (uint32_t i = 0; i < words; i++)
		CU_ASSERT_EQUAL_FATAL(memcmp(bed.stream + i * sizeof(i), &i, sizeof(i)), 0);
	CU_ASSERT_EQUAL(stats().drop_full_msgs, 0);
	CU_ASSERT_EQUAL(stats().disconnects, 0);
	tear_down();
}

// The peer sends at once what the window allows, and no more until that is echoed and acknowledged.
TL_TEST("delayed bytes reduce the receive window, and none is lost")
{
	static const uint8_t data[60000];

	set_up(&tcp_echo);
	connect_peer();
	CU_ASSERT_EQUAL(tl_tcp_send(bed.conn, data, sizeof(data)), 0);
	cross();
	uint64_t first = stats().received_bytes;
	CU_ASSERT(first > 2 * 1400 && first <= 4096);
	pass(400 * US);
	CU_ASSERT_EQUAL(stats().received_bytes, first);
	CU_ASSERT_EQUAL(bed.bytes, 0);
	pass_often(4000, 100 * US);
	CU_ASSERT_EQUAL(bed.bytes, sizeof(data));
	CU_ASSERT_EQUAL(stats().disconnects, 0);
	tear_down();
}

TL_TEST("a half-closing client receives its delayed bytes, then FIN")
{
	set_up(&tcp_echo);
	connect_peer();
	CU_ASSERT_EQUAL(tl_tcp_send(bed.conn, "hello", 5), 0);
	tl_tcp_close(bed.conn);
	pass(499 * US);
	CU_ASSERT_EQUAL(bed.bytes, 0);
	CU_ASSERT_PTR_NOT_NULL(bed.conn);
	pass(US);
	pass_often(10, MS);
	CU_ASSERT_EQUAL(bed.bytes, 5);
	CU_ASSERT_PTR_NULL(bed.conn);
	CU_ASSERT_EQUAL(stats().connections, 0);
	tear_down();
}

TL_TEST("messages of an ended connection are not sent on a later one")
{
	set_up(&tcp_echo);
	for (uint64_t round = 1; round <= 6; round++) { // more than there are streams
		connect_peer();
		CU_ASSERT_EQUAL(tl_tcp_send(bed.conn, "hello", 5), 0);
		cross();
		tl_tcp_abort(bed.conn);
		cross();
		CU_ASSERT_EQUAL(stats().connections, 0);
		CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &bed.conn), 0);
		cross();
		CU_ASSERT_EQUAL(stats().connections, 1);
		pass_often(2, 500 * US);
		CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, round);
		CU_ASSERT_EQUAL(bed.bytes, 0);
		tl_tcp_abort(bed.conn);
		cross();
	}
	tear_down();
}

TL_TEST("a multicast message is sent on the connection open at its arrival, or dropped")
{
	set_up(&mcast_echo);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bed.conn);
	send_datagram(1, GROUP, PORT(5001));
	tl_tcp_abort(bed.conn);
	cross();
	CU_ASSERT_EQUAL(stats().waiting_msgs, 1);
	pass(100 * US);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	pass_often(120, MS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bed.conn);
	send_datagram(2, GROUP, PORT(5001));
	pass(100 * US - 1);
	CU_ASSERT_EQUAL(bed.bytes, 0);
	pass(1);
	CU_ASSERT_EQUAL(bed.bytes, 4);
	tear_down();
}

// ---- end

TL_TEST("a close waits for the replies, and later messages are dropped")
{
	set_up(&udp_echo);
	send_serials(0, 2);
	bed.echo.close(bed.echo.ctx);
	CU_ASSERT_FALSE(bed.echo.closed(bed.echo.ctx));
	send_serials(2, 1);
	CU_ASSERT_EQUAL(stats().drop_delay_msgs, 1);
	pass(5 * US);
	CU_ASSERT_EQUAL(bed.n_replies, 2);
	CU_ASSERT_TRUE(bed.echo.closed(bed.echo.ctx));
	tear_down();
}

TL_TEST("connections close after their delayed replies")
{
	set_up(&tcp_echo);
	connect_peer();
	CU_ASSERT_EQUAL(tl_tcp_send(bed.conn, "hello", 5), 0);
	cross();
	bed.echo.close(bed.echo.ctx);
	pass(400 * US);
	CU_ASSERT_FALSE(bed.ended);
	pass_often(20, 100 * US);
	CU_ASSERT_EQUAL(bed.bytes, 5);
	CU_ASSERT_TRUE(bed.ended);
	tear_down();
}

TL_TEST("replies pending at the end are dropped and counted")
{
	struct tl_echo_cfg cfg = udp_echo;

	cfg.delay_ns = 10 * TL_NS_PER_S;
	set_up(&cfg);
	send_serials(0, 5);
	bed.echo.close(bed.echo.ctx);
	bed.delay.finish(bed.delay.ctx);
	CU_ASSERT_EQUAL(stats().drop_delay_msgs, 5);
	CU_ASSERT_EQUAL(bed.n_replies, 0);
	tear_down();
}

TL_TEST("an echo without a delay has no service")
{
	struct tl_echo_cfg cfg = udp_echo;
	struct tl_echo_host_cfg host_cfg = {.net = net_cfg(&bed.ours.tx, 1, OUR_IP),
		.echoes = &cfg,
		.n_echoes = 1,
		.port = port,
		.clock = test_clock};
	struct tl_echo_host *host;
	struct tl_service service;
	static struct tl_hist lateness;

	cfg.delay_ns = 0;
	CU_ASSERT_EQUAL_FATAL(tl_echo_host_create(&host_cfg, &host, NULL), 0);
	CU_ASSERT_FALSE(tl_echo_delay_service(host, &service));
	CU_ASSERT_FALSE(tl_echo_lateness(host, 0, &lateness));
	tl_echo_host_destroy(host);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("test_echo_delay", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	port = tl_test_port("vdev:net_ring_d", 1, test_clock);
	if (port == NULL)
		return 1;
	return tl_test_run("echo_delay");
}
