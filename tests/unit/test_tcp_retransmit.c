// SPDX-License-Identifier: BSD-3-Clause
// A stack against a peer with scripted segments: retransmission, reassembly and SACK.

#include <tl_random.h>

#include "tl_test_tcp_host.h"
#include "tcp_lend.h"
#include "tcp_ooo.h"

// ---- loss

TL_TEST("the RTO doubles with each retransmission until the user timeout")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 100);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 100);
	uint64_t at_ns = h->now_ns, wait_ns = 200 * MS;
	pass(h, 58 * SECOND);
	for (unsigned i = 0; i < 8; i++) { // 200 ms to 25.6 s, 51 s in all
		const struct sent *s = next_sent(h);
		CU_ASSERT(s->seq == OURS + 1 && s->len == 100);
		CU_ASSERT(s->at_ns >= at_ns + wait_ns && s->at_ns < at_ns + wait_ns + 3 * MS);
		at_ns = s->at_ns;
		wait_ns *= 2;
	}
	SILENT(h);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 8);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 8);
	CU_ASSERT_EQUAL(app.closed, 0);
	pass(h, 3 * SECOND); // the user timeout of 60 s
	SENDS(h, R | A, OURS + 101, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
}

// RFC 5482, section 3.1: min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT)).
TL_TEST("the user timeout option is sent if configured, and the longer of both timeouts applies")
{
	static const struct {
		uint16_t said; // advertised by the peer; 0: none
		uint32_t own_ms;
		bool enabled;
		uint16_t told; // advertised by us, the agreed timeout; 0: none
		uint32_t patience_ms;
	} cases[] = {
		{0, 20000, true, 20, 20000},
		{0, 20001, true, 21, 20001},
		{200, 20000, true, 200, 200000},
		{200, 20000, false, 0, 20000},
		{30, 20000, true, 100, 100000},
		{200, 300000, true, 300, 300000},
		{0x8000 | 5, 20000, true, 300, 300000},
		{0x8000 | 100, 20000, true, 3600, 3600000},
		{0x8000, 20000, true, 20, 20000}, // 0, in minutes
		{0, 40000000, true, 0x8000 | 667, 40000000},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		const struct tl_tcp_opts opts = {
			.user_timeout_ms = cases[i].own_ms, .user_timeout_option = cases[i].enabled};
		const uint8_t options[] = {2, 4, 5, 0xb4, 28, 4, (uint8_t)(cases[i].said >> 8), (uint8_t)cases[i].said};
		struct host *h = start();
		struct app app = {0};
		(void)hear(h, &app, &opts);
		give_options(h, S, PEERS, 0, options, cases[i].said != 0 ? 8 : 4, "", 0);
		const struct sent *s = next_sent(h);
		CU_ASSERT_EQUAL(s->options_len, cases[i].told != 0 ? 8 : 4);
		CU_ASSERT(
			cases[i].told == 0 || (s->option_bytes[4] == 28 && s->option_bytes[5] == 4 &&
						      (s->option_bytes[6] << 8 | s->option_bytes[7]) == cases[i].told));
		give(h, A, PEERS + 1, OURS + 1, 0);
		CU_ASSERT_EQUAL_FATAL(app.opened, 1);
		CU_ASSERT_EQUAL(app.c->user_timeout_ns, cases[i].patience_ms * MS);
		stop(h);
	}
}

// Karn: the ACK of a retransmission gives no RTT sample, so the backoff stays until new data is acknowledged.
TL_TEST("the backoff ends with an RTT sample of new data")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 100);
	pass(h, 650 * MS); // two more, at 200 and 600 ms
	CU_ASSERT_EQUAL(h->n_sent, 3);
	give(h, A, PEERS + 1, OURS + 101, 0);
	CU_ASSERT_EQUAL(tl_tcp_rto_ns(app.c), 800 * MS);
	say(&app, 100);
	pass(h, 20 * MS);
	give(h, A, PEERS + 1, OURS + 201, 0);
	CU_ASSERT_EQUAL(tl_tcp_rto_ns(app.c), 200 * MS);
	stop(h);
}

