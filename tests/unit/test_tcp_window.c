// SPDX-License-Identifier: BSD-3-Clause
// A stack against a peer with scripted segments: windows, zero windows and their probes.

#include <errno.h>

#include "tl_test_tcp_host.h"

// ---- windows

TL_TEST("a zero window is probed until it opens")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 500);
	SILENT(h);
	pass(h, 205 * MS);
	SENDS(h, A, OURS + 1, PEERS + 1, 1);
	give(h, A, PEERS + 1, OURS + 1, 0); // still closed
	pass(h, 405 * MS);
	SENDS(h, A, OURS + 1, PEERS + 1, 1);
	give(h, A, PEERS + 1, OURS + 2, 0); // accepted the byte, closed again
	SILENT(h);
	pass(h, 205 * MS);
	SENDS(h, A, OURS + 2, PEERS + 1, 1);
	h->window = 10000;
	give(h, A, PEERS + 1, OURS + 2, 0);
	SENDS(h, A | P, OURS + 2, PEERS + 1, 499);
	give(h, A, PEERS + 1, OURS + 501, 0);
	pass(h, 100 * SECOND); // idle: no timer can end it
	SILENT(h);
	CU_ASSERT_EQUAL(app.closed, 0);
	stop(h);
}

TL_TEST("a peer that never reads is kept as long as it answers probes")
{
	struct host *h = start_with(4, 4096, 1500, true);
	struct app app = {0};

	accept_peer(h, &app);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 4096);
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "x", 1), -ENOBUFS);
	for (unsigned i = 0; i < 600; i++) { // ten minutes
		pass(h, SECOND);
		if (h->n_sent != h->n_seen)
			give(h, A, PEERS + 1, OURS + 1, 0);
		forget(h);
	}
	CU_ASSERT_EQUAL(app.closed, 0); // RFC 1122: open as long as the peer answers the probes
	CU_ASSERT(h->net->stats.tcp_window_probes_tx > 10);
	pass(h, 61 * SECOND);
	pass(h, 61 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
}

static struct host *start_with_shut_window(struct app *app)
{
	static const struct tl_tcp_opts opts = {.user_timeout_ms = 20000};
	struct host *h = start();

	accept_with(h, app, &opts);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(app, 500);
	return h;
}

// Run for that long with a peer that answers the probes, all of them or all but every fourth. Return the number of
// probes.
static unsigned answer_probes(struct host *h, uint64_t ns, bool all)
{
	unsigned probes = 0;

	for (uint64_t end_ns = h->now_ns + ns; h->now_ns < end_ns; forget(h)) {
		pass(h, 100 * MS);
		if (h->n_sent != h->n_seen && (all || probes++ % 4 != 3))
			give(h, A, PEERS + 1, OURS + 1, 0);
	}
	return probes;
}

TL_TEST("an answered window probe keeps the connection beyond the user timeout")
{
	struct app app = {0};
	struct host *h = start_with_shut_window(&app);

	(void)answer_probes(h, 3600 * SECOND, true);
	CU_ASSERT_EQUAL(app.closed, 0);
	h->window = WINDOW;
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 500);
	stop(h);
}

TL_TEST("a lost window probe does not end the connection")
{
	struct app app = {0};
	struct host *h = start_with_shut_window(&app);

	CU_ASSERT(answer_probes(h, 3600 * SECOND, false) > 600);
	CU_ASSERT_EQUAL(app.closed, 0);
	stop(h);
}

TL_TEST("the user timeout of a zero window counts from the first unanswered probe")
{
	struct app app = {0};
	struct host *h = start_with_shut_window(&app);

	(void)answer_probes(h, 100 * SECOND, true);
	for (unsigned i = 0; i < 100 && h->n_sent == h->n_seen; i++)
		pass(h, 100 * MS);
	pass(h, 19500 * MS); // after the first unanswered probe
	CU_ASSERT_EQUAL(app.closed, 0);
	pass(h, SECOND);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
}

TL_TEST("our FIN is sent as a probe of a zero window")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	hang_up(h, &app);
	pass(h, 205 * MS);
	SENDS(h, A | F, OURS + 1, PEERS + 1, 0);
	give(h, A, PEERS + 1, OURS + 2, 0);
	CU_ASSERT(in_state(&app, "FIN-WAIT-2"));
	stop(h);
}

