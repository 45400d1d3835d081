// SPDX-License-Identifier: BSD-3-Clause
// Ready header: two hosts in the same state, one of which may not use it, send the same frames.

#include <errno.h>

#include <tl_test_nic.h>

#include "tl_test_tcp_host.h"
#include "tcp_output.h"

#define FRAMES_MAX 256

struct frames {
	unsigned n;
	uint16_t len[FRAMES_MAX];
	uint8_t bytes[FRAMES_MAX][1600];
};

static struct frames fast_frames, slow_frames;
static unsigned nic_sums; // checksums computed by the device

// Copy the frames unchanged, then process them as every host does.
static void keep(struct tl_txq *q, struct frames *to)
{
	for (uint16_t i = 0; i < q->n && to->n < FRAMES_MAX; i++) {
		to->len[to->n] = q->pkts[i]->data_len;
		memcpy(to->bytes[to->n++], rte_pktmbuf_mtod(q->pkts[i], uint8_t *), q->pkts[i]->data_len);
	}
	collect(q);
}

static void keep_fast(struct tl_txq *q)
{
	keep(q, &fast_frames);
}

static void keep_slow(struct tl_txq *q)
{
	keep(q, &slow_frames);
}

static void keep_fast_by_nic(struct tl_txq *q)
{
	nic_sums += nic_sum_all(q);
	keep(q, &fast_frames);
}

static void keep_slow_by_nic(struct tl_txq *q)
{
	nic_sums += nic_sum_all(q);
	keep(q, &slow_frames);
}

static struct host *open_host(struct app *app, void (*flush)(struct tl_txq *q), bool stamped, bool follows_room)
{
	struct tl_tcp_opts opts = {.window_follows_room = follows_room};
	struct host *h = start();

	h->tx.flush_fn = flush;
	h->tx.checksums = flush == keep_fast_by_nic || flush == keep_slow_by_nic;
	(void)hear(h, app, &opts);
	h->stamped = stamped;
	h->stamp = 77;
	if (stamped)
		give_stamped_syn(h, 0, PEERS, 0);
	else
		give_syn(h, 0, PEERS, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app->opened, 1);
	return h;
}

// Return true if a send of len bytes used the ready header, when that was allowed.
static bool send_held(struct app *app, const uint8_t *data, uint32_t len, bool allowed)
{
	struct tl_net *net = app->c->net;

	if (!allowed)
		tl_tcp_ready_stop(app->c);
	CU_ASSERT(tl_tcp_send_held(app->c, data, len) >= 0);
	bool noted = net->n_notes != 0;
	tl_txq_flush(net->cfg.tx);
	tl_net_sent(net);
	return noted;
}

static void acknowledge(struct host *h, struct app *app, uint16_t len)
{
	h->stamp++;
	give(h, A, app->c->rcv_nxt, app->c->snd_max, len);
}

static bool same_frames(void)
{
	bool same = fast_frames.n == slow_frames.n;

	for (unsigned i = 0; i < fast_frames.n && same; i++) {
		same = fast_frames.len[i] == slow_frames.len[i] &&
		       memcmp(fast_frames.bytes[i], slow_frames.bytes[i], fast_frames.len[i]) == 0;
		if (!same)
			printf("# frame %u of %u and %u bytes\n", i, fast_frames.len[i], slow_frames.len[i]);
	}
	return same && fast_frames.n > 0;
}

// State of a connection.
struct outcome {
	unsigned ready; // sends by the ready header
	uint32_t cwnd, snd_max, rcv_adv;
	uint64_t rto_ns;
};

static struct outcome send_much(void (*flush)(struct tl_txq *q), bool allowed, bool stamped, bool follows_room)
{
	static const uint16_t lens[] = {
		16, 1, 2, 3, 5, 7, 8, 15, 17, 63, 64, 65, 100, 333, 1000, 1400, 1448, 4, 16, 16};
	struct app app = {0};
	struct host *h = open_host(&app, flush, stamped, follows_room);
	struct outcome out = {0};
	uint8_t data[1500];

