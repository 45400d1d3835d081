// SPDX-License-Identifier: BSD-3-Clause
// lib/record/player: scripted recordings, played against a target.

#include "tl_test_datagrams.h"

// ---- datagrams

// Two requests, the second before the answer of the first.
static void record_datagrams(struct recording *r)
{
	r->udp = true;
	r->client_port++;
	record_datagram(r, CLIENT, "a");
	record_datagram(r, SERVER, "re:a");
	record_datagram(r, CLIENT, "b");
	record_datagram(r, CLIENT, "c");
	record_datagram(r, SERVER, "re:b");
	record_datagram(r, SERVER, "re:c");
}

static struct sim *udp_start(unsigned flows, unsigned answers)
{
	struct sim *sim = sim_start(false);

	tl_session_destroy(sim->recording.set);
	sim->recording = begin_with(&(struct tl_session_cfg){.memory_bytes = 64 << 20, .udp = true});
	udp_listen(sim, answers);
	for (unsigned i = 0; i < flows; i++)
		record_datagrams(&sim->recording);
	return sim;
}

TL_TEST("datagrams are sent in order, after as many answers as recorded")
{
	struct sim *sim = udp_start(1, 3);
	const struct tl_player_stats *stats = play(sim);

	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_EQUAL(stats->sent_bytes, 3);
	CU_ASSERT_EQUAL(stats->received_bytes, 12);
	CU_ASSERT_STRING_EQUAL(sim->heard, "abc");
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->count, 2); // the third request follows without an answer
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->min_ns, 100 * TL_NS_PER_US);
	sim_stop(sim);
}

TL_TEST("flows and sessions are played over IPv6")
{
	for (int i = 0; i < 2; i++) {
		struct sim *sim = i == 0 ? udp_start(1, 3) : sim_start(true);
		struct tl_player_cfg cfg = usual(sim);
		cfg.first6 = host_ip6(CLIENT_HOST);
		cfg.target6 = host_ip6(SERVER_HOST);
		if (i == 1)
			record_two(sim);
		CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], 1);
		CU_ASSERT_STRING_EQUAL(sim->heard, i == 0 ? "abc" : "a\nbb\n");
		sim_stop(sim);
	}
}

TL_TEST("UDP flows beyond the sockets of a stack wait for one")
{
	struct sim *sim = udp_start(40, 120);
	struct tl_player_cfg cfg = usual(sim);

	cfg.at_once = true;
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], 40);
	sim_stop(sim);
}

TL_TEST("a flow without a recorded answer is unanswered")
{
	struct sim *sim = udp_start(1, 2);
	const struct tl_player_stats *stats = play(sim);

	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_UNANSWERED], 1);
	CU_ASSERT_EQUAL(failure(sim, 0)->received_bytes, 8);
	CU_ASSERT_STRING_EQUAL(sim->heard, "abc");
	sim_stop(sim);
}

TL_TEST("flows to a target that no ARP reply names are unreachable, and send nothing")
{
	struct sim *sim = udp_start(3, 9);
	struct tl_player_cfg cfg = usual(sim);

	cfg.target_be = host_ip(9);
	cfg.wait = TL_PLAYER_TIME;
	const struct tl_player_stats *stats = play_with(sim, &cfg);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_UNREACHABLE], 3);
	CU_ASSERT_EQUAL(stats->sent_bytes, 0);
	CU_ASSERT_STRING_EQUAL(sim->heard, "");
	sim_stop(sim);
}

static void ignore(void *ctx, struct tl_burst *burst)
{
}

TL_TEST("datagrams wait for a target that replies to ARP late")
{
	struct sim *sim = udp_start(1, 3);
	struct tl_player_cfg cfg = usual(sim);

	cfg.wait = TL_PLAYER_TIME;
	cfg.timeout_ns = 10 * SECOND;
	run(sim, 5 * SECOND); // the target's ARP announcements
	sim->wire.end[1].input = ignore;
	start_playing(sim, &cfg);
	run(sim, 7 * SECOND); // longer than the first session is delayed
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->sent_bytes, 0);
	sim->wire.end[1].input = input;
	run(sim, 5 * SECOND);
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_STRING_EQUAL(sim->heard, "abc");
	sim_stop(sim);
}

