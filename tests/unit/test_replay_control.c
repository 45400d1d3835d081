// SPDX-License-Identifier: BSD-3-Clause
// Pause, speed and seek of a running replay.

#include "replay_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_mbuf_dyn.h>

#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_replay.h>

#define FRAMES_MAX 4096
#define NEVER (1000 * TL_NS_PER_S)
#define TRIES 100 // a frame that is late on a busy host shows nothing

static struct tl_clock *test_clock;
static struct tl_err err;

// ---- the run's time

TL_TEST("a pause moves due times by its length")
{
	const struct tl_clock_line clock = {.base_ns = 1000, .mult = UINT64_C(1) << TL_CLOCK_SHIFT};
	struct replay_tempo tempo = {.clock_ns = 1000, .speed = 7, .of = 7};
	struct tl_clock_line line;

	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 900), -100);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 1500), 500);
	replay_tempo_change(&tempo, 1500, 0);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 9000), 500);
	line = replay_tempo_line(&tempo, &clock);
	CU_ASSERT_EQUAL(tl_clock_apply(&line, 8000), 499);
	replay_tempo_change(&tempo, 9000, 7);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 9100), 600);
	line = replay_tempo_line(&tempo, &clock);
	CU_ASSERT_EQUAL(tl_clock_apply(&line, 8100), 600);
	CU_ASSERT_EQUAL((int64_t)tl_clock_apply(&line, 0), -7500); // linear for all times, not only after the change
}

// An lcore that has not noticed the pause would send it.
TL_TEST("in a pause before the start the first frame is not due")
{
	const struct tl_clock_line clock = {.base_ns = 1000, .mult = UINT64_C(1) << TL_CLOCK_SHIFT};
	struct replay_tempo tempo = {.clock_ns = 5000, .speed = 7, .of = 7};

	replay_tempo_change(&tempo, 2000, 0);
	struct tl_clock_line line = replay_tempo_line(&tempo, &clock);
	CU_ASSERT((int64_t)tl_clock_apply(&line, 1500) < 0);
	CU_ASSERT((int64_t)tl_clock_apply(&line, 9000) < 0);
	replay_tempo_change(&tempo, 3000, 7);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 3000), -2000);
}

TL_TEST("a new speed counts from its time on")
{
	const struct tl_clock_line clock = {.base_ns = 0, .mult = UINT64_C(1) << TL_CLOCK_SHIFT};
	struct replay_tempo tempo = {.speed = 500000, .of = 500000};
	struct tl_clock_line line;

	replay_tempo_change(&tempo, 1000, 2000000);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 1010), 1040);
	line = replay_tempo_line(&tempo, &clock);
	CU_ASSERT_EQUAL(tl_clock_apply(&line, 1010), 1040);
	replay_tempo_change(&tempo, 1010, 250000);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 1030), 1050);
}

TL_TEST("a position has a time of the clock")
{
	struct replay_tempo tempo = {.clock_ns = 5000, .pos_ns = 100, .speed = 10000, .of = 1000000};

	CU_ASSERT_EQUAL(replay_tempo_clock(&tempo, 100), 5000);
	CU_ASSERT_EQUAL(replay_tempo_clock(&tempo, 107), 5700);
	CU_ASSERT_EQUAL(replay_tempo_clock(&tempo, 90), 4000);
	tempo = (struct replay_tempo){.clock_ns = 5000, .pos_ns = 100, .speed = 3, .of = 2};
	for (int64_t pos_ns = -10; pos_ns < 300; pos_ns++)
		CU_ASSERT(pos_ns - replay_tempo_at(&tempo, replay_tempo_clock(&tempo, pos_ns)) <= 1);
}

// ---- a run in a thread

static struct {
	uint32_t numbers[FRAMES_MAX];
	uint64_t at_ns[FRAMES_MAX];   // send time by the NIC, as wall time; 0: none
	uint64_t call_ns[FRAMES_MAX]; // time of the call
	unsigned n;
} port;
static struct tl_txq txq;
static struct tl_replay *replay;
static struct tl_replay_stats stats;
static pthread_t thread;
static uint64_t ended_ns; // return of the lcore, as wall time

// A NIC whose clock has three ticks per nanosecond.
static struct tl_replay_nic nic;
static atomic_bool nic_lost;