	for (unsigned i = 0; i < 3 * TL_ARRAY_LEN(lens); i++) {
		uint16_t len = lens[i % TL_ARRAY_LEN(lens)];
		for (unsigned k = 0; k < len; k++)
			data[k] = (uint8_t)(i < TL_ARRAY_LEN(lens) ? 0xff : i * 31 + k);
		out.ready += send_held(&app, data, len, allowed);
		if (i % 3 != 0)
			continue;
		pass(h, (i % 7 == 0 ? 400 : 1) * MS); // 400 ms are a pause that reduces cwnd to the initial one
		acknowledge(h, &app, i % 2 == 0 ? 100 : 0);
	}
	out.cwnd = app.c->cwnd;
	out.snd_max = app.c->snd_max;
	out.rcv_adv = app.c->rcv_adv;
	out.rto_ns = app.c->rto_ns;
	stop(h);
	app_free(&app);
	return out;
}

static void check_same(bool stamped, bool follows_room)
{
	fast_frames.n = slow_frames.n = 0;
	struct outcome fast = send_much(keep_fast, true, stamped, follows_room);
	struct outcome slow = send_much(keep_slow, false, stamped, follows_room);

	CU_ASSERT(fast.ready > 40);
	CU_ASSERT_EQUAL(slow.ready, 0);
	CU_ASSERT(same_frames());
	CU_ASSERT_EQUAL(fast.cwnd, slow.cwnd);
	CU_ASSERT_EQUAL(fast.snd_max, slow.snd_max);
	CU_ASSERT_EQUAL(fast.rcv_adv, slow.rcv_adv);
	CU_ASSERT_EQUAL(fast.rto_ns, slow.rto_ns);
}

TL_TEST("a ready header yields the same frames as the full path")
{
	check_same(false, false);
}

TL_TEST("a ready header has timestamps, too")
{
	check_same(true, false);
}

TL_TEST("a ready header works with a window that follows the free space")
{
	check_same(true, true);
}

TL_TEST("with checksum offload the same frames are sent")
{
	fast_frames.n = slow_frames.n = nic_sums = 0;
	send_much(keep_fast_by_nic, true, true, false);
	CU_ASSERT(nic_sums > 10);
	send_much(keep_slow, false, true, false);
	CU_ASSERT(same_frames());

	fast_frames.n = slow_frames.n = nic_sums = 0;
	send_much(keep_fast, true, false, false);
	send_much(keep_slow_by_nic, false, false, false);
	CU_ASSERT(nic_sums > 10);
	CU_ASSERT(same_frames());
}

TL_TEST("a ready header has the tag of the port")
{
	test_vlan = 7;
	for (unsigned i = 0; i < 4; i++)
		check_same(i & 1, i >> 1);
	fast_frames.n = slow_frames.n = nic_sums = 0;
	send_much(keep_fast_by_nic, true, true, false);
	CU_ASSERT(nic_sums > 10);
	send_much(keep_slow, false, true, false);
	CU_ASSERT(same_frames());
	test_vlan = 0;
}

// The window may grow considerably; then messages are sent with no acknowledgment between them.
static uint32_t send_a_burst(void (*flush)(struct tl_txq *q), bool allowed, bool follows_room, uint16_t window)
{
	static const uint16_t lens[] = {16, 1000, 16, 65, 0, 1};
	static const uint8_t data[1000] = "what goes out at once";
	struct app app = {0};
	struct host *h = open_host(&app, flush, false, follows_room);

	h->window = window;
	acknowledge(h, &app, 0);
	app.c->rcv_adv -= 8000;
	tl_tcp_ready_refresh(app.c);
	for (unsigned i = 0; i < TL_ARRAY_LEN(lens); i++) {
		if (!allowed)
			tl_tcp_ready_stop(app.c);
		CU_ASSERT(tl_tcp_send_held(app.c, data, lens[i]) >= 0);
	}
	tl_txq_flush(h->net->cfg.tx);
	tl_net_sent(h->net);
	uint32_t rcv_adv = app.c->rcv_adv;
	stop(h);
	app_free(&app);
	return rcv_adv;
}

TL_TEST("several frames without settling in between are the same")
{
	static const struct {
		bool follows_room;
		uint16_t window;
	} cases[] = {{false, WINDOW}, {true, WINDOW}, {false, 1050}}; // the last one delays some

	for (unsigned i = 0; i < TL_ARRAY_LEN(cases); i++) {
		fast_frames.n = slow_frames.n = 0;
		uint32_t fast = send_a_burst(keep_fast, true, cases[i].follows_room, cases[i].window);
		uint32_t slow = send_a_burst(keep_slow, false, cases[i].follows_room, cases[i].window);
		CU_ASSERT_EQUAL(fast, slow);
		CU_ASSERT(same_frames());
	}
}

