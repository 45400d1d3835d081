// SPDX-License-Identifier: BSD-3-Clause
// Loss detection by time (RFC 8985, RACK-TLP), and duplicates (RFC 2883). The round trip is 20 ms.

#include "tl_test_tcp_host.h"
#include "tcp_lend.h"

TL_TEST("data sent a quarter of the RTT before delivered data counts as lost")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	pass(h, RTT);
	GIVE_SACK(h, 0, {1, 2});
	pass(h, 4 * MS);
	SILENT(h);
	pass(h, 3 * MS); // a quarter of the round trip
	SENDS_SEGMENT(h, 0);
	SILENT(h);
	CU_ASSERT(app.c->in_recovery);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	stop(h);
}

TL_TEST("after reordering no count of later segments marks one as lost")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	pass(h, RTT);
	GIVE_SACK(h, 0, {1, 2});
	pass(h, 2 * MS);
	give(h, A, PEERS + 1, OURS + 1 + 2 * MSS, 0); // reordered, not lost
	CU_ASSERT(app.c->rack.reordering);
	GIVE_SACK(h, 2, {3, 7}); // four: above the threshold without reordering
	SILENT(h);
	pass(h, 7 * MS);
	SENDS_SEGMENT(h, 2);
	SILENT(h);
	stop(h);
}

TL_TEST("an ACK that reports a hole does not indicate reordering")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	pass(h, RTT);
	GIVE_SACK(h, 2, {3, 4});
	CU_ASSERT_FALSE(app.c->rack.reordering);
	stop(h);
}

// No later segment has arrived yet for a comparison, and sequence numbers wrap.
TL_TEST("the first SACK of a connection does not indicate reordering, for any ISN")
{
	static const uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 1, 4, 2};

	for (uint32_t iss = 0x10000000; iss != 0; iss += 0x10000000) {
		struct host *h = start();
		struct app app = {0};
		fix_isn(h->net, iss);
		(void)hear(h, &app, NULL);
		give_options(h, S, PEERS, 0, options, sizeof(options), "", 0);
		pass(h, RTT);
		give(h, A, PEERS + 1, iss + 1, 0);
		say(&app, 5 * MSS);
		forget(h);
		pass(h, RTT);
		const uint32_t from_be = tl_be32(iss + 1 + MSS), to_be = tl_be32(iss + 1 + 4 * MSS);
		uint8_t sack[12] = {1, 1, 5, 10};
		memcpy(sack + 4, &from_be, sizeof(from_be));
		memcpy(sack + 8, &to_be, sizeof(to_be));
		give_options(h, A, PEERS + 1, iss + 1, sack, sizeof(sack), "", 0);
		SENDS(h, A, iss + 1, PEERS + 1, MSS);
		CU_ASSERT_FALSE(app.c->rack.reordering);
		stop(h);
	}
}

TL_TEST("data lost twice is sent a third time, without a timeout")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 13);

	pass(h, RTT);
	GIVE_SACK(h, 0, {1, 4});
	SENDS_SEGMENT(h, 0);
	GIVE_SACK(h, 0, {1, 9});
	SENDS_SEGMENT(h, 10); // sent later than the retransmission of segment 0
	SENDS_SEGMENT(h, 11);
	SENDS_SEGMENT(h, 12);
	SILENT(h);
	pass(h, RTT);
	GIVE_SACK(h, 0, {1, 11});
	SENDS_SEGMENT(h, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_retransmits, 2);
	stop(h);
}

// The recorded time of a retransmission is some ns ahead of the clock, and the minimum round trip is that of the wire.
TL_TEST("a retransmission delivered within the minimum RTT reveals further losses")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	pass(h, RTT);
	GIVE_SACK(h, 0, {1, 4}); // of ten, 0 and 4 to 9 are lost
	SENDS_SEGMENT(h, 0);
	SILENT(h);
	pass(h, RTT);
	give(h, A, PEERS + 1, OURS + 1 + 4 * MSS, 0); // 0 arrived, and segments sent long before did not
	SENDS_SEGMENT(h, 4);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	stop(h);
}