static bool nic_line(void *ctx, uint64_t near_ns, struct tl_clock_line *out)
{
	(void)ctx;
	*out = (struct tl_clock_line){
		.base_ticks = near_ns - 1000, .base_ns = 3 * (near_ns - 1000), .mult = UINT64_C(3) << TL_CLOCK_SHIFT};
	return !atomic_load(&nic_lost);
}

static uint64_t at_ns(struct rte_mbuf *m)
{
	return (m->ol_flags & nic.flag) != 0 ? *RTE_MBUF_DYNFIELD(m, nic.offset, rte_mbuf_timestamp_t *) / 3 : 0;
}

static void port_flush(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	for (uint16_t i = 0; i < q->n && port.n < FRAMES_MAX; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		port.at_ns[port.n] = at_ns(q->pkts[i]);
		port.call_ns[port.n] = tl_clock_wall_ns(test_clock, q->begin_tsc);
		memcpy(&port.numbers[port.n++], frame + TL_ETHER_LEN, sizeof(port.numbers[0]));
	}
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

// Write frames with the numbers first to first + n - 1, a millisecond apart, and "never" more at NEVER.
static const char *save(const char *name, uint32_t first, uint32_t n, uint32_t never)
{
	begin_pcap();
	for (uint32_t i = 0; i < n + never; i++)
		add_pcap(first + i, i < n ? i * TL_NS_PER_MS : NEVER, FRAME_BYTES, FRAME_BYTES);
	return save_as(name);
}

static void create_for(const char *const *paths, size_t n, enum tl_replay_pace pace, const uint64_t *first_ns,
	const struct tl_replay_nic *by)
{
	const struct tl_replay_cfg cfg = {.paths = paths,
		.n_paths = n,
		.first_ns = first_ns,
		.loops = 1,
		.pacing = {.pace = pace, .speed = 100 * TL_REPLAY_MILLION, .max_gap_ns = UINT64_MAX},
		.outs = {{.txq = &txq, .frame_limit = 1514, .held_pkts = 64, .nic = by}},
		.n_outs = 1,
		.clock = test_clock,
		.ahead_pkts = 64,
		.late_ns = 1000 * TL_NS_PER_S};

	txq = (struct tl_txq){.flush_fn = port_flush};
	port.n = 0;
	CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
}

static void create(const char *const *paths, size_t n, enum tl_replay_pace pace, const uint64_t *first_ns)
{
	create_for(paths, n, pace, first_ns, NULL);
}

static void *send_all(void *arg)
{
	tl_replay_send(arg);
	ended_ns = tl_clock_wall_ns(test_clock, rte_rdtsc());
	return NULL;
}

static void begin(bool paused)
{
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	tl_replay_pause(replay, paused);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_has_frames(replay)));
	CU_ASSERT_EQUAL(tl_replay_begin(replay, 0, &err), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, send_all, replay), 0);
}

static void end(void)
{
	pthread_join(thread, NULL);
	tl_replay_finish(replay);
	tl_replay_sample(replay, &stats);
	CU_ASSERT_TRUE(tl_replay_ledger_ok(&stats.ledger));
	tl_replay_destroy(replay);
}

static uint64_t sent(void)
{
	tl_replay_sample(replay, &stats);
	return stats.ledger.sent_pkts;
}

static enum tl_replay_state state(void)
{
	tl_replay_sample(replay, &stats);
	return stats.state;
}

static void expect_numbers(unsigned from, uint32_t first, unsigned n)
{
	CU_ASSERT_EQUAL_FATAL(port.n, from + n);
	for (unsigned i = 0; i < n; i++)
		CU_ASSERT_EQUAL(port.numbers[from + i], first + i);
}

TL_TEST("nothing is sent in a pause, whose time is counted")
{
	const char *path = save("pause", 0, 100, 0);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_EQUAL(state(), TL_REPLAY_PAUSED);
	usleep(20000);
	CU_ASSERT_EQUAL(sent(), 0);
	CU_ASSERT_TRUE(stats.paused_ns >= 20 * TL_NS_PER_MS);
	CU_ASSERT_EQUAL(stats.position_ns, 0);
	tl_replay_pause(replay, false);
	end();
	expect_numbers(0, 0, 100);
	CU_ASSERT_EQUAL(stats.state, TL_REPLAY_PLAYING);
	CU_ASSERT_TRUE(stats.paused_ns >= 20 * TL_NS_PER_MS);
}

