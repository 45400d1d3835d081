// SPDX-License-Identifier: BSD-3-Clause
// A stack against a peer with scripted segments: handshakes, data and ACKs of RFC 9293, case by case.

#include <errno.h>

#include "tl_test_tcp_host.h"
#include "tcp_secret.h"

TL_TEST("a passive open answers SYN with SYN-ACK and opens on the ACK")
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	CU_ASSERT_EQUAL(h->segment[0].options.mss, MSS);
	CU_ASSERT_FALSE(h->segment[0].options.has_scale);
	CU_ASSERT_EQUAL(h->segment[0].src_port, OUR_PORT);
	CU_ASSERT_EQUAL(h->segment[0].dst_port, PEER_PORT);
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
	CU_ASSERT_EQUAL(h->segment[0].options.mss, MSS);
	CU_ASSERT(h->segment[0].options.has_scale);
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
	uint16_t mss = h->segment[0].len;
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
	uint64_t from_ns = h->segment[0].at_ns;
	pass(h, 9900 * MS);
	CU_ASSERT_EQUAL(h->n_sent, 4);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT(h->segment[i].at_ns - from_ns - at_s[i] * SECOND < 5 * MS);
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
	for (unsigned i = 1; i < h->net->cfg.listeners; i++)
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
	CU_ASSERT_EQUAL(h->segment[0].data[99], byte_at(OURS + 100));
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

// ---- attacks and errors (RFC 5961)

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

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp");
}