TL_TEST("the echoed timestamp identifies the original transmission")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	app.c->stamped = true;
	app.c->rack.min_rtt_ns = 0;
	say(&app, 2 * MSS);
	h->stamped = true;
	h->echo = tl_tcp_stamp_now(app.c);
	pass(h, 45 * MS); // a probe
	CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 1);
	uint64_t at_ns = app.c->rack.at_ns;
	give(h, A, PEERS + 1, OURS + 1 + 2 * MSS, 0);
	CU_ASSERT(at_ns <= app.c->rack.at_ns && app.c->rack.at_ns < h->now_ns - 20 * MS);
	stop(h);
}

TL_TEST("a tail loss probe is sent after two RTTs")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	say(&app, 3 * MSS);
	forget(h);
	pass(h, 39 * MS);
	SILENT(h);
	pass(h, 3 * MS); // two round trips
	SENDS(h, A | P, OURS + 1 + 2 * MSS, PEERS + 1, MSS);
	SILENT(h);
	pass(h, RTT);
	GIVE_SACK(h, 0, {2, 3}); // reveals the losses before it
	SENDS_SEGMENT(h, 0);
	pass(h, RTT);
	give(h, A, PEERS + 1, OURS + 1 + MSS, 0);
	SENDS_SEGMENT(h, 1);
	give(h, A, PEERS + 1, OURS + 1 + 3 * MSS, 0);
	CU_ASSERT_EQUAL(app.c->trouble, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 1);
	stop(h);
}

TL_TEST("a probe sends new data if available, once per flight")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 12);

	pass(h, 45 * MS);
	SENDS_SEGMENT(h, 10); // cwnd does not limit it
	SILENT(h);
	pass(h, 100 * MS); // one probe, then the timer
	SILENT(h);
	pass(h, 110 * MS);
	SENDS_SEGMENT(h, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 1);
	stop(h);
}

TL_TEST("a loss repaired by the probe halves cwnd unless both copies arrived")
{
	for (int twice = 0; twice < 2; twice++) {
		struct app app = {0};
		struct host *h = start();
		accept_with_sack(h, &app);
		say(&app, 3 * MSS);
		forget(h);
		pass(h, 45 * MS);
		CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 1);
		uint32_t cwnd = app.c->cwnd;
		if (twice)
			GIVE_SACK(h, 3, {2, 3}); // both arrived
		else
			give(h, A, PEERS + 1, OURS + 1 + 3 * MSS, 0);
		CU_ASSERT_EQUAL(app.c->probing, !twice);
		say(&app, 100);
		give(h, A, PEERS + 1, OURS + 101 + 3 * MSS, 0);
		CU_ASSERT_FALSE(app.c->probing);
		CU_ASSERT_EQUAL(app.c->cwnd < cwnd, !twice);
		stop(h);
	}
}

TL_TEST("a single segment is probed after the maximum delay of its ACK")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	say(&app, 100);
	forget(h);
	pass(h, 198 * MS); // its ACK may be delayed
	SILENT(h);
	pass(h, 5 * MS);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 100);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	pass(h, 205 * MS);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 100);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 1);
	stop(h);
}

// Messages of few bytes, sent at once or one after another: RFC 8985, section 7.2 counts segments.
TL_TEST("two small segments in flight are probed after two RTTs")
{
	for (unsigned apart_ms = 0; apart_ms <= 1; apart_ms++) {
		struct host *h = start();
		struct app app = {0};
		accept_with_sack(h, &app);
		say(&app, 16);
		pass(h, apart_ms * MS);
		say(&app, 16);
		forget(h);
		pass(h, 39 * MS);
		SILENT(h);
		pass(h, 3 * MS); // two round trips
		CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 1);
		CU_ASSERT(h->n_sent == 1 && h->segment[0].len >= 16);
		CU_ASSERT_EQUAL(h->segment[0].seq + h->segment[0].len, OURS + 33);
		stop(h);
	}
}