// Create a paused run of 30 frames that are all read, or 3000 of which few are, for these loops.
static void begin_for_left(const char *const *path, uint64_t bytes, uint64_t loops, enum tl_replay_pace pace)
{
	create(path, 1, pace, NULL);
	replay->cfg.bytes = bytes;
	replay->cfg.loops = loops;
	begin(true);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_is_ready(replay)));
	tl_replay_sample(replay, &stats);
}

static void end_for_left(void)
{
	tl_replay_stop(replay);
	end();
}

TL_TEST("the time left is known once everything, or a loop, has been read")
{
	const char *path = save("left", 0, 30, 0);

	begin_for_left(&path, 0, 1, TL_REPLAY_RECORDED);
	uint64_t lead_ns = stats.left_ns - 29 * TL_NS_PER_MS / 100; // the pause began before the anchor
	CU_ASSERT_TRUE(stats.left_exact && lead_ns <= 2 * TL_NS_PER_MS);
	CU_ASSERT_EQUAL(tl_replay_set_speed(replay, TL_REPLAY_MILLION, &err), 0);
	tl_replay_sample(replay, &stats);
	CU_ASSERT_EQUAL(stats.left_ns, 29 * TL_NS_PER_MS + 100 * lead_ns);
	end_for_left();
	path = save("loops", 0, 30, 0);
	begin_for_left(&path, 0, 1000, TL_REPLAY_RECORDED); // the ring has two loops
	CU_ASSERT_TRUE(stats.left_exact && stats.left_ns - 1000 * (29 * TL_NS_PER_MS / 100) <= 2 * TL_NS_PER_MS);
	end_for_left();
}

TL_TEST("before the run begins all of its time is left")
{
	const char *path = save("whole", 0, 30, 0);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_is_ready(replay)));
	tl_replay_sample(replay, &stats);
	CU_ASSERT_TRUE(stats.left_exact);
	CU_ASSERT_EQUAL(stats.left_ns, 29 * TL_NS_PER_MS / 100);
	tl_replay_finish(replay);
	tl_replay_destroy(replay);
}

TL_TEST("before all is read the time left is estimated by the bytes read")
{
	const char *path = save("share", 0, 3000, 0);
	uint64_t bytes = 24 + 3000 * (16 + FRAME_BYTES);

	begin_for_left(&path, bytes, 2, TL_REPLAY_RECORDED); // after 100 frames, more or less
	CU_ASSERT_TRUE(!stats.left_exact && stats.left_ns > 48 * TL_NS_PER_MS && stats.left_ns < 72 * TL_NS_PER_MS);
	end_for_left();
	begin_for_left(&path, 0, 2, TL_REPLAY_RECORDED);
	CU_ASSERT_EQUAL(stats.left_ns, UINT64_MAX);
	end_for_left();
	begin_for_left(&path, bytes, 2, TL_REPLAY_LINE); // nothing was sent
	CU_ASSERT_EQUAL(stats.left_ns, UINT64_MAX);
	replay->sender.last_ns = TL_NS_PER_S;
	// The reader goes on when the lcore takes its burst.
	uint64_t before = __atomic_load_n(&replay->reader.read_bytes, __ATOMIC_RELAXED);
	tl_replay_sample(replay, &stats);
	uint64_t after = __atomic_load_n(&replay->reader.read_bytes, __ATOMIC_RELAXED);
	CU_ASSERT_TRUE(!stats.left_exact && stats.left_ns <= (2 * bytes - before) * TL_NS_PER_S / before &&
		       stats.left_ns + 1 >= (2 * bytes - after) * TL_NS_PER_S / after);
	end_for_left();
}

TL_TEST("the speed changes while frames are sent")
{
	const char *path = save("speed", 0, 2, 1); // the last is due after 10 s

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(false);
	CU_ASSERT_TRUE(tl_test_until(sent() == 2));
	CU_ASSERT_EQUAL(tl_replay_set_speed(replay, TL_REPLAY_SPEED_MIN - 1, &err), -EINVAL);
	CU_ASSERT_EQUAL(tl_replay_set_speed(replay, TL_REPLAY_SPEED_MAX + 1, &err), -EINVAL);
	CU_ASSERT_EQUAL(tl_replay_set_speed(replay, TL_REPLAY_SPEED_MIN, &err), 0);
	tl_replay_sample(replay, &stats);
	CU_ASSERT_EQUAL(stats.speed, TL_REPLAY_SPEED_MIN);
	CU_ASSERT_EQUAL(atomic_load(&replay->sender.late_scale), UINT64_C(10000) << TL_CLOCK_SHIFT);
	CU_ASSERT_EQUAL(replay->time.line.mult, replay->clock.mult / 10000);
	tl_replay_stop(replay);
	end();
	CU_ASSERT_EQUAL(stats.ledger.unsent_pkts, 1);
}