TL_TEST("a datagram of other bytes or another length diverges")
{
	static const struct {
		enum habit habit;
		uint64_t differs_at, received_bytes;
	} cases[] = {{LIES, 0, 12}, {STOPS_SHORT, 3, 9}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct sim *sim = udp_start(1, 3);
		sim->habit = cases[i].habit;
		CU_ASSERT_EQUAL(play(sim)->ledger.rows[TL_PLAYER_DIVERGED], 1);
		CU_ASSERT_EQUAL(failure(sim, 0)->differs_at, cases[i].differs_at);
		CU_ASSERT_EQUAL(failure(sim, 0)->received_bytes, cases[i].received_bytes);
		CU_ASSERT_STRING_EQUAL(sim->heard, "abc");
		sim_stop(sim);
	}
}

TL_TEST("an answer beyond those recorded does not differ, however early it comes")
{
	struct sim *sim = udp_start(0, 2);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = usual(sim);

	r->udp = true;
	record_datagram(r, CLIENT, "a");
	record_datagram(r, SERVER, "re:a");
	record_datagram(r, CLIENT, "b"); // without an answer
	r->ts_ns += 100 * MS;
	record_datagram(r, CLIENT, "c");
	cfg.wait = TL_PLAYER_TIME;
	const struct tl_player_stats *stats = play_with(sim, &cfg);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_EQUAL(stats->uncompared_bytes, 4);
	CU_ASSERT_STRING_EQUAL(sim->heard, "abc");
	sim_stop(sim);
}

TL_TEST("by time, datagrams do not wait for answers")
{
	struct sim *sim = udp_start(1, 0);
	struct tl_player_cfg cfg = usual(sim);

	cfg.wait = TL_PLAYER_TIME;
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_UNANSWERED], 1);
	CU_ASSERT_STRING_EQUAL(sim->heard, "abc");
	sim_stop(sim);
}

TL_TEST("a stop ends UDP flows")
{
	struct sim *sim = udp_start(2, 0);
	struct tl_player_cfg cfg = usual(sim);

	start_playing(sim, &cfg);
	run(sim, 100 * MS);
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->active, 2);
	tl_player_stop(sim->player);
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->ledger.rows[TL_PLAYER_STOPPED], 2);
	CU_ASSERT(tl_player_is_done(sim->player));
	run(sim, 10 * MS);
	sim_stop(sim);
}

// ---- tests

TL_TEST("a session is played as recorded, and answers are timed beside the recorded ones")
{
	struct sim *sim = sim_start(true);

	record_two(sim);
	const struct tl_player_stats *stats = play(sim);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_EQUAL(stats->sent_bytes, 5);
	CU_ASSERT_EQUAL(stats->received_bytes, 11);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\nbb\n");
	CU_ASSERT_EQUAL(sim->done, 1);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->count, 2);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->min_ns, 100 * TL_NS_PER_US); // twice the wire
	CU_ASSERT_EQUAL(tl_player_recorded_times(sim->player)->min_ns, 41 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(tl_player_recorded_times(sim->player)->max_ns, 91 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(failure(sim, 0)->row, TL_PLAYER_ROWS);
	sim_stop(sim);
}

TL_TEST("copies have connections of their own, and wait for a free one")
{
	struct sim *sim = sim_start(true);
	struct tl_player_cfg cfg = usual(sim);

	for (int i = 0; i < 3; i++)
		record_two(sim);
	cfg.plays = 10;
	cfg.at_a_time = 7; // fewer than sessions: the others wait
	const struct tl_player_stats *stats = play_with(sim, &cfg);
	CU_ASSERT_EQUAL(stats->ledger.found_sessions, 3);
	CU_ASSERT_EQUAL(stats->ledger.copied_sessions, 27);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_COMPLETED], 30);
	CU_ASSERT_EQUAL(sim->done, 30);
	CU_ASSERT(stats->waited_sessions > 0);
	sim_stop(sim);
}

TL_TEST("plays take turns with several addresses")
{
	struct sim *sim = sim_start(true);
	unsigned of_address[NETS] = {0};

	use_several_addresses(sim);
	for (int i = 0; i < 4; i++)
		record_two(sim);
	struct tl_player_cfg cfg = usual(sim);
	cfg.plays = NETS;
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], 4 * NETS);
	for (unsigned i = 0; i < sim->opened; i++)
		of_address[tl_be32(sim->peers_be[i]) - tl_be32(host_ip(MORE_HOSTS))]++;
	for (unsigned i = 0; i < NETS; i++)
		CU_ASSERT_EQUAL(of_address[i], 4);
	sim_stop(sim);
}

