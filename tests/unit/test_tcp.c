// SPDX-License-Identifier: BSD-3-Clause
// A stack against a peer with scripted segments: the state machine of RFC 9293, case by case.

#include <errno.h>

#include <tl_random.h>

#include "tl_test_tcp_host.h"
#include "tcp_lend.h"
#include "tcp_ooo.h"
#include "tcp_secret.h"

TL_TEST("a passive open answers SYN with SYN-ACK and opens on the ACK")
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	CU_ASSERT_EQUAL(h->sent[0].options.mss, MSS);
	CU_ASSERT_FALSE(h->sent[0].options.has_scale);
	CU_ASSERT_EQUAL(h->sent[0].src_port, OUR_PORT);
	CU_ASSERT_EQUAL(h->sent[0].dst_port, PEER_PORT);
	CU_ASSERT_EQUAL(app.opened, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.opened, 1);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	SILENT(h);
	uint32_t ip_be;
	uint16_t port_be;
	tl_tcp_peer(app.c, &ip_be, &port_be);
	CU_ASSERT_EQUAL(ip_be, PEER);
	CU_ASSERT_EQUAL(port_be, PEER_PORT);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_ABORTED);
}

TL_TEST("a repeated SYN is answered again, until the handshake times out")
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	pass(h, 3500 * MS);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 1);
	pass(h, 7 * SECOND);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	stop(h);
	CU_ASSERT_EQUAL(app.opened + app.closed, 0);
}

static bool only_a_round_port(void *ctx, uint32_t peer_be, uint16_t peer_port_be, uint16_t port_be)
{
	*(uint32_t *)ctx = peer_be;
	return tl_be16(port_be) % 100 == 0;
}

TL_TEST("a connection is made only from a port that is allowed")
{
	struct host *h = start();
	struct app app = {0};
	uint32_t asked_for = 0;

	h->net->cfg.may_connect = only_a_round_port;
	h->net->cfg.may_connect_ctx = &asked_for;
	call(h, &app, NULL);
	CU_ASSERT_EQUAL(tl_be16(h->our_port) % 100, 0);
	CU_ASSERT_EQUAL(asked_for, PEER);
	tl_tcp_abort(app.c);
	stop(h);
}

TL_TEST("an active open sends SYN and opens on SYN-ACK")
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	SENDS(h, S, OURS, 0, 0);
	CU_ASSERT_EQUAL(h->sent[0].options.mss, MSS);
	CU_ASSERT(h->sent[0].options.has_scale);
	CU_ASSERT(tl_be16(h->our_port) >= 49152);
	CU_ASSERT(in_state(&app, "SYN-SENT"));
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "x", 1), -ENOTCONN);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 0);
	give_syn(h, A, PEERS, OURS + 1);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.opened, 1);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536);
	give_syn(h, A, PEERS, OURS + 1); // our ACK was lost
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	SILENT(h);
	stop(h);
}

static void send_hello(struct app *app, struct tl_tcp *c)
{
	CU_ASSERT_EQUAL(tl_tcp_send(c, "hello", 5), 0);
}

TL_TEST("data sent from within opened() carries the handshake's ACK")
{
	struct host *h = start();
	struct app app = {.on_opened = send_hello};

	call(h, &app, NULL);
	forget(h);
	give_syn(h, A, PEERS, OURS + 1);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 5);
	SILENT(h);
	stop(h);
}

TL_TEST("a simultaneous open makes one connection")
{
	static const uint8_t scale_7[] = {1, 3, 3, 7};
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	SENDS(h, S, OURS, 0, 0);
	give_options(h, S, PEERS, 0, scale_7, 4, "", 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	CU_ASSERT(in_state(&app, "SYN-RECEIVED"));
	give_options(h, S | A, PEERS, OURS + 1, scale_7, 4, "", 0); // the window of a SYN is not scaled
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	CU_ASSERT_EQUAL(app.opened, 1);
	CU_ASSERT_EQUAL(app.c->snd_wnd, WINDOW);
	say(&app, 10);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 10);
	stop(h);
}