TL_TEST("the time that frames took is real time at any speed")
{
	const char *path = save("slower", 0, 21, 0); // 200 us at the speed of the run

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_EQUAL(tl_replay_set_speed(replay, TL_REPLAY_MILLION, &err), 0);
	tl_replay_pause(replay, false);
	end();
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 21);
	CU_ASSERT_TRUE(stats.elapsed_ns + TL_NS_PER_US >= 20 * TL_NS_PER_MS);
}

static void land(void)
{
	CU_ASSERT_EQUAL(state(), TL_REPLAY_SEEKING);
	CU_ASSERT_TRUE(tl_test_until(!tl_replay_land(replay)));
}

TL_TEST("a seek forward passes frames, and counts them")
{
	const char *path = save("forward", 0, 3000, 0);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_is_ready(replay))); // has read what the seek drops
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 2950 * TL_NS_PER_MS, &err), 0);
	land();
	CU_ASSERT_EQUAL(state(), TL_REPLAY_PAUSED);
	CU_ASSERT_EQUAL(stats.position_ns, 2950 * TL_NS_PER_MS);
	tl_replay_pause(replay, false);
	end();
	expect_numbers(0, 2950, 50);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 50);
	CU_ASSERT_TRUE(stats.ledger.skipped_seek_pkts >= 2950 + 64); // with the first pass
	CU_ASSERT_EQUAL(stats.ledger.unsent_pkts, 0);
	CU_ASSERT_EQUAL(stats.seeks, 1);
}

TL_TEST("a seek is not in the time that frames took")
{
	const char *path = save("skip", 0, 2, 1); // the last is due after 10 s
	uint64_t begin_ns = tl_mono_ns();

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(false);
	CU_ASSERT_TRUE(tl_test_until(sent() == 2));
	CU_ASSERT_EQUAL(tl_replay_seek(replay, NEVER - TL_NS_PER_MS, &err), 0);
	land();
	end();
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 3);
	CU_ASSERT_TRUE(stats.elapsed_ns > 0 && stats.elapsed_ns <= tl_mono_ns() - begin_ns);
}

TL_TEST("frames too long, or passed by a seek, do not count as cut, fragmented or edited")
{
	static const enum tl_replay_mtu actions[] = {TL_REPLAY_MTU_CUT, TL_REPLAY_MTU_FRAGMENT};
	struct tl_edit edit;
	const char *path;

	begin_pcap();
	for (uint32_t i = 0; i < 3; i++) {
		add_pcap(i, i * TL_NS_PER_S, 2000, 2000); // IPv4, malformed
		memcpy(image + image_bytes - 2000 + 2 * TL_ETHER_ADDR_LEN, "\x08", 2);
	}
	path = save_as("long");
	tl_edit_init(&edit);
	CU_ASSERT_EQUAL_FATAL(tl_edit_add_map(&edit, "10.0.0.0/8=11.0.0.0/8", &err), 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(actions); i++) {
		struct tl_replay_cfg cfg = recorded_cfg(&path, 1, &txq, 1514, test_clock);
		bool cuts = actions[i] == TL_REPLAY_MTU_CUT;
		cfg.edit = &edit;
		cfg.mtu_action = actions[i];
		CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
		replay->reader.seek_ns = 2 * TL_NS_PER_S;
		CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
		CU_ASSERT_TRUE(tl_test_until(atomic_load(&replay->reader.read_all)));
		tl_replay_finish(replay);
		tl_replay_sample(replay, &stats);
		CU_ASSERT_TRUE(tl_replay_ledger_ok(&stats.ledger));
		CU_ASSERT_EQUAL(stats.ledger.skipped_seek_pkts, cuts ? 2 : 0);
		CU_ASSERT_EQUAL(stats.ledger.skipped_long_pkts, cuts ? 0 : 3);
		CU_ASSERT_EQUAL(stats.cut_pkts, cuts ? 1 : 0);
		CU_ASSERT_EQUAL(stats.edit_malformed_pkts, cuts ? 1 : 0);
		tl_replay_destroy(replay);
	}
}

