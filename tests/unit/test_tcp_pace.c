// SPDX-License-Identifier: BSD-3-Clause
// Paced connections on a virtual clock: departure times, and what holds of TCP while a segment waits for its own.

#include "tl_test_tcp_host.h"
#include "tcp_lend.h"
#include "tcp_pace.h"

#define KBIT UINT64_C(1000)
#define MBIT (1000 * KBIT)
#define GBIT (1000 * MBIT)
#define US TL_NS_PER_US
#define BIT_NS TL_NS_PER_S // cost of a bit if 1 bit/s earns 1 per ns

typedef unsigned __int128 cost;

// Frames with data or FIN sent so far. Their bytes exceed rate * time in no interval by more than excess bits.
static struct {
	uint64_t bps, first_ns, last_ns, bits, bits_before; // bits_before: without the last frame
	uint32_t n, uneven, longest; // uneven: gaps that differ from the time of a frame by 1 ns or more
	uint64_t frame_bits;	     // of the last
	cost level, excess;
	uint32_t last_seq; // end of the latest data
} line;

static void line_start(uint64_t bps)
{
	memset(&line, 0, sizeof(line));
	line.bps = bps;
}

static void line_add(uint64_t now_ns, uint32_t frame_bytes)
{
	uint64_t gap_ns = line.n != 0 ? now_ns - line.last_ns : 0;
	cost earned = (cost)line.bps * gap_ns;

	if (line.n == 0)
		line.first_ns = now_ns;
	else if (earned + line.bps <= (cost)line.frame_bits * BIT_NS ||
		 earned >= (cost)line.frame_bits * BIT_NS + line.bps)
		line.uneven++;
	line.level -= earned < line.level ? earned : line.level;
	line.bits_before = line.bits;
	line.frame_bits = 8 * (uint64_t)frame_bytes;
	line.bits += line.frame_bits;
	line.level += (cost)line.frame_bits * BIT_NS;
	if (line.excess < line.level)
		line.excess = line.level;
	if (line.longest < frame_bytes)
		line.longest = frame_bytes;
	line.last_ns = now_ns;
	line.n++;
}

// Check that in no interval more left than one frame, the rate, and what late departures make up. The first departure
// of an interval may be late by a fraction of 1 ns.
static bool line_conforms(uint64_t late_ns)
{
	return line.excess <= (cost)line.longest * 8 * BIT_NS + (cost)line.bps * (late_ns + 1);
}

// Relative error of the average rate from the first departure to the last, in 1/10^6.
static uint64_t line_error_ppm(void)
{
	cost earned = (cost)line.bps * (line.last_ns - line.first_ns), sent = (cost)line.bits_before * BIT_NS;

	return (uint64_t)((earned > sent ? earned - sent : sent - earned) * 1000000 / earned);
}

static void collect_to_line(struct tl_txq *q)
{
	struct host *h = q->backend;

	for (uint16_t i = 0; i < q->n && h->ring_taken == 0; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		struct tl_pkt pkt;
		tl_wire_parse(frame, q->pkts[i]->data_len, &pkt);
		const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(frame + pkt.l4_off);
		if (is_tcp(&pkt) && (pkt.payload_len != 0 || (tcp->flags & F) != 0)) {
			line_add(h->now_ns, q->pkts[i]->data_len);
			line.last_seq = tl_be32(tcp->seq_be) + pkt.payload_len;
		}
	}
	collect(q);
}

// ---- a connection

static struct tl_tcp_opts pace_opts(uint64_t bps)
{
	return (struct tl_tcp_opts){.pace_bps = bps, .without_cwnd = true};
}

static void count_wait(void *ctx, struct tl_tcp *c)
{
	((struct app *)ctx)->rooms++;
}

static const struct tl_tcp_ops COUNTING = {.opened = app_opened, .closed = app_closed, .paced = count_wait};

// Accept a peer with SACK and a window of 8 MB.
static void accept_wide(struct host *h, struct app *app, const struct tl_tcp_opts *opts)
{
	static const uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 1, 4, 2, 1, 3, 3, 7};

	(void)hear(h, app, opts);
	give_options(h, S, PEERS, 0, options, sizeof(options), "", 0);
	pass(h, RTT);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app->opened, 1);
	forget(h);
	h->tx.flush_fn = collect_to_line;
}

