// SPDX-License-Identifier: BSD-3-Clause
// Pause, speed and seek of a running replay.

#include "replay_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_test.h>
#include <tl_test_eal.h>

#define FRAME_BYTES 60
#define FRAMES_MAX 4096
#define NEVER (1000 * TL_NS_PER_S)

static char dir[] = "/tmp/tapline-test-control-XXXXXX";
static struct tl_clock *test_clock;
static struct tl_err err;

// ---- the run's time

static void a_pause_moves_due_times_by_its_length(void)
{
	const struct tl_clock_line clock = {.base_ns = 1000, .mult = UINT64_C(1) << TL_CLOCK_SHIFT};
	struct replay_tempo tempo = {.clock_ns = 1000, .speed = 7, .of = 7};
	struct tl_clock_line line;

	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 900), -100);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 1500), 500);
	replay_tempo_change(&tempo, 1500, 0);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 9000), 500);
	line = replay_tempo_line(&tempo, &clock);
	CU_ASSERT_EQUAL(tl_clock_apply(&line, 8000), 500);
	replay_tempo_change(&tempo, 9000, 7);
	CU_ASSERT_EQUAL(replay_tempo_at(&tempo, 9100), 600);
	line = replay_tempo_line(&tempo, &clock);
	CU_ASSERT_EQUAL(tl_clock_apply(&line, 8100), 600);
	CU_ASSERT_EQUAL((int64_t)tl_clock_apply(&line, 0), -7500); // linear for all times, not only after the change
}

static void a_new_speed_counts_from_its_time_on(void)
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

// ---- a run in a thread

static struct {
	uint32_t numbers[FRAMES_MAX];
	unsigned n;
} port;
static struct tl_txq txq;
static struct tl_replay *replay;
static struct tl_replay_stats stats;
static pthread_t thread;

static void port_flush(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	for (uint16_t i = 0; i < q->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		if (port.n < FRAMES_MAX)
			memcpy(&port.numbers[port.n++], frame + TL_ETHER_LEN, sizeof(port.numbers[0]));
	}
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

// Write frames with the numbers first to first + n - 1, a millisecond apart, and "never" more at NEVER.
static const char *save(const char *name, uint32_t first, uint32_t n, uint32_t never)
{
	static char paths[4][64];
	static unsigned next;
	static uint8_t image[1 << 20];
	size_t bytes = tl_pcap_put_header(image, sizeof(image), 0);
	char *path = paths[next++ % TL_ARRAY_LEN(paths)];

	for (uint32_t i = 0; i < n + never; i++) {
		uint32_t number = first + i;
		uint64_t ns = i < n ? i * TL_NS_PER_MS : NEVER;
		const uint32_t head[] = {
			(uint32_t)(ns / TL_NS_PER_S), (uint32_t)(ns % TL_NS_PER_S), FRAME_BYTES, FRAME_BYTES};
		memcpy(image + bytes, head, sizeof(head));
		memset(image + bytes + sizeof(head), 0xee, FRAME_BYTES);
		memcpy(image + bytes + sizeof(head) + TL_ETHER_LEN, &number, sizeof(number));
		bytes += sizeof(head) + FRAME_BYTES;
	}
	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	FILE *file = fopen(path, "wb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(image, 1, bytes, file), bytes);
	fclose(file);
	return path;
}

static void create(const char *const *paths, size_t n, enum tl_replay_pace pace, const uint64_t *first_ns)
{
	const struct tl_replay_cfg cfg = {.paths = paths,
		.n_paths = n,
		.first_ns = first_ns,
		.loops = 1,
		.pacing = {.pace = pace, .speed = 100 * TL_REPLAY_MILLION, .max_gap_ns = UINT64_MAX},
		.outs = {{.txq = &txq, .frame_limit = 1514, .held_pkts = 64}},
		.n_outs = 1,
		.clock = test_clock,
		.ahead_pkts = 64,
		.late_ns = 1000 * TL_NS_PER_S};

	txq = (struct tl_txq){.flush_fn = port_flush};
	port.n = 0;
	CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
}

static void *send_all(void *arg)
{
	tl_replay_send(arg);
	return NULL;
}

static void begin(bool paused)
{
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	tl_replay_pause(replay, paused);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_has_frames(replay)));
	tl_replay_begin(replay, 0);
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

static void nothing_is_sent_in_a_pause(void)
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

static void the_speed_changes_while_frames_are_sent(void)
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

static void land(void)
{
	CU_ASSERT_EQUAL(state(), TL_REPLAY_SEEKING);
	CU_ASSERT_TRUE(tl_test_until(!tl_replay_land(replay)));
}

static void a_seek_forward_passes_frames(void)
{
	const char *path = save("forward", 0, 3000, 0);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
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

static void a_seek_backward_sends_frames_again(void)
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

static void a_seek_finds_a_file(void)
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

static void a_seek_beyond_the_end_ends_the_run(void)
{
	const char *path = save("end", 0, 100, 1);

	create(&path, 1, TL_REPLAY_RECORDED, NULL);
	begin(true);
	CU_ASSERT_EQUAL(tl_replay_seek(replay, 2 * NEVER, &err), 0);
	end();
	CU_ASSERT_EQUAL(port.n, 0);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts + stats.ledger.unsent_pkts, 0);
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

static void frames_read_before_a_seek_are_dropped(void)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("held", 255, 0, sizeof(struct replay_tag), 2048, 0);
	static struct tl_hist lateness;
	const struct tl_clock_swap time = {.line = {.base_ns = 1000}};
	atomic_bool stop = false, read_all = true;
	struct replay_sender s = {.ring = rte_ring_create("held", 128, 0, RING_F_SP_ENQ | RING_F_SC_DEQ),
		.outs = {{.txq = &txq, .lateness = &lateness}},
		.n_outs = 1,
		.stop = &stop,
		.read_all = &read_all,
		.time = &time,
		.late_scale = UINT64_C(1) << (TL_CLOCK_SHIFT - 2), // four times as fast
		.held = true,
		.pass = 2};

	CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	tl_hist_init(&lateness);
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
	rte_ring_free(s.ring);
	rte_mempool_free(pool);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"a pause moves due times by its length", a_pause_moves_due_times_by_its_length},
		{"a new speed counts from its time on", a_new_speed_counts_from_its_time_on},
		{"nothing is sent in a pause, whose time is counted", nothing_is_sent_in_a_pause},
		{"the speed changes while frames are sent", the_speed_changes_while_frames_are_sent},
		{"a seek forward passes frames, and counts them", a_seek_forward_passes_frames},
		{"a seek backward sends frames again, also during a seek", a_seek_backward_sends_frames_again},
		{"a seek finds a file, unless files are merged", a_seek_finds_a_file},
		{"a seek beyond the last frame ends the run", a_seek_beyond_the_end_ends_the_run},
		{"frames read before a seek are dropped, and lateness is real time",
			frames_read_before_a_seek_are_dropped},
	};
	char command[96];

	tl_test_eal_start();
	test_clock = tl_clock_create();
	if (mkdtemp(dir) == NULL || test_clock == NULL)
		return 1;
	int status = tl_test_main("replay_control", tests, TL_ARRAY_LEN(tests));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
	tl_clock_destroy(test_clock);
	return status;
}
