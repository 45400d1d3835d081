// SPDX-License-Identifier: BSD-3-Clause
// Timestamps (RFC 7323): negotiation, echoed timestamp, PAWS, and round-trip time.

#include "tl_test_tcp_host.h"

#define TICK (UINT64_C(1) << TL_TCP_STAMP_SHIFT)
#define STAMP 90000u // first timestamp of the peer

static struct host *start_stamped(struct app *app, const struct tl_tcp_opts *opts)
{
	struct host *h = start();

	h->stamp = STAMP;
	(void)hear(h, app, opts);
	give_stamped_syn(h, 0, PEERS, 0);
	h->stamped = true;
	h->echo = h->segment[0].options.stamp;
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app->opened, 1);
	forget(h);
	return h;
}

TL_TEST("a SYN with timestamps is answered with timestamps, and the MSS is not reduced")
{
	struct host *h = start();
	struct app app = {0};

	h->stamp = STAMP;
	(void)hear(h, &app, NULL);
	give_stamped_syn(h, 0, PEERS, 0);
	const struct sent *s = next_sent(h);
	CU_ASSERT(s->options.has_stamp);
	CU_ASSERT_EQUAL(s->options.echo, STAMP);
	CU_ASSERT_EQUAL(s->options.mss, MSS); // RFC 6691: not reduced by the options
	CU_ASSERT(s->options.sack_permitted);
	CU_ASSERT(s->options.has_scale);
	h->stamp = STAMP + 5;
	give_stamped_syn(h, 0, PEERS, 0); // repeated with a later timestamp: that one is echoed
	CU_ASSERT_EQUAL(next_sent(h)->options.echo, STAMP + 5);
	stop(h);
}

TL_TEST("our SYN offers timestamps, and the peer's answer decides")
{
	for (int offered = 0; offered < 2; offered++) {
		struct host *h = start();
		struct app app = {0};
		call(h, &app, NULL);
		const struct sent *s = next_sent(h);
		CU_ASSERT(s->options.has_stamp);
		CU_ASSERT_EQUAL(s->options.echo, 0);
		h->stamp = STAMP;
		h->echo = s->options.stamp;
		if (offered)
			give_stamped_syn(h, A, PEERS, OURS + 1);
		else
			give_syn(h, A, PEERS, OURS + 1);
		s = next_sent(h);
		CU_ASSERT_EQUAL(s->options_len, offered ? TL_TCP_STAMP_LEN : 0);
		CU_ASSERT_EQUAL(s->options.echo, offered ? STAMP : 0);
		CU_ASSERT_EQUAL(app.opened, 1);
		stop(h);
	}
}

TL_TEST("a simultaneous open agrees on timestamps")
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	h->stamp = STAMP;
	give_stamped_syn(h, 0, PEERS, 0);
	h->echo = h->segment[0].options.stamp;
	give_stamped_syn(h, A, PEERS, OURS + 1);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	CU_ASSERT(app.c->stamped);
	stop(h);
}

TL_TEST("a peer that did not offer timestamps receives none")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, MSS + 10);
	CU_ASSERT_EQUAL(next_sent(h)->len, MSS);
	CU_ASSERT_EQUAL(h->segment[0].options_len, 0);
	CU_ASSERT_EQUAL(h->segment[1].options_len, 0);
	h->stamped = true; // too late for negotiation
	give(h, A, PEERS + 1, OURS + 1, 10);
	CU_ASSERT_EQUAL(app.len, 10);
	CU_ASSERT_EQUAL(h->segment[h->n_sent - 1].options_len, 0);
	app_free(&app);
	stop(h);
}