TL_TEST("positions are those of frames whose due times have shifted")
{
	const char *path = save("shifted", 0, 50, 0);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_is_ready(replay)));
	tl_replay_sample(replay, &stats);
	uint64_t left_ns = stats.left_ns;
	replay->sender.shifted_ns = 7 * TL_NS_PER_S; // of underruns before
	tl_replay_sample(replay, &stats);
	CU_ASSERT_EQUAL(stats.left_ns, left_ns + 7 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(stats.shifted_ns, 7 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 10 * TL_NS_PER_MS, &err), 0);
	land();
	CU_ASSERT_EQUAL(state(), TL_REPLAY_PAUSED);
	CU_ASSERT_EQUAL(stats.position_ns, 10 * TL_NS_PER_MS);
	tl_replay_pause(replay, false);
	end();
	expect_numbers(0, 10, 40);
	CU_ASSERT_TRUE(stats.elapsed_ns < 7 * TL_NS_PER_S);
}

TL_TEST("a seek backward sends frames again, also during a seek")
{
	const char *path = save("backward", 0, 50, 1);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(false);
	CU_ASSERT_TRUE(tl_test_until(sent() == 50));
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 10 * TL_NS_PER_MS, &err), 0);
	land();
	CU_ASSERT_TRUE(tl_test_until(sent() == 90));
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 0, &err), 0);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 45 * TL_NS_PER_MS, &err), 0); // before the first one has taken effect
	land();
	CU_ASSERT_TRUE(tl_test_until(sent() == 95));
	tl_replay_stop(replay);
	end();
	CU_ASSERT_EQUAL_FATAL(port.n, 95);
	for (unsigned i = 0; i < 95; i++)
		CU_ASSERT_EQUAL(port.numbers[i], i < 50 ? i : i < 90 ? i - 40 : i - 45);
	CU_ASSERT_EQUAL(stats.ledger.unsent_pkts, 1);
	CU_ASSERT_EQUAL(stats.seeks, 3);
}

TL_TEST("a run does not begin at a time that is past, by the clock as it is set now")
{
	static const int64_t shifts_ns[] = {0, 5000 * (int64_t)TL_NS_PER_S, -5000 * (int64_t)TL_NS_PER_S};
	const char *path = save("missed", 0, 10, 0);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(shifts_ns); i++) {
		uint64_t now_ns = replay_clock_ns(replay) + (uint64_t)shifts_ns[i];
		replay->shift_ns = shifts_ns[i]; // sum of the clock's steps
		CU_ASSERT_EQUAL(tl_replay_begin(replay, now_ns - 2 * TL_NS_PER_S, &err), -ETIME);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the time was 2.0"));
		CU_ASSERT_EQUAL(replay->begin.mono_ns, 0);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(shifts_ns); i++) {
		uint64_t now_ns = replay_clock_ns(replay);
		replay->shift_ns = shifts_ns[i];
		CU_ASSERT_EQUAL(tl_replay_begin(replay, now_ns + (uint64_t)shifts_ns[i] + 1000 * TL_NS_PER_S, &err), 0);
		CU_ASSERT_EQUAL(replay_tempo_clock(&replay->tempo, 0), now_ns + 1000 * TL_NS_PER_S);
	}
	tl_replay_finish(replay);
	tl_replay_destroy(replay);
}

TL_TEST("before the start a new speed or a pause does not move it, and a seek starts the run at once")
{
	const char *path = save("early", 0, 10, 1);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	uint64_t start_ns = replay_clock_ns(replay) + 1000 * TL_NS_PER_S;
	CU_ASSERT_EQUAL(tl_replay_begin(replay, start_ns, &err), 0);
	CU_ASSERT_EQUAL(tl_replay_set_speed(replay, TL_REPLAY_MILLION, &err), 0);
	CU_ASSERT_EQUAL(replay_tempo_clock(&replay->tempo, 0), start_ns);
	CU_ASSERT_EQUAL(replay_tempo_clock(&replay->tempo, 1000), start_ns + 100 * 1000); // due times are for 100
	tl_replay_pause(replay, true);
	CU_ASSERT_EQUAL(replay_tempo_at(&replay->tempo, start_ns + TL_NS_PER_S), 0);
	tl_replay_pause(replay, false);
	CU_ASSERT_EQUAL(replay_tempo_clock(&replay->tempo, 0), start_ns);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, send_all, replay), 0);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 5 * TL_NS_PER_MS, &err), 0);
	land();
	CU_ASSERT_TRUE(tl_test_until(sent() == 5));
	tl_replay_stop(replay);
	end();
}

