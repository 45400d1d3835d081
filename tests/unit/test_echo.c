// SPDX-License-Identifier: BSD-3-Clause
// Echoes against a second stack as peer, on a wire of two queues and in virtual time.

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
static struct bed bed;		     // large: not for the stack
static bool stamped;		     // frames of our port carry RX stamps
static bool isolated;		     // our port is isolated
static struct tl_tx_stamp *tx_stamp; // NULL: no reply requests a stamp
static uint64_t gap_tsc;	     // since our last poll; 0: none

static void note_call(const struct tl_txq *q)
{
	struct tl_echo_stats stats;

	tl_echo_sample(bed.host, 0, &stats);
	if (bed.n_calls < TL_ARRAY_LEN(bed.calls))
		bed.calls[bed.n_calls++] = (struct call){q->n, stats.received_msgs, q->begin_tsc};
}

static bool is_arp(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const struct tl_ether_hdr *)->type_be == tl_be16(TL_ETHERTYPE_ARP);
}

// Receive from the second queue of an isolated port.
static uint16_t burst_of_copies(struct tl_rxq *q, struct tl_burst *b)
{
	b->n = (uint16_t)bed.n_copies;
	memcpy(b->pkts, bed.copied, b->n * sizeof(b->pkts[0]));
	b->tsc = rte_rdtsc();
	b->mono_ns = bed.now_ns;
	tl_count(&q->stats.rx_pkts, b->n);
	bed.n_copies = 0;
	return b->n;
}

static void flush_to_other(struct tl_txq *q)
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
static void take_burst(struct end *end, struct tl_burst *b)
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

static void note_syns(const struct tl_burst *b)
{
	for (uint16_t i = 0; i < b->n; i++)
		if (b->pkt[i].kind == TL_PKT_TCP && (b->pkt[i].tcp_flags & TL_TCP_SYN) != 0 && bed.syns < 16)
			bed.syn_at_ns[bed.syns++] = bed.now_ns;
}

// Move frames across the wire until both inboxes are empty.
static void settle(void)
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

static void run_ms(unsigned ms)
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

static void take_bytes(const void *data, uint32_t len)
{
	if (bed.received + len <= sizeof(bed.bytes))
		memcpy(bed.bytes + bed.received, data, len);
	bed.received += len;
}

static void peer_opened(void *ctx, struct tl_tcp *c)
{
	bed.accepted++;
	bed.peer_conn = c;
}

static void peer_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	take_bytes(data, len);
}

static void peer_conn_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	bed.peer_conn = NULL;
}

static const struct tl_tcp_ops peer_ops = {.opened = peer_opened, .data = peer_data, .closed = peer_conn_closed};

static void peer_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	take_bytes(d->payload, d->len);
}

static void join_ends(void)
{
	bed.ours.other = &bed.peers;
	bed.peers.other = &bed.ours;
	bed.ours.tx = (struct tl_txq){.flush_fn = flush_to_other, .backend = &bed.ours};
	bed.peers.tx = (struct tl_txq){.flush_fn = flush_to_other, .backend = &bed.peers};
}

static struct tl_net_cfg net_cfg(struct tl_txq *tx, uint8_t host, uint32_t ip_be)
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

static void set_up_all(const struct tl_echo_cfg *echoes, uint32_t n, bool peer_listens)
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

static void set_up(const struct tl_echo_cfg *echo, bool peer_listens)
{
	set_up_all(echo, 1, peer_listens);
}

static uint64_t outcomes(const struct tl_echo_stats *s)
{
	return s->echoed_msgs + s->refused_msgs + s->drop_no_conn_msgs + s->drop_full_msgs + s->drop_tx_msgs +
	       s->lost_unacked_msgs;
}

// No message has two outcomes.
static struct tl_echo_stats stats(void)
{
	struct tl_echo_stats s;

	tl_echo_sample(bed.host, 0, &s);
	CU_ASSERT(s.received_msgs >= outcomes(&s));
	return s;
}

// Close in order; nothing may be left, and each message has an outcome.
static void tear_down(void)
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

static void multicast(const void *payload, uint16_t len)
{
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5001), payload, len), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
}

TL_TEST("a multicast message is returned over TCP unchanged")
{
	struct tl_hist residence;
	uint64_t bytes = 0;

	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(bed.accepted, 1);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	for (int i = 0; i < 100; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "message number %d", i);
		size_t before = bed.received;
		bytes += (uint64_t)len;
		multicast(text, (uint16_t)len);
		CU_ASSERT_EQUAL(bed.received - before, (size_t)len);
		CU_ASSERT_EQUAL(memcmp(bed.bytes + before, text, (size_t)len), 0);
	}
	CU_ASSERT_EQUAL(stats().echoed_msgs, 100);
	CU_ASSERT_EQUAL(stats().received_bytes, bytes);
	CU_ASSERT_EQUAL(stats().echoed_bytes, bytes);
	tl_echo_residence(bed.host, 0, &residence);
	CU_ASSERT_EQUAL(residence.count, 100);
	tear_down();
}