TL_TEST("a lost segment sent by a ready header is retransmitted from the stored copy")
{
	struct app app = {0};
	struct host *h = open_host(&app, collect, true, false);
	uint8_t data[16] = "sixteen bytes...";

	forget(h);
	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	memset(data, 0, sizeof(data)); // afterwards it belongs to the caller again
	const struct sent first = *next_sent(h);
	pass(h, 2 * SECOND);
	const struct sent *again = next_sent(h);
	CU_ASSERT_EQUAL(again->seq, first.seq);
	CU_ASSERT_EQUAL(again->len, 16);
	CU_ASSERT_EQUAL(memcmp(again->data, "sixteen bytes...", 16), 0);
	stop(h);
	app_free(&app);
}

TL_TEST("each obstacle disables the ready header")
{
	struct app app = {0};
	struct host *h = open_host(&app, collect, false, false);
	const uint8_t data[16] = {0};

	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	CU_ASSERT_FALSE(send_held(&app, data, 0, true)); // nothing to send
	h->window = 40;
	acknowledge(h, &app, 0);
	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	CU_ASSERT_FALSE(send_held(&app, data, sizeof(data), true)); // 8 are left
	h->window = 8;
	acknowledge(h, &app, 0);
	CU_ASSERT_FALSE(send_held(&app, data, sizeof(data), true)); // the window is too small
	h->window = WINDOW;
	acknowledge(h, &app, 0);
	acknowledge(h, &app, 0);
	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	h->net->arp_generation++;
	CU_ASSERT_FALSE(send_held(&app, data, sizeof(data), true)); // its MAC may have changed
	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	tl_tcp_close(app.c);
	CU_ASSERT_EQUAL(tl_tcp_send_held(app.c, data, sizeof(data)), -ENOTCONN);
	stop(h);
	app_free(&app);
}

TL_TEST("each obstacle disables the ready header with a window that follows the free space")
{
	static const struct tl_tcp_opts opts = {.window_follows_room = true, .send_buffer_bytes = 100};
	struct app app = {0};
	struct host *h = start();
	const uint8_t data[64] = {0};

	accept_with(h, &app, &opts);
	CU_ASSERT(send_held(&app, data, 60, true));
	CU_ASSERT_EQUAL(tl_tcp_send_held(app.c, data, 60), -ENOBUFS); // the buffer has room for 40 more
	CU_ASSERT(send_held(&app, data, 40, true));
	acknowledge(h, &app, 0);
	give(h, A, app.c->rcv_nxt + 10, app.c->snd_max, 10); // beyond a gap: the next ACK may report it
	CU_ASSERT_FALSE(send_held(&app, data, 16, true));
	stop(h);
	app_free(&app);
}

TL_TEST("pending transmissions are settled before an ACK is processed")
{
	struct app app = {0};
	struct host *h = open_host(&app, collect, false, false);
	const uint8_t data[16] = {0};

	CU_ASSERT_EQUAL(tl_tcp_send_held(app.c, data, sizeof(data)), TL_TCP_SENT);
	CU_ASSERT_EQUAL(tl_tcp_send_held(app.c, data, sizeof(data)), TL_TCP_SENT);
	CU_ASSERT_EQUAL(h->net->n_notes, 2);
	give(h, A, PEERS + 1, OURS + 1 + 32, 0); // in the same burst
	CU_ASSERT_EQUAL(h->net->n_notes, 0);
	CU_ASSERT_EQUAL(app.c->snd_una, OURS + 1 + 32);
	CU_ASSERT_EQUAL(app.c->n_sent, 0);
	stop(h);
	app_free(&app);
}