TL_TEST("the RTO follows the RTT")
{
	const struct tl_tcp_opts opts = {.rto_min_us = 1000};
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, &opts);
	give_syn(h, 0, PEERS, 0);
	pass(h, 40 * MS);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL(tl_tcp_rto_ns(app.c), 120 * MS); // R + 4 R/2
	say(&app, 10);
	pass(h, 40 * MS);
	give(h, A, PEERS + 1, OURS + 11, 0);
	CU_ASSERT(tl_tcp_rto_ns(app.c) >= 99 * MS && tl_tcp_rto_ns(app.c) <= 101 * MS); // RTTVAR is 15 ms now
	stop(h);
}

TL_TEST("after a lost SYN the initial window is one segment and the RTO 3 s")
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	pass(h, 1500 * MS);
	give_syn(h, A, PEERS, OURS + 1);
	CU_ASSERT_EQUAL(tl_tcp_rto_ns(app.c), 3 * SECOND);
	forget(h);
	say(&app, 5000); // RFC 5681: an initial window of one segment
	CU_ASSERT_EQUAL(h->n_sent, 1);
	stop(h);
}

TL_TEST("three duplicate ACKs trigger a fast retransmission, and each partial ACK the next one")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10 * MSS);
	forget(h);
	give(h, A, PEERS + 1, OURS + 1 + MSS, 0); // the second and the fourth are lost
	give(h, A, PEERS + 1, OURS + 1 + MSS, 0);
	give(h, A, PEERS + 1, OURS + 1 + MSS, 0);
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 1 + MSS, 0);
	SENDS(h, A, OURS + 1 + MSS, PEERS + 1, MSS);
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->ssthresh, 9 * MSS / 2);
	give(h, A, PEERS + 1, OURS + 1 + 3 * MSS, 0); // partial: the next hole is retransmitted at once
	SENDS(h, A, OURS + 1 + 3 * MSS, PEERS + 1, MSS);
	CU_ASSERT_TRUE(app.c->in_recovery);
	give(h, A, PEERS + 1, OURS + 1 + 10 * MSS, 0);
	CU_ASSERT_FALSE(app.c->in_recovery);
	CU_ASSERT(app.c->cwnd <= 9 * MSS / 2);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	pass(h, SECOND);
	SILENT(h);
	stop(h);
}

// RFC 6582, section 3.2: only the first partial ACK restarts the timer.
TL_TEST("only the first partial ACK restarts the timer")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10 * MSS);
	for (unsigned i = 0; i < 3; i++)
		give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_TRUE(app.c->in_recovery);
	pass(h, 100 * MS);
	give(h, A, PEERS + 1, OURS + 1 + MSS, 0);
	pass(h, 150 * MS);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	give(h, A, PEERS + 1, OURS + 1 + 2 * MSS, 0);
	pass(h, 55 * MS);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 1);
	CU_ASSERT_FALSE(app.c->in_recovery);
	stop(h);
}

TL_TEST("a fast retransmission does not exceed the data sent")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = 400;
	give(h, A, PEERS + 1, OURS + 1, 0);
	for (unsigned i = 0; i < 4; i++)
		say(&app, 100);
	say(&app, 1000); // does not fit
	CU_ASSERT_EQUAL(h->n_sent, 4);
	forget(h);
	for (unsigned i = 0; i < 3; i++)
		give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A, OURS + 1, PEERS + 1, 400); // the original segment, without later data
	SILENT(h);
	stop(h);
}

TL_TEST("a fast retransmission carries the FIN")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	for (unsigned i = 0; i < 3; i++)
		say(&app, 10);
	hang_up(h, &app);
	forget(h);
	for (unsigned i = 0; i < 3; i++)
		give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A | P | F, OURS + 1, PEERS + 1, 30);
	stop(h);
}

// RFC 3042: each of the first two duplicates releases a new segment, regardless of cwnd.
TL_TEST("the first two duplicate ACKs each release a new segment")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 14 * MSS); // 10 are sent
	CU_ASSERT_EQUAL(h->n_sent, 10);
	forget(h);
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A, OURS + 1 + 10 * MSS, PEERS + 1, MSS);
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A, OURS + 1 + 11 * MSS, PEERS + 1, MSS);
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A, OURS + 1, PEERS + 1, MSS);
	CU_ASSERT_EQUAL(app.c->ssthresh, 5 * MSS);
	stop(h);
}

