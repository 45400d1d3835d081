// SPDX-License-Identifier: BSD-3-Clause
// A port that accepts no frame for a while: what did not leave is not lost, and what waits in its queue has not left.

#include "tl_test_tcp_host.h"

// Let the port accept no frame. With a full queue nothing new enters it either.
static void block(struct host *h, bool full)
{
	static uint8_t frame[TL_ETHER_MIN_FRAME] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};

	h->ring_taken = TL_BURST;
	while (full && h->tx.n < TL_BURST)
		h->tx.pkts[h->tx.n++] = tl_test_mbuf(test_pool(), frame, sizeof(frame));
}

static void unblock(struct host *h)
{
	h->ring_taken = 0;
	pass(h, 2 * MS);
}

static void expect_no_loss(const struct host *h)
{
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 0);
}

TL_TEST("a tail loss probe that finds the ring full is neither counted nor taken for sent")
{
	struct app app = {0};
	struct host *h = start();

	accept_with_sack(h, &app);
	uint32_t cwnd = app.c->cwnd;
	say(&app, 3 * MSS);
	pass(h, 30 * MS);
	block(h, true);
	pass(h, 15 * MS); // the probe is due after 40
	expect_no_loss(h);
	CU_ASSERT_FALSE(app.c->probing);
	unblock(h);
	give(h, A, PEERS + 1, OURS + 1 + 3 * MSS, 0);
	say(&app, 100);
	give(h, A, PEERS + 1, OURS + 101 + 3 * MSS, 0);
	CU_ASSERT(app.c->cwnd >= cwnd);
	stop(h);
}

TL_TEST("a tail loss probe that finds the ring full leaves later, as the probe that it is")
{
	struct app app = {0};
	struct host *h = start();

	accept_with_sack(h, &app);
	say(&app, 3 * MSS);
	pass(h, 30 * MS);
	forget(h);
	block(h, true);
	pass(h, 15 * MS);
	unblock(h);
	pass(h, 40 * MS);
	SENDS(h, P | A, OURS + 1 + 2 * MSS, PEERS + 1, MSS);
	SILENT(h);
	CU_ASSERT(app.c->probing);
	CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 1);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	stop(h);
}

// Check that the handshake is that of a SYN that was sent once, with a round trip of 20 ms.
static void expect_opened_at_once(const struct host *h, const struct app *app)
{
	expect_no_loss(h);
	CU_ASSERT_EQUAL_FATAL(app->opened, 1);
	CU_ASSERT_EQUAL(app->c->cwnd, 10 * MSS);
	CU_ASSERT_EQUAL(app->c->srtt_ns, RTT);
}

TL_TEST("a SYN that finds the ring full leaves with the first room, and is no retransmission")
{
	static const unsigned blocked_ms[] = {5, 1500};

	for (unsigned i = 0; i < TL_ARRAY_LEN(blocked_ms); i++) {
		struct app app = {0};
		struct host *h = start();
		block(h, true);
		call(h, &app, NULL);
		pass(h, blocked_ms[i] * MS);
		SILENT(h);
		unblock(h);
		SENDS(h, S, OURS, 0, 0);
		SILENT(h);
		pass(h, h->segment[0].at_ns + RTT - h->now_ns);
		give_syn(h, A, PEERS, OURS + 1);
		expect_opened_at_once(h, &app);
		stop(h);
	}
}

TL_TEST("a SYN-ACK that finds the ring full leaves with the first room, and is no retransmission")
{
	struct app app = {0};
	struct host *h = start();

	(void)hear(h, &app, NULL);
	block(h, true);
	give_syn(h, 0, PEERS, 0);
	pass(h, 1500 * MS);
	SILENT(h);
	unblock(h);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	SILENT(h);
	pass(h, h->segment[0].at_ns + RTT - h->now_ns);
	give(h, A, PEERS + 1, OURS + 1, 0);
	expect_opened_at_once(h, &app);
	stop(h);
}

TL_TEST("the SYN-ACK of a simultaneous open that finds the ring full leaves with the first room")
{
	struct app app = {0};
	struct host *h = start();

	call(h, &app, NULL);
	SENDS(h, S, OURS, 0, 0);
	block(h, true);
	give_syn(h, 0, PEERS, 0);
	SILENT(h);
	unblock(h);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	SILENT(h);
	expect_no_loss(h);
	stop(h);
}

