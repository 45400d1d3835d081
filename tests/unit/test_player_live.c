// SPDX-License-Identifier: BSD-3-Clause
// lib/record/player: sessions that are still open in the recording.

#include "tl_test_datagrams.h"

#define IDLE_NS (100 * SECOND)

static struct sim *live_start(enum tl_session_offer offer)
{
	struct sim *sim = sim_start(true);

	tl_session_destroy(sim->recording.set);
	sim->recording = begin_with(&(struct tl_session_cfg){
		.memory_bytes = 64 << 20, .pause_ns = MS, .idle_ns = IDLE_NS, .offer = offer, .udp = true});
	return sim;
}

static void release(void *ctx, const struct tl_session *session, uint32_t plays)
{
	struct sim *sim = ctx;

	tl_session_release(sim->recording.set, session, plays);
}

static struct tl_player_cfg live(struct sim *sim)
{
	struct tl_player_cfg cfg = usual(sim);

	cfg.sessions = NULL;
	cfg.backlog = 8;
	cfg.backlog_bytes = 1 << 20;
	cfg.held_bytes = 4096;
	cfg.at_once = true;
	cfg.played = release;
	cfg.ctx = sim;
	return cfg;
}

static void live_play(struct sim *sim, const struct tl_player_cfg *cfg)
{
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_player_create(cfg, &sim->player, &err), 0);
	tl_player_begin(sim->player, sim->wire.now_ns);
	run(sim, 10 * MS);
}

// Pass what has been recorded, and play it for a time.
static void pass_for(struct sim *sim, uint32_t plays, uint64_t ns)
{
	const struct tl_session *s;

	while ((s = tl_session_take(sim->recording.set, plays)) != NULL)
		if (s->is_again)
			tl_player_update(sim->player, s);
		else
			tl_player_add(sim->player, s);
	run(sim, ns);
}

static void pass(struct sim *sim)
{
	pass_for(sim, 1, 20 * MS);
}

static uint64_t rows(const struct sim *sim, int row)
{
	return tl_player_get_stats(sim->player)->ledger.rows[row];
}

static uint64_t active(const struct sim *sim)
{
	return tl_player_get_stats(sim->player)->active;
}

// End the recording as well.
static void live_stop(struct sim *sim, uint32_t plays)
{
	tl_session_end(sim->recording.set);
	pass_for(sim, plays, 0);
	tl_player_stop(sim->player);
	CU_ASSERT(tl_player_is_done(sim->player));
	CU_ASSERT(tl_player_ledger_ok(&tl_player_get_stats(sim->player)->ledger));
	CU_ASSERT_EQUAL(tl_session_count(sim->recording.set), 0);
	run(sim, 10 * MS);
	sim_stop(sim);
}

// Begin a play of a session whose request has been recorded, and let the target answer.
static struct sim *asked(enum habit habit, bool closes, uint32_t held_bytes)
{
	struct sim *sim = live_start(TL_SESSION_AT_DATA);
	struct tl_player_cfg cfg = live(sim);

	sim->habit = habit;
	sim->closes = closes;
	cfg.held_bytes = held_bytes;
	live_play(sim, &cfg);
	record_handshake(&sim->recording);
	record(&sim->recording, CLIENT, ACK, 1, 1, "a\n");
	pass(sim);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\n");
	CU_ASSERT_EQUAL(active(sim), 1);
	return sim;
}

TL_TEST("an open session is played while it is recorded")
{
	struct sim *sim = asked(ANSWERS, false, 4096);
	struct recording *r = &sim->recording;

	record(r, SERVER, ACK, 1, 3, "re:a\n");
	pass(sim);
	record(r, CLIENT, ACK, 3, 6, "bb\n");
	record(r, SERVER, ACK, 6, 6, "re:bb\n");
	pass(sim);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\nbb\n");
	CU_ASSERT_EQUAL(sim->opened, 1);
	CU_ASSERT_EQUAL(active(sim), 1);
	record_close(r, 5, 11);
	pass(sim);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_COMPLETED), 1);
	CU_ASSERT_EQUAL(sim->done, 1);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->count, 1); // the first answer came before it was recorded
	live_stop(sim, 1);
}

