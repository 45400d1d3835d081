// SPDX-License-Identifier: BSD-3-Clause
// A stack against a peer with scripted segments: close, keepalive, TIME-WAIT and reset.

#include <errno.h>

#include "tl_test_tcp_host.h"
#include "tcp_ooo.h"

// ---- closing

TL_TEST("active close")
{
	struct host *h = start();
	struct app app = {0};
	unsigned waiting;

	accept_peer(h, &app);
	say(&app, 10);
	hang_up(h, &app);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 10);
	SENDS(h, A | F, OURS + 11, PEERS + 1, 0);
	CU_ASSERT(in_state(&app, "FIN-WAIT-1"));
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "x", 1), -ENOTCONN);
	give(h, A, PEERS + 1, OURS + 12, 0);
	CU_ASSERT(in_state(&app, "FIN-WAIT-2"));
	give(h, A, PEERS + 1, OURS + 12, 30); // half-closed: the peer may send more
	SENDS(h, A, OURS + 12, PEERS + 31, 0);
	CU_ASSERT(has_stream(&app, 30));
	CU_ASSERT_EQUAL(app.closed, 0);
	give(h, A | F, PEERS + 31, OURS + 12, 0);
	SENDS(h, A, OURS + 12, PEERS + 32, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_DONE);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, &waiting), 0);
	CU_ASSERT_EQUAL(waiting, 1);
	app_free(&app);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
}

TL_TEST("passive close")
{
	struct host *h = start();
	struct app app = {0};
	unsigned waiting;

	accept_peer(h, &app);
	give(h, A | F, PEERS + 1, OURS + 1, 10);
	SENDS(h, A, OURS + 1, PEERS + 12, 0);
	CU_ASSERT_EQUAL(app.peer_closed, 1);
	CU_ASSERT(in_state(&app, "CLOSE-WAIT"));
	say(&app, 20); // half-closed: we may send more
	SENDS(h, A | P, OURS + 1, PEERS + 12, 20);
	hang_up(h, &app);
	SENDS(h, A | F, OURS + 21, PEERS + 12, 0);
	CU_ASSERT(in_state(&app, "LAST-ACK"));
	give(h, A, PEERS + 12, OURS + 21, 0);
	CU_ASSERT_EQUAL(app.closed, 0);
	give(h, A, PEERS + 12, OURS + 22, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_DONE);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, &waiting), 0);
	CU_ASSERT_EQUAL(waiting, 0);
	give(h, A, PEERS + 12, OURS + 22, 0); // unknown connection
	SENDS(h, R, OURS + 22, 0, 0);
	CU_ASSERT(has_stream(&app, 10));
	app_free(&app);
	stop(h);
}

TL_TEST("simultaneous close")
{
	struct host *h = start();
	struct app app = {0};
	unsigned waiting;

	accept_peer(h, &app);
	hang_up(h, &app);
	SENDS(h, A | F, OURS + 1, PEERS + 1, 0);
	give(h, A | F, PEERS + 1, OURS + 1, 0);
	SENDS(h, A, OURS + 2, PEERS + 2, 0);
	CU_ASSERT(in_state(&app, "CLOSING"));
	CU_ASSERT_EQUAL(app.closed, 0);
	give(h, A, PEERS + 2, OURS + 2, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_DONE);
	tl_tcp_in_use(h->net, &waiting);
	CU_ASSERT_EQUAL(waiting, 1);
	stop(h);
}

TL_TEST("FIN and the ACK of our FIN may share a segment")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	hang_up(h, &app);
	forget(h);
	give(h, A | F, PEERS + 1, OURS + 2, 0);
	SENDS(h, A, OURS + 2, PEERS + 2, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	stop(h);
}

TL_TEST("a FIN waits until the gap before it is filled")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, A | F, PEERS + 11, OURS + 1, 10);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.peer_closed, 0);
	give(h, A, PEERS + 1, OURS + 1, 10);
	SENDS(h, A, OURS + 1, PEERS + 22, 0);
	CU_ASSERT_EQUAL(app.peer_closed, 1);
	CU_ASSERT(has_stream(&app, 20));
	give(h, A | F, PEERS + 11, OURS + 1, 10); // repeated
	SENDS(h, A, OURS + 1, PEERS + 22, 0);
	CU_ASSERT_EQUAL(app.peer_closed, 1);
	app_free(&app);
	stop(h);
}

TL_TEST("a lost FIN is retransmitted, with and without data")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = 20;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 30);
	hang_up(h, &app);
	SILENT(h); // 20 of 30: a silly window
	h->window = WINDOW;
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A | P | F, OURS + 1, PEERS + 1, 30);
	pass(h, 205 * MS);
	SENDS(h, A | P | F, OURS + 1, PEERS + 1, 30);
	give(h, A, PEERS + 1, OURS + 31, 0);
	pass(h, 405 * MS);
	SENDS(h, A | F, OURS + 31, PEERS + 1, 0);
	give(h, A, PEERS + 1, OURS + 32, 0);
	CU_ASSERT(in_state(&app, "FIN-WAIT-2"));
	SILENT(h);
	stop(h);
}