// Data, ACK, keepalive, FIN, RST: twelve bytes each, subtracted from the data.
TL_TEST("every segment has timestamps within the same maximum size")
{
	const struct tl_tcp_opts opts = {.keepalive_idle_ns = SECOND};
	struct app app = {0};
	struct host *h = start_stamped(&app, &opts);

	say(&app, 2 * MSS);
	SENDS(h, A, OURS + 1, PEERS + 1, MSS - 12);
	SENDS(h, A, OURS + 1 + MSS - 12, PEERS + 1, MSS - 12);
	SENDS(h, A | P, OURS + 1 + 2 * MSS - 24, PEERS + 1, 24);
	give(h, A, PEERS + 1, OURS + 1 + 2 * MSS, 10);
	SENDS(h, A, OURS + 1 + 2 * MSS, PEERS + 11, 0);
	pass(h, 1100 * MS);
	SENDS(h, A, OURS + 2 * MSS, PEERS + 11, 0);
	hang_up(h, &app);
	SENDS(h, A | F, OURS + 1 + 2 * MSS, PEERS + 11, 0);
	tl_tcp_abort(app.c);
	tl_txq_flush(&h->tx);
	SENDS(h, R | A, OURS + 2 + 2 * MSS, PEERS + 11, 0);
	SILENT(h);
	for (unsigned i = 0; i < h->n_sent; i++) {
		CU_ASSERT_EQUAL(h->segment[i].options_len, TL_TCP_STAMP_LEN);
		CU_ASSERT(h->segment[i].options.has_stamp);
		CU_ASSERT_EQUAL(h->segment[i].options.echo, STAMP);
	}
	CU_ASSERT_EQUAL(h->segment[0].data[0], byte_at(OURS + 1));
	CU_ASSERT_EQUAL(h->segment[0].data[MSS - 13], byte_at(OURS + MSS - 12));
	app_free(&app);
	stop(h);
}

TL_TEST("the timestamp clock ticks every 1.05 ms")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	say(&app, 10);
	give(h, A, PEERS + 1, OURS + 11, 0);
	pass(h, 1000 * TICK);
	say(&app, 10);
	CU_ASSERT_EQUAL(h->segment[1].options.stamp - h->segment[0].options.stamp, 1000);
	stop(h);
}

TL_TEST("the timestamp clock starts at an unpredictable value per connection")
{
	struct host *h = start();
	uint32_t one = tl_tcp_stamp_offset(h->net, tl_tcp_key(PEER, PEER_PORT, OUR_PORT));

	CU_ASSERT_EQUAL(one, tl_tcp_stamp_offset(h->net, tl_tcp_key(PEER, PEER_PORT, OUR_PORT)));
	CU_ASSERT_NOT_EQUAL(one, tl_tcp_stamp_offset(h->net, tl_tcp_key(PEER, PORT(40001), OUR_PORT)));
	h->net->tcp->secrets.stamp[0]++;
	CU_ASSERT_NOT_EQUAL(one, tl_tcp_stamp_offset(h->net, tl_tcp_key(PEER, PEER_PORT, OUR_PORT)));
	stop(h);
}

// RFC 7323, section 4.3: the segment that fills the hole is echoed, not an early one; old segments are not.
TL_TEST("the timestamp of the segment that fills a hole is echoed, not that of a later one")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	h->stamp = STAMP + 10;
	give(h, A, PEERS + 1, OURS + 1, 10);
	CU_ASSERT_EQUAL(next_sent(h)->options.echo, STAMP + 10);
	h->stamp = STAMP + 20;
	give(h, A, PEERS + 31, OURS + 1, 10); // after a hole
	CU_ASSERT_EQUAL(next_sent(h)->options.echo, STAMP + 10);
	h->stamp = STAMP + 30;
	give(h, A, PEERS + 1, OURS + 1, 10); // repeated: no new data
	CU_ASSERT_EQUAL(next_sent(h)->options.echo, STAMP + 10);
	h->stamp = STAMP + 40;
	give(h, A, PEERS + 6, OURS + 1, 25); // partly new data
	CU_ASSERT_EQUAL(next_sent(h)->options.echo, STAMP + 40);
	CU_ASSERT(has_stream(&app, 40));
	app_free(&app);
	stop(h);
}