static uint16_t mss_after(const uint8_t *options, uint8_t len, uint16_t mtu)
{
	struct host *h = start_with(4, 65536, mtu, true);
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_options(h, S, PEERS, 0, options, len, "", 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app.opened, 1);
	forget(h);
	say(&app, 9000);
	uint16_t mss = h->sent[0].len;
	stop(h);
	return mss;
}

TL_TEST("the MSS is the smaller of the peer's and the link's, 536 without the option")
{
	static const uint8_t mss_1460[] = {2, 4, 1460 >> 8, 1460 & 0xff};
	static const uint8_t mss_700[] = {1, 1, 2, 4, 700 >> 8, 700 & 0xff, 0, 9};
	static const uint8_t mss_8000[] = {3, 3, 0, 2, 4, 8000 >> 8, 8000 & 0xff, 0};
	static const uint8_t mss_1[] = {2, 4, 0, 1};
	static const uint8_t broken[] = {8, 0, 2, 4, 700 >> 8, 700 & 0xff, 0, 0};
	static const uint8_t cut[] = {1, 1, 1, 2};
	static const uint8_t too_long[] = {2, 40, 5, 180};

	CU_ASSERT_EQUAL(mss_after(NULL, 0, 1500), TEST_DEFAULT_MSS);
	CU_ASSERT_EQUAL(mss_after(mss_1460, 4, 1500), 1460);
	CU_ASSERT_EQUAL(mss_after(mss_700, 8, 1500), 700);
	CU_ASSERT_EQUAL(mss_after(mss_8000, 8, 1500), 1460);
	CU_ASSERT_EQUAL(mss_after(mss_1460, 4, 1400), 1360);
	CU_ASSERT_EQUAL(mss_after(mss_1, 4, 1500), TL_TCP_MIN_MSS);
	CU_ASSERT_EQUAL(mss_after(broken, 8, 1500), TEST_DEFAULT_MSS);
	CU_ASSERT_EQUAL(mss_after(cut, 4, 1500), TEST_DEFAULT_MSS);
	CU_ASSERT_EQUAL(mss_after(too_long, 4, 1500), TEST_DEFAULT_MSS);
}

TL_TEST("windows are scaled only if both sides offer it")
{
	static const uint8_t scale_7[] = {1, 3, 3, 7};
	const struct tl_tcp_opts opts = {.recv_window_bytes = 1 << 20};

	for (int offered = 0; offered < 2; offered++) {
		struct host *h = start();
		struct app app = {0};
		(void)hear(h, &app, &opts);
		give_options(h, S, PEERS, 0, scale_7, offered ? 4 : 0, "", 0);
		const struct sent *s = next_sent(h);
		CU_ASSERT_EQUAL(s->options.has_scale, offered);
		CU_ASSERT_EQUAL(s->options.scale, offered ? 5 : 0); // 2^20 >> 5 is the first to fit 16 bits
		CU_ASSERT_EQUAL(s->window, 65535);		    // never scaled in a SYN
		h->window = 100;
		give(h, A, PEERS + 1, OURS + 1, 0);
		CU_ASSERT_EQUAL(app.c->snd_wnd, offered ? 12800 : 100);
		say(&app, 10);
		CU_ASSERT_EQUAL(next_sent(h)->window, offered ? 32768 : 65535);
		stop(h);
	}
}

TL_TEST("SYN is retransmitted after 1, 2 and 4 s, and connect fails after 10 s")
{
	struct host *h = start();
	struct app app = {0};
	static const unsigned at_s[] = {0, 1, 3, 7};

	call(h, &app, NULL);
	uint64_t from_ns = h->sent[0].at_ns;
	pass(h, 9900 * MS);
	CU_ASSERT_EQUAL(h->n_sent, 4);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT(h->sent[i].at_ns - from_ns - at_s[i] * SECOND < 5 * MS);
	CU_ASSERT_EQUAL(app.closed, 0);
	pass(h, 200 * MS);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
}