TL_TEST("a FIN occupies one byte of the peer's window")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 30);
	hang_up(h, &app);
	h->window = 30;
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 30);
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 31, 0);
	SENDS(h, A | F, OURS + 31, PEERS + 1, 0);
	stop(h);
}

TL_TEST("an idle peer is sent five keepalive probes")
{
	const struct tl_tcp_opts opts = {.keepalive_idle_ns = 10 * SECOND};
	struct host *h = start();
	struct app app = {0};

	accept_with(h, &app, &opts);
	pass(h, 5 * SECOND);
	give(h, A, PEERS + 1, OURS + 1, 10);
	forget(h);
	pass(h, 9900 * MS); // idle only since then
	SILENT(h);
	pass(h, 41 * SECOND);
	for (unsigned i = 0; i < 5; i++)
		SENDS(h, A, OURS, PEERS + 11, 0);
	give(h, A, PEERS + 11, OURS + 1, 0); // the peer is alive
	pass(h, 9900 * MS);
	SILENT(h);
	pass(h, 41 * SECOND);
	for (unsigned i = 0; i < 5; i++)
		SENDS(h, A, OURS, PEERS + 11, 0);
	SILENT(h);
	pass(h, 10 * SECOND);
	SENDS(h, R | A, OURS + 1, PEERS + 11, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	app_free(&app);
	stop(h);
}

TL_TEST("no keepalive probe is sent while data is in flight")
{
	const struct tl_tcp_opts opts = {.keepalive_idle_ns = SECOND};
	struct host *h = start();
	struct app app = {0};

	accept_with(h, &app, &opts);
	say(&app, 10);
	pass(h, 20 * SECOND);
	CU_ASSERT(h->n_sent >= 6);
	for (unsigned i = 0; i < h->n_sent; i++)
		CU_ASSERT_EQUAL(h->segment[i].len, 10);
	CU_ASSERT_EQUAL(app.closed, 0);
	stop(h);
}

TL_TEST("a peer that fails before its FIN is detected")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	hang_up(h, &app);
	give(h, A, PEERS + 1, OURS + 2, 0);
	forget(h);
	for (unsigned i = 0; i < 5; i++) { // slow, but alive
		pass(h, 60100 * MS);
		SENDS(h, A, OURS + 1, PEERS + 1, 0);
		give(h, A, PEERS + 1, OURS + 2, 0);
	}
	CU_ASSERT_EQUAL(app.closed, 0);
	pass(h, 140 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
}

// ---- TIME-WAIT

static void into_time_wait(struct host *h, struct app *app)
{
	give_syn(h, 0, PEERS, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	hang_up(h, app);
	give(h, A | F, PEERS + 1, OURS + 2, 0);
	CU_ASSERT_EQUAL(app->closed, 1);
	forget(h);
}

TL_TEST("TIME-WAIT lasts 60 s after the last FIN, regardless of RST")
{
	struct host *h = start();
	struct app app = {0};
	unsigned waiting;

	(void)hear(h, &app, NULL);
	into_time_wait(h, &app);
	pass(h, 50 * SECOND);
	give(h, A | F, PEERS + 1, OURS + 2, 0); // our ACK was lost: restarts 2 MSL
	SENDS(h, A, OURS + 2, PEERS + 2, 0);
	give(h, R, PEERS + 2, 0, 0); // RFC 1337
	give(h, R, PEERS + 2, 0, 5);
	give(h, A, PEERS + 2, OURS + 2, 0);
	SILENT(h);
	pass(h, 59 * SECOND);
	tl_tcp_in_use(h->net, &waiting);
	CU_ASSERT_EQUAL(waiting, 1);
	pass(h, 2 * SECOND);
	tl_tcp_in_use(h->net, &waiting);
	CU_ASSERT_EQUAL(waiting, 0);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
}

TL_TEST("a new SYN beyond the old sequence numbers reopens TIME-WAIT")
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	into_time_wait(h, &app);
	give_syn(h, 0, PEERS + 1, 0); // not above the old sequence numbers: a duplicate of the old SYN
	SENDS(h, A, OURS + 2, PEERS + 2, 0);
	give_syn(h, 0, PEERS + 3, 0);
	SENDS(h, S | A, OURS + 3, PEERS + 4, 0); // our ISN is above the old sequence numbers, too
	CU_ASSERT_EQUAL(h->net->stats.tcp_time_wait_reused, 1);
	give(h, A, PEERS + 4, OURS + 4, 0);
	CU_ASSERT_EQUAL(app.opened, 2);
	stop(h);
}

TL_TEST("the oldest TIME-WAIT is evicted when all slots are taken")
{
	struct host *h = start_with(2, 4096, 1500, true);
	struct app app[4] = {0};
	unsigned waiting;
	struct tl_tcp *c;

	struct tl_tcp_listener *listener = hear(h, &app[0], NULL);
	h->peer_port = PORT(40001);
	into_time_wait(h, &app[0]);
	tl_tcp_unlisten(listener);
	h->peer_port = PEER_PORT;
	listener = hear(h, &app[1], NULL);
	into_time_wait(h, &app[1]);
	h->peer_port = PORT(40001);
	give(h, A | F, PEERS + 1, OURS + 2, 0); // restarts its 2 MSL
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(9), &APP_OPS, &app[2], NULL, &c), 0);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, &waiting), 1);
	CU_ASSERT_EQUAL(waiting, 1);
	CU_ASSERT_PTR_NULL(tl_tcp_find(h->net, tl_tcp_key(PEER, PEER_PORT, OUR_PORT))); // the older of the two
	h->peer_port = PORT(40002);
	forget(h);
	give_syn(h, 0, PEERS, 0);
	tl_tcp_in_use(h->net, &waiting);
	CU_ASSERT_EQUAL(waiting, 0);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(9), &APP_OPS, &app[3], NULL, &c), -ENOSPC);
	stop(h);
}