TL_TEST("a long residence time fires a trigger")
{
	_Atomic(uint64_t) never = 0, always = 0;
	struct tl_err err;

	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 1, &always, &err), 0);
	CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 3600 * TL_NS_PER_S, &never, &err), 0);
	multicast("x", 1);
	CU_ASSERT_NOT_EQUAL(atomic_load(&always), 0);
	CU_ASSERT_EQUAL(atomic_load(&never), 0);
	for (int i = 0; i < 14; i++)
		CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 1, &always, &err), 0);
	CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 1, &always, &err), -E2BIG);
	tear_down();
}

TL_TEST("a message without a connection is counted and dropped")
{
	set_up(&mcast_echo, false);
	multicast("lost", 4);
	CU_ASSERT_EQUAL(stats().received_msgs, 1);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	tear_down();
}

TL_TEST("datagrams to another group or port are ignored")
{
	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, IP(239, 1, 1, 2), PORT(5001), "x", 1), 0);
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5003), "x", 1), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().received_msgs, 0);
	tear_down();
}

// The peer's frames are held, so nothing is acknowledged: 4096 bytes fit, further messages are dropped whole and
// counted.
TL_TEST("a full send buffer drops whole messages and counts them")
{
	uint8_t message[100];

	set_up(&mcast_echo, true);
	bed.peer_deaf = true;
	memset(message, 'm', sizeof(message));
	for (int i = 0; i < 60; i++)
		multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 40);
	CU_ASSERT_EQUAL(stats().drop_full_msgs, 20);
	bed.peer_deaf = false;
	run_ms(2000);
	CU_ASSERT_EQUAL(bed.received, 4000);
	multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 41);
	CU_ASSERT_EQUAL(bed.accepted, 1);
	tear_down();
}

// Without acknowledgements: ten segments of 1460 bytes, or all.
TL_TEST("a burst is sent at once without cwnd, and ten segments of it with cwnd")
{
	struct tl_echo_cfg cfg = mcast_echo;
	uint8_t message[1000] = {0};

	cfg.send_buffer_bytes = 65536;
	for (int without = 0; without < 2; without++) {
		cfg.without_cwnd = without;
		set_up(&cfg, true);
		bed.peer_deaf = true;
		for (int i = 0; i < 30; i++)
			multicast(message, sizeof(message));
		CU_ASSERT_EQUAL(bed.peers.n, without ? 30 : 14);
		tear_down();
	}
}

TL_TEST("with on_full reset a peer that does not read is reset and reconnected")
{
	struct tl_echo_cfg cfg = mcast_echo;
	uint8_t message[1000] = {0};

	cfg.on_full = TL_ECHO_FULL_RESET;
	set_up(&cfg, true);
	bed.peer_deaf = true;
	for (int i = 0; i < 6; i++)
		multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().drop_full_msgs, 1);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 4);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	bed.peer_deaf = false;
	run_ms(500);
	CU_ASSERT_EQUAL(bed.accepted, 2);
	CU_ASSERT_EQUAL(stats().connections, 1);
	tear_down();
}

TL_TEST("the reconnect delay doubles")
{
	set_up(&mcast_echo, false); // each SYN is answered by a reset
	run_ms(1600);
	CU_ASSERT_FATAL(bed.syns >= 4);
	for (unsigned i = 1; i + 1 < 4; i++) {
		uint64_t wait = bed.syn_at_ns[i] - bed.syn_at_ns[i - 1];
		uint64_t next = bed.syn_at_ns[i + 1] - bed.syn_at_ns[i];
		CU_ASSERT(next >= 2 * wait - 10 * MS && next <= 2 * wait + 10 * MS);
	}
	tear_down();
}

TL_TEST("the reconnect delay does not exceed its configured maximum")
{
	static const unsigned wait_ms[] = {20, 40, 50, 50, 50};
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.reconnect_min_ns = 20 * MS;
	cfg.reconnect_max_ns = 50 * MS;
	set_up(&cfg, false);
	run_ms(300);
	CU_ASSERT_FATAL(bed.syns > TL_ARRAY_LEN(wait_ms));
	for (unsigned i = 0; i < TL_ARRAY_LEN(wait_ms); i++) {
		uint64_t wait_ns = bed.syn_at_ns[i + 1] - bed.syn_at_ns[i];
		CU_ASSERT(wait_ns >= wait_ms[i] * MS && wait_ns <= (wait_ms[i] + 5) * MS);
	}
	tear_down();
}

// our side of the connection
static uint64_t net_counter(const char *name)
{
	struct tl_counter all[128];
	unsigned n = tl_net_counters(tl_echo_net(bed.host), all, TL_ARRAY_LEN(all));

	for (unsigned i = 0; i < n; i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].value;
	CU_FAIL_FATAL("no such counter");
	return 0;
}