// The nth session to end is about the nth one to begin.
static void ends_in_turn(void *ctx, const struct tl_session *session, uint32_t plays)
{
	CU_ASSERT(abs((int)session->number - (*(int *)ctx)++) <= 2 * BUFFERS);
}

TL_TEST("sessions that find all send buffers lent wait for one, and none is overtaken for long")
{
	struct sim *sim = sim_start(true);
	struct tl_player_cfg cfg = usual(sim);

	for (int i = 0; i < CONNS; i++)
		record_two(sim);
	cfg.at_a_time = 4 * BUFFERS;
	cfg.at_once = true;
	cfg.played = ends_in_turn;
	cfg.ctx = &(int){0};
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], CONNS);
	sim_stop(sim);
}

TL_TEST("an answer that differs, is too short or too long diverges at its first byte, whatever follows")
{
	static const struct {
		enum habit habit;
		uint64_t differs_at;
	} cases[] = {{LIES, 4}, {TALKS, 5}, {STOPS_SHORT, 2}, {LIES_AND_RESETS, 4}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct sim *sim = sim_start(true);
		record_two(sim);
		sim->habit = cases[i].habit;
		const struct tl_player_stats *stats = play(sim);
		CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_DIVERGED], 1);
		CU_ASSERT_EQUAL(failure(sim, 0)->row, TL_PLAYER_DIVERGED);
		CU_ASSERT_EQUAL(failure(sim, 0)->differs_at, cases[i].differs_at);
		sim_stop(sim);
	}
}

TL_TEST("where lengths alone count, other bytes do not diverge")
{
	for (int talks = 0; talks < 2; talks++) {
		struct sim *sim = sim_start(true);
		struct tl_player_cfg cfg = usual(sim);
		record_two(sim);
		sim->habit = talks ? TALKS : LIES;
		cfg.lengths_only = true;
		CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[talks ? TL_PLAYER_DIVERGED : TL_PLAYER_COMPLETED], 1);
		CU_ASSERT_EQUAL(failure(sim, 0)->differs_at, talks ? 11 : 0);
		sim_stop(sim);
	}
}

TL_TEST("reset, stalled, refused and unreachable sessions have a row each")
{
	static const struct {
		enum habit habit;
		bool listens;
		enum tl_player_row row;
		uint8_t host;
	} cases[] = {{RESETS, true, TL_PLAYER_RESET_BY_TARGET, SERVER_HOST},
		{STALLS, true, TL_PLAYER_TIMEOUT, SERVER_HOST}, {ANSWERS, false, TL_PLAYER_REFUSED, SERVER_HOST},
		{ANSWERS, true, TL_PLAYER_UNREACHABLE, 9}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct sim *sim = sim_start(cases[i].listens);
		struct tl_player_cfg cfg = usual(sim);
		record_two(sim);
		sim->habit = cases[i].habit;
		cfg.target_be = host_ip(cases[i].host);
		cfg.timeout_ns = 20 * SECOND;
		const struct tl_player_stats *stats = play_with(sim, &cfg);
		CU_ASSERT_EQUAL(stats->ledger.rows[cases[i].row], 1);
		CU_ASSERT_EQUAL(failure(sim, 0)->row, cases[i].row);
		CU_ASSERT_EQUAL(failure(sim, 0)->sent_bytes, cases[i].row <= TL_PLAYER_UNREACHABLE ? 0 : 2);
		CU_ASSERT_EQUAL(sim->reset, cases[i].row == TL_PLAYER_TIMEOUT);
		sim_stop(sim);
	}
}

TL_TEST("the server may speak first, the client close early or reset")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;

	sim->banner = "hello\n";
	record_handshake(r); // the server sends first
	record(r, SERVER, ACK, 1, 1, "hello\n");
	record(r, CLIENT, ACK, 1, 7, "a\n");
	record(r, SERVER, ACK, 7, 3, "re:a\n");
	record_close(r, 2, 11);
	r->client_port++; // the client closes its side before the reply
	record_handshake(r);
	record(r, SERVER, ACK, 1, 1, "hello\n");
	record(r, CLIENT, FIN | ACK, 1, 7, "b\n");
	record(r, SERVER, FIN | ACK, 7, 4, "re:b\n");
	record(r, CLIENT, ACK, 4, 13, "");
	r->client_port++; // the client resets
	record_handshake(r);
	record(r, SERVER, ACK, 1, 1, "hello\n");
	record(r, CLIENT, RST, 1, 0, "");
	const struct tl_player_stats *stats = play(sim);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_COMPLETED], 3);
	CU_ASSERT_EQUAL(sim->reset, 1);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\nb\n");
	sim_stop(sim);
}

