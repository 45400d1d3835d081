// SPDX-License-Identifier: BSD-3-Clause
// Limits of the flight: a congestion window, or with without_cwnd only the peer's window.

#include "tl_test_tcp_host.h"
#include "tcp_lend.h"

#define FULL 44u // segments that fit the peer's window

static const struct tl_tcp_opts WITHOUT = {.without_cwnd = true};

static struct host *start_without(struct app *app)
{
	struct host *h = start();

	accept_with(h, app, &WITHOUT);
	return h;
}

// Start with this number of segments in flight, and SACK.
static struct host *start_sacked_without(struct app *app, uint32_t segments)
{
	static const uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 1, 4, 2};
	struct host *h = start_with(8, 131072, 1500, true);

	(void)hear(h, app, &WITHOUT);
	give_options(h, S, PEERS, 0, options, sizeof(options), "", 0);
	pass(h, RTT);
	give(h, A, PEERS + 1, OURS + 1, 0);
	forget(h);
	app->c->snd_wnd = segments * MSS; // may be above the limit of an unscaled field
	for (uint32_t i = 0; i < segments; i++)
		say(app, MSS);
	CU_ASSERT_EQUAL(h->n_sent, segments);
	forget(h);
	pass(h, RTT);
	return h;
}

TL_TEST("a full window is sent at once without cwnd, and ten segments with cwnd")
{
	for (int without = 0; without < 2; without++) {
		struct host *h = start();
		struct app app = {0};
		accept_with(h, &app, without ? &WITHOUT : NULL);
		say(&app, FULL * MSS);
		CU_ASSERT_EQUAL(h->n_sent, without ? FULL : 10);
		stop(h);
	}
}

TL_TEST("without cwnd the peer's window limits the flight")
{
	struct app app = {0};
	struct host *h = start_without(&app);

	h->window = 20 * MSS;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 30 * MSS);
	CU_ASSERT_EQUAL(h->n_sent, 20);
	forget(h);
	give(h, A, PEERS + 1, OURS + 1 + 3 * MSS, 0);
	CU_ASSERT_EQUAL(h->n_sent, 3);
	stop(h);
}

TL_TEST("without cwnd neither ACKs nor idle periods change the flight limit")
{
	struct app app = {0};
	struct host *h = start_without(&app);

	for (uint32_t i = 0; i < 20; i++) {
		say(&app, MSS);
		give(h, A, PEERS + 1, OURS + 1 + (i + 1) * MSS, 0);
	}
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	pass(h, 300 * MS); // more than an RTO
	forget(h);
	for (uint32_t i = 0; i < FULL; i++)
		say(&app, MSS);
	CU_ASSERT_EQUAL(h->n_sent, FULL);
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	stop(h);
}

TL_TEST("without cwnd a lost SYN does not reduce the first flight")
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, &WITHOUT);
	pass(h, 1500 * MS);
	give_syn(h, A, PEERS, OURS + 1);
	forget(h);
	say(&app, FULL * MSS);
	CU_ASSERT_EQUAL(h->n_sent, FULL);
	stop(h);
}

// The first half of a flight is lost.
TL_TEST("without cwnd each ACK retransmits two lost segments without delaying new data")
{
	struct app app = {0};
	struct host *h = start_sacked_without(&app, 40);

	GIVE_SACK(h, 0, {20, 21});
	GIVE_SACK(h, 0, {20, 22});
	SILENT(h); // they may be reordered
	for (uint32_t i = 0; i < 10; i++) {
		GIVE_SACK(h, 0, {20, 23 + i});
		SENDS_SEGMENT(h, 2 * i);
		SENDS_SEGMENT(h, 2 * i + 1);
		SILENT(h);
	}
	GIVE_SACK(h, 0, {20, 40});
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	say(&app, 4 * MSS); // new data is not delayed
	CU_ASSERT_EQUAL(h->n_sent - h->n_seen, 4);
	give(h, A, PEERS + 1, OURS + 1 + 44 * MSS, 0);
	CU_ASSERT_FALSE(app.c->in_recovery);
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 20);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	forget(h);
	say(&app, FULL * MSS);
	CU_ASSERT_EQUAL(h->n_sent, FULL);
	stop(h);
}

// More retransmission times than the record has room for.
TL_TEST("a recovery of more segments than transmit records is complete")
{
	struct app app = {0};
	struct host *h = start_sacked_without(&app, 80);

	GIVE_SACK(h, 0, {50, 51});
	GIVE_SACK(h, 0, {50, 52});
	for (uint32_t i = 0; i < TL_TCP_SENT_MAX / 2 + 4; i++)
		GIVE_SACK(h, 0, {50, 53 + i});
	CU_ASSERT_EQUAL(h->n_sent, TL_TCP_SENT_MAX + 8);
	forget(h);
	pass(h, RTT);
	give(h, A, PEERS + 1, OURS + 1 + (TL_TCP_SENT_MAX + 8) * MSS, 0);
	SENDS_SEGMENT(h, TL_TCP_SENT_MAX + 8);
	SENDS_SEGMENT(h, TL_TCP_SENT_MAX + 9);
	SILENT(h);
	stop(h);
}

TL_TEST("without cwnd a probe that repaired a loss has no effect on the limit")
{
	struct app app = {0};
	struct host *h = start_sacked_without(&app, 40);

	give(h, A, PEERS + 1, OURS + 1 + 39 * MSS, 0); // the last one is lost
	pass(h, 200 * MS);
	SENDS(h, A | P, OURS + 1 + 39 * MSS, PEERS + 1, MSS);
	SILENT(h);
	CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 1);
	say(&app, MSS);
	give(h, A, PEERS + 1, OURS + 1 + 41 * MSS, 0);
	CU_ASSERT_FALSE(app.c->probing);
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	stop(h);
}

TL_TEST("without cwnd and SACK one hole is filled at a time")
{
	struct app app = {0};
	struct host *h = start_without(&app);

	say(&app, 40 * MSS);
	forget(h);
	for (unsigned i = 0; i < 10; i++)
		give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS_SEGMENT(h, 0);
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 1 + 5 * MSS, 0);
	SENDS_SEGMENT(h, 5);
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	give(h, A, PEERS + 1, OURS + 1 + 40 * MSS, 0);
	CU_ASSERT_FALSE(app.c->in_recovery);
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	stop(h);
}

TL_TEST("without cwnd a timeout is repaired by slow start, then only the window limits the flight")
{
	struct app app = {0};
	struct host *h = start_without(&app);

	say(&app, 40 * MSS);
	forget(h);
	pass(h, 205 * MS);
	SENDS_SEGMENT(h, 0);
	SILENT(h);
	for (uint32_t i = 0; i < 7; i++) {
		give(h, A, PEERS + 1, OURS + 1 + (i + 1) * MSS, 0);
		SENDS_SEGMENT(h, 2 * i + 1);
		SENDS_SEGMENT(h, 2 * i + 2);
		SILENT(h);
	}
	CU_ASSERT(app.c->cwnd < FULL * MSS);
	give(h, A, PEERS + 1, OURS + 1 + 40 * MSS, 0); // acknowledges all the rest
	CU_ASSERT_EQUAL(app.c->cwnd, TL_TCP_NO_CWND);
	forget(h);
	say(&app, FULL * MSS);
	CU_ASSERT_EQUAL(h->n_sent, FULL);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_congestion");
}