TL_TEST("keepalive and minimum RTO are as configured")
{
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.keepalive_ns = 500 * MS;
	cfg.rto_min_us = 30000;
	set_up(&cfg, true);
	run_ms(470);
	CU_ASSERT_EQUAL(net_counter("tcp_keepalives_tx"), 0);
	run_ms(40);
	CU_ASSERT_EQUAL(net_counter("tcp_keepalives_tx"), 1);
	bed.peer_deaf = true;
	multicast("late", 4);
	run_ms(28);
	CU_ASSERT_EQUAL(net_counter("tcp_tail_probes_tx"), 0);
	run_ms(5);
	CU_ASSERT_EQUAL(net_counter("tcp_tail_probes_tx"), 1);
	tear_down();
}

TL_TEST("the connection is restored when the peer returns")
{
	set_up(&mcast_echo, true);
	tl_tcp_abort(bed.peer_conn);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	multicast("lost", 4);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	run_ms(300);
	CU_ASSERT_EQUAL(bed.accepted, 2);
	multicast("kept", 4);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
	tear_down();
}

TL_TEST("a half-closed peer still receives messages and is reported as half-closed")
{
	set_up(&mcast_echo, true);
	tl_tcp_close(bed.peer_conn);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
	multicast("on its way", 10);
	CU_ASSERT_EQUAL(bed.received, 10);
	run_ms(20000);
	multicast("and more", 8);
	CU_ASSERT_EQUAL(bed.received, 18);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 2);
	CU_ASSERT_EQUAL(stats().connections, 1);
	CU_ASSERT_EQUAL(stats().disconnects, 0);
	tl_tcp_abort(bed.peer_conn);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().connections, 0);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	run_ms(200);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	tear_down();
}

TL_TEST("a half-closed peer that stops acknowledging is dropped by timeout")
{
	set_up(&mcast_echo, true);
	multicast("before", 6);
	tl_tcp_close(bed.peer_conn); // as on exit of a process
	tl_txq_flush(&bed.peers.tx);
	run_ms(4900);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
	CU_ASSERT_EQUAL(stats().connections, 1);
	bed.peer_deaf = true;
	run_ms(200);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "closing");
	multicast("lost", 4);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	bed.peer_deaf = false;
	run_ms(1000);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	CU_ASSERT_EQUAL(bed.accepted, 2);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	tear_down();
}

// Bytes before the FIN are echoed, even after a long wait.
TL_TEST("a half-closing client receives all bytes that it sent")
{
	static const struct tl_echo_cfg cfg = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4};
	static const uint8_t data[4000];
	struct tl_tcp *c;

	set_up(&cfg, false);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	run_ms(5);
	CU_ASSERT_EQUAL(tl_tcp_send(c, data, sizeof(data)), 0);
	tl_tcp_close(c);
	tl_txq_flush(&bed.peers.tx);
	bed.peer_deaf = true;
	settle();
	run_ms(100);
	CU_ASSERT_EQUAL(stats().connections, 1);
	CU_ASSERT_EQUAL(stats().echoed_bytes, sizeof(data));
	bed.peer_deaf = false;
	run_ms(1000);
	CU_ASSERT_EQUAL(bed.received, sizeof(data));
	CU_ASSERT_EQUAL(stats().connections, 0);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	tear_down();
}

TL_TEST("unacknowledged messages of an ended connection are counted as lost")
{
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.user_timeout_ms = 1000;
	set_up(&cfg, true);
	for (int i = 0; i < 7; i++)
		multicast("heard", 5);
	run_ms(100);
	bed.peer_deaf = true;
	for (int i = 0; i < 6; i++)
		multicast("unheard", 7);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 13);
	run_ms(1100);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 6);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 7);
	CU_ASSERT_EQUAL(stats().echoed_bytes, 35);
	bed.peer_deaf = false;
	run_ms(1000);
	multicast("again", 5);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 6);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 8);
	tear_down();
}

TL_TEST("messages unacknowledged by a client are counted as lost")
{
	static const struct tl_echo_cfg cfg = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4};
	struct tl_tcp *c;

	set_up(&cfg, false);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	run_ms(5);
	bed.peer_deaf = true;
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(tl_tcp_send(c, "message", 7), 0);
		tl_txq_flush(&bed.peers.tx);
		settle();
	}
	tl_tcp_abort(c);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().connections, 0);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 3);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 0);
	CU_ASSERT_EQUAL(stats().echoed_bytes, 0);
	tear_down();
}

// Two connections of the TCP echo have unacknowledged data after the other echo has ended; one send buffer can be lent.
TL_TEST("an echo's own send buffer is never shared, even while idle")
{
	const struct tl_echo_cfg tcp = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4,
		.send_buffers = 1};
	const struct tl_echo_cfg echoes[] = {mcast_echo, tcp};
	struct tl_tcp *borrower[2];

	set_up_all(echoes, 2, true);
	struct tl_tcp *feed = bed.peer_conn;
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(
			tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &borrower[i]), 0);
	run_ms(5);
	tl_tcp_abort(feed);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "waiting");
	bed.peer_deaf = true;
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(tl_tcp_send(borrower[i], "x", 1), 0);
	run_ms(150);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connecting");
	bed.peer_deaf = false;
	run_ms(2000);
	CU_ASSERT_EQUAL(bed.received, 2);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	tear_down();
}