static struct host *start_paced(struct app *app, uint64_t bps, uint32_t send_buffer_bytes)
{
	struct host *h = start_with(8, send_buffer_bytes, 1500, true);
	struct tl_tcp_opts opts = pace_opts(bps);

	accept_wide(h, app, &opts);
	line_start(bps);
	return h;
}

static void set_time(struct host *h, uint64_t now_ns)
{
	h->now_ns = now_ns;
	(void)tl_tcp_pace(h->net, now_ns);
	tl_txq_flush(&h->tx);
	tl_net_sent(h->net);
}

// Time of the next poll: after turn_ns, or (0) at the next departure. With a full ring that is over.
static uint64_t turn_at(const struct host *h, uint64_t turn_ns)
{
	return turn_ns != 0 ? h->now_ns + turn_ns : tl_max_u64(tl_tcp_pace_next_ns(h->net), h->now_ns + 1);
}

// Have time pass with a poll at each departure time, or every turn_ns.
static void run(struct host *h, uint64_t for_ns, uint64_t turn_ns)
{
	uint64_t end_ns = h->now_ns + for_ns, tick_ns = h->now_ns + MS;

	while (h->now_ns < end_ns) {
		set_time(h, tl_min_u64(tl_min_u64(turn_at(h, turn_ns), tick_ns), end_ns));
		if (h->now_ns < tick_ns)
			continue;
		tl_net_tick(h->net, h->now_ns);
		tl_txq_flush(&h->tx);
		tick_ns = h->now_ns + MS;
	}
}

// The same; the peer acknowledges all at once, and the application always has more to send.
static void run_busy(struct host *h, struct app *app, uint64_t for_ns, uint64_t turn_ns)
{
	static const uint8_t data[16384];
	uint64_t end_ns = h->now_ns + for_ns, tick_ns = h->now_ns + MS;

	while (h->now_ns < end_ns) {
		while (tl_tcp_room(app->c) >= sizeof(data))
			CU_ASSERT_EQUAL_FATAL(tl_tcp_send(app->c, data, sizeof(data)), 0);
		tl_txq_flush(&h->tx);
		set_time(h, tl_min_u64(tl_min_u64(turn_at(h, turn_ns), tick_ns), end_ns));
		if (app->c->snd_una != app->c->snd_max)
			give(h, A, PEERS + 1, app->c->snd_max, 0);
		if (h->now_ns < tick_ns)
			continue;
		tl_net_tick(h->net, h->now_ns);
		tl_txq_flush(&h->tx);
		tick_ns = h->now_ns + MS;
	}
}

// Time of a frame with len bytes of data, rounded up.
static uint64_t frame_ns(const struct host *h, uint64_t bps, uint32_t len)
{
	uint32_t ip_len = tl_ip_is6(PEER) ? TL_IPV6_LEN : TL_IPV4_LEN;
	uint64_t bits = 8 * (uint64_t)(TL_ETHER_LEN + ip_len + TL_TCP_LEN + len);

	return (bits * TL_NS_PER_S + bps - 1) / bps;
}

// ---- departure times

TL_TEST("segments are evenly spaced, and the rate is met within 0.1 %")
{
	static const struct {
		uint64_t bps, for_ns;
	} cases[] = {{64 * KBIT, 10 * SECOND}, {1234567, 10 * SECOND}, {30 * MBIT, 10 * SECOND}, {GBIT, SECOND / 4},
		{10 * GBIT, SECOND / 40}};

	for (unsigned i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct app app = {0};
		struct host *h = start_paced(&app, cases[i].bps, 65536);
		run_busy(h, &app, cases[i].for_ns, 0);
		CU_ASSERT(line.n > 50);
		CU_ASSERT_EQUAL(line.uneven, 0);
		CU_ASSERT(line_conforms(0));
		CU_ASSERT(line_error_ppm() < 1000);
		CU_ASSERT(cases[i].for_ns - (line.last_ns - line.first_ns) <= frame_ns(h, cases[i].bps, MSS));
		CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 0);
		stop(h);
	}
}