TL_TEST("after a timeout all data is retransmitted in slow start")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10 * MSS);
	forget(h);
	pass(h, 205 * MS);
	SENDS(h, A, OURS + 1, PEERS + 1, MSS); // one
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->ssthresh, 5 * MSS);
	give(h, A, PEERS + 1, OURS + 1, 5); // the ACK of other data confirms ours
	SENDS(h, A, OURS + 1 + 10 * MSS, PEERS + 6, 0);
	for (unsigned i = 0; i < 4; i++) // echoes of duplicated data: no sign of another loss
		give(h, A, PEERS + 6, OURS + 1, 0);
	CU_ASSERT_FALSE(app.c->in_recovery);
	forget(h);
	pass(h, 405 * MS);
	SENDS(h, A, OURS + 1, PEERS + 6, MSS);
	CU_ASSERT_EQUAL(app.c->ssthresh, 5 * MSS); // once for the same loss
	give(h, A, PEERS + 6, OURS + 1 + MSS, 0);
	SENDS(h, A, OURS + 1 + MSS, PEERS + 6, MSS); // two
	SENDS(h, A, OURS + 1 + 2 * MSS, PEERS + 6, MSS);
	SILENT(h);
	give(h, A, PEERS + 6, OURS + 1 + 10 * MSS, 0); // acknowledges all the rest
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->snd_nxt, app.c->snd_max);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536);
	app_free(&app);
	stop(h);
}

TL_TEST("after an idle period cwnd is the initial window")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	for (uint32_t i = 0; i < 20; i++) {
		say(&app, MSS);
		give(h, A, PEERS + 1, OURS + 1 + (i + 1) * MSS, 0);
	}
	CU_ASSERT_EQUAL(app.c->cwnd, 30 * MSS);
	forget(h);
	pass(h, 300 * MS);
	say(&app, 20 * MSS);
	CU_ASSERT_EQUAL(h->n_sent, 10);
	stop(h);
}

TL_TEST("segments out of order are buffered, including overlaps")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, A, PEERS + 301, OURS + 1, 100);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	give(h, A, PEERS + 101, OURS + 1, 100);
	give(h, A, PEERS + 151, OURS + 1, 100); // overlaps it
	give(h, A, PEERS + 101, OURS + 1, 100); // the same range
	give(h, A, PEERS + 301, OURS + 1, 50);	// part of the buffered data
	CU_ASSERT_EQUAL(h->n_sent, 5);
	CU_ASSERT_EQUAL(app.c->ooo_count, 3);
	CU_ASSERT_EQUAL(app.len, 0);
	forget(h);
	give(h, A, PEERS + 1, OURS + 1, 120);
	SENDS(h, A, OURS + 1, PEERS + 251, 0);
	CU_ASSERT(has_stream(&app, 250));
	give(h, A, PEERS + 201, OURS + 1, 200); // more than the gap: both ends overlap
	SENDS(h, A, OURS + 1, PEERS + 401, 0);
	CU_ASSERT(has_stream(&app, 400));
	CU_ASSERT_EQUAL(app.c->ooo_count, 0);
	SILENT(h);
	app_free(&app);
	stop(h);
}

TL_TEST("buffered segments of all connections are limited to a share of the mbufs")
{
	struct host *h = start();
	struct app app = {0};

	h->net->tcp->ooo_max = 3;
	accept_peer(h, &app);
	for (uint32_t i = 1; i <= 5; i++)
		give(h, A, PEERS + 1 + i * 20, OURS + 1, 10);
	CU_ASSERT_EQUAL(app.c->ooo_count, 3);
	give(h, A, PEERS + 21, OURS + 1, 40); // covers two of them
	CU_ASSERT_EQUAL(app.c->ooo_count, 2);
	CU_ASSERT_EQUAL(h->net->tcp->ooo_held, 2);
	stop(h);
}

// 16 connections, each with the maximum of data beyond a gap.
static void come_too_early(struct host *h, struct app *app)
{
	struct tl_tcp_listener *listener = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(h->net, OUR_PORT, 16, &APP_OPS, app, NULL, &listener), 0);
	for (uint16_t i = 0; i < 16; i++) {
		h->peer_port = PORT(40000 + i);
		give_syn(h, 0, PEERS, 0);
		give(h, A, PEERS + 1, OURS + 1, 0);
		for (uint32_t k = 1; k <= TL_TCP_OOO_MAX; k++)
			give(h, A, PEERS + 1 + k * 20, OURS + 1, 10);
		forget(h);
	}
	CU_ASSERT_EQUAL(app->opened, 16);
}