TL_TEST("a TCP echo returns every byte")
{
	static const struct tl_echo_cfg cfg = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4};
	static uint8_t data[40000];
	struct tl_tcp *c;
	size_t sent = 0;

	set_up(&cfg, false);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	tl_txq_flush(&bed.peers.tx);
	run_ms(5);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	for (int i = 0; i < 200 && sent < sizeof(data); i++) {
		uint32_t part = (uint32_t)(sizeof(data) - sent < 1000 ? sizeof(data) - sent : 1000);
		if (tl_tcp_send(c, data + sent, part) == 0)
			sent += part;
		tl_txq_flush(&bed.peers.tx);
		run_ms(1);
	}
	run_ms(100);
	CU_ASSERT_EQUAL(bed.received, sizeof(data));
	CU_ASSERT_EQUAL(memcmp(bed.bytes, data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(stats().echoed_bytes, sizeof(data));
	CU_ASSERT_EQUAL(stats().connections, 1);
	tear_down();
}

// Send a datagram from that port of the peer to the UDP echo on 5007. Return whether a reply came.
static bool comes_back_to(uint16_t port_be)
{
	struct tl_udp *udp = NULL;
	size_t before = bed.received;

	CU_ASSERT_EQUAL_FATAL(tl_udp_open(bed.peer, 0, 0, port_be, peer_datagram, NULL, &udp), 0);
	CU_ASSERT_EQUAL(tl_udp_send(udp, OUR_IP, PORT(5007), "x", 1), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	tl_udp_close(udp);
	return bed.received != before;
}

TL_TEST("a UDP echo ignores echo services, other echoes and itself as senders")
{
	static const struct tl_echo_cfg echoes[] = {
		{.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(5007)},
		{.name = "v", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(6007)},
		{.name = "t", .kind = TL_ECHO_KIND_TCP, .listen_port_be = PORT(7007), .max_connections = 1}};
	static const uint16_t refused[] = {7, 11, 13, 17, 19, 37, 53, 69, 123, 5007, 6007, 8007};
	static const uint16_t answered[] = {6, 8, 18, 20, 1024, 5006, 5008, 7007, 65535};

	set_up_all(echoes, TL_ARRAY_LEN(echoes), false);
	for (size_t i = 0; i < TL_ARRAY_LEN(refused); i++)
		CU_ASSERT_FALSE(comes_back_to(PORT(refused[i])));
	for (size_t i = 0; i < TL_ARRAY_LEN(answered); i++)
		CU_ASSERT(comes_back_to(PORT(answered[i])));
	CU_ASSERT_EQUAL(stats().refused_msgs, TL_ARRAY_LEN(refused));
	CU_ASSERT_EQUAL(stats().echoed_msgs, TL_ARRAY_LEN(answered));
	tear_down();
}

TL_TEST("the lcore announces addresses and groups after main detects link up")
{
	set_up(&mcast_echo, true);
	run_ms(5000);
	bed.peer_deaf = true; // keep our frames in the queue
	run_ms(100);
	unsigned before = bed.peers.n;
	tl_echo_host_announce_again(bed.host);
	run_ms(3000);
	CU_ASSERT_EQUAL(bed.peers.n, before + 2 + 2); // gratuitous ARP and group reports
	run_ms(3000);
	CU_ASSERT_EQUAL(bed.peers.n, before + 2 + 2);
	tear_down();
}

TL_TEST("a UDP echo returns the datagram to its sender")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up(&cfg, false);
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "hello", 5), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(bed.received, 5);
	CU_ASSERT_EQUAL(memcmp(bed.bytes, "hello", 5), 0);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
	tear_down();
}

// A TX queue that accepts nothing holds one burst of replies; there is no room for more.
TL_TEST("a UDP reply without space in the send queue does not count as echoed")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up(&cfg, false);
	for (int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "hello", 5), 0);
		tl_txq_flush(&bed.peers.tx);
		settle();
		bed.stuck = true; // from the first reply on
	}
	CU_ASSERT_EQUAL(stats().received_msgs, 100);
	CU_ASSERT_EQUAL(stats().drop_tx_msgs, 99 - TL_BURST);
	bed.stuck = false;
	run_ms(1);
	CU_ASSERT_EQUAL(bed.received, 5 * stats().echoed_msgs);
	tear_down();
}

// Receive a datagram from unknown host n.
static void give_datagram_of(uint8_t n)
{
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "datagram", 8), 0);
	tl_txq_flush(&bed.peers.tx);
	struct tl_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(bed.ours.inbox[0], struct tl_ipv4_hdr *, TL_ETHER_LEN);
	ip->src_be = IP(192, 0, 2, n);
	tl_wire_ipv4_finish(ip);
	((struct tl_udp_hdr *)(ip + 1))->cksum_be = 0;
	settle();
}