TL_TEST("small segments are avoided (silly window syndrome)")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = MSS + 100;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 3 * MSS);
	SENDS(h, A, OURS + 1, PEERS + 1, MSS); // without the 100 bytes that would also fit
	SILENT(h);
	h->window = 100;
	give(h, A, PEERS + 1, OURS + 1 + MSS, 0);
	SILENT(h);
	pass(h, 205 * MS); // the override timeout
	SENDS(h, A, OURS + 1 + MSS, PEERS + 1, 100);
	stop(h);
}

TL_TEST("the window follows the free buffer space, and its edge never moves left")
{
	const struct tl_tcp_opts opts = {.window_follows_room = true, .send_buffer_bytes = 4000};
	struct host *h = start();
	struct app app = {.on_data = app_echo};

	accept_with(h, &app, &opts);
	h->window = 0; // the echo cannot be sent
	give(h, A, PEERS + 1, OURS + 1, 0);
	uint32_t edge = app.c->rcv_adv;
	CU_ASSERT(edge <= PEERS + 1 + 4000);
	for (uint32_t at = 0; at < 3500; at += 700) {
		give(h, A, PEERS + 1 + at, OURS + 1, 700);
		const struct sent *s = next_sent(h);
		CU_ASSERT_EQUAL(s->ack + s->window, edge);
	}
	give(h, A | F, PEERS + 3501, OURS + 1, 700); // beyond the edge: truncated, including the FIN
	const struct sent *s = next_sent(h);
	CU_ASSERT_EQUAL(s->ack, edge);
	CU_ASSERT_EQUAL(s->window, 0);
	CU_ASSERT_EQUAL(app.failed_sends, 0);
	CU_ASSERT(has_stream(&app, edge - PEERS - 1));
	CU_ASSERT_EQUAL(app.peer_closed, 0);

	give(h, A, edge, OURS + 1, 5); // a zero-window probe
	SENDS(h, A, OURS + 1, edge, 0);
	h->window = WINDOW;
	give(h, A, edge, OURS + 1, 0);
	CU_ASSERT(h->n_sent > h->n_seen);
	forget(h);
	give(h, A, edge, OURS + 1 + 500, 5); // too little room for data, but its ACK counts
	s = next_sent(h);
	CU_ASSERT(s->ack == edge && s->window == 0 && s->len == 0);
	CU_ASSERT_EQUAL(app.c->snd_una, OURS + 1 + 500);
	give(h, A, edge, app.c->snd_max, 0);
	s = next_sent(h);
	CU_ASSERT_EQUAL(s->window, 4000);
	CU_ASSERT_EQUAL(s->len, 0);
	SILENT(h);
	app_free(&app);
	stop(h);
}

// RFC 9293, section 3.10.7.4: valid ACKs, URGs and RSTs count when the window is zero.
TL_TEST("RST, with or without data, and URG are accepted while our window is zero")
{
	const struct tl_tcp_opts opts = {.window_follows_room = true, .send_buffer_bytes = 1000};
	struct host *h = start();
	struct app app = {.on_data = app_echo};

	accept_with(h, &app, &opts);
	h->window = 0; // the echo cannot be sent
	give(h, A, PEERS + 1, OURS + 1, 1000);
	uint32_t edge = app.c->rcv_adv;
	CU_ASSERT_EQUAL(app.c->rcv_nxt, edge);
	CU_ASSERT_EQUAL(app.c->snd_max, OURS + 1);
	h->window = WINDOW;
	give(h, A | TL_TCP_URG, edge, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.c->snd_max - OURS, edge - PEERS); // the echo is sent
	give(h, R, edge, 0, 700);			      // with data, which is ignored
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_RESET);
	CU_ASSERT_EQUAL(app.len, edge - PEERS - 1);
	app_free(&app);
	stop(h);
}