TL_TEST("no fraction of a nanosecond is lost or gained over 10 s")
{
	static const uint64_t rates[] = {8 * KBIT, 64 * KBIT, 3 * MBIT, GBIT, 7 * GBIT, 10 * GBIT, 400 * GBIT};

	for (unsigned i = 0; i < TL_ARRAY_LEN(rates); i++) {
		struct app app = {0};
		struct host *h = start_paced(&app, rates[i], 65536);
		uint64_t begin_ns = h->now_ns, until_ns = begin_ns + 10 * SECOND;
		for (uint32_t k = 0; h->now_ns < until_ns && k < 20000000; k++) {
			uint32_t bytes = 60 + k * 7919 % 1455;
			h->net->now_ns = h->now_ns;
			tl_tcp_pace_charge(app.c, bytes);
			line_add(h->now_ns, bytes);
			h->now_ns = app.c->pace_at_ns;
		}
		CU_ASSERT(line_conforms(0));
		CU_ASSERT(line_error_ppm() < 10);
		stop(h);
	}
}

TL_TEST("slightly late departures are compensated")
{
	static const uint64_t turns_ns[] = {777, 20 * US, 130 * US};

	for (unsigned i = 0; i < TL_ARRAY_LEN(turns_ns); i++) {
		struct app app = {0};
		struct host *h = start_paced(&app, 500 * MBIT, 65536);
		run_busy(h, &app, 200 * MS, turns_ns[i]);
		CU_ASSERT(line_conforms(turns_ns[i]));
		CU_ASSERT(line_error_ppm() < 1000);
		stop(h);
	}
}

TL_TEST("a long stall is compensated by a bounded burst only")
{
	struct app app = {0};
	struct host *h = start_paced(&app, 500 * MBIT, 262144);

	run_busy(h, &app, 10 * MS, 0);
	for (int i = 0; i < 5; i++) {
		h->now_ns += 5 * MS;
		run_busy(h, &app, 5 * MS, 0);
	}
	CU_ASSERT(line_conforms(TL_TCP_PACE_LATE_NS));
	CU_ASSERT_FALSE(line_conforms(TL_TCP_PACE_LATE_NS / 2));
	stop(h);
}

TL_TEST("an idle connection sends one segment at once and the next when due")
{
	struct app app = {0};
	struct host *h = start_paced(&app, MBIT, 65536);

	for (int i = 0; i < 3; i++) {
		run(h, 100 * MS, 0);
		say(&app, 100); // at once
		say(&app, 100);
		CU_ASSERT_EQUAL(h->n_sent, 1);
		uint64_t began_ns = h->now_ns;
		run(h, frame_ns(h, MBIT, 100) - 1, 0);
		CU_ASSERT_EQUAL(h->n_sent, 1);
		run(h, 1, 0);
		CU_ASSERT_EQUAL(h->n_sent, 2);
		CU_ASSERT_EQUAL(h->now_ns, began_ns + frame_ns(h, MBIT, 100));
		give(h, A, PEERS + 1, app.c->snd_max, 0);
		forget(h);
	}
	stop(h);
}

TL_TEST("VLAN tag bytes are charged")
{
	struct app app = {0};

	test_vlan = 7;
	struct host *h = start_paced(&app, MBIT, 65536);
	say(&app, 2 * MSS);
	test_vlan = 0;
	CU_ASSERT_EQUAL(app.c->pace_at_ns - h->now_ns, frame_ns(h, MBIT, app.c->mss + TL_VLAN_LEN));
	test_vlan = 7;
	stop(h);
	test_vlan = 0;
}

TL_TEST("each wait is reported once")
{
	struct app app = {0};
	struct host *h = start();
	struct tl_tcp_opts opts = pace_opts(MBIT);
	struct tl_tcp_listener *listener = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(h->net, OUR_PORT, 4, &COUNTING, &app, &opts, &listener), 0);
	give_syn(h, 0, PEERS, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 3 * app.c->mss);
	CU_ASSERT_EQUAL(app.rooms, 1);
	run(h, SECOND / 10, 0);
	CU_ASSERT_EQUAL(app.rooms, 2);
	say(&app, 1);
	CU_ASSERT_EQUAL(app.rooms, 2);
	stop(h);
}