TL_TEST("connect is refused only by an RST that acknowledges its SYN")
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	forget(h);
	give(h, R | A, 0, OURS, 0); // for another SYN
	give(h, R, OURS + 1, 0, 0); // does not acknowledge ours
	CU_ASSERT_EQUAL(app.closed, 0);
	give(h, A, PEERS, OURS + 9, 0); // left from an earlier incarnation
	SENDS(h, R, OURS + 9, 0, 0);
	give(h, R | A, 0, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_REFUSED);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	SILENT(h);
	stop(h);
}

TL_TEST("SYN-SENT accepts only replies to its SYN")
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	forget(h);
	give(h, A, PEERS + 1, OURS + 1, 100); // neither SYN nor RST
	SILENT(h);
	give_syn(h, A, PEERS, OURS + 77);
	SENDS(h, R, OURS + 77, 0, 0);
	CU_ASSERT(in_state(&app, "SYN-SENT"));
	give_syn(h, A, PEERS, OURS + 1);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.opened, 1);
	stop(h);
}

TL_TEST("an abort sends RST")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, A, PEERS + 1, OURS + 1, 10);
	forget(h);
	tl_tcp_abort(app.c);
	tl_txq_flush(&h->tx);
	SENDS(h, R | A, OURS + 1, PEERS + 11, 0);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_ABORTED);
	app_free(&app);
	stop(h);
}

TL_TEST("connect refuses invalid arguments")
{
	struct host *h = start_with(2, 4096, 1500, true);
	struct app app = {0};
	struct tl_tcp *c = NULL;
	struct tl_tcp_ops deaf = {0};

	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &deaf, &app, NULL, &c), -EINVAL);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, 0, &APP_OPS, &app, NULL, &c), -EINVAL);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, IP(239, 1, 1, 1), PEER_PORT, &APP_OPS, &app, NULL, &c), -EINVAL);
	CU_ASSERT_EQUAL(
		tl_tcp_connect(h->net, IP(198, 51, 100, 1), PEER_PORT, &APP_OPS, &app, NULL, &c), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), 0);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), 0);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), -ENOSPC);
	tl_tcp_close(c); // SYN-SENT: closed at once
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), 0);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 3);
}

TL_TEST("connect fails without a free local port")
{
	struct host *h = start_with(20000, 4096, 1500, true);
	struct app app = {0};
	struct tl_tcp *c = NULL;
	unsigned opened = 0;

	while (tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c) == 0)
		opened++;
	CU_ASSERT_EQUAL(opened, 16384);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(7), &APP_OPS, &app, NULL, &c), 0);
	stop(h);
}

TL_TEST("a segment for no connection is answered with RST")
{
	struct host *h = start();

	give_syn(h, 0, PEERS, 0);
	SENDS(h, R | A, 0, PEERS + 1, 0);
	give(h, A, PEERS, 77, 10);
	SENDS(h, R, 77, 0, 0);
	give(h, F, PEERS, 0, 10);
	SENDS(h, R | A, 0, PEERS + 11, 0);
	give(h, R, PEERS, 0, 0);
	give(h, R | A, PEERS, 5, 0);
	SILENT(h);
	stop(h);
}

TL_TEST("a listener accepts SYN only, and unlisten ends its handshakes")
{
	struct host *h = start();
	struct app app = {0};
	struct tl_tcp_listener *listener = hear(h, &app, NULL), *other = NULL;

	give(h, A, PEERS, 77, 0);
	SENDS(h, R, 77, 0, 0);
	give(h, R, PEERS, 0, 0);
	give(h, 0, PEERS, 0, 5);
	SILENT(h);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, OUR_PORT, 1, &APP_OPS, &app, NULL, &other), -EADDRINUSE);
	for (unsigned i = 1; i < TL_TCP_LISTENERS; i++)
		CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(80 + i), 1, &APP_OPS, &app, NULL, &other), 0);
	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(999), 1, &APP_OPS, &app, NULL, &other), -ENOSPC);
	tl_tcp_unlisten(other);
	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(999), 1, &APP_OPS, &app, NULL, &other), 0);

	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	tl_tcp_unlisten(listener); // removes the half-open connection, too
	tl_txq_flush(&h->tx);
	SENDS(h, R | A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, R | A, 0, PEERS + 1, 0);
	stop(h);
}

