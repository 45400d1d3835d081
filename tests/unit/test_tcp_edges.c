// SPDX-License-Identifier: BSD-3-Clause
// TCP one step beyond its limits: input that is older, longer, later or larger than the last valid one.

#include "tl_test_tcp_host.h"
#include "tcp_loss.h"

// SND.WL1 identifies the later of two segments (RFC 9293, section 3.10.7.4).
TL_TEST("the window of an older segment is ignored")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	h->window = 30000;
	give(h, A, PEERS + 1 + 100, OURS + 1, 100); // the segment before it is late
	CU_ASSERT_EQUAL(app.c->snd_wnd, 30000);
	h->window = 20000;
	give(h, A, PEERS + 1, OURS + 1, 100);
	CU_ASSERT_EQUAL(app.c->snd_wnd, 30000);
	give(h, A, PEERS + 1 + 200, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.c->snd_wnd, 20000);
	stop(h);
	app_free(&app);
}

TL_TEST("a peer that acknowledges keeps the connection alive")
{
	const struct tl_tcp_opts opts = {.user_timeout_ms = 1000};
	struct app app = {0};
	struct host *h = start();

	accept_with(h, &app, &opts);
	say(&app, 2 * MSS);
	for (uint32_t i = 1; i <= 40; i++) {
		pass(h, 100 * MS);
		give(h, A, PEERS + 1, OURS + 1 + i * MSS, 0);
		say(&app, MSS); // keep data in flight all the time
		forget(h);
	}
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	pass(h, 1100 * MS);
	CU_ASSERT_EQUAL(app.closed, 1);
	stop(h);
}

// The deadline is in the first slot of the wheel when the clock jumps over all of them.
TL_TEST("a deadline in the first wheel slot fires after a stall")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	uint64_t round_ns = (uint64_t)TL_TCP_NEAR_SLOTS << TL_TCP_TICK_SHIFT;
	uint64_t due_ns = (h->now_ns / round_ns + 2) * round_ns - (UINT64_C(1) << (TL_TCP_TICK_SHIFT - 1));
	pass(h, due_ns - tl_tcp_rto_ns(app.c) - h->now_ns);
	say(&app, MSS);
	pass(h, 10 * MS); // it is armed
	CU_ASSERT_EQUAL_FATAL(((app.c->wheel_ns >> TL_TCP_TICK_SHIFT) + 1) % TL_TCP_NEAR_SLOTS, 0);
	forget(h);
	h->now_ns += 3 * SECOND;
	tl_net_tick(h->net, h->now_ns);
	tl_txq_flush(&h->tx);
	SENDS(h, A | P, OURS + 1, PEERS + 1, MSS);
	stop(h);
}

TL_TEST("slow start grows by one segment per ACK")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	uint32_t cwnd = app.c->cwnd;
	say(&app, 4 * MSS);
	give(h, A, PEERS + 1, OURS + 1 + 4 * MSS, 0); // RFC 5681, section 3.1, equation 2
	CU_ASSERT_EQUAL(app.c->cwnd, cwnd + MSS);
	say(&app, 100);
	give(h, A, PEERS + 1, OURS + 1 + 4 * MSS + 100, 0);
	CU_ASSERT_EQUAL(app.c->cwnd, cwnd + MSS + 100);
	stop(h);
}

TL_TEST("congestion avoidance grows by one segment per window")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	uint32_t cwnd = app.c->cwnd, segments = cwnd / MSS;
	app.c->ssthresh = cwnd;
	for (uint32_t i = 1; i <= segments; i++) {
		CU_ASSERT_EQUAL(app.c->cwnd, cwnd);
		say(&app, MSS);
		give(h, A, PEERS + 1, OURS + 1 + i * MSS, 0);
	}
	CU_ASSERT_EQUAL(app.c->cwnd, cwnd + MSS);
	stop(h);
}

// RFC 8985, section 6.2, step 4.
TL_TEST("the reordering window is reset after sixteen recoveries")
{
	struct app app = {0};
	struct host *h = start();

	accept_with_sack(h, &app);
	tl_tcp_rack_dsack(app.c);
	for (int i = 0; i < 16; i++) {
		CU_ASSERT_EQUAL(app.c->rack.mult, 1);
		tl_tcp_rack_recovered(app.c);
	}
	CU_ASSERT_EQUAL(app.c->rack.mult, 0);
	stop(h);
}

// Send a SYN that is answered by a cookie, because one handshake is open and the limit is one. Return the cookie.
static uint32_t call_by_cookie(struct host *h, uint16_t other_port)
{
	h->net->tcp->half_open_max = 1;
	h->peer_port = PORT(other_port);
	give_syn(h, 0, PEERS, 0);
	forget(h);
	h->peer_port = PEER_PORT;
	give_syn(h, 0, PEERS, 0);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	return next_sent(h)->seq;
}

// A period has 68.7 s, and the host begins in the 15th.
TL_TEST("a cookie is valid for at most two periods")
{
	for (int late = 0; late < 2; late++) {
		struct app app = {0};
		struct host *h = start();
		(void)hear(h, &app, NULL);
		uint32_t cookie = call_by_cookie(h, 50000);
		pass(h, (late ? 100 : 98) * SECOND);
		CU_ASSERT_NOT_EQUAL(call_by_cookie(h, 50001), cookie); // cookies continue
		forget(h);
		give(h, A, PEERS + 1, cookie + 1, 0);
		CU_ASSERT_EQUAL(app.opened, !late);
		if (late)
			SENDS(h, R, cookie + 1, 0, 0);
		stop(h);
	}
}

// Header of a segment with these options, and its payload.
static struct tl_tcp_options parsed(const uint8_t *options, uint8_t header_bytes, size_t bytes)
{
	struct {
		struct tl_tcp_hdr hdr;
		uint8_t rest[40];
	} segment = {.hdr.data_off = (uint8_t)((TL_TCP_LEN + header_bytes) << 2)};
	struct tl_tcp_options out;

	memcpy(segment.rest, options, bytes);
	tl_tcp_options_parse(&segment.hdr, &out);
	return out;
}

TL_TEST("an option beyond the header is ignored")
{
	static const uint8_t options[] = {1, 2, 4, 1000 >> 8, 1000 & 0xff, 1, 1, 1};

	CU_ASSERT_EQUAL(parsed(options, 4, sizeof(options)).mss, 0);
	CU_ASSERT_EQUAL(parsed(options, 8, sizeof(options)).mss, 1000);
}

// RFC 7323, section 2.3.
TL_TEST("a window scale above 14 is capped to 14")
{
	for (uint8_t scale = 13; scale <= 16; scale++) {
		const uint8_t options[] = {3, 3, scale, 1};
		CU_ASSERT_EQUAL(parsed(options, 4, 4).scale, scale < 14 ? scale : 14);
	}
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_edges");
}