// Sample after a millisecond, of which a speed of 100 makes a tenth of a second.
static void sample_later(void)
{
	uint64_t later_ns = replay_clock_ns(replay) + TL_NS_PER_MS;

	CU_ASSERT_TRUE(tl_test_until(replay_clock_ns(replay) >= later_ns));
	tl_replay_sample(replay, &stats);
}

TL_TEST("the position stands before the run begins and after its end")
{
	const char *path = save("stands", 0, 10, 0);

	for (int paused = 0; paused < 2; paused++) {
		create(&path, 1, TL_REPLAY_RECORDED, NULL);
		sample_later();
		CU_ASSERT_EQUAL(stats.position_ns, 0);
		begin(false);
		pthread_join(thread, NULL);
		tl_replay_pause(replay, paused);
		tl_replay_finish(replay);
		tl_replay_sample(replay, &stats);
		uint64_t position_ns = stats.position_ns, paused_ns = stats.paused_ns;
		CU_ASSERT_TRUE(position_ns >= 9 * TL_NS_PER_MS);
		sample_later();
		CU_ASSERT_EQUAL(stats.position_ns, position_ns);
		CU_ASSERT_EQUAL(stats.paused_ns, paused_ns);
		tl_replay_destroy(replay);
	}
}

TL_TEST("while a seek to a time is under way its target is the position")
{
	const char *path = save("target", 0, 50, 1);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 20 * TL_NS_PER_MS, &err), 0);
	CU_ASSERT_EQUAL(state(), TL_REPLAY_SEEKING);
	CU_ASSERT_EQUAL(stats.position_ns, 20 * TL_NS_PER_MS);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, stats.position_ns + 25 * TL_NS_PER_MS, &err), 0);
	CU_ASSERT_EQUAL(state(), TL_REPLAY_SEEKING);
	CU_ASSERT_EQUAL(stats.position_ns, 45 * TL_NS_PER_MS);
	land();
	CU_ASSERT_EQUAL(state(), TL_REPLAY_PAUSED);
	CU_ASSERT_EQUAL(stats.position_ns, 45 * TL_NS_PER_MS);
	tl_replay_stop(replay);
	end();
}

TL_TEST("a seek finds a file, unless files are merged")
{
	const char *paths[] = {save("one", 0, 100, 0), save("two", 100, 100, 0), save("three", 200, 30, 0)};
	static const uint64_t first_ns[3];

	create(paths, 3, TL_REPLAY_LINE, NULL);
	begin(true);
	CU_ASSERT_EQUAL(tl_replay_seek_file(replay, 3, &err), -EINVAL);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 0, &err), -EINVAL);
	CU_ASSERT_EQUAL(tl_replay_set_speed(replay, TL_REPLAY_MILLION, &err), -EINVAL);
	CU_ASSERT_EQUAL(tl_replay_seek_file(replay, 2, &err), 0);
	land();
	tl_replay_pause(replay, false);
	end();
	expect_numbers(0, 200, 30);
	create(paths, 3, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_EQUAL(tl_replay_seek_file(replay, 1, &err), 0);
	land();
	tl_replay_pause(replay, false);
	end();
	expect_numbers(0, 100, 130);
	create(paths, 3, TL_REPLAY_RECORDED, first_ns);
	begin(false);
	CU_ASSERT_EQUAL(tl_replay_seek_file(replay, 1, &err), -EINVAL);
	end();
}

TL_TEST("a seek beyond the last frame ends the run")
{
	const char *path = save("end", 0, 100, 1);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 2 * NEVER, &err), 0);
	end();
	CU_ASSERT_EQUAL(port.n, 0);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts + stats.ledger.unsent_pkts, 0);
}

// ---- a NIC that sends at a time

static void create_timed(const char *const *path)
{
	atomic_store(&nic_lost, false);
	create_for(path, 1, TL_REPLAY_RECORDED, NULL, &nic);
	memset(port.at_ns, 0, sizeof(port.at_ns));
}