TL_TEST("an open session is opened at its SYN, and waits for the recording")
{
	struct sim *sim = live_start(TL_SESSION_AT_SYN);
	struct tl_player_cfg cfg = live(sim);

	live_play(sim, &cfg);
	record_handshake(&sim->recording);
	pass(sim);
	CU_ASSERT_EQUAL(sim->opened, 1);
	run(sim, 5 * SECOND); // longer than the timeout: nothing is awaited
	CU_ASSERT_EQUAL(active(sim), 1);
	live_stop(sim, 1);
}

TL_TEST("an answer recorded after its request was played is timed")
{
	struct sim *sim = live_start(TL_SESSION_AT_DATA);
	struct tl_player_cfg cfg = live(sim);

	live_play(sim, &cfg);
	record_handshake(&sim->recording);
	record(&sim->recording, CLIENT, ACK, 1, 1, "a\n");
	pass_for(sim, 1, 0);
	while (tl_player_get_stats(sim->player)->sent_bytes == 0)
		step(sim);
	record(&sim->recording, SERVER, ACK, 1, 3, "re:a\n"); // recorded before the target answers
	pass(sim);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->min_ns, 100 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(tl_player_recorded_times(sim->player)->min_ns, TL_NS_PER_US);
	live_stop(sim, 1);
}

TL_TEST("an answer recorded after a request and its FIN were played is timed from the request")
{
	struct sim *sim = live_start(TL_SESSION_AT_DATA);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = live(sim);

	live_play(sim, &cfg);
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	pass_for(sim, 1, 0);
	while (tl_player_get_stats(sim->player)->sent_bytes == 0)
		step(sim);
	record(r, CLIENT, FIN | ACK, 3, 1, "");
	pass_for(sim, 1, 0);
	tl_player_tick(sim->player, sim->wire.now_ns); // the FIN
	record(r, SERVER, ACK, 1, 4, "re:a\n");
	pass(sim);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->min_ns, 100 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(tl_player_recorded_times(sim->player)->min_ns, 2 * TL_NS_PER_US);
	live_stop(sim, 1);
}

TL_TEST("answers ahead of the recording are compared later, or counted")
{
	static const struct {
		enum habit habit;
		uint32_t held_bytes;
		int row;
		uint64_t differs_at, uncompared_bytes;
	} cases[] = {{ANSWERS, 4096, TL_PLAYER_COMPLETED, 0, 0}, {LIES, 4096, TL_PLAYER_DIVERGED, 4, 0},
		{TALKS, 4096, TL_PLAYER_DIVERGED, 5, 0}, {STOPS_SHORT, 4096, TL_PLAYER_DIVERGED, 2, 0},
		{LIES, 4, TL_PLAYER_COMPLETED, 0, 5}, {TALKS, 4, TL_PLAYER_DIVERGED, 5, 9}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct sim *sim = asked(cases[i].habit, false, cases[i].held_bytes);
		struct recording *r = &sim->recording;
		record(r, SERVER, ACK, 1, 3, "re"); // in parts
		pass(sim);
		record(r, SERVER, ACK, 3, 3, ":a\n");
		pass(sim);
		record_close(r, 2, 5);
		pass(sim);
		CU_ASSERT_EQUAL(rows(sim, cases[i].row), 1);
		CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->uncompared_bytes, cases[i].uncompared_bytes);
		if (cases[i].row == TL_PLAYER_DIVERGED)
			CU_ASSERT_EQUAL(failure(sim, 0)->differs_at, cases[i].differs_at);
		live_stop(sim, 1);
	}
}

TL_TEST("a connection that ends before the recorded session waits for the rest of it")
{
	for (int lies = 0; lies < 2; lies++) {
		struct sim *sim = asked(lies ? LIES : ANSWERS, true, 4096);
		struct recording *r = &sim->recording;
		record(r, CLIENT, FIN | ACK, 3, 1, "");
		pass(sim);
		CU_ASSERT_EQUAL(active(sim), 1); // although both sides have closed
		CU_ASSERT_EQUAL(tl_tcp_in_use(sim->net[0], NULL), 0);
		record(r, SERVER, FIN | ACK, 1, 4, "re:a\n");
		pass(sim);
		CU_ASSERT_EQUAL(rows(sim, lies ? TL_PLAYER_DIVERGED : TL_PLAYER_COMPLETED), 1);
		live_stop(sim, 1);
	}
}