TL_TEST("a reset that the recorded server sent completes the session")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;

	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	record(r, SERVER, RST | ACK, 1, 3, "");
	sim->habit = RESETS;
	CU_ASSERT_EQUAL(play(sim)->ledger.rows[TL_PLAYER_COMPLETED], 1);
	sim_stop(sim);
}

// The server closes after its answer, and resets when another request comes.
static void record_late_request(struct recording *r)
{
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	record(r, SERVER, FIN | ACK, 1, 3, "re:a\n");
	record(r, CLIENT, ACK, 3, 7, "b\n");
	record(r, SERVER, RST, 7, 0, "");
}

TL_TEST("a reset after the server's FIN is awaited, too")
{
	static const enum tl_player_row rows[] = {
		[IGNORES_NEXT] = TL_PLAYER_TIMEOUT, [RESETS_NEXT] = TL_PLAYER_COMPLETED};

	for (int resets = 0; resets < 2; resets++) {
		struct sim *sim = sim_start(true);
		record_late_request(&sim->recording);
		sim->closes = true;
		sim->habit = resets ? RESETS_NEXT : IGNORES_NEXT;
		CU_ASSERT_EQUAL(play(sim)->ledger.rows[rows[sim->habit]], 1);
		CU_ASSERT_STRING_EQUAL(sim->heard, "a\nb\n");
		sim_stop(sim);
	}
}

#define BEYOND_CWND 16000 // more than the initial one, and fits the send buffer

// A request of this length, which the server acknowledges, then the client resets, after its FIN if it closes.
static void record_reset_after(struct recording *r, uint32_t bytes, bool closes)
{
	char text[1001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	record_handshake(r);
	for (uint32_t i = 0; i < bytes; i += 1000)
		record(r, CLIENT, ACK, 1 + i, 1, text);
	if (closes)
		record(r, CLIENT, FIN | ACK, 1 + bytes, 1, "");
	record(r, SERVER, ACK, 1, 1 + bytes + closes, "");
	record(r, CLIENT, RST | ACK, 1 + bytes + closes, 1, "");
}

TL_TEST("the client resets once the target has its bytes")
{
	for (int closes = 0; closes < 2; closes++) {
		struct sim *sim = sim_start(true);
		uint64_t begin_ns = sim->wire.now_ns;
		record_reset_after(&sim->recording, BEYOND_CWND, closes);
		sim->keeps_open = true;
		CU_ASSERT_EQUAL(play(sim)->ledger.rows[TL_PLAYER_COMPLETED], 1);
		CU_ASSERT_EQUAL(sim->heard_bytes, BEYOND_CWND);
		CU_ASSERT_EQUAL(sim->reset, 1);
		CU_ASSERT(sim->wire.now_ns - begin_ns < SECOND / 2); // not at the timeout
		sim_stop(sim);
	}
}

TL_TEST("a client that resets does not wait longer than the timeout for the target")
{
	struct sim *sim = sim_start(true);

	record_reset_after(&sim->recording, BEYOND_CWND, false);
	struct tl_player_cfg cfg = usual(sim);
	start_playing(sim, &cfg);
	while (sim->opened == 0)
		step(sim);
	sim->wire.faults.lost = 100;
	run(sim, 2 * SECOND);
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->ledger.rows[TL_PLAYER_TIMEOUT], 1);
	sim_stop(sim);
}

TL_TEST("an answer that the recorded client's reset cut off completes, however much of it comes")
{
	static const uint64_t delays_ns[] = {0, 100 * MS};

	for (unsigned i = 0; i < 2 * TL_ARRAY_LEN(delays_ns); i++) {
		struct sim *sim = sim_start(true);
		struct recording *r = &sim->recording;
		record_handshake(r);
		record(r, CLIENT, ACK, 1, 1, "a\n");
		record(r, SERVER, ACK, 1, 3, i % 2 == 0 ? "" : "re:"); // of "re:a\n"
		record(r, CLIENT, RST, 3, 0, "");
		sim->answer_after_ns = delays_ns[i / 2];
		CU_ASSERT_EQUAL(play(sim)->ledger.rows[TL_PLAYER_COMPLETED], 1);
		CU_ASSERT_EQUAL(sim->reset, 1);
		sim_stop(sim);
	}
}