TL_TEST("a listener accepts no more connections than its backlog")
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL); // four
	for (unsigned i = 0; i < 6; i++) {
		h->peer_port = PORT(40000 + i);
		give_syn(h, 0, PEERS, 0);
		give(h, A, PEERS + 1, OURS + 1, 0);
	}
	CU_ASSERT_EQUAL(app.opened, 4);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 4);
	CU_ASSERT_EQUAL(h->net->stats.tcp_backlog_drops, 2);
	h->peer_port = PORT(40000);
	give(h, R, PEERS + 1, 0, 0); // aborted: its slot is free
	forget(h);
	h->peer_port = PORT(40005);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	stop(h);
}

// ---- data

TL_TEST("data is sent at once in segments of at most the MSS")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 100);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 100);
	CU_ASSERT_EQUAL(h->sent[0].data[99], byte_at(OURS + 100));
	say(&app, 2 * MSS + 80);
	SENDS(h, A, OURS + 101, PEERS + 1, MSS);
	SENDS(h, A, OURS + 101 + MSS, PEERS + 1, MSS);
	SENDS(h, A | P, OURS + 101 + 2 * MSS, PEERS + 1, 80);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536 - 180 - 2 * MSS);
	give(h, A, PEERS + 1, OURS + 101, 0);
	CU_ASSERT_EQUAL(app.rooms, 1);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536 - 80 - 2 * MSS);
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, h, 65536), -ENOBUFS);
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "", 0), 0);
	pass(h, 100 * MS);
	SILENT(h);
	stop(h);
}

TL_TEST("an ACK is piggybacked on a reply or sent at the end of the burst")
{
	struct host *h = start();
	struct app app = {.on_data = app_echo};

	accept_peer(h, &app);
	give(h, A | P, PEERS + 1, OURS + 1, 100);
	SENDS(h, A | P, OURS + 1, PEERS + 101, 100);
	SILENT(h);
	app.on_data = NULL;
	give(h, A | P, PEERS + 101, OURS + 101, 100); // no immediate ACK: it is sent at the end of the burst
	SENDS(h, A, OURS + 101, PEERS + 201, 0);
	SILENT(h);
	CU_ASSERT(has_stream(&app, 200));
	app_free(&app);
	stop(h);
}

TL_TEST("one ACK answers a burst of small segments")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	struct tl_burst burst = {.n = 3, .mono_ns = h->now_ns};
	for (uint16_t i = 0; i < 3; i++) {
		burst.pkts[i] = segment(h, A, PEERS + 1 + i * 2u, OURS + 1, NULL, 0, "ab", 2);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), burst.pkts[i]->data_len, &burst.pkt[i]);
	}
	tl_net_input(h->net, &burst);
	tl_txq_flush(&h->tx);
	SENDS(h, A, OURS + 1, PEERS + 7, 0);
	SILENT(h);
	CU_ASSERT(app.len == 6 && memcmp(app.data, "ababab", 6) == 0);
	for (uint16_t i = 0; i < 3; i++)
		rte_pktmbuf_free(burst.pkts[i]);
	app_free(&app);
	stop(h);
}