// The first of two segments has arrived: the ACK of the other may be delayed.
TL_TEST("a single segment left in flight by an ACK is probed after the maximum ACK delay")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	say(&app, 16);
	say(&app, 16);
	pass(h, RTT);
	give(h, A, PEERS + 1, OURS + 17, 0);
	forget(h);
	pass(h, 150 * MS);
	SILENT(h);
	pass(h, 60 * MS);
	SENDS(h, A | P, OURS + 17, PEERS + 1, 16);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 0);
	stop(h);
}

TL_TEST("without SACK no probe is sent")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 3 * MSS);
	forget(h);
	pass(h, 190 * MS);
	SILENT(h);
	pass(h, 15 * MS);
	SENDS_SEGMENT(h, 0);
	CU_ASSERT_EQUAL(h->net->stats.tcp_timeouts, 1);
	CU_ASSERT_EQUAL(h->net->stats.tcp_tail_probes_tx, 0);
	stop(h);
}

TL_TEST("a FIN at the tail is probed with the data before it")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	say(&app, 3 * MSS);
	hang_up(h, &app);
	forget(h);
	pass(h, 45 * MS);
	SENDS(h, A | P | F, OURS + 2 + 2 * MSS, PEERS + 1, MSS - 1);
	stop(h);
}

// RFC 8985, section 6.2, step 4, for any number of D-SACKs.
TL_TEST("the reordering window is at most one RTT")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	app.c->rack.reordering = true;
	app.c->rack.mult = 40; // 205 ms
	pass(h, RTT);
	GIVE_SACK(h, 0, {1, 2});
	pass(h, RTT - 2 * MS);
	SILENT(h);
	pass(h, 4 * MS);
	SENDS_SEGMENT(h, 0);
	stop(h);
}

// A duplicate during the handshake is not reported in the SYN-ACK: options are still being negotiated.
TL_TEST("a pending D-SACK does not displace options of a SYN-ACK")
{
	static const uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 1, 4, 2};
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_options(h, S, PEERS, 0, options, sizeof(options), "", 0);
	uint8_t options_len = next_sent(h)->options_len;
	give(h, A, PEERS - 9, OURS + 77, 20); // from an earlier connection: half of it is below the new one
	CU_ASSERT_EQUAL(app.opened, 0);
	forget(h);
	give_options(h, S, PEERS, 0, options, sizeof(options), "", 0);
	const struct sent *again = next_sent(h);
	CU_ASSERT_EQUAL(again->flags, S | A);
	CU_ASSERT_EQUAL(again->options_len, options_len);
	CU_ASSERT_EQUAL(again->options.mss, MSS);
	CU_ASSERT(again->options.sack_permitted);
	CU_ASSERT_EQUAL(again->options.n_blocks, 0);
	stop(h);
}

TL_TEST("a duplicate is reported by D-SACK, once")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	give(h, A, PEERS + 1, OURS + 1, 100);
	SENDS(h, A, OURS + 1, PEERS + 101, 0);
	give(h, A, PEERS + 1, OURS + 1, 100); // the whole segment
	SACKS(h, {0, 100});
	give(h, A, PEERS + 51, OURS + 1, 100); // half of it
	SACKS(h, {50, 100});
	give(h, A, PEERS + 151, OURS + 1, 10);
	CU_ASSERT_EQUAL(next_sent(h)->options_len, 0); // reported once
	give(h, A, PEERS + 1 + 300, OURS + 1, 50);
	SACKS(h, {300, 350});
	give(h, A, PEERS + 1, OURS + 1, 10); // beside a hole
	SACKS(h, {0, 10}, {300, 350});
	CU_ASSERT_EQUAL(h->net->stats.tcp_dsacks_tx, 3);
	CU_ASSERT(has_stream(&app, 160));
	app_free(&app);
	stop(h);
}