static bool same_state(const struct tl_tcp *a, const struct tl_tcp *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

TL_TEST("a cache warm-up changes no state")
{
	struct app app = {0};
	struct host *h = open_host(&app, collect, true, false);
	const uint8_t data[16] = {0};
	struct tl_net *net = h->net;

	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	forget(h);
	const struct rte_mbuf *spare = net->spare;
	struct tl_tcp before = *app.c;
	struct tl_net net_before = *net;
	CU_ASSERT(tl_tcp_warm(app.c, "never to be sent", 16));
	CU_ASSERT(same_state(app.c, &before));
	CU_ASSERT_EQUAL(memcmp(net, &net_before, sizeof(*net)), 0);
	CU_ASSERT_EQUAL(h->tx.n, 0);
	CU_ASSERT_EQUAL(spare->pkt_len, 0);
	CU_ASSERT_EQUAL(spare->data_off, RTE_PKTMBUF_HEADROOM);
	CU_ASSERT(send_held(&app, data, sizeof(data), true));
	CU_ASSERT(sends(h, A | P, before.snd_nxt, before.rcv_nxt, 16));

	CU_ASSERT_EQUAL(tl_tcp_send_held(app.c, data, sizeof(data)), TL_TCP_SENT); // waits in tx
	before = *app.c;
	CU_ASSERT_FALSE(tl_tcp_warm(app.c, data, sizeof(data)));
	CU_ASSERT(same_state(app.c, &before));
	tl_txq_flush(&h->tx);
	tl_net_sent(net);
	h->window = 8;
	acknowledge(h, &app, 0);
	before = *app.c;
	CU_ASSERT_FALSE(tl_tcp_warm(app.c, data, sizeof(data))); // the window is too small
	CU_ASSERT(same_state(app.c, &before));
	stop(h);
	app_free(&app);
}

// Receive a datagram of len bytes to a group, with or without a checksum, its last byte damaged or not, and the verdict
// of the device on it or 0, and forward it.
static void give_any_datagram(struct host *h, bool summed, uint16_t len, uint8_t damage, uint64_t verdict)
{
	uint8_t frame[1500] = {1, 0, 0x5e, 1, 1, 1, 2, 0, 0, 0, 0, 2, 8, 0};
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_udp_hdr *udp = (struct tl_udp_hdr *)(ip + 1);
	uint16_t udp_len = TL_UDP_LEN + len;

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + udp_len),
		.ttl = 1,
		.proto = TL_IPPROTO_UDP,
		.src_be = host_ip(2),
		.dst_be = IP(239, 1, 1, 1)};
	tl_wire_ipv4_finish(ip);
	*udp = (struct tl_udp_hdr){PORT(5001), PORT(5001), tl_be16(udp_len), 0};
	for (uint16_t i = 0; i < len; i++)
		((uint8_t *)(udp + 1))[i] = (uint8_t)(len + i * 7);
	uint32_t sum = tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_UDP, udp_len);
	if (summed)
		udp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, udp, udp_len));
	((uint8_t *)(udp + 1))[len - 1] ^= damage;
	struct rte_mbuf *m = tl_test_mbuf(test_pool(), frame, TL_ETHER_LEN + TL_IPV4_LEN + udp_len);
	m->ol_flags |= verdict;
	give_frame(h->net, m, h->now_ns);
	tl_txq_flush(&h->tx); // collect() verifies the checksum
	tl_net_sent(h->net);
	rte_pktmbuf_free(m);
}

static void give_datagram(struct host *h, bool summed, uint16_t len)
{
	give_any_datagram(h, summed, len, 0, 0);
}

static void forward(void *ctx, const struct tl_udp_datagram *d)
{
	struct app *app = ctx;

	CU_ASSERT_EQUAL(tl_tcp_send_held(app->c, d->payload, d->len), TL_TCP_SENT);
	if (d->len > 200) // a fragment needs its own sum
		CU_ASSERT_EQUAL(tl_tcp_send_held(app->c, d->payload, d->len - 2), TL_TCP_SENT);
}

// Start a host that forwards the datagrams to a group on a connection.
static struct host *start_forwarding(struct app *app)
{
	struct host *h = open_host(app, collect, false, false);
	struct tl_udp *udp = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_udp_open(h->net, IP(239, 1, 1, 1), 0, PORT(5001), forward, app, &udp), 0);
	forget(h);
	return h;
}