TL_TEST("all stacks on one pool buffer at most a quarter of it for segments out of order")
{
	struct host *h[4];
	struct app app[4] = {{0}};
	unsigned before = rte_mempool_in_use_count(test_pool());

	for (unsigned i = 0; i < 4; i++) {
		h[i] = start_sharing(4, 16, 4096, 1500, true);
		come_too_early(h[i], &app[i]);
		CU_ASSERT(h[i]->net->tcp->ooo_held > 0);
	}
	CU_ASSERT(rte_mempool_in_use_count(test_pool()) - before <= POOL_MBUFS / 4 + 4); // plus a spare each
	for (unsigned i = 4; i > 0; i--)
		stop(h[i - 1]);
}

TL_TEST("at most the 64 nearest segments out of order are buffered")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	for (uint32_t i = 72; i >= 1; i--) // the farthest are evicted
		give(h, A, PEERS + 1 + i * 20, OURS + 1, 10);
	CU_ASSERT_EQUAL(app.c->ooo_count, TL_TCP_OOO_MAX);
	CU_ASSERT_EQUAL(app.c->ooo[0].seq, PEERS + 21);
	CU_ASSERT_EQUAL(h->net->stats.tcp_ooo_dropped_pkts, 8);
	give(h, A, PEERS + 1 + 80 * 20, OURS + 1, 10);
	CU_ASSERT_EQUAL(app.c->ooo[63].seq, PEERS + 1 + 64 * 20);
	CU_ASSERT_EQUAL(mbufs_taken(h), TL_TCP_OOO_MAX);
	tl_tcp_abort(app.c);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(mbufs_taken(h), 0);
	stop(h);
}

// Messages of 1 to 300 bytes wrap the ring many times, and are acknowledged up to any byte: a message counts as
// delivered when its last byte is acknowledged.
TL_TEST("partly acknowledged messages are counted at any offset of the ring")
{
	struct host *h = start_with(4, 4096, 1500, true);
	struct app app = {0};
	static bool is_last[1 << 17];
	uint64_t rng = 1;

	memset(is_last, 0, sizeof(is_last));
	accept_peer(h, &app);
	for (unsigned i = 0; i < 2000 && app.c->snd_end - OURS < sizeof(is_last) - 4096; i++) {
		for (uint32_t len; (len = 1 + (uint32_t)(tl_random_next(&rng) % 300)) <= tl_tcp_room(app.c);) {
			say(&app, len);
			is_last[app.c->snd_end - 1 - OURS] = true;
		}
		uint32_t in_flight = app.c->snd_max - app.c->snd_una;
		give(h, A, PEERS + 1, app.c->snd_una + (uint32_t)(tl_random_next(&rng) % (in_flight + 1)), 0);
		forget(h);
		uint32_t msgs = 0;
		for (uint32_t at = app.c->snd_una; at != app.c->snd_end; at++)
			msgs += is_last[at - OURS];
		CU_ASSERT_EQUAL_FATAL(tl_tcp_unacked(app.c).msgs, msgs);
		CU_ASSERT_EQUAL_FATAL(tl_tcp_unacked(app.c).bytes, app.c->snd_end - app.c->snd_una);
	}
	CU_ASSERT(app.c->snd_end - OURS > 20 * 4096);
	stop(h);
}

// A port that rejects frames for a while: a burst of segments waits in its queue and the rest in the send buffer.
TL_TEST("a full TX ring delays segments without a loss")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	uint32_t cwnd = app.c->cwnd;
	h->ring_taken = TL_BURST;
	for (unsigned i = 0; i < 100; i++)
		say(&app, 100);
	CU_ASSERT_EQUAL(h->tx.n, TL_BURST);
	CU_ASSERT_EQUAL(app.c->snd_nxt, OURS + 1 + TL_BURST * 100);
	CU_ASSERT(h->net->stats.tcp_tx_full > 0);
	pass(h, 5 * MS);
	CU_ASSERT_EQUAL(h->tx.n, TL_BURST);
	SILENT(h);
	h->ring_taken = 0;
	pass(h, 5 * MS);
	for (uint32_t seq = OURS + 1; seq != OURS + 1 + 100 * 100;) {
		const struct sent *s = next_sent(h);
		CU_ASSERT_FATAL(s->len >= 100);
		CU_ASSERT_EQUAL(s->seq, seq);
		CU_ASSERT_EQUAL(s->data[0], byte_at(seq));
		seq += s->len;
	}
	SILENT(h);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 0);
	CU_ASSERT_EQUAL(app.c->cwnd, cwnd);
	give(h, A, PEERS + 1, OURS + 1 + 100 * 100, 0);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536);
	stop(h);
}