// ---- TCP while a segment waits

TL_TEST("a pure ACK is not paced")
{
	struct app app = {0};
	struct host *h = start_paced(&app, 64 * KBIT, 65536);

	say(&app, 3 * app.c->mss);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	forget(h);
	give(h, A | P, PEERS + 1, OURS + 1, 100);
	SENDS(h, A, app.c->snd_max, PEERS + 101, 0);
	SILENT(h);
	CU_ASSERT(has_stream(&app, 100));
	stop(h);
	app_free(&app);
}

TL_TEST("deferred data is sent in order, with FIN on the last segment")
{
	struct app app = {0};
	struct host *h = start_paced(&app, MBIT, 65536);
	uint32_t seq = OURS + 1, mss = app.c->mss;

	say(&app, 3 * mss + 100);
	hang_up(h, &app);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	run(h, 3 * frame_ns(h, MBIT, mss), 0);
	for (int i = 0; i < 3; i++, seq += mss)
		SENDS(h, A, seq, PEERS + 1, mss);
	SENDS(h, F | P | A, seq, PEERS + 1, 100);
	SILENT(h);
	CU_ASSERT_EQUAL(line.uneven, 0);
	for (unsigned i = 0; i < h->n_sent; i++)
		for (uint16_t k = 0; k < h->segment[i].len; k++)
			CU_ASSERT_EQUAL_FATAL(h->segment[i].data[k], byte_at(h->segment[i].seq + k));
	give(h, F | A, PEERS + 1, seq + 101, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_DONE);
	stop(h);
}

TL_TEST("a FIN without data is paced")
{
	struct app app = {0};
	struct host *h = start_paced(&app, 64 * KBIT, 65536);

	say(&app, 1000);
	give(h, A, PEERS + 1, OURS + 1001, 0);
	forget(h);
	hang_up(h, &app);
	SILENT(h);
	run(h, frame_ns(h, 64 * KBIT, 1000), 0);
	SENDS(h, F | A, OURS + 1001, PEERS + 1, 0);
	SILENT(h);
	stop(h);
}

// 10 segments, of which the first is lost.
static struct host *start_with_loss(struct app *app, uint64_t bps, bool sack)
{
	struct host *h = start_paced(app, bps, 65536);

	app->c->sack &= sack;
	say(app, 20 * MSS);
	run(h, 9 * frame_ns(h, bps, MSS), 0);
	forget(h);
	return h;
}

TL_TEST("a retransmission is paced and sent before new data")
{
	for (int sack = 0; sack < 2; sack++) {
		struct app app = {0};
		struct host *h = start_with_loss(&app, 10 * MBIT, sack);
		uint32_t next = app.c->snd_max;
		CU_ASSERT_EQUAL_FATAL(next, OURS + 1 + 10 * MSS);
		for (unsigned i = 1; i < 4; i++) {
			if (sack)
				GIVE_SACK(h, 0, {1, 1 + i});
			else
				give(h, A, PEERS + 1, OURS + 1, 0);
		}
		CU_ASSERT_TRUE(app.c->in_recovery);
		SILENT(h); // the next departure time is ahead
		run(h, 3 * frame_ns(h, 10 * MBIT, MSS), 0);
		SENDS(h, A, OURS + 1, PEERS + 1, MSS);
		SENDS(h, A, next, PEERS + 1, MSS);
		CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 1);
		CU_ASSERT_EQUAL(line.uneven, 0);
		stop(h);
	}
}

