// SPDX-License-Identifier: BSD-3-Clause
// More handshakes than the table holds: SYN cookies (RFC 4987).

#include "tl_test_tcp_host.h"

#define FLOOD 10u // SYNs of other peers, each from a different port, before the one under test

static void flood(struct host *h)
{
	h->stamp = 90000;
	h->net->tcp->isn_fixed = false;
	for (unsigned i = 0; i < FLOOD; i++) {
		h->peer_port = PORT(50000 + i);
		give_stamped_syn(h, 0, PEERS, 0);
	}
	h->peer_port = PEER_PORT;
	forget(h);
}

static struct host *start_flooded(struct app *app, const struct tl_tcp_opts *opts)
{
	struct host *h = start(); // 8 connections, therefore 4 handshakes

	(void)hear(h, app, opts);
	flood(h);
	return h;
}

static void answer(struct host *h, const struct sent *syn_ack)
{
	h->stamped = syn_ack->options.has_stamp;
	h->echo = syn_ack->options.stamp;
	give(h, A, PEERS + 1, syn_ack->seq + 1, 0);
}

TL_TEST("a SYN flood occupies a bounded number of slots, and is still answered")
{
	struct app app = {0};
	struct host *h = start();
	struct tl_tcp_listener *listener;

	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, OUR_PORT, 8, &APP_OPS, &app, NULL, &listener), 0);
	flood(h);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 4);
	CU_ASSERT_EQUAL(h->net->stats.tcp_syn_cookies_tx, FLOOD - 4);
	CU_ASSERT_EQUAL(h->net->stats.tcp_backlog_drops, 0);
	pass(h, 11 * SECOND); // half-open connections time out
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	CU_ASSERT_EQUAL(h->net->tcp->n_half_open, 0);
	forget(h);
	give_stamped_syn(h, 0, PEERS, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_syn_cookies_tx, FLOOD - 4); // a legitimate one again
	CU_ASSERT_EQUAL(h->net->tcp->n_half_open, 1);
	stop(h);
}

TL_TEST("the ACK of a SYN cookie opens a connection with scale, SACK and timestamps")
{
	const struct tl_tcp_opts opts = {.recv_window_bytes = 1 << 20};
	struct app app = {.on_data = app_echo};
	struct host *h = start_flooded(&app, &opts);

	give_stamped_syn(h, 0, PEERS, 0);
	const struct sent *s = next_sent(h);
	CU_ASSERT_EQUAL(s->flags, S | A);
	CU_ASSERT_EQUAL(s->ack, PEERS + 1);
	CU_ASSERT(s->options.has_stamp && s->options.has_scale && s->options.sack_permitted);
	CU_ASSERT_EQUAL(s->options.scale, 5);
	h->window = 100;
	answer(h, s); // evicts another: four are half open, the limit of the listener
	CU_ASSERT_EQUAL_FATAL(app.opened, 1);
	CU_ASSERT_EQUAL(h->net->stats.tcp_half_open_drops, 1);
	CU_ASSERT_EQUAL(h->net->stats.tcp_syn_cookies_rx, 1);
	CU_ASSERT_EQUAL(app.c->snd_scale, 7);
	CU_ASSERT_EQUAL(app.c->rcv_scale, 5);
	CU_ASSERT_EQUAL(app.c->snd_wnd, 12800);
	CU_ASSERT_EQUAL(app.c->mss, MSS - 12);
	CU_ASSERT(app.c->sack);
	CU_ASSERT_EQUAL(app.c->srtt_ns, 0);
	forget(h);
	uint32_t syn_stamp = h->echo;
	give(h, A | P, PEERS + 1, app.c->snd_una, 10);
	CU_ASSERT_EQUAL(h->segment[0].len, 10);
	CU_ASSERT(tl_seq_le(syn_stamp, h->segment[0].options.stamp)); // the clock does not go back
	CU_ASSERT(has_stream(&app, 10));
	app_free(&app);
	stop(h);
}

// The low bits carry the options at any clock value.
TL_TEST("the timestamp of a SYN cookie is not ahead of the connection's clock")
{
	const struct tl_tcp_opts opts = {.recv_window_bytes = 1 << 20};

	for (unsigned ticks = 0; ticks < 32; ticks += 3) {
		struct app app = {.on_data = app_echo};
		struct host *h = start_flooded(&app, &opts);
		pass(h, (uint64_t)ticks << TL_TCP_STAMP_SHIFT);
		give_stamped_syn(h, 0, PEERS, 0);
		answer(h, next_sent(h));
		CU_ASSERT_EQUAL_FATAL(app.opened, 1);
		forget(h);
		give(h, A | P, PEERS + 1, app.c->snd_una, 10);
		CU_ASSERT(tl_seq_le(h->echo, h->segment[0].options.stamp));
		app_free(&app);
		stop(h);
	}
}