// ---- attacks and errors (RFC 5961)

TL_TEST("only an RST with the exact sequence number ends a connection")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, R, PEERS + 1 + WINDOW, 0, 0); // outside
	give(h, R, PEERS, 0, 0);
	SILENT(h);
	give(h, R, PEERS + 2, 0, 0); // in the window
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	give(h, R, PEERS + 1000, 0, 0); // challenge ACKs are limited
	SILENT(h);
	pass(h, 101 * MS);
	give(h, R, PEERS + 1000, 0, 0);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_challenge_acks_tx, 2);
	CU_ASSERT_EQUAL(app.closed, 0);
	give(h, R, PEERS + 1, 0, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_RESET);
	CU_ASSERT_EQUAL(h->net->stats.tcp_resets_rx, 6);
	SILENT(h);
	stop(h);
}

TL_TEST("a SYN on a connection triggers a challenge ACK")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give_syn(h, 0, PEERS + 500, 0);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	pass(h, 101 * MS);
	give_syn(h, 0, PEERS + 500000, 0); // for any sequence number
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	pass(h, 101 * MS);
	give_syn(h, A, PEERS + 1, OURS + 1);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_challenge_acks_tx, 3);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	stop(h);
}

TL_TEST("data with an invalid ACK or outside the window is refused")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, A, PEERS + 1, OURS + 500, 10); // acknowledges data never sent
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	pass(h, 101 * MS);
	give(h, A, PEERS + 1, OURS + 1 - 70000, 10); // older than any window
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	give(h, 0, PEERS + 1, 0, 10); // without ACK
	SILENT(h);
	give(h, A, PEERS + 1 + WINDOW, OURS + 1, 10); // beyond the window
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.len, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_out_of_window_pkts, 1);
	give(h, A, PEERS + 1, OURS + 1 - 100, 10); // old, but possible
	CU_ASSERT(has_stream(&app, 10));
	app_free(&app);
	stop(h);
}

// Its data is not buffered, and its ACK is ignored.
TL_TEST("a segment past the window's edge is refused")
{
	static const uint32_t past[] = {1, 2, 1000, 1u << 20};

	for (unsigned i = 0; i < 2 * TL_ARRAY_LEN(past); i++) {
		struct host *h = start();
		struct app app = {0};
		accept_peer(h, &app);
		say(&app, 100);
		forget(h);
		give(h, A, app.c->rcv_adv + past[i / 2], OURS + 101, i % 2 ? 10 : 0);
		SENDS(h, A, OURS + 101, PEERS + 1, 0);
		CU_ASSERT_EQUAL(h->net->stats.tcp_out_of_window_pkts, 1);
		CU_ASSERT_EQUAL(app.c->ooo_count, 0);
		CU_ASSERT_EQUAL(app.c->snd_una, OURS + 1);
		stop(h);
	}
}

// Other connections hold all mbufs available for this: this one holds none, and no array for them.
TL_TEST("a refused segment out of order holds no buffers")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	const void *free_array = h->net->tcp->held.free;
	h->net->tcp->ooo_max = 0;
	give(h, A, PEERS + 101, OURS + 1, 10);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_ooo_dropped_pkts, 1);
	CU_ASSERT_PTR_EQUAL(h->net->tcp->held.free, free_array);
	CU_ASSERT_PTR_NULL(app.c->ooo);
	stop(h);
}

TL_TEST("keepalive probes are answered")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, A, PEERS, OURS + 1, 0); // without a byte
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	give(h, A, PEERS, OURS + 1, 1); // with a garbage byte
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.len, 0);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_close");
}