// Frames are handed over in the last millisecond before their times. On a busy host some are late, and have none.
static void expect_ahead(void)
{
	unsigned timed = 0;

	for (unsigned i = 0; i < port.n; i++) {
		if (port.at_ns[i] == 0)
			continue;
		timed++;
		CU_ASSERT_TRUE(port.at_ns[i] <= port.call_ns[i] + TL_REPLAY_AHEAD_NS + 1);
	}
	CU_ASSERT_EQUAL(timed, stats.timed_pkts);
	CU_ASSERT_EQUAL(timed, stats.outs[0].timed_pkts);
}

TL_TEST("frames have their recorded distance by the NIC's clock, and the last has left at the end")
{
	const char *path = save("timed", 0, 100, 0); // 10 us apart
	uint64_t left_ns = 0;

	for (unsigned i = 0; i < TRIES && left_ns == 0; i++) {
		create_timed(&path);
		begin(false);
		uint64_t first_ns = replay_tempo_clock(&replay->tempo, 0);
		end();
		CU_ASSERT_TRUE(stats.by_nic);
		CU_ASSERT_EQUAL_FATAL(port.n, 100);
		expect_ahead();
		for (unsigned k = 0; k < port.n; k++) {
			CU_ASSERT_TRUE(port.at_ns[k] <= ended_ns); // has left
			CU_ASSERT_TRUE(
				port.at_ns[k] == 0 || llabs((int64_t)(port.at_ns[k] - first_ns - 10000 * k)) <= 2);
		}
		left_ns = port.at_ns[99];
		CU_ASSERT_TRUE(left_ns == 0 || stats.elapsed_ns >= 990000);
	}
	CU_ASSERT_NOT_EQUAL(left_ns, 0);
}

enum change { PAUSE, SPEED, SEEK };

// Send the first frame, change the run's time, and return whether the second one, 20 s later as recorded, was not yet
// handed over: its time is then by the new run's time, which began after that of all frames handed over.
static bool change_in_between(enum change change)
{
	uint64_t due_ns = change == SEEK ? NEVER / 100 : 200 * TL_NS_PER_MS;

	CU_ASSERT_TRUE(tl_test_until(sent() == 1));
	uint64_t before_ns = replay_clock_ns(replay);
	if (change == SPEED)
		CU_ASSERT_EQUAL(tl_replay_set_speed(replay, 50 * TL_REPLAY_MILLION, &err), 0);
	if (change == PAUSE)
		tl_replay_pause(replay, true);
	if (change == SEEK) {
		CU_ASSERT_EQUAL(tl_replay_seek(replay, NEVER - 2 * TL_NS_PER_S, &err), 0);
		land();
	}
	CU_ASSERT_TRUE(replay->tempo.clock_ns >= before_ns + TL_REPLAY_AHEAD_NS);
	tl_replay_sample(replay, &stats);
	CU_ASSERT_TRUE(stats.paused_ns < 1000 * TL_NS_PER_S);
	bool between = change == SEEK || stats.position_ns < 15 * TL_NS_PER_S;
	if (change == PAUSE)
		tl_replay_pause(replay, false);
	CU_ASSERT_TRUE(tl_test_until(sent() == 2));
	uint64_t expected_ns = replay_tempo_clock(&replay->tempo, (int64_t)due_ns);
	CU_ASSERT_TRUE(port.at_ns[1] == 0 || !between || llabs((int64_t)(port.at_ns[1] - expected_ns)) <= 2);
	return between && port.at_ns[0] != 0 && port.at_ns[1] != 0;
}

static const char *save_distant(void)
{
	static const uint64_t gap_ns = 20 * TL_NS_PER_S;
	const char *path = save("distant", 0, 1, 2);
	const uint32_t second[] = {(uint32_t)(gap_ns / TL_NS_PER_S), 0};
	FILE *file = fopen(path, "r+b");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fseek(file, 24 + 16 + FRAME_BYTES, SEEK_SET), 0);
	CU_ASSERT_EQUAL(fwrite(second, sizeof(second), 1, file), 1);
	fclose(file);
	return path;
}

static void expect_change(enum change change)
{
	const char *path = save_distant();
	bool done = false;

	for (unsigned i = 0; i < TRIES && !done; i++) {
		create_timed(&path);
		begin(false);
		done = change_in_between(change);
		tl_replay_stop(replay);
		end();
		expect_ahead();
		CU_ASSERT_TRUE(port.at_ns[0] == 0 || port.at_ns[1] == 0 || port.at_ns[1] >= port.at_ns[0]);
	}
	CU_ASSERT_TRUE(done);
}