// Receive its ARP request for us, from which we learn its MAC.
static void give_request_of(uint8_t n)
{
	uint8_t frame[TL_ETHER_MIN_FRAME] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, n, 8, 6};
	const struct tl_arp_hdr arp = {.hw_type_be = tl_be16(1),
		.proto_be = tl_be16(0x0800),
		.hw_len = 6,
		.proto_len = 4,
		.op_be = tl_be16(1),
		.sender_mac = {2, 0, 0, 0, 0, n},
		.sender_ip_be = IP(192, 0, 2, n),
		.target_ip_be = OUR_IP};

	memcpy(frame + TL_ETHER_LEN, &arp, sizeof(arp));
	bed.ours.inbox[bed.ours.n++] = tl_test_mbuf(pool, frame, sizeof(frame));
	settle();
}

// Two replies to an unresolved next hop: one is held. It is sent or dropped; or the echo ends first.
TL_TEST("a UDP reply queued for ARP is counted when sent or dropped")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};
	enum { ANSWERED, UNANSWERED, ENDED, CASES };

	for (int i = 0; i < CASES; i++) {
		set_up(&cfg, false);
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "hello", 5), 0);
		tl_txq_flush(&bed.peers.tx);
		settle();
		give_datagram_of(77);
		CU_ASSERT_EQUAL(stats().received_msgs, 2);
		CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
		CU_ASSERT_EQUAL(stats().drop_tx_msgs, 0);
		give_datagram_of(77);
		CU_ASSERT_EQUAL(stats().drop_tx_msgs, 1);
		if (i == ANSWERED)
			give_request_of(77);
		else if (i == UNANSWERED)
			run_ms(5000);
		CU_ASSERT_EQUAL(stats().echoed_msgs, i == ANSWERED ? 2 : 1);
		CU_ASSERT_EQUAL(stats().echoed_bytes, i == ANSWERED ? 13 : 5);
		CU_ASSERT_EQUAL(stats().drop_tx_msgs, i == UNANSWERED ? 2 : 1);
		tear_down();
	}
}

// ---- parts of a burst

static const struct tl_echo_cfg udp_echo = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

// Receive one burst: datagrams to another port, which have no reply, then some to the echo.
static void burst_of(unsigned others, unsigned ours)
{
	for (unsigned i = 0; i < others + ours; i++)
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, i < others ? PORT(9) : PORT(7), "datagram", 8), 0);
	tl_txq_flush(&bed.peers.tx);
	bed.n_calls = 0;
	settle();
}

static void set_up_parts(const struct tl_echo_cfg *echo, uint16_t early_pkts)
{
	set_up(echo, false);
	burst_of(0, 1); // each end learns the other's MAC
	bed.ours.tx.early_pkts = early_pkts;
}

static void expect_call(unsigned call, unsigned frames, uint64_t received_msgs)
{
	CU_ASSERT_FATAL(call < bed.n_calls);
	CU_ASSERT_EQUAL(bed.calls[call].frames, frames);
	CU_ASSERT_EQUAL(bed.calls[call].received_msgs, received_msgs + 1); // and the one of set_up_parts()
}

TL_TEST("the first reply of a burst is sent before the second message is processed")
{
	set_up_parts(&udp_echo, 8);
	burst_of(0, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 4);
	expect_call(0, 1, 1);
	expect_call(1, 8, 9);
	expect_call(2, 8, 17);
	expect_call(3, 3, 20);
	CU_ASSERT_EQUAL(bed.received, 21 * 8);
	tear_down();
}

// A single message on any queue has one call, too.
TL_TEST("a queue without early sends makes one send call per burst")
{
	set_up_parts(&udp_echo, 0);
	burst_of(0, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 1);
	expect_call(0, 20, 20);
	bed.ours.tx.early_pkts = 8;
	burst_of(0, 1);
	CU_ASSERT_EQUAL(bed.n_calls, 1);
	expect_call(0, 1, 21);
	tear_down();
}

// Up to four frames without a reply at the head of a burst are separate parts.
TL_TEST("the first message of a burst need not be its first frame")
{
	set_up_parts(&udp_echo, 8);
	burst_of(3, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 4);
	expect_call(0, 1, 1);
	expect_call(1, 8, 9);
	burst_of(4, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 3);
	expect_call(0, 8, 28);
	expect_call(1, 8, 36);
	expect_call(2, 4, 40);
	tear_down();
}

static uint64_t since_poll_ns(unsigned call)
{
	return tl_clock_span_ns(test_clock, bed.calls[call].begin_tsc - bed.poll_tsc);
}

TL_TEST("the residence time of each message ends at its own send call")
{
	struct tl_hist before, residence;
	uint64_t sum_ns = 0;

	set_up_parts(&udp_echo, 8);
	tl_echo_residence(bed.host, 0, &before);
	burst_of(0, 20);
	tl_echo_residence(bed.host, 0, &residence);
	for (unsigned i = 0; i < bed.n_calls; i++)
		sum_ns += bed.calls[i].frames * since_poll_ns(i);
	CU_ASSERT_EQUAL(residence.count - before.count, 20);
	CU_ASSERT_EQUAL(residence.sum_ns - before.sum_ns, sum_ns);
	CU_ASSERT(since_poll_ns(0) < since_poll_ns(3));
	tear_down();
}