TL_TEST("a retransmitted SYN that finds the ring full is counted when it leaves")
{
	struct app app = {0};
	struct host *h = start();

	call(h, &app, NULL);
	SENDS(h, S, OURS, 0, 0);
	pass(h, 990 * MS);
	block(h, true);
	pass(h, 500 * MS);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 1);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 0);
	unblock(h);
	SENDS(h, S, OURS, 0, 0);
	SILENT(h);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 1);
	pass(h, 1900 * MS); // the RTO counts from there
	SILENT(h);
	pass(h, 200 * MS);
	SENDS(h, S, OURS, 0, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 2);
	stop(h);
}

static void accept_either(struct host *h, struct app *app, bool sack)
{
	if (sack)
		accept_with_sack(h, app);
	else
		accept_peer(h, app);
}

TL_TEST("segments that wait in the port's queue are neither probed nor retransmitted")
{
	for (int sack = 0; sack < 2; sack++) {
		struct app app = {0};
		struct host *h = start();
		accept_either(h, &app, sack);
		uint32_t cwnd = app.c->cwnd;
		block(h, false);
		say(&app, 3 * MSS);
		pass(h, 700 * MS);
		CU_ASSERT_EQUAL(h->tx.n, 3);
		expect_no_loss(h);
		CU_ASSERT_EQUAL(app.c->cwnd, cwnd);
		unblock(h);
		for (uint32_t i = 0; i < 3; i++)
			SENDS(h, i < 2 ? A : P | A, OURS + 1 + i * MSS, PEERS + 1, MSS);
		SILENT(h);
		pass(h, 2 * SECOND); // lost after all
		CU_ASSERT(h->net->stats.tcp_timeouts > 0);
		stop(h);
	}
}

TL_TEST("a SYN that waits in the port's queue is not retransmitted")
{
	struct app app = {0};
	struct host *h = start();

	block(h, false);
	call(h, &app, NULL);
	pass(h, 2500 * MS);
	expect_no_loss(h);
	unblock(h);
	SENDS(h, S, OURS, 0, 0);
	SILENT(h);
	stop(h);
}

TL_TEST("a lost segment times out while later ones and other frames wait in the port's queue")
{
	for (int full = 0; full < 2; full++) {
		struct app app = {0};
		struct host *h = start();
		accept_peer(h, &app);
		say(&app, MSS);
		pass(h, 50 * MS);
		block(h, full);
		say(&app, MSS);
		pass(h, 200 * MS);
		CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 1);
		unblock(h);
		stop(h);
	}
}

// Accept another peer at the same listener, which chooses the same sequence numbers.
static void accept_second(struct host *h, struct app *app)
{
	const struct tl_tcp *first = app->c;

	h->peer_port = PORT(40001);
	give_syn(h, 0, PEERS, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app->opened, 2);
	CU_ASSERT_EQUAL(app->c->iss, first->iss);
}

TL_TEST("a lost segment times out while one of another connection waits in the port's queue")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	struct app one = {.c = app.c};
	accept_second(h, &app);
	say(&one, MSS);
	block(h, false);
	say(&app, MSS);
	pass(h, 250 * MS);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 1);
	CU_ASSERT_EQUAL(one.c->cwnd, MSS);
	unblock(h);
	stop(h);
}

TL_TEST("keepalives that find the ring full do not count as unanswered")
{
	const struct tl_tcp_opts opts = {.keepalive_idle_ns = 10 * SECOND};
	struct app app = {0};
	struct host *h = start();

	accept_with(h, &app, &opts);
	block(h, true);
	pass(h, 200 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_keepalives_tx, 0);
	h->ring_taken = 0;
	pass(h, 45 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 0);
	pass(h, 20 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(h->net->stats.tcp_keepalives_tx, 5);
	stop(h);
}

TL_TEST("window probes that find the ring full do not count as unanswered")
{
	const struct tl_tcp_opts opts = {.user_timeout_ms = 5000};
	struct app app = {0};
	struct host *h = start();

	accept_with(h, &app, &opts);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 1000);
	block(h, true);
	pass(h, 30 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 0);
	CU_ASSERT_EQUAL(app.c->backoff, 0);
	CU_ASSERT_EQUAL(app.c->snd_max, OURS + 1);
	h->ring_taken = 0;
	pass(h, 4 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 0);
	CU_ASSERT(h->net->stats.tcp_window_probes_tx > 2);
	pass(h, 2 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 1);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_full_ring");
}