TL_TEST("a pause moves the times of a NIC, after the frames handed over")
{
	expect_change(PAUSE);
}

TL_TEST("a new speed changes the times of a NIC")
{
	expect_change(SPEED);
}

TL_TEST("a seek moves the times of a NIC")
{
	expect_change(SEEK);
}

TL_TEST("without its clock a NIC gets no times, and the lcore waits")
{
	const char *path = save_distant();
	bool between = false;

	for (unsigned i = 0; i < TRIES && !between; i++) {
		create_timed(&path);
		begin(false);
		CU_ASSERT_TRUE(tl_test_until(sent() == 1));
		atomic_store(&nic_lost, true);
		tl_replay_follow(replay);
		(void)sent();
		between = stats.position_ns < 15 * TL_NS_PER_S;
		CU_ASSERT_FALSE(stats.by_nic);
		CU_ASSERT_TRUE(tl_test_until(sent() == 2));
		uint64_t due_ns = replay_tempo_clock(&replay->tempo, 200 * (int64_t)TL_NS_PER_MS);
		CU_ASSERT_TRUE(!between || (port.at_ns[1] == 0 && port.call_ns[1] >= due_ns));
		tl_replay_stop(replay);
		end();
	}
	CU_ASSERT_TRUE(between);
}

TL_TEST("frames that are due at once need no NIC")
{
	const char *path = save("line", 0, 10, 0);

	create_for(&path, 1, TL_REPLAY_LINE, NULL, &nic);
	begin(false);
	end();
	CU_ASSERT_FALSE(stats.by_nic);
	CU_ASSERT_EQUAL(stats.timed_pkts, 0);
	CU_ASSERT_EQUAL(port.n, 10);
}

// ---- the lcore

static void put(struct replay_sender *s, struct rte_mempool *pool, uint32_t pass)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->pkt_len = m->data_len = FRAME_BYTES;
	*(struct replay_tag *)rte_mbuf_to_priv(m) = (struct replay_tag){.pass = pass};
	CU_ASSERT_EQUAL_FATAL(rte_ring_sp_enqueue(s->ring, m), 0);
}

static void *run_sender(void *sender)
{
	replay_send(sender);
	return NULL;
}

TL_TEST("frames read before a seek are dropped, and lateness is real time")
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("held", 255, 0, sizeof(struct replay_tag), 2048, 0);
	static struct tl_hist lateness, undisturbed;
	const struct tl_clock_swap time = {.line = {.base_ns = 1000}};
	atomic_bool stop = false, read_all = true;
	struct replay_sender s = {.ring = rte_ring_create("held", 128, 0, RING_F_SP_ENQ | RING_F_SC_DEQ),
		.outs = {{.txq = &txq, .lateness = &lateness}},
		.n_outs = 1,
		.undisturbed = &undisturbed,
		.gap_end_ns = 5000, // later than the new position
		.stop = &stop,
		.read_all = &read_all,
		.time = &time,
		.late_scale = UINT64_C(1) << (TL_CLOCK_SHIFT - 2), // four times as fast
		.held = true,
		.pass = 2};

	CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	tl_hist_init(&lateness);
	tl_hist_init(&undisturbed);
	port.n = 0;
	for (unsigned i = 0; i < 73; i++)
		put(&s, pool, i < 70 ? 1 : 2);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_sender, &s), 0);
	CU_ASSERT_TRUE(tl_test_until(atomic_load(&s.pass_seen) == 2));
	CU_ASSERT_EQUAL(tl_count_read(&s.passed_pkts), 70);
	CU_ASSERT_EQUAL(tl_count_read(&s.outs[0].sent_pkts), 0);
	atomic_store(&s.held, false);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(port.n, 3);
	CU_ASSERT_EQUAL(lateness.max_ns, 250); // 1000 in the run's time
	CU_ASSERT_EQUAL(undisturbed.count, 3);
	rte_ring_free(s.ring);
	rte_mempool_free(pool);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	nic.line = nic_line;
	if (!make_dir() || test_clock == NULL || rte_mbuf_dyn_tx_timestamp_register(&nic.offset, &nic.flag) != 0)
		return 1;
	int status = tl_test_run("replay_control");
	remove_dir();
	tl_clock_destroy(test_clock);
	return status;
}