TL_TEST("messages of all parts return over TCP in order")
{
	set_up(&mcast_echo, true);
	multicast("0000", 4);
	bed.ours.tx.early_pkts = 8;
	for (int i = 1; i < 30; i++) {
		char text[8];
		snprintf(text, sizeof(text), "%04d", i);
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5001), text, 4), 0);
	}
	tl_txq_flush(&bed.peers.tx);
	bed.n_calls = 0;
	settle();
	CU_ASSERT_EQUAL(bed.calls[0].frames, 1);
	run_ms(50);
	CU_ASSERT_EQUAL(bed.received, 30 * 4);
	for (int i = 0; i < 30; i++) {
		char text[8];
		snprintf(text, sizeof(text), "%04d", i);
		CU_ASSERT_EQUAL(memcmp(bed.bytes + 4 * i, text, 4), 0);
	}
	CU_ASSERT_EQUAL(stats().echoed_msgs, 30);
	tear_down();
}

// ---- stages

static struct tl_hist stage_of(enum tl_stage stage)
{
	struct tl_hist hist;

	tl_echo_stage(bed.host, 0, stage, &hist);
	return hist;
}

static void expect_stages_to_add_up(uint64_t msgs)
{
	struct tl_hist residence, tx_call;
	uint64_t sum_ns = 0;

	tl_echo_residence(bed.host, 0, &residence);
	tl_echo_tx_call(bed.host, 0, &tx_call);
	CU_ASSERT_EQUAL(residence.count, msgs);
	for (int i = TL_STAGE_PARSE; i < TL_STAGES; i++)
		CU_ASSERT_EQUAL(stage_of(i).count, msgs);
	for (int i = TL_STAGE_PARSE; i <= TL_STAGE_QUEUE; i++)
		sum_ns += stage_of(i).sum_ns;
	CU_ASSERT_EQUAL(sum_ns, residence.sum_ns);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_TX_CALL).sum_ns, tx_call.sum_ns);
}

TL_TEST("the stages of a message sum up to its residence")
{
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.stages = true;
	set_up(&cfg, true);
	for (int i = 0; i < 100; i++)
		multicast("message", 7);
	expect_stages_to_add_up(100);
	CU_ASSERT(stage_of(TL_STAGE_STACK).min_ns > 0);
	CU_ASSERT_FALSE(tl_echo_has_stage(bed.host, 0, TL_STAGE_WIRE));
	CU_ASSERT(tl_echo_stamp_cost(bed.host)->stamp_ns > 0);
	tear_down();
}

TL_TEST("without stages no stamps are taken")
{
	set_up(&mcast_echo, true);
	multicast("message", 7);
	CU_ASSERT_FALSE(tl_echo_has_stage(bed.host, 0, TL_STAGE_PARSE));
	CU_ASSERT_PTR_NULL(tl_echo_stamp_cost(bed.host));
	CU_ASSERT_PTR_NULL(tl_echo_tail(bed.host, 0));
	CU_ASSERT_PTR_NULL(tl_echo_samples(bed.host, 0));
	tear_down();
}

static const struct tl_echo_cfg late_udp_echo = {.name = "u",
	.kind = TL_ECHO_KIND_UDP,
	.listen_port_be = PORT(7),
	.stages = true,
	.outlier_ns = 1,
	.outliers = 8,
	.samples = 2};

// Receive a burst: datagrams to the echo, then others to another port.
static void datagrams(unsigned ours, unsigned others)
{
	for (unsigned i = 0; i < ours + others; i++)
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, i < ours ? PORT(7) : PORT(9), "datagram", 8), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
}

// The queue filled up before the stack was done: no stage follows the send call.
TL_TEST("with a full queue no stage follows the send call")
{
	set_up(&late_udp_echo, false);
	datagrams(1, 0); // each end learns the other's MAC
	uint64_t before_ns = stage_of(TL_STAGE_QUEUE).sum_ns;
	datagrams(TL_BURST, 0);
	expect_stages_to_add_up(1 + TL_BURST);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_QUEUE).sum_ns, before_ns);
	tear_down();
}

TL_TEST("an outlier is kept with its burst and the adjacent ones")
{
	struct tl_tail_outlier o;

	gap_tsc = 1000000;
	set_up(&late_udp_echo, false);
	datagrams(1, 0);
	datagrams(2, 1);
	datagrams(1, 3);
	const struct tl_tail *tail = tl_echo_tail(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_count(tail), 3);
	CU_ASSERT(tl_tail_read(tail, 1, &o));
	CU_ASSERT_EQUAL(o.msgs, 2);
	CU_ASSERT_EQUAL(o.own, 3);
	CU_ASSERT_EQUAL(o.burst.frames, 3);
	CU_ASSERT_EQUAL(o.burst.bytes, (uint32_t)o.frame_bytes[0] + o.frame_bytes[1] + o.frame_bytes[2]);
	CU_ASSERT_EQUAL(o.burst.poll_gap_ns, tl_clock_span_ns(test_clock, gap_tsc));
	CU_ASSERT_EQUAL(o.before.frames, 1);
	CU_ASSERT_EQUAL(o.after.frames, 4);
	CU_ASSERT_EQUAL(
		o.residence_ns, o.stage_ns[TL_STAGE_PARSE] + o.stage_ns[TL_STAGE_STACK] + o.stage_ns[TL_STAGE_QUEUE]);
	CU_ASSERT_EQUAL(o.stage_ns[TL_STAGE_WIRE], TL_TAIL_UNKNOWN);
	CU_ASSERT(tl_tail_read(tail, 2, &o));
	CU_ASSERT_EQUAL(o.after.frames, 0); // not yet
	tear_down();
	gap_tsc = 0;
}