TL_TEST("a forwarded payload has a correct checksum, with or without one in the datagram")
{
	static const uint16_t lens[] = {16, 63, 64, 65, 100, 333, 1000};
	struct app app = {0};
	struct host *h = start_forwarding(&app);

	for (unsigned i = 0; i < TL_ARRAY_LEN(lens); i++) {
		give_datagram(h, true, lens[i]);
		give_datagram(h, false, lens[i]);
		acknowledge(h, &app, 0);
	}
	CU_ASSERT_EQUAL(h->n_sent, 2 * TL_ARRAY_LEN(lens) + 4);
	CU_ASSERT_EQUAL(h->net->stats.rx_udp_pkts, 2 * TL_ARRAY_LEN(lens));
	stop(h);
	app_free(&app);
}

TL_TEST("a forwarded payload has a correct checksum if the device accepts a datagram without one")
{
	static const uint16_t lens[] = {16, 64, 65, 333};
	struct app app = {0};
	struct host *h = start_forwarding(&app);

	for (unsigned i = 0; i < TL_ARRAY_LEN(lens); i++) {
		give_any_datagram(h, false, lens[i], 0, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
		acknowledge(h, &app, 0);
	}
	CU_ASSERT_EQUAL(h->n_sent, TL_ARRAY_LEN(lens) + 1);
	stop(h);
	app_free(&app);
}

TL_TEST("a datagram with a wrong checksum is not forwarded")
{
	static const uint16_t lens[] = {1, 16, 63, 64, 65, 333};
	struct app app = {0};
	struct host *h = start_forwarding(&app);

	for (unsigned i = 0; i < TL_ARRAY_LEN(lens); i++)
		give_any_datagram(h, true, lens[i], 1, 0);
	CU_ASSERT_EQUAL(h->n_sent, 0);
	CU_ASSERT_EQUAL(h->net->stats.drop_cksum_pkts, TL_ARRAY_LEN(lens));
	stop(h);
	app_free(&app);
}

// ---- single messages

static void echo(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	CU_ASSERT(tl_tcp_send_held(c, data, len) >= 0);
}

// Receive the next len bytes of the peer, which acknowledge all but some, and run the rest of the turn.
static void give_next(struct host *h, struct app *app, uint32_t unacked, uint16_t len)
{
	uint8_t data[MSS];

	for (uint16_t i = 0; i < len; i++)
		data[i] = byte_at(app->c->rcv_nxt + i);
	struct rte_mbuf *m =
		segment(h, A | P, app->c->rcv_nxt, app->c->snd_max - unacked, (const uint8_t *)"", 0, data, len);
	give_frame(h->net, m, h->now_ns);
	tl_txq_flush(&h->tx);
	tl_net_sent(h->net); // reads the payload
	rte_pktmbuf_free(m);
}

static struct host *open_echo(struct app *app)
{
	const struct tl_tcp_opts opts = {.window_follows_room = true, .keepalive_idle_ns = TL_NS_PER_S};
	struct host *h = start();

	app->on_data = echo;
	accept_with(h, app, &opts);
	return h;
}

TL_TEST("an echo respects window, cwnd and MSS")
{
	struct app app = {0};
	struct host *h = open_echo(&app);
	const uint32_t cwnd = app.c->cwnd, mss = app.c->mss;

	for (unsigned limit = 0; limit < 3; limit++) {
		h->window = limit == 0 ? 10 : WINDOW;
		app.c->cwnd = limit == 1 ? 10 : cwnd;
		app.c->mss = limit == 2 ? 10 : (uint16_t)mss;
		forget(h);
		give_next(h, &app, 0, 16);
		CU_ASSERT(h->n_sent != 0);
		for (unsigned i = 0; i < h->n_sent; i++)
			CU_ASSERT(h->segment[i].len <= 10);
		h->window = WINDOW;
		app.c->cwnd = cwnd;
		while (app.c->snd_una != app.c->snd_end) {
			give(h, A, app.c->rcv_nxt, app.c->snd_max, 0);
			tl_net_sent(h->net);
		}
	}
	stop(h);
	app_free(&app);
}

// RFC 5681, section 4.1. The keepalive timer is the next on the wheel, so that the retransmission timer does not change
// it.
TL_TEST("an echo after an idle period restarts cwnd")
{
	struct app app = {0};
	struct host *h = open_echo(&app);

	give_next(h, &app, 0, 16);
	give(h, A, app.c->rcv_nxt, app.c->snd_max, 0);
	app.c->cwnd = 1 << 20;
	pass(h, app.c->rto_ns / 2);
	give_next(h, &app, 0, 16);
	CU_ASSERT_EQUAL(app.c->cwnd, 1 << 20);
	give(h, A, app.c->rcv_nxt, app.c->snd_max, 0);
	pass(h, 900 * MS);
	CU_ASSERT(h->now_ns + app.c->pto_ns >= app.c->due_ns);
	give_next(h, &app, 0, 16);
	CU_ASSERT(app.c->cwnd < 1 << 20);
	stop(h);
	app_free(&app);
}

// Only the message around the end of the ring is sent again.
TL_TEST("an echo that wraps in the send ring is retransmitted")
{
	struct app app = {0};
	struct host *h = open_echo(&app);
	unsigned again = 0;

	for (unsigned i = 0; i < 10000 && again < 2; i++) {
		uint32_t at = app.c->snd_nxt & app.c->ring_mask;
		give_next(h, &app, 0, 24);
		struct sent first = *next_sent(h);
		if (at + 24 > app.c->ring_mask + 1) {
			pass(h, 300 * MS);
			const struct sent *second = next_sent(h);
			CU_ASSERT_EQUAL(second->seq, first.seq);
			CU_ASSERT_EQUAL(second->len, 24);
			CU_ASSERT_EQUAL(memcmp(second->data, first.data, 24), 0);
			again++;
		}
		give(h, A, app.c->rcv_nxt, app.c->snd_max, 0);
		forget(h);
	}
	CU_ASSERT_EQUAL(again, 2);
	stop(h);
	app_free(&app);
}

// After a pause, with the keepalive timer alone on the wheel.
static void repeat_after(uint32_t rto_us, uint64_t pause_ns)
{
	const struct tl_tcp_opts opts = {
		.window_follows_room = true, .keepalive_idle_ns = 30 * TL_NS_PER_S, .rto_min_us = rto_us};
	struct app app = {.on_data = echo};
	struct host *h = start();

	accept_with(h, &app, &opts);
	for (unsigned i = 0; i < 2; i++) {
		give_next(h, &app, 0, 16);
		h->now_ns += MS / 10;
		give(h, A, app.c->rcv_nxt, app.c->snd_max, 0);
	}
	pass(h, pause_ns);
	uint64_t before = h->net->stats.tcp_retransmits;
	give_next(h, &app, 0, 16);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, before);
	pass(h, app.c->rto_ns + 6 * MS); // the wheel looks at most 4.2 ms late, and its tick is 0.26 ms
	CU_ASSERT(h->net->stats.tcp_retransmits > before);
	stop(h);
	app_free(&app);
}