TL_TEST("a deferred retransmission is cancelled by its ACK")
{
	for (int sack = 0; sack < 2; sack++) {
		struct app app = {0};
		struct host *h = start_with_loss(&app, 10 * MBIT, sack);
		for (unsigned i = 1; i < 4; i++) {
			if (sack)
				GIVE_SACK(h, 0, {1, 1 + i});
			else
				give(h, A, PEERS + 1, OURS + 1, 0);
		}
		give(h, A, PEERS + 1, app.c->snd_max, 0); // it was only late
		run(h, SECOND, 0);
		CU_ASSERT_EQUAL(next_sent(h)->seq, OURS + 1 + 10 * MSS);
		stop(h);
	}
}

// The record of transmission times is shorter than the flight. Segment 60 is lost, and more is sent all the time.
TL_TEST("a loss in a long flight is detected during transmission")
{
	struct app app = {0};
	struct host *h = start_paced(&app, 100 * MBIT, 1 << 20);

	for (int i = 0; i < 10; i++)
		say(&app, 65000);
	run(h, RTT, 0);
	CU_ASSERT_FATAL(app.c->snd_max - app.c->snd_una > 4 * TL_TCP_SENT_MAX * MSS);
	for (uint32_t i = 0; i < 90; i++) {
		run(h, frame_ns(h, 100 * MBIT, MSS), 0);
		if (i < 60)
			give(h, A, PEERS + 1, OURS + 1 + (i + 1) * MSS, 0);
		else if (i > 60)
			GIVE_SACK(h, 60, {61, i + 1});
	}
	CU_ASSERT(tl_tcp_unsent_bytes(app.c) > 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 1);
	CU_ASSERT_EQUAL(line.uneven, 0);
	stop(h);
}

// Nothing is acknowledged: timeouts, tail probes and their data keep to the rate.
TL_TEST("timeouts and probes keep to the rate and detect a dead peer")
{
	static const uint64_t rates[] = {64 * KBIT, MBIT, 100 * MBIT};

	for (unsigned i = 0; i < 2 * TL_ARRAY_LEN(rates); i++) {
		struct app app = {0};
		uint64_t bps = rates[i / 2];
		struct host *h = start_with(8, 65536, 1500, true);
		struct tl_tcp_opts opts = pace_opts(bps);
		opts.rto_min_us = 1000;
		opts.without_cwnd = i % 2;
		accept_wide(h, &app, &opts);
		line_start(bps);
		say(&app, 40000);
		run(h, 20 * SECOND, 0);
		CU_ASSERT(h->net->stats.tcp_retransmits > 3);
		CU_ASSERT(line_conforms(0));
		CU_ASSERT_EQUAL(app.closed, 0);
		run(h, 60 * SECOND, 0); // a peer that is dead is still found out
		CU_ASSERT_EQUAL(app.closed, 1);
		CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
		CU_ASSERT_EQUAL(tl_tcp_pace_next_ns(h->net) > h->now_ns, true);
		stop(h);
	}
}

// A frame takes 1.5 s, the user timeout is shorter, and the peer answers at once.
TL_TEST("data deferred beyond the user timeout does not end the connection")
{
	struct app app = {0};
	struct host *h = start_with(8, 65536, 1500, true);
	struct tl_tcp_opts opts = pace_opts(8 * KBIT);

	opts.user_timeout_ms = 1000;
	opts.keepalive_idle_ns = SECOND;
	accept_wide(h, &app, &opts);
	line_start(8 * KBIT);
	say(&app, 20000);
	for (int i = 0; i < 400 && app.closed == 0; i++) {
		run(h, 100 * MS, 0);
		give(h, A, PEERS + 1, app.c->snd_max, 0);
	}
	CU_ASSERT_EQUAL(app.closed, 0);
	CU_ASSERT_EQUAL(app.c->snd_una, OURS + 1 + 20000);
	CU_ASSERT(line_conforms(0));
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 0);
	stop(h);
}