TL_TEST("poll gaps and samples are recorded per message")
{
	struct tl_hist gaps;

	set_up(&late_udp_echo, false);
	datagrams(1, 0);
	tl_echo_poll_gap(bed.host, 0, &gaps);
	CU_ASSERT_EQUAL(gaps.count, 0); // the first poll
	gap_tsc = 1000000;
	datagrams(2, 1);
	datagrams(3, 0);
	tl_echo_poll_gap(bed.host, 0, &gaps);
	CU_ASSERT_EQUAL(gaps.count, 5);
	CU_ASSERT_EQUAL(gaps.sum_ns, 5 * tl_clock_span_ns(test_clock, gap_tsc));
	const struct tl_tail_samples *samples = tl_echo_samples(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_samples_count(samples), 3);
	CU_ASSERT_EQUAL(tl_tail_samples_kept(samples), 2);
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 0)->msgs, 2);
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 1)->msgs, 3);
	tear_down();
	gap_tsc = 0;
}

// The outlier has the times of the last part.
TL_TEST("stages are recorded per part, outliers per burst")
{
	struct tl_tail_outlier o;

	set_up_parts(&late_udp_echo, 8);
	burst_of(0, 20);
	expect_stages_to_add_up(21);
	CU_ASSERT(stage_of(TL_STAGE_PARSE).sum_ns > 0);
	const struct tl_tail *tail = tl_echo_tail(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_count(tail), 2);
	CU_ASSERT(tl_tail_read(tail, 1, &o));
	CU_ASSERT_EQUAL(o.msgs, 20);
	CU_ASSERT_EQUAL(o.own, (UINT64_C(1) << 20) - 1);
	CU_ASSERT_EQUAL(o.residence_ns, since_poll_ns(3));
	const struct tl_tail_samples *samples = tl_echo_samples(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_samples_count(samples), 1 + 4); // one per send call
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 1)->msgs, 3);
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 1)->residence_ns, since_poll_ns(3));
	tear_down();
}

// Frames rejected by the port are sent again after each part, not after each message.
TL_TEST("a part that is not sent has no residence time")
{
	struct tl_hist residence;

	set_up_parts(&late_udp_echo, 8);
	bed.stuck = true;
	burst_of(0, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 4);
	tl_echo_residence(bed.host, 0, &residence);
	CU_ASSERT_EQUAL(residence.count, 1);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_TX_CALL).count, 1);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 21);
	bed.stuck = false;
	run_ms(1);
	CU_ASSERT_EQUAL(bed.received, 21 * 8);
	tear_down();
}

// Each frame has its own stamp; of five frames one has no stamp, one has a stamp in the future, and one is not for the
// echo.
TL_TEST("with NIC timestamps the first stage begins on the wire")
{
	struct tl_tail_outlier o;

	stamped = true;
	set_up(&late_udp_echo, false);
	datagrams(1, 0);
	datagrams(4, 1);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_WIRE).count, 3);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_WIRE).sum_ns, 4 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(tl_echo_unstamped_pkts(bed.host, 0), 1);
	CU_ASSERT_EQUAL(tl_echo_after_poll_pkts(bed.host, 0), 1);
	CU_ASSERT(tl_tail_read(tl_echo_tail(bed.host, 0), 1, &o));
	CU_ASSERT_EQUAL(o.stage_ns[TL_STAGE_WIRE], 2 * TL_NS_PER_US);
	tear_down();
	stamped = false;
}

// The second of two frames in one burst has another source.
TL_TEST("a frame of another timestamp source is not attributed to the echo")
{
	struct tl_echo_cfg cfg = mcast_echo;

	stamped = true;
	cfg.source_be = PEER_IP;
	cfg.stages = true;
	set_up(&cfg, true);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5001), "message", 7), 0);
	tl_txq_flush(&bed.peers.tx);
	CU_ASSERT_EQUAL_FATAL(bed.ours.n, 2);
	struct tl_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(bed.ours.inbox[1], struct tl_ipv4_hdr *, TL_ETHER_LEN);
	ip->src_be ^= IP(0, 0, 0, 1);
	tl_wire_ipv4_finish(ip);
	settle();
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_WIRE).count, 1);
	tear_down();
	stamped = false;
}

// ---- replies with a requested TX stamp

static const struct tl_echo_cfg tcp_echo = {.name = "t",
	.kind = TL_ECHO_KIND_TCP,
	.listen_port_be = PORT(7),
	.send_buffer_bytes = 8192,
	.max_connections = 4};