// RFC 2883, section 4.2: of several duplicate parts the first contiguous one is reported.
TL_TEST("for a partly duplicate segment D-SACK reports the first such part")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	give(h, A, PEERS + 1 + 200, OURS + 1, 100);
	SACKS(h, {200, 300});
	give(h, A, PEERS + 1 + 400, OURS + 1, 100);
	SACKS(h, {400, 500}, {200, 300});
	give(h, A, PEERS + 1 + 350, OURS + 1, 100); // the end of it
	SACKS(h, {400, 450}, {350, 500}, {200, 300});
	give(h, A, PEERS + 1 + 250, OURS + 1, 150); // both ends
	SACKS(h, {250, 300}, {200, 500});
	give(h, A, PEERS + 1 + 150, OURS + 1, 400); // several parts
	SACKS(h, {200, 500}, {150, 550});
	give(h, A, PEERS + 1, OURS + 1, 160); // in order
	SACKS(h, {150, 160});
	CU_ASSERT_EQUAL(h->segment[h->n_sent - 1].ack, PEERS + 1 + 550);
	give(h, A, PEERS + 1 + 600, OURS + 1, 50);
	SACKS(h, {600, 650});
	give(h, A, PEERS + 1 + 540, OURS + 1, 100); // beyond the data in order on both sides
	SACKS(h, {540, 550});
	for (int i = 0; i < 2; i++) { // a FIN has no bytes
		give(h, A | F, PEERS + 1 + 700, OURS + 1, 0);
		SACKS(h, {700, 701});
	}
	CU_ASSERT(has_stream(&app, 650));
	app_free(&app);
	stop(h);
}

TL_TEST("a D-SACK widens the reordering window once per RTT")
{
	struct app app = {0};
	struct host *h = start_sacked(&app, 9);

	pass(h, RTT);
	GIVE_SACK(h, 1, {0, 1});
	GIVE_SACK(h, 2, {1, 2}); // once per round trip
	CU_ASSERT_EQUAL(app.c->rack.mult, 1);
	CU_ASSERT_EQUAL(h->net->stats.tcp_dsacks_rx, 2);
	app.c->rack.reordering = true;
	GIVE_SACK(h, 2, {3, 4});
	pass(h, 8 * MS);
	SILENT(h);
	pass(h, 4 * MS); // half a round trip
	SENDS_SEGMENT(h, 2);
	stop(h);
}

// More transmission times than the record holds: the latest are merged, with the time of the last one.
TL_TEST("transmit times beyond the record capacity are merged")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	for (unsigned i = 0; i < 2 * TL_TCP_SENT_MAX; i++) {
		say(&app, 10);
		pass(h, MS / 10);
	}
	CU_ASSERT_EQUAL(app.c->n_sent, TL_TCP_SENT_MAX);
	CU_ASSERT_EQUAL(app.c->flight->sent[TL_TCP_SENT_MAX - 1].to, app.c->snd_max);
	forget(h);
	give(h, A, PEERS + 1, app.c->snd_max, 0);
	CU_ASSERT_EQUAL(app.c->n_sent, 0);
	pass(h, SECOND);
	SILENT(h);
	stop(h);
}

TL_TEST("every ACK gives an RTT sample, with less weight if there are many")
{
	struct host *h = start();
	struct app app = {0};

	accept_with_sack(h, &app);
	say(&app, 4 * MSS);
	pass(h, 40 * MS - 100);
	give(h, A, PEERS + 1, OURS + 1 + 2 * MSS, 0);
	uint64_t srtt_ns = app.c->srtt_ns;
	CU_ASSERT(srtt_ns > 21 * MS && srtt_ns < 22 * MS); // a sixteenth: two ACKs are expected in a round trip
	give(h, A, PEERS + 1, OURS + 1 + 4 * MSS, 0);
	CU_ASSERT(app.c->srtt_ns > srtt_ns + MS);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_rack");
}