TL_TEST("a reset before the recorded end waits for the rest of the session")
{
	for (int recorded = 0; recorded < 2; recorded++) {
		struct sim *sim = asked(RESETS, false, 4096);
		struct recording *r = &sim->recording;
		CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_RESET_BY_TARGET), 0);
		if (recorded)
			record(r, SERVER, RST | ACK, 1, 3, "");
		else
			record_close(r, 2, 0);
		pass(sim);
		CU_ASSERT_EQUAL(rows(sim, recorded ? TL_PLAYER_COMPLETED : TL_PLAYER_RESET_BY_TARGET), 1);
		live_stop(sim, 1);
	}
}

TL_TEST("an answer before the recorded client's reset does not differ, one before another request does")
{
	for (int asks = 0; asks < 2; asks++) {
		struct sim *sim = asked(ANSWERS, false, 4096);
		struct recording *r = &sim->recording;
		if (asks)
			record(r, CLIENT, ACK, 3, 1, "b\n");
		record(r, CLIENT, RST, asks ? 5 : 3, 0, "");
		pass(sim);
		CU_ASSERT_EQUAL(rows(sim, asks ? TL_PLAYER_DIVERGED : TL_PLAYER_COMPLETED), 1);
		live_stop(sim, 1);
	}
}

TL_TEST("a target that stalls times out, whatever is recorded meanwhile")
{
	struct sim *sim = asked(STALLS, false, 4096);
	struct recording *r = &sim->recording;

	for (uint32_t i = 0; i < 15; i++) { // what is recorded meanwhile is no progress of the target
		record(r, SERVER, ACK, 1 + i, 3, "x");
		pass_for(sim, 1, 100 * MS);
	}
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_TIMEOUT), 1);
	CU_ASSERT_EQUAL(sim->reset, 1);
	live_stop(sim, 1);
}

TL_TEST("an open session that becomes incomplete is reset, and its copies have that row")
{
	struct sim *sim = live_start(TL_SESSION_AT_DATA);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = live(sim);

	cfg.plays = 4;
	cfg.at_a_time = 2;
	live_play(sim, &cfg);
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	pass_for(sim, 4, 20 * MS);
	CU_ASSERT_EQUAL(sim->opened, 2); // the other copies wait
	r->cut_bytes = 1;
	record(r, SERVER, ACK, 1, 3, "re:a\n");
	pass_for(sim, 4, 20 * MS);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_INCOMPLETE + TL_SESSION_CUT - 1), 4);
	CU_ASSERT_EQUAL(sim->opened, 2);
	CU_ASSERT_EQUAL(sim->reset, 2);
	live_stop(sim, 4);
}

TL_TEST("an open session at the end of the recording has no end")
{
	struct sim *sim = asked(ANSWERS, false, 4096);

	tl_session_end(sim->recording.set);
	pass(sim);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_INCOMPLETE + TL_SESSION_NO_END - 1), 1);
	CU_ASSERT_EQUAL(sim->reset, 1);
	live_stop(sim, 1);
}

TL_TEST("by time, a step recorded late shifts those behind it")
{
	struct sim *sim = live_start(TL_SESSION_AT_DATA);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = live(sim);

	cfg.wait = TL_PLAYER_TIME;
	live_play(sim, &cfg);
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	pass_for(sim, 1, 500 * MS);
	r->ts_ns = START_NS + 100 * MS;
	record(r, CLIENT, ACK, 3, 1, "b\n");
	r->ts_ns = START_NS + 300 * MS;
	record(r, CLIENT, ACK, 5, 1, "c\n");
	pass_for(sim, 1, 190 * MS);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\nb\n");
	run(sim, 20 * MS);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\nb\nc\n");
	live_stop(sim, 1);
}

TL_TEST("sessions that wait count in the backlog with what was recorded since")
{
	struct sim *sim = live_start(TL_SESSION_AT_DATA);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = live(sim);

	sim->habit = STALLS;
	cfg.at_a_time = 1;
	cfg.backlog_bytes = 6;
	live_play(sim, &cfg);
	for (int i = 0; i < 2; i++) {
		r->client_port++;
		record_handshake(r);
		record(r, CLIENT, ACK, 1, 1, "a\n");
		pass(sim);
	}
	record(r, CLIENT, ACK, 3, 1, "bbbb\n"); // of the second, which waits
	pass(sim);
	r->client_port++;
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	pass(sim);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_DROPPED), 1);
	r->client_port--;
	record(r, CLIENT, RST, 8, 0, ""); // the end of the second one, which still waits
	r->client_port--;
	record(r, CLIENT, RST, 3, 0, "");
	pass(sim);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_COMPLETED), 2);
	r->client_port += 3;
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	pass(sim);
	CU_ASSERT_EQUAL(active(sim), 1); // nothing waits any more
	live_stop(sim, 1);
}