TL_TEST("without timestamps a SYN cookie preserves the MSS only")
{
	struct app app = {0};
	struct host *h = start_flooded(&app, NULL);
	static const uint8_t options[] = {2, 4, 1400 >> 8, 1400 & 0xff, 1, 3, 3, 7, 1, 1, 4, 2};

	give_options(h, S, PEERS, 0, options, sizeof(options), "", 0);
	const struct sent *s = next_sent(h);
	CU_ASSERT_EQUAL(s->flags, S | A);
	CU_ASSERT_FALSE(s->options.has_scale || s->options.sack_permitted || s->options.has_stamp);
	give(h, A | P, PEERS + 1, s->seq + 1, 20); // data: the ACK was lost
	CU_ASSERT_EQUAL_FATAL(app.opened, 1);
	CU_ASSERT(has_stream(&app, 20));
	CU_ASSERT_EQUAL(app.c->mss, 1380); // the next value that fits the cookie
	CU_ASSERT_FALSE(app.c->sack || app.c->stamped || app.c->offer_scale);
	app_free(&app);
	stop(h);
}

TL_TEST("an ACK with a forged SYN cookie is refused")
{
	struct app app = {0};
	struct host *h = start_flooded(&app, NULL);

	give_stamped_syn(h, 0, PEERS, 0);
	const struct sent s = *next_sent(h);
	h->stamped = true;
	h->echo = s.options.stamp;
	for (uint32_t bit = 0; bit < 32; bit++) {
		give(h, A, PEERS + 1, (s.seq ^ UINT32_C(1) << bit) + 1, 0);
		SENDS(h, R, (s.seq ^ UINT32_C(1) << bit) + 1, 0, 0);
	}
	give(h, A, PEERS + 2, s.seq + 1, 0);
	SENDS(h, R, s.seq + 1, 0, 0);
	h->peer_port = PORT(40001);
	give(h, A, PEERS + 1, s.seq + 1, 0);
	SENDS(h, R, s.seq + 1, 0, 0);
	CU_ASSERT_EQUAL(app.opened, 0);
	h->peer_port = PEER_PORT;
	give(h, A, PEERS + 1, s.seq + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app.opened, 1);
	stop(h);
}

TL_TEST("a SYN cookie is valid after one minute, not after 2.5")
{
	for (unsigned late = 0; late < 2; late++) {
		struct app app = {0};
		struct host *h = start_flooded(&app, NULL);
		give_stamped_syn(h, 0, PEERS, 0);
		const struct sent s = *next_sent(h);
		h->now_ns += (late ? 140 : 60) * SECOND;
		answer(h, &s);
		CU_ASSERT_EQUAL(app.opened, !late);
		stop(h);
	}
}

// A cookie from another host with the same secrets: its hash is valid.
TL_TEST("without a recent SYN cookie none is accepted")
{
	struct app app = {0}, other = {0};
	struct host *flooded = start_flooded(&other, NULL);

	give_stamped_syn(flooded, 0, PEERS, 0);
	const struct sent cookie = *next_sent(flooded);
	struct tl_tcp_secrets secrets = flooded->net->tcp->secrets;
	stop(flooded);
	for (unsigned sent_one = 0; sent_one < 2; sent_one++) {
		struct host *h = start();
		(void)hear(h, &app, NULL);
		h->net->tcp->secrets.cookie[0] = secrets.cookie[0];
		h->net->tcp->secrets.cookie[1] = secrets.cookie[1];
		if (sent_one)
			h->net->tcp->cookies_ns = h->now_ns;
		answer(h, &cookie);
		CU_ASSERT_EQUAL(app.opened, sent_one);
		stop(h);
	}
}

// No half-open connection is left.
TL_TEST("a SYN flood after an ordinary connection is answered")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	give(h, R, PEERS + 1, 0, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	flood(h);
	CU_ASSERT_EQUAL(h->net->stats.tcp_syn_cookies_tx, FLOOD - 4);
	CU_ASSERT_EQUAL(h->net->stats.tcp_backlog_drops, 0);
	stop(h);
}

TL_TEST("half-open connections are evicted by opening ones, up to the limit")
{
	struct app app = {0};
	struct host *h = start_flooded(&app, NULL);

	for (unsigned i = 0; i < 6; i++) {
		h->peer_port = PORT(40000 + i);
		h->stamped = false;
		give_stamped_syn(h, 0, PEERS, 0);
		if (h->n_sent > h->n_seen)
			answer(h, next_sent(h));
		forget(h);
	}
	CU_ASSERT_EQUAL(app.opened, 4); // the limit of the listener, regardless of earlier SYNs
	CU_ASSERT_EQUAL(h->net->stats.tcp_half_open_drops, 4);
	CU_ASSERT_EQUAL(h->net->stats.tcp_backlog_drops, 2);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_flood");
}