TL_TEST("an ACK for several segments echoes the first")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);
	struct tl_burst burst = {.n = 2, .mono_ns = h->now_ns};

	for (uint16_t i = 0; i < 2; i++) {
		const uint32_t option_be[] = {tl_be32(TL_TCP_STAMP_WORD), tl_be32(STAMP + 10 + i), tl_be32(h->echo)};
		burst.pkts[i] = segment(h, A, PEERS + 1 + i * 2u, OURS + 1, (const uint8_t *)option_be, 12, "ab", 2);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), burst.pkts[i]->data_len, &burst.pkt[i]);
	}
	tl_net_input(h->net, &burst);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(next_sent(h)->ack, PEERS + 5);
	CU_ASSERT_EQUAL(h->segment[0].options.echo, STAMP + 10);
	SILENT(h);
	for (uint16_t i = 0; i < 2; i++)
		rte_pktmbuf_free(burst.pkts[i]);
	app_free(&app);
	stop(h);
}

TL_TEST("a segment with an old timestamp is refused and answered (PAWS)")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	h->stamp = STAMP - 1;
	give(h, A, PEERS + 1, OURS + 1, 10); // old: answered by an ACK
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	give(h, A | F, PEERS + 1, OURS + 1, 0);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.len, 0);
	CU_ASSERT_EQUAL(app.peer_closed, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_old_timestamp_pkts, 2);
	give(h, A, PEERS + 1, OURS + 1, 0); // not every bare ACK is answered
	give(h, A, PEERS + 1, OURS + 1, 0);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	SILENT(h);
	h->stamp = STAMP + UINT32_C(0x7fffffff); // as far ahead as possible
	give(h, A, PEERS + 1, OURS + 1, 10);
	CU_ASSERT(has_stream(&app, 10));
	h->stamp = STAMP - 2; // no longer old
	give(h, A, PEERS + 11, OURS + 1, 10);
	CU_ASSERT(has_stream(&app, 20));
	app_free(&app);
	stop(h);
}

// RFC 5961, section 5.2: a segment dropped for its ACK must not update the state: a forged timestamp would block the
// peer.
TL_TEST("the timestamp of a segment dropped for its ACK is not stored")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	h->stamp = STAMP + 1000000;
	give(h, A, PEERS + 1, OURS + 2, 10); // acknowledges data never sent
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(h->segment[h->n_sent - 1].options.echo, STAMP);
	give(h, 0, PEERS + 1, 0, 10);
	SILENT(h);
	h->stamp = STAMP + 1;
	give(h, A, PEERS + 1, OURS + 1, 10);
	CU_ASSERT_EQUAL(next_sent(h)->options.echo, STAMP + 1);
	CU_ASSERT(has_stream(&app, 10));
	app_free(&app);
	stop(h);
}

TL_TEST("an RST needs no valid timestamp")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	h->stamp = STAMP - 1;
	give(h, R, PEERS + 1, 0, 0);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_RESET);
	stop(h);

	struct app bare = {0};
	h = start_stamped(&bare, NULL);
	h->stamped = false;
	give(h, R, PEERS + 1, 0, 0);
	CU_ASSERT_EQUAL(bare.reason, TL_TCP_RESET);
	stop(h);
}

TL_TEST("after 24 idle days every timestamp is accepted")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	h->now_ns += UINT64_C(23) * 86400 * SECOND;
	h->stamp = STAMP - 1;
	give(h, A, PEERS + 1, OURS + 1, 10);
	CU_ASSERT_EQUAL(app.len, 0);
	h->now_ns += UINT64_C(2) * 86400 * SECOND;
	give(h, A, PEERS + 1, OURS + 1, 10);
	CU_ASSERT(has_stream(&app, 10));
	CU_ASSERT_EQUAL(h->segment[h->n_sent - 1].options.echo, STAMP - 1); // its timestamp counts from now on
	app_free(&app);
	stop(h);
}