TL_TEST("a FIN is accepted while our window is zero")
{
	const struct tl_tcp_opts opts = {.window_follows_room = true, .send_buffer_bytes = 1000};
	struct host *h = start();
	struct app app = {.on_data = app_echo};

	accept_with(h, &app, &opts);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 1000);
	uint32_t edge = app.c->rcv_adv;
	CU_ASSERT_EQUAL(app.c->rcv_nxt, edge);
	forget(h);
	give(h, A | F, edge, OURS + 1, 0);
	const struct sent *s = next_sent(h);
	CU_ASSERT(s->ack == edge + 1 && s->window == 0);
	CU_ASSERT_EQUAL(app.peer_closed, 1);
	app_free(&app);
	stop(h);
}

// RFC 7323, section 2.4: with a scale the edge as read by the peer may retreat by less than a unit, but data sent up to
// the old edge is accepted.
TL_TEST("with a scaled window no advertised byte is refused")
{
	static const uint8_t scale_7[] = {1, 3, 3, 7};
	const struct tl_tcp_opts opts = {.window_follows_room = true, .recv_window_bytes = 1 << 20};
	struct host *h = start();
	struct app app = {.on_data = app_echo};

	(void)hear(h, &app, &opts);
	give_options(h, S, PEERS, 0, scale_7, 4, "", 0);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	forget(h);
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t edge = app.c->rcv_adv;
		give(h, A, PEERS + 1 + i, OURS + 1, 1);
		const struct sent *s = next_sent(h);
		CU_ASSERT(tl_seq_le(edge, app.c->rcv_adv));
		CU_ASSERT(tl_seq_le(app.c->rcv_adv, PEERS + 1 + 65536));
		CU_ASSERT(app.c->rcv_adv - (s->ack + s->window * 32) < 32);
	}
	CU_ASSERT(has_stream(&app, 300));
	app_free(&app);
	stop(h);
}

TL_TEST("a window probe with the last byte leaves no unsent data")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = 0;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 1);
	pass(h, 205 * MS);
	SENDS(h, A, OURS + 1, PEERS + 1, 1);
	give(h, A, PEERS + 1, OURS + 1, 5); // ours may or may not have arrived: an ACK that is valid in both cases
	SENDS(h, A, OURS + 1, PEERS + 6, 0);
	give(h, A, PEERS + 6, OURS + 2, 0);
	give(h, A, PEERS + 6, OURS + 2, 5);
	forget(h);
	pass(h, 200 * SECOND); // no timer is left
	SILENT(h);
	CU_ASSERT_EQUAL(app.closed, 0);
	app_free(&app);
	stop(h);
}

TL_TEST("a pure window update releases data")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	h->window = MSS;
	give(h, A, PEERS + 1, OURS + 1, 0);
	say(&app, 2 * MSS);
	SENDS(h, A, OURS + 1, PEERS + 1, MSS);
	SILENT(h);
	h->window = 2 * MSS;
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A | P, OURS + 1 + MSS, PEERS + 1, MSS);
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->dup_acks, 0);
	stop(h);
}

// A retransmission has an old sequence number (SND.WL1), and an ACK that may be the latest.
TL_TEST("an old segment does not restore an old window")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, A, PEERS + 1, OURS + 1, 10);
	say(&app, 100);
	h->window = 5000;
	give(h, A, PEERS + 11, OURS + 101, 0);
	CU_ASSERT_EQUAL(app.c->snd_wnd, 5000);
	h->window = 60000;
	give(h, A, PEERS + 11, OURS + 1, 0); // an older ACK
	CU_ASSERT_EQUAL(app.c->snd_wnd, 5000);
	h->window = 4900;
	give(h, A, PEERS + 111, OURS + 101, 10); // beyond a gap
	CU_ASSERT_EQUAL(app.c->snd_wnd, 4900);
	say(&app, 100);
	h->window = 4800;
	give(h, A, PEERS + 11, OURS + 201, 10); // the gap is filled, with a later ACK
	CU_ASSERT_EQUAL(app.c->snd_wnd, 4800);
	h->window = 60000;
	give(h, A, PEERS + 131, OURS + 101, 10); // a later sequence number, an older ACK
	CU_ASSERT_EQUAL(app.c->snd_wnd, 4800);
	app_free(&app);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_window");
}