TL_TEST("every second full segment is acknowledged")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	struct tl_burst burst = {.n = 5, .mono_ns = h->now_ns};
	static const uint8_t zeros[MSS];
	for (uint16_t i = 0; i < 5; i++) {
		burst.pkts[i] = segment(h, A, PEERS + 1 + i * MSS, OURS + 1, NULL, 0, zeros, MSS);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), burst.pkts[i]->data_len, &burst.pkt[i]);
	}
	tl_net_input(h->net, &burst);
	tl_txq_flush(&h->tx);
	SENDS(h, A, OURS + 1, PEERS + 1 + 2 * MSS, 0);
	SENDS(h, A, OURS + 1, PEERS + 1 + 4 * MSS, 0);
	SENDS(h, A, OURS + 1, PEERS + 1 + 5 * MSS, 0);
	SILENT(h);
	for (uint16_t i = 0; i < 5; i++)
		rte_pktmbuf_free(burst.pkts[i]);
	app_free(&app);
	stop(h);
}

TL_TEST("urgent data is delivered inline")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	give(h, A | TL_TCP_URG, PEERS + 1, OURS + 1, 20);
	CU_ASSERT(has_stream(&app, 20));
	app_free(&app);
	stop(h);
}

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

// ---- SACK

static const uint8_t SACK_PERMITTED[] = {1, 1, 4, 2};

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
	CU_ASSERT(has_options(&h->sent[0], first, sizeof(first)));
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
	CU_ASSERT_EQUAL(h->sent[h->n_seen - 2].options_len, 0);
	CU_ASSERT_EQUAL(h->sent[h->n_seen - 1].options_len, 0);
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