TL_TEST("a message of a rarely used connection is retransmitted on time")
{
	static const uint32_t rto_us[] = {1000, 10000, 200000};
	static const uint64_t pause_ns[] = {2 * MS, 50 * MS, 500 * MS};

	for (unsigned i = 0; i < TL_ARRAY_LEN(rto_us); i++)
		for (unsigned k = 0; k < TL_ARRAY_LEN(pause_ns); k++)
			repeat_after(rto_us[i], pause_ns[k]);
}

// The template has the length of the last.
TL_TEST("a message of another length than the last has its own header")
{
	static const uint16_t lens[] = {16, 16, 24, 24, 8, 16, 1, 32, 31, 16, 64, 64, 16};
	struct app app = {0};
	struct host *h = open_echo(&app);

	for (unsigned i = 0; i < TL_ARRAY_LEN(lens); i++) {
		forget(h);
		give_next(h, &app, 0, lens[i]); // collect() checks both headers
		CU_ASSERT_EQUAL(next_sent(h)->len, lens[i]);
		h->now_ns += MS / 10;
		give(h, A, app.c->rcv_nxt, app.c->snd_max, 0);
	}
	stop(h);
	app_free(&app);
}

// An application that waits for no room.
static void forget_room(struct app *app)
{
	static struct tl_tcp_ops ops;

	ops = *app->c->ops;
	ops.room = NULL;
	app->c->ops = &ops;
}