// ---- SACK

static const uint8_t SACK_PERMITTED[] = {1, 1, 4, 2};

static void sacked_is(const struct app *app, const uint32_t (*ranges)[2], unsigned count)
{
	CU_ASSERT_EQUAL(app->c->n_sacked, count);
	for (unsigned i = 0; i < count; i++) {
		CU_ASSERT_EQUAL(app->c->flight->sacked[i].from, OURS + 1 + ranges[i][0] * MSS);
		CU_ASSERT_EQUAL(app->c->flight->sacked[i].to, OURS + 1 + ranges[i][1] * MSS);
	}
}

static bool has_options(const struct sent *s, const uint8_t *bytes, uint8_t len)
{
	return s->options_len == len && memcmp(s->option_bytes, bytes, len) == 0;
}

TL_TEST("SACK is offered in a SYN and used only if the peer offers it")
{
	static const uint8_t with[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 1, 4, 2};

	for (int offered = 0; offered < 2; offered++) {
		struct host *h = start();
		struct app app = {0};
		(void)hear(h, &app, NULL);
		give_options(h, S, PEERS, 0, SACK_PERMITTED, offered ? 4 : 0, "", 0);
		CU_ASSERT(has_options(next_sent(h), with, offered ? 8 : 4));
		stop(h);

		h = start();
		call(h, &app, NULL);
		CU_ASSERT(next_sent(h)->options.sack_permitted);
		give_options(h, S | A, PEERS, OURS + 1, SACK_PERMITTED, offered ? 4 : 0, "", 0);
		give(h, A, PEERS + 11, OURS + 1, 10);
		SENDS(h, A, OURS + 1, PEERS + 1, 0);
		CU_ASSERT_EQUAL(next_sent(h)->options.n_blocks, offered ? 1 : 0);
		stop(h);
	}
}

TL_TEST("SACK blocks report buffered segments, latest first, at most four")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	give(h, A, PEERS + 1 + 100, OURS + 1, 50);
	static const uint8_t first[] = {1, 1, 5, 10, 0, 0, 0x04, 0x4d, 0, 0, 0x04, 0x7f}; // 1101 and 1151
	CU_ASSERT(has_options(&h->segment[0], first, sizeof(first)));
	SACKS(h, {100, 150});
	give(h, A, PEERS + 1 + 300, OURS + 1, 50);
	SACKS(h, {300, 350}, {100, 150});
	give(h, A, PEERS + 1 + 200, OURS + 1, 50);
	SACKS(h, {200, 250}, {300, 350}, {100, 150});
	give(h, A, PEERS + 1 + 150, OURS + 1, 10); // extends the oldest block
	SACKS(h, {100, 160}, {200, 250}, {300, 350});
	give(h, A, PEERS + 1 + 500, OURS + 1, 50);
	SACKS(h, {500, 550}, {100, 160}, {200, 250}, {300, 350});
	give(h, A, PEERS + 1 + 400, OURS + 1, 50); // five: the oldest is omitted
	SACKS(h, {400, 450}, {500, 550}, {100, 160}, {200, 250});
	give(h, A, PEERS + 1 + 310, OURS + 1, 20);		  // no new data
	SACKS(h, {310, 330}, {300, 350}, {400, 450}, {500, 550}); // a duplicate (RFC 2883)
	give(h, A, PEERS + 1 + 160, OURS + 1, 40);		  // two blocks merge
	SACKS(h, {100, 250}, {300, 350}, {400, 450}, {500, 550});
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 1, 100); // delivered, no longer buffered
	SACKS(h, {300, 350}, {400, 450}, {500, 550});
	CU_ASSERT(has_stream(&app, 250));
	give(h, A, PEERS + 1 + 250, OURS + 1, 300);
	SACKS(h, {300, 350}); // none is buffered, but three are duplicates
	CU_ASSERT(has_stream(&app, 550));
	SILENT(h);
	app_free(&app);
	stop(h);
}