static void sacked_is(const struct app *app, const uint32_t (*ranges)[2], unsigned count)
{
	CU_ASSERT_EQUAL(app->c->n_sacked, count);
	for (unsigned i = 0; i < count; i++) {
		CU_ASSERT_EQUAL(app->c->flight->sacked[i].from, OURS + 1 + ranges[i][0] * MSS);
		CU_ASSERT_EQUAL(app->c->flight->sacked[i].to, OURS + 1 + ranges[i][1] * MSS);
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
		CU_ASSERT_EQUAL(h->sent[i].len, 10);
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
	CU_ASSERT_PTR_NULL(tl_tcp_find(h->net->tcp, tl_tcp_key(PEER, PEER_PORT, OUR_PORT))); // the older of the two
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

TL_TEST("a wrong ACK in the handshake is answered with RST")
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	forget(h);
	give(h, A, PEERS + 1, OURS, 0);
	SENDS(h, R, OURS, 0, 0);
	give(h, A, PEERS + 1, OURS + 2, 0);
	SENDS(h, R, OURS + 2, 0, 0);
	CU_ASSERT_EQUAL(app.opened, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.opened, 1);
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

TL_TEST("ISNs combine a keyed hash and the 4 us clock")
{
	struct host *h = start();
	uint32_t isn[3];

	h->net->tcp->isn_fixed = false;
	for (unsigned i = 0; i < 3; i++)
		isn[i] = tl_tcp_isn(h->net, tl_tcp_key(PEER, PORT(i), OUR_PORT));
	CU_ASSERT(isn[1] - isn[0] != isn[2] - isn[1]);
	pass(h, SECOND);
	CU_ASSERT_EQUAL(tl_tcp_isn(h->net, tl_tcp_key(PEER, 0, OUR_PORT)) - isn[0], 250000); // RFC 6528: the 4 us clock
	// SipHash-2-4 of the 8 bytes 00..07 under the key 00..0f, from its paper's test vectors.
	static const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
	CU_ASSERT_EQUAL(tl_tcp_hash(key, UINT64_C(0x0706050403020100)), UINT64_C(0x93f5f5799a932462));
	stop(h);
}

// Two hosts with distinct secrets: no word is equal.
TL_TEST("each secret is drawn separately from the kernel's random source")
{
	enum { WORDS = sizeof(struct tl_tcp_secrets) / sizeof(uint64_t) };
	uint64_t word[2 * WORDS];

	for (unsigned i = 0; i < 2; i++) {
		struct host h = {.tx = {.flush_fn = collect, .backend = &h}};
		struct tl_net_cfg cfg = test_cfg(&h.tx, 1, 4, 4096);
		cfg.seed = 0;
		struct tl_net *net = test_net(&cfg);
		memcpy(word + i * WORDS, &net->tcp->secrets, sizeof(net->tcp->secrets));
		tl_net_destroy(net);
	}
	for (unsigned i = 0; i < 2 * WORDS; i++)
		for (unsigned j = 0; j < i; j++)
			CU_ASSERT_NOT_EQUAL(word[i], word[j]);
}

// An ISN, a timestamp, a cookie and a port: each changes with its own secret only.
TL_TEST("each secret has one use")
{
	struct host *h = start();
	struct tl_tcp_secrets *secrets = &h->net->tcp->secrets;
	struct tl_tcp_key key = tl_tcp_key(PEER, PEER_PORT, OUR_PORT);

	h->net->tcp->isn_fixed = false;
	uint32_t isn = tl_tcp_isn(h->net, key), offset = tl_tcp_stamp_offset(h->net, key);
	secrets->cookie[0]++;
	secrets->port[0]++;
	secrets->stamp[0]++;
	CU_ASSERT_EQUAL(tl_tcp_isn(h->net, key), isn);
	secrets->isn[0]++;
	secrets->stamp[0]--;
	CU_ASSERT_NOT_EQUAL(tl_tcp_isn(h->net, key), isn);
	CU_ASSERT_EQUAL(tl_tcp_stamp_offset(h->net, key), offset);
	stop(h);
}

// ---- ICMP, ARP

TL_TEST("a hard ICMP error ends a handshake, a soft one sets its error")
{
	struct host *h = start();
	struct app app[2] = {0};

	call(h, &app[0], NULL);
	tl_tcp_unreachable(h->net, 3, PEER, h->our_port, PEER_PORT, OURS + 5); // a sequence number not in flight
	tl_tcp_unreachable(h->net, 1, PEER, h->our_port, PEER_PORT, OURS);     // soft
	CU_ASSERT_EQUAL(app[0].closed, 0);
	tl_tcp_arp_failed(h->net, IP(192, 0, 2, 77)); // not its next hop
	CU_ASSERT_EQUAL(app[0].closed, 0);
	tl_tcp_unreachable(h->net, 3, PEER, h->our_port, PEER_PORT, OURS);
	CU_ASSERT_EQUAL(app[0].closed, 1);
	CU_ASSERT_EQUAL(app[0].reason, TL_TCP_UNREACHABLE);
	call(h, &app[1], NULL);
	tl_tcp_unreachable(h->net, 1, PEER, h->our_port, PEER_PORT, OURS);
	pass(h, 11 * SECOND); // a soft error, but the only one reported
	CU_ASSERT_EQUAL(app[1].reason, TL_TCP_UNREACHABLE);
	stop(h);
}

TL_TEST("ICMP errors do not end established connections")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10);
	for (uint8_t code = 0; code < 16; code++)
		tl_tcp_unreachable(h->net, code, PEER, OUR_PORT, PEER_PORT, OURS + 1);
	CU_ASSERT_EQUAL(app.closed, 0);
	stop(h);
}

static void call_again(struct app *app, struct tl_tcp *c)
{
	struct host *h = app->user;

	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, app, NULL, &app->c), 0);
}

TL_TEST("unanswered ARP ends the handshake, once")
{
	struct host *h = start_with(1, 4096, 1500, false);
	struct app app = {.on_closed = call_again, .user = h};

	call(h, &app, NULL);
	SILENT(h); // no SYN without a MAC
	pass(h, 5 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 1); // once, though closed() reconnects at once, in the only slot
	CU_ASSERT_EQUAL(app.reason, TL_TCP_UNREACHABLE);
	CU_ASSERT(in_state(&app, "SYN-SENT"));
	introduce_peer(h);
	SENDS(h, S, OURS, 0, 0); // it was waiting for the MAC
	app.on_closed = NULL;
	stop(h);
}