// ---- datagrams

static struct sim *udp_live(struct tl_player_cfg *cfg, unsigned answers)
{
	struct sim *sim = live_start(TL_SESSION_AT_DATA);

	udp_listen(sim, answers);
	sim->recording.udp = true;
	*cfg = live(sim);
	cfg->resting = 4;
	return sim;
}

// End the recording: all that is known has been played.
static void udp_end(struct sim *sim)
{
	tl_session_end(sim->recording.set);
	pass_for(sim, 1, 0);
}

// Let the flows of the recording end: other frames are recorded for some time.
static void udp_idle(struct sim *sim)
{
	struct recording *r = &sim->recording;

	r->to_group = true;
	for (uint64_t end_ns = r->ts_ns + IDLE_NS + 2 * SECOND; r->ts_ns < end_ns; r->ts_ns += SECOND)
		record_datagram(r, CLIENT, "");
	r->to_group = false;
	pass_for(sim, 1, 0);
}

TL_TEST("an open flow is played while it is recorded, and ends with the recording")
{
	struct tl_player_cfg cfg;
	struct sim *sim = udp_live(&cfg, 2);
	struct recording *r = &sim->recording;

	live_play(sim, &cfg);
	record_datagram(r, CLIENT, "a");
	pass(sim);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a");
	record_datagram(r, SERVER, "re:a");
	record_datagram(r, CLIENT, "b");
	pass_for(sim, 1, 5 * SECOND); // longer than the timeout: nothing is awaited
	CU_ASSERT_STRING_EQUAL(sim->heard, "ab");
	CU_ASSERT_EQUAL(udp_peers_be[0], udp_peers_be[1]);
	CU_ASSERT_EQUAL(active(sim), 1);
	record_datagram(r, SERVER, "re:b");
	udp_end(sim);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_COMPLETED), 1);
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->received_bytes, 8);
	live_stop(sim, 1);
}

TL_TEST("an answer recorded after its datagram was played is timed")
{
	struct tl_player_cfg cfg;
	struct sim *sim = udp_live(&cfg, 1);

	live_play(sim, &cfg);
	record_datagram(&sim->recording, CLIENT, "a");
	pass_for(sim, 1, 0);
	while (tl_player_get_stats(sim->player)->sent_bytes == 0)
		step(sim);
	record_datagram(&sim->recording, SERVER, "re:a"); // recorded before the target answers
	pass(sim);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->count, 1);
	CU_ASSERT_EQUAL(tl_player_recorded_times(sim->player)->min_ns, TL_NS_PER_US);
	live_stop(sim, 1);
}

TL_TEST("answers to a flow ahead of the recording are compared later, or counted")
{
	static const struct {
		enum habit habit;
		bool lengths_only;
		uint32_t held_bytes;
		unsigned recorded;
		bool idles;
		int row;
		uint64_t differs_at, uncompared_bytes;
	} cases[] = {{ANSWERS, false, 4096, 2, false, TL_PLAYER_COMPLETED, 0, 0},
		{LIES, false, 4096, 2, false, TL_PLAYER_DIVERGED, 0, 0},
		{LIES, true, 4096, 2, false, TL_PLAYER_COMPLETED, 0, 0},
		{STOPS_SHORT, true, 4096, 2, false, TL_PLAYER_DIVERGED, 3, 0},
		{ANSWERS, false, 4096, 1, false, TL_PLAYER_COMPLETED, 0, 4}, // the recording may go on
		{ANSWERS, false, 4096, 1, true, TL_PLAYER_DIVERGED, 4, 0},
		{LIES, false, 4, 2, false, TL_PLAYER_COMPLETED, 0, 8},
		{ANSWERS, false, 6, 2, true, TL_PLAYER_COMPLETED, 0, 4},
		{ANSWERS, false, 6, 1, true, TL_PLAYER_DIVERGED, 4, 4}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct tl_player_cfg cfg;
		struct sim *sim = udp_live(&cfg, 2);
		sim->habit = cases[i].habit;
		cfg.lengths_only = cases[i].lengths_only;
		cfg.held_bytes = cases[i].held_bytes;
		live_play(sim, &cfg);
		record_datagram(&sim->recording, CLIENT, "a");
		record_datagram(&sim->recording, CLIENT, "b");
		pass(sim);
		for (unsigned k = 0; k < cases[i].recorded; k++) { // one at a time
			record_datagram(&sim->recording, SERVER, k == 0 ? "re:a" : "re:b");
			pass(sim);
		}
		if (cases[i].idles)
			udp_idle(sim);
		else
			udp_end(sim);
		CU_ASSERT_EQUAL(rows(sim, cases[i].row), 1);
		CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->uncompared_bytes, cases[i].uncompared_bytes);
		if (cases[i].row == TL_PLAYER_DIVERGED)
			CU_ASSERT_EQUAL(failure(sim, 0)->differs_at, cases[i].differs_at);
		live_stop(sim, 1);
	}
}