TL_TEST("by time, an answer that is missing when the client resets diverges")
{
	for (int stalls = 0; stalls < 2; stalls++) {
		struct sim *sim = sim_start(true);
		struct recording *r = &sim->recording;
		struct tl_player_cfg cfg = usual(sim);
		record_handshake(r);
		record(r, CLIENT, ACK, 1, 1, "a\n");
		record(r, SERVER, ACK, 1, 3, "re:a\n");
		r->ts_ns += 50 * MS;
		record(r, CLIENT, RST, 3, 0, "");
		cfg.wait = TL_PLAYER_TIME;
		sim->habit = stalls ? STALLS : ANSWERS;
		CU_ASSERT_EQUAL(
			play_with(sim, &cfg)->ledger.rows[stalls ? TL_PLAYER_DIVERGED : TL_PLAYER_COMPLETED], 1);
		CU_ASSERT_EQUAL(failure(sim, 0)->differs_at, 0);
		sim_stop(sim);
	}
}

TL_TEST("a server that closed first is awaited")
{
	for (int closes = 0; closes < 2; closes++) {
		struct sim *sim = sim_start(true);
		struct recording *r = &sim->recording;
		record_handshake(r);
		record(r, CLIENT, ACK, 1, 1, "a\n");
		record(r, SERVER, FIN | ACK, 1, 3, "re:a\n");
		record(r, CLIENT, FIN | ACK, 3, 7, "");
		record(r, SERVER, ACK, 7, 4, "");
		sim->closes = closes;
		CU_ASSERT_EQUAL(play(sim)->ledger.rows[closes ? TL_PLAYER_COMPLETED : TL_PLAYER_TIMEOUT], 1);
		sim_stop(sim);
	}
}

TL_TEST("incomplete and encrypted sessions are counted and not played")
{
	for (int opaque = 0; opaque < 2; opaque++) {
		struct sim *sim = sim_start(true);
		struct recording *r = &sim->recording;
		struct tl_player_cfg cfg = usual(sim);
		record_handshake(r); // without an end
		r->client_port++;
		record(r, CLIENT, SYN, 0, 0, ""); // never opened
		r->client_port++;
		record_handshake(r);
		record(r, CLIENT, ACK, 1, 1, "\x16\x03\x01??\x01\n");
		record(r, SERVER, ACK, 1, 8, "re:\x16\x03\x01??\x01\n");
		record_close(r, 7, 10);
		cfg.opaque = opaque;
		const struct tl_player_stats *stats = play_with(sim, &cfg);
		CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_INCOMPLETE + TL_SESSION_NO_END - 1], 1);
		CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_INCOMPLETE + TL_SESSION_UNOPENED - 1], 1);
		CU_ASSERT_EQUAL(stats->ledger.rows[opaque ? TL_PLAYER_COMPLETED : TL_PLAYER_TLS], 1);
		CU_ASSERT_EQUAL(sim->opened, opaque ? 1 : 0);
		sim_stop(sim);
	}
}

TL_TEST("a stop resets what is open and counts what was not begun")
{
	struct sim *sim = sim_start(true);
	struct tl_player_cfg cfg = usual(sim);

	for (int i = 0; i < 4; i++)
		record_two(sim);
	sim->habit = STALLS;
	cfg.plays = 3;
	cfg.at_a_time = 5;
	cfg.at_once = true;
	start_playing(sim, &cfg);
	for (int i = 0; i < 10000 && sim->opened < 5; i++) // the fifth waits for a send buffer then
		step(sim);
	CU_ASSERT_EQUAL(sim->opened, 5);
	tl_player_stop(sim->player);
	CU_ASSERT(tl_player_is_done(sim->player));
	run(sim, 10 * MS);
	const struct tl_player_stats *stats = tl_player_get_stats(sim->player);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_STOPPED], 5);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_UNSENT], 7);
	CU_ASSERT(tl_player_ledger_ok(&stats->ledger));
	CU_ASSERT_EQUAL(sim->reset, 5);
	CU_ASSERT_EQUAL(tl_tcp_in_use(sim->net[1], NULL), 0);
	sim_stop(sim);
}

TL_TEST("requests may be sent at their recorded times")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = usual(sim);

	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	record(r, SERVER, ACK, 1, 3, "re:a\n");
	r->ts_ns = START_NS + 600 * MS;
	record(r, CLIENT, ACK, 3, 6, "b\n");
	record_close(r, 4, 5);
	cfg.wait = TL_PLAYER_TIME;
	cfg.speed = 2 * TL_PLAYER_MILLION;
	sim->habit = STALLS; // no reply is awaited
	start_playing(sim, &cfg);
	run(sim, 290 * MS);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\n");
	run(sim, 20 * MS);
	CU_ASSERT_STRING_EQUAL(sim->heard, "a\nb\n");
	run(sim, 2 * SECOND);
	CU_ASSERT_EQUAL(tl_player_get_stats(sim->player)->ledger.rows[TL_PLAYER_DIVERGED], 1);
	sim_stop(sim);
}