TL_TEST("headers are rebuilt when a MAC address may have changed")
{
	struct host *h = start();
	struct app app = {0};
	struct rte_mbuf *m;

	accept_peer(h, &app);
	h->net->arp_generation++; // marks ARP entries as possibly changed
	say(&app, 10);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 10);
#ifndef TEST_IP6 // IPv6 has no ready headers
	CU_ASSERT_EQUAL(app.c->arp_generation, h->net->arp_generation);
#endif
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "x", 1), 0);
	m = h->tx.pkts[0];
	CU_ASSERT_EQUAL(rte_pktmbuf_mtod(m, uint8_t *)[5], 2);
	stop(h);
}

// ---- the application, from within its callbacks

static void abort_it(struct app *app, struct tl_tcp *c)
{
	tl_tcp_abort(c);
}

static void abort_on_data(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	tl_tcp_abort(c);
	tl_tcp_abort(c);
	tl_tcp_close(c);
	CU_ASSERT_EQUAL(tl_tcp_send(c, "x", 1), -ENOTCONN);
}

static void close_on_data(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	tl_tcp_close(c);
}

TL_TEST("abort is safe from within every callback")
{
	struct host *h = start();
	struct app opened = {.on_opened = abort_it}, data = {.on_data = abort_on_data}, room = {.on_room = abort_it},
		   peer = {.on_peer_closed = abort_it};
	struct app *const apps[] = {&opened, &data, &room, &peer};

	for (unsigned i = 0; i < 4; i++) {
		struct tl_tcp_listener *listener = hear(h, apps[i], NULL);
		h->peer_port = PORT(41000 + i);
		give_syn(h, 0, PEERS, 0);
		give(h, A, PEERS + 1, OURS + 1, 0);
		if (apps[i]->closed == 0)
			say(apps[i], 10);
		give(h, A, PEERS + 11, OURS + 1, 10); // buffered
		give(h, A | F, PEERS + 21, OURS + 11, 10);
		give(h, A, PEERS + 1, OURS + 11, 10);
		CU_ASSERT_EQUAL(apps[i]->opened, 1);
		CU_ASSERT_EQUAL(apps[i]->closed, 1);
		CU_ASSERT_EQUAL(apps[i]->reason, TL_TCP_ABORTED);
		CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
		tl_tcp_unlisten(listener);
		app_free(apps[i]);
	}
	CU_ASSERT_EQUAL(mbufs_taken(h), 0);
	stop(h);
}

TL_TEST("close is safe from within the data() callback")
{
	struct host *h = start();
	struct app app = {.on_data = close_on_data};

	accept_peer(h, &app);
	give(h, A | F, PEERS + 1, OURS + 1, 10);
	SENDS(h, A | F, OURS + 1, PEERS + 11, 0);
	SENDS(h, A, OURS + 2, PEERS + 12, 0);
	CU_ASSERT(in_state(&app, "CLOSING"));
	CU_ASSERT_EQUAL(app.peer_closed, 0);
	app_free(&app);
	stop(h);
}

TL_TEST("without peer_closed() a connection closes itself")
{
	struct host *h = start();
	struct app app = {0};
	struct tl_tcp_ops quiet = {.closed = app_closed};
	struct tl_tcp_listener *listener;

	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, OUR_PORT, 4, &quiet, &app, NULL, &listener), 0);
	give_syn(h, 0, PEERS, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	forget(h);
	give(h, A | F, PEERS + 1, OURS + 1, 10);
	SENDS(h, A | F, OURS + 1, PEERS + 12, 0);
	SILENT(h);
	give(h, A, PEERS + 12, OURS + 2, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_DONE);
	stop(h);
}

// After a pause the wheel makes one turn.
TL_TEST("ten years without a tick are processed at once")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10);
	forget(h);
	introduce_peer(h);
	h->now_ns += UINT64_C(3650) * 86400 * SECOND;
	tl_net_tick(h->net, h->now_ns);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
}