// RFC 9293, section 3.8.6.2.2. The buffer is so small that half the window opens with one message.
TL_TEST("a window reopened by an ACK is advertised")
{
	const struct tl_tcp_opts opts = {.window_follows_room = true, .without_cwnd = true, .send_buffer_bytes = 2048};
	struct app app = {.on_data = echo};
	struct host *h = start();
	unsigned updates = 0;

	accept_with(h, &app, &opts);
	forget_room(&app);
	for (unsigned i = 0; i < 200; i++) {
		give_next(h, &app, 0, 24);
		h->now_ns += MS / 10;
		forget(h);
		give(h, A, app.c->rcv_nxt, app.c->snd_max, 0);
		updates += h->n_sent;
		CU_ASSERT_FALSE(tl_tcp_window_reopened(app.c));
	}
	CU_ASSERT(updates > 1);
	stop(h);
	app_free(&app);
}

static void send_few(struct host *h, struct app *app)
{
	static const uint8_t data[24];

	h->now_ns += MS / 10;
	tl_net_tick(h->net, h->now_ns);
	CU_ASSERT_EQUAL(tl_tcp_send_held(app->c, data, sizeof(data)), TL_TCP_SENT);
	tl_txq_flush(&h->tx);
	tl_net_sent(h->net);
}

// RFC 8985, section 6.2: of the delivered segments the one sent last counts.
TL_TEST("an ACK of two messages has the transmission time of the later")
{
	struct app app = {0};
	struct host *h = open_host(&app, collect, false, false);

	forget_room(&app);
	send_few(h, &app); // after a pause
	acknowledge(h, &app, 0);
	app.c->cwnd = 1 << 20;
	send_few(h, &app);
	CU_ASSERT(app.c->ready.plain_ack != 0 || app.c->is_ip6);
	send_few(h, &app);
	uint64_t later_ns = h->net->now_ns;
	h->now_ns += MS / 10;
	acknowledge(h, &app, 0);
	CU_ASSERT_EQUAL(app.c->rack.at_ns, later_ns);
	CU_ASSERT_EQUAL(app.c->rack.rtt_ns, MS / 10);
	stop(h);
	app_free(&app);
}

TL_TEST("a message after another has less window")
{
	const uint8_t data[24] = {0};
	struct app app = {0};
	struct host *h = open_host(&app, collect, false, false);

	CU_ASSERT_EQUAL(tl_tcp_send_held(app.c, data, 24), TL_TCP_SENT); // the wheel runs from now on
	tl_txq_flush(&h->tx);
	tl_net_sent(h->net);
	h->window = 40;
	acknowledge(h, &app, 0);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(tl_tcp_send_held(app.c, data, 24), i == 0 ? TL_TCP_SENT : TL_TCP_HELD_BACK);
		tl_txq_flush(&h->tx);
		tl_net_sent(h->net);
	}
	CU_ASSERT(app.c->snd_max - app.c->snd_una <= 40);
	stop(h);
	app_free(&app);
}

// The mbuf of a segment equals one from the pool before and after use.
TL_TEST("the mbuf provided for the next segment is reset")
{
	struct app app = {0};
	struct host *h = open_host(&app, collect, false, false);
	struct rte_mempool *usual = h->net->cfg.pool,
			   *pool = rte_pktmbuf_pool_create("cached", 63, 16, 0, 2048, SOCKET_ID_ANY);

	CU_ASSERT_FATAL(pool != NULL);
	tl_net_sent(h->net);
	rte_pktmbuf_free(h->net->spare);
	h->net->spare = NULL;
	h->net->cfg.pool = pool;
	struct rte_mbuf *used = rte_pktmbuf_alloc(pool);
	used->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
	used->data_off -= TL_VLAN_LEN;
	used->l2_len = 18;
	rte_pktmbuf_free(used);
	tl_net_sent(h->net);
	CU_ASSERT_PTR_EQUAL(h->net->spare, used);
	CU_ASSERT_EQUAL(used->ol_flags, 0);
	CU_ASSERT_EQUAL(used->tx_offload, 0);
	CU_ASSERT_EQUAL(used->data_off, RTE_PKTMBUF_HEADROOM);
	CU_ASSERT(used->nb_segs == 1 && used->next == NULL && rte_mbuf_refcnt_read(used) == 1);
	rte_pktmbuf_free(used);
	h->net->spare = NULL;
	h->net->cfg.pool = usual;
	rte_mempool_free(pool);
	stop(h);
	app_free(&app);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_ready");
}