TL_TEST("a segment without the negotiated timestamps is dropped silently")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	h->stamped = false;
	give(h, A, PEERS + 1, OURS + 1, 10);
	CU_ASSERT_EQUAL(app.len, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_no_timestamp_pkts, 1);
	SILENT(h);
	CU_ASSERT_EQUAL(app.closed, 0);
	stop(h);
}

TL_TEST("timestamps are accepted at any position among the options")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);
	uint8_t options[] = {8, 10, 0, 1, 0x5f, 0x95, 0, 0, 0, 0, 0, 0}; // 90005, then the end

	give_options(h, A, PEERS + 1, OURS + 1, options, sizeof(options), "abc", 3);
	CU_ASSERT_EQUAL(app.len, 3);
	CU_ASSERT_EQUAL(next_sent(h)->options.echo, 90005);
	app_free(&app);
	stop(h);
}

TL_TEST("three SACK blocks fit beside timestamps")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	for (uint32_t i = 1; i <= 5; i++) {
		give(h, A, PEERS + 1 + 100 * i, OURS + 1, 50);
		const struct sent *s = next_sent(h);
		CU_ASSERT_EQUAL(s->options.n_blocks, i < 3 ? i : 3);
		CU_ASSERT(s->options_len <= TL_TCP_OPTIONS_MAX);
		CU_ASSERT(s->options.has_stamp);
		CU_ASSERT_EQUAL(s->options.block[0].from, PEERS + 1 + 100 * i);
	}
	stop(h);
}

// Without timestamps the ACK of a retransmission gives no sample (Karn): the backoff stays. With them the echo gives
// one.
TL_TEST("the echoed timestamp gives an RTT sample of a retransmission, and ends the backoff")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);

	say(&app, 100);
	pass(h, 430 * MS); // two more, at 200 (a probe) and 400 ms
	CU_ASSERT_EQUAL(h->n_sent, 3);
	h->echo = h->segment[2].options.stamp;
	give(h, A, PEERS + 1, OURS + 101, 0);
	CU_ASSERT_EQUAL(tl_tcp_rto_ns(app.c), 200 * MS);
	CU_ASSERT(app.c->srtt_ns < 10 * MS);
	stop(h);

	struct app first = {0};
	h = start_stamped(&first, NULL);
	say(&first, 100);
	pass(h, 430 * MS);
	h->echo = h->segment[0].options.stamp; // the first transmission, delayed
	give(h, A, PEERS + 1, OURS + 101, 0);
	CU_ASSERT(first.c->srtt_ns > 50 * MS); // an eighth of 430 ms
	stop(h);
}

TL_TEST("an implausible echo gives no RTT sample")
{
	struct app app = {0};
	struct host *h = start_stamped(&app, NULL);
	app.c->srtt_ns = 40 * MS;
	say(&app, 100);
	pass(h, 250 * MS);
	h->echo = h->segment[1].options.stamp + 1000; // in the future
	give(h, A, PEERS + 1, OURS + 51, 0);
	h->echo = h->segment[1].options.stamp - 100000; // before the connection
	give(h, A, PEERS + 1, OURS + 101, 0);
	CU_ASSERT_EQUAL(app.c->srtt_ns, 40 * MS);
	stop(h);
}

TL_TEST("a later timestamp reopens TIME-WAIT for any sequence number")
{
	for (int later = 0; later < 2; later++) {
		struct app app = {0};
		struct host *h = start_stamped(&app, NULL);
		hang_up(h, &app);
		give(h, A | F, PEERS + 1, OURS + 2, 0);
		CU_ASSERT_EQUAL(app.closed, 1);
		forget(h);
		h->stamp = STAMP + (later ? 1 : 0);
		give_stamped_syn(h, 0, PEERS - 5000, 0); // below the old sequence numbers
		CU_ASSERT_EQUAL(next_sent(h)->flags, later ? (S | A) : A);
		stop(h);
	}
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_stamp");
}