TL_TEST("data sent from within room() and peer_closed() carries the ACK")
{
	struct host *h = start();
	struct app app = {.on_room = send_hello, .on_peer_closed = send_hello};

	accept_peer(h, &app);
	say(&app, 10);
	forget(h);
	give(h, A, PEERS + 1, OURS + 11, 20); // the reply has the ACK of the data, too
	SENDS(h, A | P, OURS + 11, PEERS + 21, 5);
	SILENT(h);
	give(h, A | F, PEERS + 21, OURS + 11, 0);
	SENDS(h, A | P, OURS + 16, PEERS + 22, 5);
	SILENT(h);
	app_free(&app);
	stop(h);
}

TL_TEST("closed() may open the next connection even when all slots are taken")
{
	struct host *h = start_with(1, 4096, 1500, true);
	struct app app = {.on_closed = call_again, .user = h};

	call(h, &app, NULL);
	struct tl_tcp *first = app.c;
	give(h, R | A, 0, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT(app.c != first && in_state(&app, "SYN-SENT"));
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 1);
	app.on_closed = NULL;
	stop(h);
}

TL_TEST("slots are reused repeatedly")
{
	struct host *h = start_with(2, 4096, 1500, true);
	struct app app = {0};

	for (unsigned i = 1; i <= 50; i++) {
		call(h, &app, NULL);
		give_syn(h, A, PEERS, OURS + 1);
		give(h, R, PEERS + 1, 0, 0);
		CU_ASSERT_EQUAL(app.closed, i);
	}
	stop(h);
}

static void call_in_vain(struct app *app, struct tl_tcp *c)
{
	struct host *h = app->user;

	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, app, NULL, &c), -ENOSPC);
}

TL_TEST("destroy ends connections and opens none")
{
	struct host *h = start();
	struct app app = {.on_closed = call_in_vain, .user = h};

	accept_peer(h, &app);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_ABORTED);
}

TL_TEST("close_all closes open connections and aborts opening ones")
{
	struct host *h = start();
	struct app open = {0}, opening = {0};

	accept_peer(h, &open);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(9), &APP_OPS, &opening, NULL, &opening.c), 0);
	tl_tcp_close_all(h->net, false);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(opening.closed, 1);
	SENDS(h, S, OURS, 0, 0); // and no RST
	SENDS(h, A | F, OURS + 1, PEERS + 1, 0);
	SILENT(h);
	CU_ASSERT(in_state(&open, "FIN-WAIT-1"));
	open.on_closed = call_again; // does not end with it
	open.user = h;
	tl_tcp_close_all(h->net, true);
	CU_ASSERT_EQUAL(open.closed, 1);
	CU_ASSERT(in_state(&open, "SYN-SENT"));
	open.on_closed = NULL;
	tl_tcp_abort(open.c);
	CU_ASSERT_EQUAL(open.reason, TL_TCP_ABORTED);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	stop(h);
}

// ---- no mbufs

static unsigned take_all(struct rte_mbuf **taken)
{
	unsigned n = 0;

	while (n < POOL_MBUFS && (taken[n] = rte_pktmbuf_alloc(test_pool())) != NULL)
		n++;
	return n;
}

TL_TEST("without mbufs data and ACKs wait for the next tick")
{
	static struct rte_mbuf *taken[POOL_MBUFS];
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	struct rte_mbuf *in = segment(h, A, PEERS + 1, OURS + 1, NULL, 0, "abc", 3);
	unsigned n = take_all(taken);
	rte_pktmbuf_free(h->net->spare);
	h->net->spare = NULL;
	n += take_all(taken + n);
	give_frame(h->net, in, h->now_ns);
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "hello", 5), 0);
	pass(h, 5 * MS);
	SILENT(h);
	CU_ASSERT(h->net->stats.nombuf > 2);
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_free(taken[i]);
	rte_pktmbuf_free(in);
	pass(h, MS);
	SENDS(h, A | P, OURS + 1, PEERS + 4, 5);
	pass(h, 100 * MS);
	SILENT(h);
	app_free(&app);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp");
}