// With data to send, the blocks are options of its segments if they fit; otherwise an ACK without data follows.
TL_TEST("SACK blocks are sent on data if they fit, otherwise in an ACK")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	app.on_data = app_echo;
	give(h, A, PEERS + 1 + 3000, OURS + 1, 50);
	SACKS(h, {3000, 3050});
	give(h, A, PEERS + 1, OURS + 1, MSS); // its echo has a full segment
	SENDS(h, A | P, OURS + 1, PEERS + 1 + MSS, MSS);
	SACKS(h, {3000, 3050});
	give(h, A, PEERS + 1 + MSS, OURS + 1, 1448);
	const struct sent *s = next_sent(h);
	CU_ASSERT_EQUAL(s->len, 1448);
	CU_ASSERT_EQUAL(s->options.n_blocks, 1);
	for (uint32_t i = 0; i < 1448; i++)
		CU_ASSERT_FATAL(s->data[i] == byte_at(PEERS + 1 + MSS + i));
	SILENT(h);
	give(h, A, PEERS + 1 + MSS + 1448, OURS + 1,
		92); // the gap closes: no block covers data about to be delivered
	SENDS(h, A | P, OURS + 1 + MSS + 1448, PEERS + 1 + 3000, 92);
	SENDS(h, A | P, OURS + 1 + 3000, PEERS + 1 + 3050, 50);
	CU_ASSERT_EQUAL(h->segment[h->n_seen - 2].options_len, 0);
	CU_ASSERT_EQUAL(h->segment[h->n_seen - 1].options_len, 0);
	SILENT(h);
	CU_ASSERT(has_stream(&app, 3050));
	app_free(&app);
	stop(h);
}

// Segments 0, 2 and 4 are lost. The cwnd of 5 limits data in the network: neither arrived nor lost data counts.
TL_TEST("each hole reported by SACK is retransmitted once within cwnd")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 10);

	h->window = 10 * MSS; // full: does not limit retransmissions
	pass(h, RTT);
	GIVE_SACK(h, 0, {1, 2});
	GIVE_SACK(h, 0, {3, 4}, {1, 2});
	SILENT(h);
	GIVE_SACK(h, 0, {5, 6}, {3, 4}, {1, 2});
	SENDS_SEGMENT(h, 0);
	CU_ASSERT_EQUAL(app.c->cwnd, 5 * MSS);
	GIVE_SACK(h, 0, {5, 7}, {3, 4}, {1, 2});
	SENDS_SEGMENT(h, 2);
	GIVE_SACK(h, 0, {5, 7}, {3, 4}, {1, 2}); // no new information
	SILENT(h);
	GIVE_SACK(h, 0, {5, 8}, {3, 4}, {1, 2});
	SENDS_SEGMENT(h, 4);
	GIVE_SACK(h, 0, {5, 10}, {3, 4}, {1, 2});
	SILENT(h);
	h->window = 8 * MSS;
	GIVE_SACK(h, 2, {5, 10}, {3, 4});
	h->window = 6 * MSS;
	GIVE_SACK(h, 4, {5, 10});
	SILENT(h);
	CU_ASSERT(app.c->in_recovery);
	h->window = WINDOW;
	give(h, A, PEERS + 1, OURS + 1 + 10 * MSS, 0);
	SENDS(h, A | P, OURS + 1 + 10 * MSS, PEERS + 1, 1);
	CU_ASSERT_FALSE(app.c->in_recovery);
	CU_ASSERT_EQUAL(app.c->n_sacked, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 3);
	CU_ASSERT_EQUAL(app.c->cwnd, 2 * MSS); // the flight and one segment: no burst
	stop(h);
}

// A single ACK may be sufficient evidence, without a third.
TL_TEST("a single SACK can reveal a loss, and a partial ACK the next one")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	pass(h, RTT);
	for (unsigned i = 0; i < 4; i++) // repeated: no new information
		GIVE_SACK(h, 0, {1, 3});
	SILENT(h);
	GIVE_SACK(h, 0, {1, 4});
	SENDS_SEGMENT(h, 0);
	SILENT(h);
	GIVE_SACK(h, 4, {6, 7}); // a hole detected late: proven by the partial ACK
	SENDS_SEGMENT(h, 4);
	SENDS_SEGMENT(h, 5);
	SILENT(h);
	stop(h);
}