// The same; each segment is lost once, and its retransmission waits longer than the user timeout.
TL_TEST("a retransmission deferred beyond the user timeout does not end the connection")
{
	for (int sack = 0; sack < 2; sack++) {
		struct app app = {0};
		struct host *h = start_with(8, 65536, 1500, true);
		struct tl_tcp_opts opts = pace_opts(8 * KBIT);
		opts.user_timeout_ms = 1000;
		accept_wide(h, &app, &opts);
		app.c->sack &= sack;
		line_start(8 * KBIT);
		for (uint64_t round = 1; round <= 3 && app.closed == 0; round++) {
			say(&app, 1200);
			for (int i = 0; i < 100 && h->net->stats.tcp_retransmits < round; i++)
				run(h, 100 * MS, 0);
			give(h, A, PEERS + 1, app.c->snd_max, 0);
		}
		CU_ASSERT_EQUAL(app.closed, 0);
		CU_ASSERT_EQUAL(app.c->snd_una, OURS + 1 + 3 * 1200);
		CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 3);
		CU_ASSERT(line_conforms(0));
		stop(h);
	}
}

TL_TEST("probes of a zero window keep to the rate")
{
	struct app app = {0};
	struct host *h = start_paced(&app, 8 * KBIT, 65536);

	h->window = 1; // of 128 bytes
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 128);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 129, 0);
	say(&app, 4000);
	run(h, 5 * SECOND, 0);
	CU_ASSERT(h->net->stats.tcp_window_probes_tx > 1);
	CU_ASSERT(line_conforms(0));
	h->window = WINDOW;
	give(h, A, PEERS + 1, OURS + 129, 0);
	for (int i = 0; i < 200; i++) {
		run(h, 100 * MS, 0);
		give(h, A, PEERS + 1, app.c->snd_max, 0);
	}
	CU_ASSERT_EQUAL(app.c->snd_una, OURS + 1 + 4128);
	CU_ASSERT(line_conforms(0));
	stop(h);
}

TL_TEST("an ended connection is removed from the wheel")
{
	for (int how = 0; how < 3; how++) {
		struct app app = {0};
		struct host *h = start_paced(&app, 64 * KBIT, 65536);
		say(&app, 5 * MSS);
		forget(h);
		if (how == 0)
			tl_tcp_abort(app.c);
		else if (how == 1)
			give(h, R, PEERS + 1, 0, 0);
		else
			tl_tcp_close_all(h->net, true);
		tl_txq_flush(&h->tx);
		CU_ASSERT_EQUAL(app.closed, 1);
		CU_ASSERT_EQUAL(h->net->tcp->paced.levels, 0);
		forget(h);
		run(h, 2 * SECOND, 0);
		SILENT(h);
		CU_ASSERT_EQUAL(tl_tcp_pace_next_ns(h->net), UINT64_MAX);
		CU_ASSERT_EQUAL(mbufs_taken(h), 0);
		stop(h);
	}
}

TL_TEST("a full TX ring delays paced segments")
{
	struct app app = {0};
	struct host *h = start_paced(&app, 100 * MBIT, 131072);

	h->ring_taken = TL_BURST;
	say(&app, 60000);
	say(&app, 60000);
	run(h, 15 * MS, 10 * US);
	CU_ASSERT_EQUAL(h->n_sent, 0);
	CU_ASSERT(app.c->snd_max < OURS + 1 + 120000);
	h->ring_taken = 0;
	tl_txq_flush(&h->tx);
	run(h, 5 * MS, 0);
	CU_ASSERT_EQUAL(app.c->snd_max, OURS + 1 + 120000);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 0);
	stop(h);
}

TL_TEST("other connections of the stack send at once, by the fast path")
{
	struct app paced = {0}, free = {0};
	struct host *h = start_paced(&paced, 64 * KBIT, 65536);
	struct tl_tcp_opts opts = {.without_cwnd = true};

	say(&paced, 3 * MSS);
	call(h, &free, &opts);
	give_syn(h, A, PEERS, free.c->iss + 1);
	forget(h);
	CU_ASSERT_EQUAL(free.c->conditions & ~TL_TCP_ACK_NOW, TL_TCP_CALM);
	say(&free, 30 * free.c->mss);
	CU_ASSERT_EQUAL(h->n_sent, 30);
	give(h, A, PEERS + 1, free.c->snd_max, 0);
	CU_ASSERT(free.c->ready.bytes != 0); // the fast path
	CU_ASSERT_EQUAL(paced.c->ready.bytes, 0);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_pace");
}