TL_TEST("a recorded pause longer than the timeout is no stall")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = usual(sim);

	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	record(r, SERVER, ACK, 1, 3, "re:a\n");
	r->ts_ns = START_NS + 600 * MS;
	record_close(r, 2, 5);
	cfg.wait = TL_PLAYER_TIME;
	cfg.timeout_ns = 100 * MS;
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], 1);
	sim_stop(sim);
}

TL_TEST("an answer that began before its request is not timed")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = usual(sim);

	record_handshake(r);
	r->ts_ns = START_NS + 10 * MS;
	record(r, CLIENT, ACK, 1, 1, "a\n");
	record(r, SERVER, ACK, 1, 3, "hello\nre:a\n");
	record_close(r, 2, 11);
	cfg.wait = TL_PLAYER_TIME;
	sim->banner = "hello\n"; // before the request
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->count, 0);
	CU_ASSERT_EQUAL(tl_player_recorded_times(sim->player)->count, 0);
	sim_stop(sim);
}

TL_TEST("by time, the answer of a target slower than the recording is timed from its request")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;
	struct tl_player_cfg cfg = usual(sim);

	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	record(r, SERVER, ACK, 1, 3, "re:a\n");
	r->ts_ns = START_NS + 100 * MS;
	record(r, CLIENT, ACK, 3, 6, "b\n");
	record(r, SERVER, ACK, 6, 5, "re:b\n");
	r->ts_ns = START_NS + 600 * MS;
	record_close(r, 4, 10);
	cfg.wait = TL_PLAYER_TIME;
	sim->answer_after_ns = 150 * MS;
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->count, 1); // of the second, the beginning is not known
	CU_ASSERT(tl_player_target_times(sim->player)->min_ns >= 150 * MS);
	sim_stop(sim);
}

TL_TEST("the answer to a request with a FIN is timed")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;

	record_handshake(r);
	record(r, CLIENT, FIN | ACK, 1, 1, "b\n");
	record(r, SERVER, FIN | ACK, 1, 4, "re:b\n");
	record(r, CLIENT, ACK, 4, 7, "");
	CU_ASSERT_EQUAL(play(sim)->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_EQUAL(tl_player_target_times(sim->player)->count, 1);
	CU_ASSERT_EQUAL(tl_player_recorded_times(sim->player)->count, 1);
	sim_stop(sim);
}

TL_TEST("sessions begin at their recorded distance")
{
	struct sim *sim = sim_start(true);
	struct tl_player_cfg cfg = usual(sim);

	for (int i = 0; i < 3; i++) {
		sim->recording.ts_ns = START_NS + (uint64_t)i * 800 * MS;
		record_two(sim);
	}
	cfg.speed = 4 * TL_PLAYER_MILLION;
	CU_ASSERT_EQUAL(play_with(sim, &cfg)->ledger.rows[TL_PLAYER_COMPLETED], 3);
	for (unsigned i = 1; i < 3; i++) {
		uint64_t distance_ns = sim->opened_ns[i] - sim->opened_ns[i - 1];
		CU_ASSERT(distance_ns >= 199 * MS && distance_ns <= 202 * MS);
	}
	sim_stop(sim);
}

TL_TEST("requests longer than a send buffer survive a bad wire")
{
	struct sim *sim = sim_start(true);
	struct recording *r = &sim->recording;
	char text[1001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	record_handshake(r);
	for (uint32_t i = 0; i < 100; i++) // more than a send buffer
		record(r, CLIENT, ACK, 1 + 1000 * i, 1, text);
	record_close(r, 100000, 0);
	sim->wire.faults.lost = 5;
	sim->wire.faults.overtaken = 20;
	sim->wire.faults.overtake_ns = MS;
	struct tl_player_cfg cfg = usual(sim);
	cfg.timeout_ns = 50 * SECOND;
	const struct tl_player_stats *stats = play_with(sim, &cfg);
	CU_ASSERT_EQUAL(stats->ledger.rows[TL_PLAYER_COMPLETED], 1);
	CU_ASSERT_EQUAL(stats->sent_bytes, 100000);
	sim_stop(sim);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("player");
}