static struct tl_tx_stamp stamp;

static void set_up_marking(const struct tl_echo_cfg *echo)
{
	stamp = (struct tl_tx_stamp){0};
	tx_stamp = &stamp;
	set_up(echo, true);
}

static void tear_down_marking(void)
{
	tear_down();
	tx_stamp = NULL;
}

static void expect_told(bool left)
{
	CU_ASSERT_EQUAL(bed.marked, 1);
	CU_ASSERT_TRUE(tl_tx_stamp_is_published(&stamp));
	CU_ASSERT_EQUAL(stamp.facts.left, left);
	CU_ASSERT(stamp.facts.poll_tsc != 0 && stamp.facts.poll_tsc <= stamp.facts.begin_tsc);
}

TL_TEST("one reply is marked and published per offer")
{
	set_up_marking(&mcast_echo);
	multicast("message", 7);
	CU_ASSERT_EQUAL(bed.marked, 0); // not offered
	tl_tx_stamp_offer(&stamp);
	uint64_t before_tsc = rte_rdtsc();
	multicast("message", 7);
	multicast("message", 7);
	expect_told(true);
	CU_ASSERT(stamp.facts.poll_tsc >= before_tsc);
	CU_ASSERT_FALSE(stamp.facts.stamped); // this port has no TX stamps
	CU_ASSERT_FALSE(tl_tx_stamp_withdraw(&stamp));
	tl_tx_stamp_clear(&stamp);
	CU_ASSERT_TRUE(tl_tx_stamp_withdraw(&stamp));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 3);
	tear_down_marking();
}

TL_TEST("a TCP reply is marked, a pure ACK is not")
{
	struct tl_tcp *c;

	set_up_marking(&tcp_echo);
	tl_tx_stamp_offer(&stamp);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	run_ms(5);
	CU_ASSERT_EQUAL(bed.marked, 0); // a SYN-ACK has no data
	CU_ASSERT_EQUAL(tl_tcp_send(c, "hello", 5), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(bed.received, 5);
	expect_told(true);
	tear_down_marking();
}

TL_TEST("an ARP request is not marked")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up_marking(&cfg);
	datagrams(1, 0); // each end learns the other's MAC
	tl_tx_stamp_offer(&stamp);
	give_datagram_of(77); // the reply waits for ARP
	CU_ASSERT_EQUAL(stats().received_msgs, 2);
	CU_ASSERT_EQUAL(bed.marked, 0);
	datagrams(1, 0);
	expect_told(true);
	tear_down_marking();
}

TL_TEST("a message delayed by the window is not marked")
{
	static const uint8_t message[1000];
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.send_buffer_bytes = 65536;
	set_up_marking(&cfg);
	bed.peer_deaf = true;
	for (int i = 0; i < 30; i++) // more than the congestion window
		multicast(message, sizeof(message));
	tl_tx_stamp_offer(&stamp);
	multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 31);
	CU_ASSERT_EQUAL(bed.marked, 0);
	CU_ASSERT_TRUE(tl_tx_stamp_withdraw(&stamp));
	tear_down_marking();
}

TL_TEST("the data of a marked reply belongs to its own send call")
{
	stamp = (struct tl_tx_stamp){0};
	tx_stamp = &stamp;
	set_up_parts(&udp_echo, 8);
	tl_tx_stamp_offer(&stamp);
	burst_of(0, 20);
	expect_told(true);
	CU_ASSERT_EQUAL(stamp.facts.begin_tsc, bed.calls[0].begin_tsc);
	tear_down_marking();
}

// Put a frame into our TX queue.
static void push_another(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	memset(rte_pktmbuf_append(m, 60), 0, 60);
	tl_txq_push(&bed.ours.tx, m);
}

TL_TEST("a marked reply that was refused or sent early has no departure time")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up_marking(&cfg);
	datagrams(1, 0);
	bed.refuses = true;
	tl_tx_stamp_offer(&stamp);
	datagrams(1, 0);
	expect_told(false);
	bed.refuses = false;
	bed.marked = 0;
	tl_tx_stamp_offer(&stamp);
	datagrams(TL_BURST, 0); // a full queue is sent at once, with all replies of the burst
	expect_told(true);
	bed.marked = 0;
	tl_tx_stamp_offer(&stamp);
	push_another(); // before them: the last of them is sent by a second call
	datagrams(TL_BURST, 0);
	expect_told(false);
	tear_down_marking();
}

// The peer resolves our address, and we the peer's, by ARP on the second queue alone.
TL_TEST("an isolated port resolves addresses by copied frames")
{
	isolated = true;
	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(bed.accepted, 1);
	multicast("hello", 5);
	CU_ASSERT(bed.received == 5 && memcmp(bed.bytes, "hello", 5) == 0);
	CU_ASSERT(bed.copies.stats.rx_pkts >= 1 && bed.n_copies == 0);
	tear_down();
	isolated = false;
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("test_echo", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	port = tl_test_port("vdev:net_ring_e", 1, test_clock);
	if (port == NULL)
		return 1;
	return tl_test_run("echo");
}