TL_TEST("behind an answer to a flow that does not fit none is held")
{
	struct tl_player_cfg cfg;
	struct sim *sim = udp_live(&cfg, 2);
	struct recording *r = &sim->recording;

	cfg.held_bytes = 8;
	live_play(sim, &cfg);
	record_datagram(r, CLIENT, "a long one");
	record_datagram(r, CLIENT, "b");
	pass(sim);
	record_datagram(r, SERVER, "re:a long one");
	record_datagram(r, SERVER, "re:b");
	udp_end(sim);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_COMPLETED), 1);
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->uncompared_bytes, 13 + 4);
	live_stop(sim, 1);
}

TL_TEST("a flow that waits for the recording takes no place of those in progress")
{
	struct tl_player_cfg cfg;
	struct sim *sim = udp_live(&cfg, 10);
	struct recording *r = &sim->recording;

	cfg.at_a_time = 1;
	cfg.resting = 2;
	live_play(sim, &cfg);
	for (int i = 0; i < 4; i++) {
		r->client_port++;
		record_datagram(r, CLIENT, "a");
	}
	pass(sim);
	CU_ASSERT_STRING_EQUAL(sim->heard, "aaa"); // two wait for the recording, one is in progress
	CU_ASSERT_EQUAL(active(sim), 3);
	r->client_port--;
	r->cut_bytes = 1; // ends one of them
	record_datagram(r, SERVER, "re:a");
	pass(sim);
	CU_ASSERT_STRING_EQUAL(sim->heard, "aaaa");
	CU_ASSERT_EQUAL(active(sim), 3);
	live_stop(sim, 1);
}

TL_TEST("without a free port the flow that has waited longest gives up its own, and goes on with it")
{
	struct tl_player_cfg cfg;
	struct sim *sim = udp_live(&cfg, 100);
	struct recording *r = &sim->recording;
	uint16_t first_port = r->client_port;

	cfg.resting = cfg.backlog = 32;
	live_play(sim, &cfg);
	for (unsigned i = 0; i < 20; i++) { // more than a stack has ports
		r->client_port = (uint16_t)(first_port + i);
		record_datagram(r, CLIENT, "a");
		record_datagram(r, SERVER, "re:a");
		pass(sim);
	}
	CU_ASSERT_EQUAL(udp_heard, 20);
	CU_ASSERT_EQUAL(active(sim), 20);
	r->client_port = first_port;
	record_datagram(r, CLIENT, "b");
	record_datagram(r, SERVER, "re:b");
	pass(sim);
	CU_ASSERT_EQUAL(udp_heard, 21);
	CU_ASSERT_EQUAL(udp_peers_be[20], udp_peers_be[0]);
	udp_end(sim);
	CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_COMPLETED), 20);
	live_stop(sim, 1);
}

TL_TEST("an open flow that becomes incomplete ends in that row, and one without its answers is unanswered")
{
	for (int cut = 0; cut < 2; cut++) {
		struct tl_player_cfg cfg;
		struct sim *sim = udp_live(&cfg, 0);
		cfg.wait = TL_PLAYER_TIME;
		live_play(sim, &cfg);
		record_datagram(&sim->recording, CLIENT, "a");
		pass(sim);
		sim->recording.cut_bytes = cut ? 1 : 0;
		record_datagram(&sim->recording, SERVER, "re:a");
		pass(sim);
		CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_INCOMPLETE + TL_SESSION_CUT - 1), cut ? 1 : 0);
		udp_end(sim);
		run(sim, 2 * SECOND);
		CU_ASSERT_EQUAL(rows(sim, TL_PLAYER_UNANSWERED), cut ? 0 : 1);
		live_stop(sim, 1);
	}
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("player_live");
}