TL_TEST("SACK blocks that are invalid or not negotiated are ignored")
{
	for (int permitted = 0; permitted < 2; permitted++) {
		struct host *h = start();
		struct app app = {0};
		if (permitted)
			accept_with_sack(h, &app);
		else
			accept_peer(h, &app);
		say(&app, 10 * MSS);
		GIVE_SACK(h, 1, {0, 1});  // below the ACK, a D-SACK (RFC 2883)
		GIVE_SACK(h, 1, {1, 3});  // in order, but not acknowledged
		GIVE_SACK(h, 1, {5, 11}); // never sent
		GIVE_SACK(h, 1, {5, 4});
		GIVE_SACK(h, 1, {5, 5});
		CU_ASSERT_EQUAL(app.c->n_sacked, 0);
		GIVE_SACK(h, 1, {5, 10});
		CU_ASSERT_EQUAL(app.c->n_sacked, permitted);
		stop(h);
	}
}

#define SACKED(app, ...) sacked_is(app, (const uint32_t[][2]){__VA_ARGS__}, sizeof((uint32_t[][2]){__VA_ARGS__}) / 8)

TL_TEST("the 32 nearest SACKed ranges are stored")
{
	struct app app = {0};
	struct host *h = start_with(8, 131072, 1500, true);

	accept_with_sack(h, &app);
	app.c->cwnd = 80 * MSS;
	app.c->snd_wnd = 80 * MSS;
	for (unsigned i = 0; i < 2; i++) {
		app.c->last_tx_ns = h->now_ns; // no pause that would reduce cwnd
		say(&app, 35 * MSS);
	}
	for (uint32_t i = 2; i < 64; i += 2)
		GIVE_SACK(h, 0, {i, i + 1});
	CU_ASSERT_EQUAL(app.c->n_sacked, TL_TCP_SACKED_MAX - 1);
	GIVE_SACK(h, 0, {66, 67});
	GIVE_SACK(h, 0, {68, 69}); // too many, and the farthest
	CU_ASSERT_EQUAL(app.c->n_sacked, TL_TCP_SACKED_MAX);
	CU_ASSERT_EQUAL(app.c->flight->sacked[TL_TCP_SACKED_MAX - 1].from, OURS + 1 + 66 * MSS);
	GIVE_SACK(h, 0, {64, 65}); // one more: the farthest is dropped
	CU_ASSERT_EQUAL(app.c->n_sacked, TL_TCP_SACKED_MAX);
	CU_ASSERT_EQUAL(app.c->flight->sacked[TL_TCP_SACKED_MAX - 1].from, OURS + 1 + 64 * MSS);
	GIVE_SACK(h, 0, {5, 6}, {11, 16}, {18, 60}); // gaps close, from both sides
	SACKED(&app, {2, 3}, {4, 7}, {8, 9}, {10, 17}, {18, 61}, {62, 63}, {64, 65});
	GIVE_SACK(h, 7, {18, 66});
	SACKED(&app, {8, 9}, {10, 17}, {18, 66});
	GIVE_SACK(h, 7, {8, 70});
	SACKED(&app, {8, 70});
	stop(h);
}

// RFC 2018, section 8: a timeout discards the blocks, because the peer may have discarded the data. Data that it
// reports again is not retransmitted.
TL_TEST("a timeout discards SACKed ranges; ranges reported again are not retransmitted")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	GIVE_SACK(h, 0, {8, 9});
	SILENT(h);
	pass(h, 210 * MS);
	SENDS_SEGMENT(h, 0);
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->n_sacked, 0);
	GIVE_SACK(h, 1, {2, 5}, {6, 7});
	SENDS_SEGMENT(h, 1);
	SENDS_SEGMENT(h, 5);
	SILENT(h);
	GIVE_SACK(h, 7, {8, 9});
	SENDS_SEGMENT(h, 7);
	SENDS(h, A | P, OURS + 1 + 9 * MSS, PEERS + 1, 1);
	SILENT(h);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_retransmit");
}
