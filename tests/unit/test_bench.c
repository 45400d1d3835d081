// SPDX-License-Identifier: BSD-3-Clause
// Order of a benchmark's runs, and its report.

#include "tl_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bench_costs.h>
#include <bench_order.h>
#include <bench_qualify.h>
#include <rx_priv.h>

// ---- order

// How often each variant ran at each position, and after each other variant.
struct seen {
	unsigned at[TL_BENCH_VARIANTS_MAX][TL_BENCH_VARIANTS_MAX];
	unsigned after[TL_BENCH_VARIANTS_MAX][TL_BENCH_VARIANTS_MAX];
};

static struct seen look_at(unsigned n, unsigned rounds)
{
	struct seen seen = {0};

	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned place = 0; place < n; place++) {
			unsigned variant = tl_bench_order_at(n, round, place);
			CU_ASSERT_FATAL(variant < n);
			seen.at[variant][place]++;
			if (place > 0)
				seen.after[variant][tl_bench_order_at(n, round, place - 1)]++;
		}
	}
	return seen;
}

TL_TEST("in a Latin square each variant follows every other equally often")
{
	for (unsigned n = 2; n <= TL_BENCH_VARIANTS_MAX; n++) {
		unsigned square = tl_bench_order_square(n), times = square / n;
		CU_ASSERT_EQUAL(square, n % 2 == 0 ? n : 2 * n);
		for (unsigned squares = 1; squares <= 2; squares++) {
			struct seen seen = look_at(n, squares * square);
			for (unsigned a = 0; a < n; a++) {
				for (unsigned b = 0; b < n; b++) {
					CU_ASSERT_EQUAL(seen.at[a][b], squares * times);
					CU_ASSERT_EQUAL(seen.after[a][b], a == b ? 0 : squares * times);
				}
			}
		}
	}
}

TL_TEST("the order of variants is balanced over complete squares")
{
	CU_ASSERT_EQUAL(tl_bench_order_balanced(7, 1), 14);
	CU_ASSERT_EQUAL(tl_bench_order_balanced(7, 14), 14);
	CU_ASSERT_EQUAL(tl_bench_order_balanced(7, 15), 28);
	CU_ASSERT_EQUAL(tl_bench_order_balanced(6, 13), 18);
	for (unsigned n = 2; n <= TL_BENCH_VARIANTS_MAX; n++) // every number of rounds has to be balanced
		CU_ASSERT_EQUAL(tl_bench_order_balanced(n, TL_BENCH_ROUNDS_MAX), TL_BENCH_ROUNDS_MAX);
}

// ---- intervals

TL_TEST("a family consists of all comparisons of a view")
{
	CU_ASSERT_EQUAL(tl_bench_family(7), 18);
	CU_ASSERT_EQUAL(tl_bench_family(2), 3);
	CU_ASSERT_DOUBLE_EQUAL(tl_bench_confidence(18), 1 - 0.05 / 18, 1e-12);
	CU_ASSERT_EQUAL(tl_bench_rounds_needed(7), 10);
	CU_ASSERT_EQUAL(tl_bench_rounds_needed(5), 9);
}

// Rounds of a host that gets 1000 ns slower per round; variant v takes 10 v more, and 1 more in odd rounds.
static struct tl_bench_runs *drifting_runs(unsigned variants, unsigned rounds)
{
	struct tl_bench_runs *runs = calloc(variants, sizeof(*runs));

	CU_ASSERT_PTR_NOT_NULL_FATAL(runs);
	for (unsigned v = 0; v < variants; v++) {
		for (unsigned i = 0; i < rounds; i++) {
			uint64_t ns = 5000 + 1000 * i + 10 * v + (v != 0 ? i % 2 : 0);
			runs[v].of[i] = (struct tl_hist_summary){.count = 100,
				.min_ns = ns - 50,
				.p50_ns = ns,
				.p90_ns = ns + 20,
				.p99_ns = ns + 30 * v,
				.p999_ns = ns + 40,
				.max_ns = ns + 60,
				.mean_ns = (double)ns + 5};
		}
	}
	return runs;
}

static const char *const names[] = {"none", "ours", "theirs", "a", "b", "c", "d"};

TL_TEST("differences are taken within a round")
{
	struct tl_bench_runs *runs = drifting_runs(3, 20);
	struct tl_latency *report = tl_latency_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(report);
	tl_bench_add_costs(report, runs, names, 3, 20);
	CU_ASSERT_EQUAL(report->costs_family, 6);
	CU_ASSERT_EQUAL_FATAL(report->n_costs, 3);
	const struct tl_latency_cost *none = &report->costs[0], *theirs = &report->costs[2];
	CU_ASSERT_STRING_EQUAL(theirs->name, "theirs");
	CU_ASSERT_DOUBLE_EQUAL(theirs->p50.diff_ns, 20.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(theirs->p50.low_ns, 20, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(theirs->p50.high_ns, 21, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(theirs->p99.diff_ns, 80.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(theirs->p999.diff_ns, 20.5, 1e-9);
	CU_ASSERT_EQUAL(none->p50.low_ns, 0);
	CU_ASSERT_EQUAL(none->p50.high_ns, 0);
	CU_ASSERT_EQUAL(none->latency.count, 2000);
	CU_ASSERT_EQUAL(none->latency.p50_ns, 14500); // the median round
	CU_ASSERT_EQUAL(none->latency.min_ns, 4950);
	CU_ASSERT_EQUAL(none->latency.max_ns, 24060);
	CU_ASSERT_DOUBLE_EQUAL(none->latency.mean_ns, 14505, 1e-9);
	tl_latency_destroy(report);
	free(runs);
}

// A difference of 0 in one of many rounds: whether the interval contains it depends on the confidence level.
TL_TEST("intervals are wide enough for the whole family")
{
	enum { ROUNDS = 10 };
	struct tl_bench_runs *runs = drifting_runs(7, ROUNDS);
	struct tl_latency *report = tl_latency_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(report);
	runs[1].of[3].p50_ns = runs[0].of[3].p50_ns;
	tl_bench_add_costs(report, runs, names, 7, ROUNDS);
	CU_ASSERT_EQUAL(report->costs[1].p50.low_ns, 0); // for one variant alone 95 % would exclude 0
	tl_latency_destroy(report);
	report = tl_latency_create();
	CU_ASSERT_PTR_NOT_NULL_FATAL(report);
	tl_bench_add_costs(report, runs, names, 7, ROUNDS - 1);
	CU_ASSERT_EQUAL(report->costs[1].p50.low_ns, -INFINITY);
	CU_ASSERT_EQUAL(report->costs[1].p50.high_ns, INFINITY);
	CU_ASSERT_EQUAL(report->costs[0].p50.high_ns, 0); // the first row is the baseline
	tl_latency_destroy(report);
	free(runs);
}

TL_TEST("a round without samples is excluded from all figures")
{
	struct tl_bench_runs *runs = drifting_runs(3, 20);
	struct tl_latency *report = tl_latency_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(report);
	runs[0].of[19] = runs[1].of[0] = (struct tl_hist_summary){.count = 0};
	for (unsigned i = 0; i < 20; i++)
		runs[2].of[i].count = 0;
	tl_bench_add_costs(report, runs, names, 3, 20);
	CU_ASSERT_EQUAL(report->costs[0].latency.count, 1900);
	CU_ASSERT_EQUAL(report->costs[0].latency.p50_ns, 14000);
	CU_ASSERT_DOUBLE_EQUAL(report->costs[0].latency.mean_ns, 14005, 1e-9);
	CU_ASSERT_EQUAL(report->costs[1].latency.min_ns, 5961); // from the second round
	CU_ASSERT_DOUBLE_EQUAL(report->costs[1].p50.low_ns, 10, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(report->costs[1].p50.high_ns, 11, 1e-9);
	CU_ASSERT_EQUAL(report->costs[2].latency.count, 0);
	CU_ASSERT_EQUAL(report->costs[2].p50.low_ns, -INFINITY);
	tl_latency_destroy(report);
	free(runs);
}

// ---- means

TL_TEST("means are subtracted round by round")
{
	struct tl_bench_runs *whole = drifting_runs(3, 20), *inside = drifting_runs(3, 20);
	struct tl_bench_means means;

	for (unsigned v = 0; v < 3; v++)
		for (unsigned i = 0; i < 20; i++)
			inside[v].of[i].mean_ns -= 1000 + 7 * v;
	tl_bench_compare_means(whole, inside, 3, 20, &means);
	CU_ASSERT_EQUAL(means.family, 2);
	CU_ASSERT_EQUAL(means.base, 0);
	CU_ASSERT_DOUBLE_EQUAL(means.rows[0].mean_ns, 1000, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(means.rows[2].mean_ns, 1014, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(means.rows[2].diff.diff_ns, 14, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(means.rows[2].diff.low_ns, 14, 1e-9);

	tl_bench_compare_means(whole, NULL, 3, 20, &means);
	CU_ASSERT_DOUBLE_EQUAL(means.rows[0].mean_ns, 14505, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(means.rows[2].diff.diff_ns, 20.5, 1e-9);
	free(inside);
	free(whole);
}

TL_TEST("a variant without means is not compared")
{
	struct tl_bench_runs *whole = drifting_runs(4, 6);
	struct tl_bench_means means;

	whole[0].of[5].count = 0;
	whole[2].of[0].count = 0;
	tl_bench_compare_means(whole, NULL, 4, 6, &means);
	CU_ASSERT_FALSE(means.rows[0].known);
	CU_ASSERT_FALSE(means.rows[2].known);
	CU_ASSERT_EQUAL(means.base, 1);
	CU_ASSERT_EQUAL(means.family, 1);
	CU_ASSERT_DOUBLE_EQUAL(means.rows[3].diff.diff_ns, 20, 1e-9);
	whole[1].of[0].count = 0;
	tl_bench_compare_means(whole, NULL, 4, 6, &means);
	CU_ASSERT_EQUAL(means.family, 0);
	CU_ASSERT_TRUE(means.rows[3].known);
	free(whole);
}

// ---- qualify

static struct tl_qualify_row stage(enum tl_qualify_stage stage, double pps)
{
	return (struct tl_qualify_row){
		.stage = stage, .size_bytes = 60, .pps = pps, .slowdown = 1, .skipped = pps == 0};
}

TL_TEST("the limiting stage is the last one that lowers the rate, however much others cost")
{
	const struct tl_qualify_row rows[] = {stage(TL_QUALIFY_SOURCE, 60e6), stage(TL_QUALIFY_RINGS, 12e6),
		stage(TL_QUALIFY_PARSER, 0), stage(TL_QUALIFY_DISK, 10e6), stage(TL_QUALIFY_WHOLE, 9.5e6)};
	struct tl_qualify_verdict v = tl_qualify_judge(rows, 5);

	CU_ASSERT_EQUAL(v.limit, TL_QUALIFY_DISK);
	CU_ASSERT_EQUAL(v.next, TL_QUALIFY_RINGS);
	CU_ASSERT_DOUBLE_EQUAL(v.pps, 9.5e6, 1);
	CU_ASSERT_DOUBLE_EQUAL(v.bits_per_s, 9.5e6 * 84 * 8, 1); // with preamble, FCS and gap
}

TL_TEST("a stage that a later one outruns is no limit, and makes the verdict noisy")
{
	struct tl_qualify_row rows[] = {stage(TL_QUALIFY_SOURCE, 60e6), stage(TL_QUALIFY_RINGS, 40e6),
		stage(TL_QUALIFY_PARSER, 38e6), stage(TL_QUALIFY_WRITER, 10e6), stage(TL_QUALIFY_DISK, 20e6)};
	struct tl_qualify_verdict v = tl_qualify_judge(rows, 5);

	CU_ASSERT_EQUAL(v.limit, TL_QUALIFY_WRITER); // at 20 million
	CU_ASSERT_TRUE(v.noisy);
	rows[4].pps = 37e6;
	v = tl_qualify_judge(rows, 5);
	CU_ASSERT_EQUAL(v.limit, TL_QUALIFY_RINGS);
	CU_ASSERT_TRUE(v.noisy);
	rows[3].pps = 36e6;
	CU_ASSERT_FALSE(tl_qualify_judge(rows, 5).noisy);
}

TL_TEST("a filter that leaves less to copy, or compression less to write, is not noise")
{
	const struct tl_qualify_row rows[] = {stage(TL_QUALIFY_SOURCE, 60e6), stage(TL_QUALIFY_RINGS, 20e6),
		stage(TL_QUALIFY_PARSER, 58e6), stage(TL_QUALIFY_DISK, 10e6), stage(TL_QUALIFY_WHOLE, 30e6)};
	struct tl_qualify_verdict v = tl_qualify_judge(rows, 5);

	CU_ASSERT_FALSE(v.noisy);
	CU_ASSERT_EQUAL(v.limit, TL_QUALIFY_DISK);
	CU_ASSERT_EQUAL(v.next, -1); // the copy of all frames is none
	CU_ASSERT_DOUBLE_EQUAL(v.pps, 30e6, 1);
}

TL_TEST("each component is the limit if it costs most")
{
	for (enum tl_qualify_stage slow = TL_QUALIFY_RINGS; slow < TL_QUALIFY_STAGES; slow++) {
		struct tl_qualify_row rows[TL_QUALIFY_STAGES];
		for (enum tl_qualify_stage at = 0; at < TL_QUALIFY_STAGES; at++)
			rows[at] = stage(at, at < slow ? 60e6 : 6e6);
		struct tl_qualify_verdict v = tl_qualify_judge(rows, TL_QUALIFY_STAGES);
		CU_ASSERT_EQUAL(v.limit, (int)slow);
		CU_ASSERT_EQUAL(v.next, -1);
	}
}

TL_TEST("a stage below a tenth of the cost is not reported as a limit")
{
	const struct tl_qualify_row rows[] = {
		stage(TL_QUALIFY_SOURCE, 10e6), stage(TL_QUALIFY_RINGS, 9.1e6), stage(TL_QUALIFY_DISK, 9.3e6)};
	struct tl_qualify_verdict v = tl_qualify_judge(rows, 3);

	CU_ASSERT_EQUAL(v.limit, -1);
	CU_ASSERT_EQUAL(v.next, -1);
}

TL_TEST("the sustained rate of a run that slowed down is that of its last quarter")
{
	struct tl_qualify_row rows[] = {
		stage(TL_QUALIFY_SOURCE, 60e6), stage(TL_QUALIFY_DISK, 10e6), stage(TL_QUALIFY_WHOLE, 0)};

	rows[1].quarter_pps[3] = 6e6;
	rows[1].slowdown = 0.81;
	CU_ASSERT_DOUBLE_EQUAL(tl_qualify_judge(rows, 3).pps, 10e6, 1);
	rows[1].slowdown = 0.79;
	CU_ASSERT_DOUBLE_EQUAL(tl_qualify_judge(rows, 3).pps, 6e6, 1);
	CU_ASSERT_DOUBLE_EQUAL(tl_qualify_judge(rows, 3).bits_per_s, 6e6 * 84 * 8, 1);
	CU_ASSERT_EQUAL(tl_qualify_judge(rows, 3).limit, TL_QUALIFY_DISK);
	rows[1].stage = TL_QUALIFY_RINGS; // no drive is involved: the host was disturbed
	CU_ASSERT_DOUBLE_EQUAL(tl_qualify_judge(rows, 3).pps, 10e6, 1);
	rows[1].stage = TL_QUALIFY_DISK;
	rows[1].slowdown = TL_QUALIFY_UNKNOWN;
	CU_ASSERT_DOUBLE_EQUAL(tl_qualify_judge(rows, 3).pps, 10e6, 1);
}

TL_TEST("a port is sustained at the rate of its slowest recording, and one that is not recorded does not count")
{
	static const char status[] =
		"{\"ports\": [{\"name\": \"a\", \"rx_pkts\": 1000}, {\"name\": \"b\", \"rx_pkts\": 400}, {\"name\": \"c\", \"rx_pkts\": 50}],"
		"\"captures\": [{\"port\": \"a\", \"offered_pkts\": 900, \"drop_disk_pkts\": 400, \"written_bytes\": 10},"
		"{\"port\": \"c\", \"offered_pkts\": 50, \"filtered_pkts\": 10, \"cut_pkts\": 5, \"policed_pkts\": 15},"
		"{\"port\": \"a\", \"offered_pkts\": 900, \"drop_ring_pkts\": 1, \"drop_disk_pkts\": 2, \"written_bytes\": 7}]}";
	json_t *json = json_loads(status, 0, NULL);
	struct tl_qualify_sample sample = tl_qualify_sample_of(json, 7);

	CU_ASSERT_EQUAL(sample.ns, 7);
	CU_ASSERT_EQUAL(sample.polled_pkts, 1050);
	CU_ASSERT_EQUAL(sample.handled_pkts, 500 + 50);
	CU_ASSERT_EQUAL(sample.offered_pkts, 1850);
	CU_ASSERT_EQUAL(sample.kept_pkts, 1820);
	CU_ASSERT_EQUAL(sample.dropped_pkts, 403);
	CU_ASSERT_EQUAL(sample.written_bytes, 17);
	json_decref(json);
}

// A recording: 1000 frames and 50 kB per second, from fast_ms to slow_ms 2000 and 100 kB; nothing is written from 500
// ms to 750 ms, and made good at once. Ten times as many frames are polled.
struct recording {
	uint64_t fast_ms, slow_ms;
};

static struct tl_qualify_sample sample_at(const struct recording *r, uint64_t ms)
{
	uint64_t fast_ms = ms <= r->fast_ms ? 0 : tl_min_u64(ms, r->slow_ms) - r->fast_ms, units = ms + fast_ms;
	uint64_t written = ms > 500 && ms < 750 ? 500 : units;

	return (struct tl_qualify_sample){.ns = (7000 + ms) * TL_NS_PER_MS,
		.polled_pkts = 10 * units,
		.handled_pkts = units,
		.offered_pkts = 8 * units,
		.kept_pkts = 2 * units,
		.dropped_pkts = 3,
		.written_bytes = 50 * written};
}

// Sample a recording every 10 ms, until the run ends or the time is over. Return the ms of the last sample.
static uint64_t watch_it(struct tl_qualify_watch *watch, const struct tl_qualify_cfg *cfg, enum tl_qualify_stage which,
	const struct recording *r, uint64_t most_ms)
{
	uint64_t ms = 0;

	*watch = (struct tl_qualify_watch){.n = 0};
	for (;; ms += 10) {
		const struct tl_qualify_sample sample = sample_at(r, ms);
		(void)tl_qualify_take(watch, cfg, which, &sample);
		if (watch->n > TL_QUALIFY_QUARTERS || ms >= most_ms)
			return ms;
	}
}

static const struct recording warming = {.fast_ms = 1000, .slow_ms = UINT64_MAX};

TL_TEST("the first quarter of a run is its warm-up")
{
	const struct tl_qualify_cfg cfg = {.seconds = 4};
	struct tl_qualify_row row = {.stage = TL_QUALIFY_RINGS};
	struct tl_qualify_watch watch;

	CU_ASSERT_EQUAL(watch_it(&watch, &cfg, row.stage, &warming, 60000), 4000);
	CU_ASSERT_TRUE(tl_qualify_fill(&row, &watch, 0));
	CU_ASSERT_DOUBLE_EQUAL(row.seconds, 4, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.quarter_pps[0], 1000, 1e-6);
	for (unsigned i = 1; i < TL_QUALIFY_QUARTERS; i++)
		CU_ASSERT_DOUBLE_EQUAL(row.quarter_pps[i], 2000, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(row.pps, 2000, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(row.slowdown, 1, 1e-9);
	CU_ASSERT_EQUAL(row.dropped_pkts, 3);
	CU_ASSERT_DOUBLE_EQUAL(row.kept, 0.25, 1e-9);
	CU_ASSERT_EQUAL(row.stall_ns, 0); // nothing is meant to be written
	CU_ASSERT_EQUAL(row.written_bps, 0);
	row.stage = TL_QUALIFY_SOURCE;
	CU_ASSERT_TRUE(tl_qualify_fill(&row, &watch, 0));
	CU_ASSERT_DOUBLE_EQUAL(row.pps, 20000, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(row.quarter_pps[0], 10000, 1e-6);
}

TL_TEST("a stall is the longest time without a written byte, and the buffers cover as long as they fill")
{
	const struct tl_qualify_cfg cfg = {.seconds = 4};
	struct tl_qualify_row row = {.stage = TL_QUALIFY_DISK};
	struct tl_qualify_watch watch;

	(void)watch_it(&watch, &cfg, row.stage, &warming, 60000);
	CU_ASSERT_TRUE(tl_qualify_fill(&row, &watch, 40000));
	CU_ASSERT_EQUAL(row.stall_ns, 250 * TL_NS_PER_MS); // the sample at 750 ms has the next bytes
	CU_ASSERT_DOUBLE_EQUAL(row.written_bps, 100000, 1e-6);
	CU_ASSERT_EQUAL(row.buffer_ns, 400 * TL_NS_PER_MS);
	CU_ASSERT_EQUAL(row.written_bytes, 350000);
}

TL_TEST("with a known cache a run that writes goes on until twice the cache is written")
{
	const struct tl_qualify_cfg cfg = {.seconds = 1, .cache_bytes = 500000};
	const struct recording filling = {.fast_ms = 0, .slow_ms = 5000}; // at 500 kB the cache is full
	struct tl_qualify_row row = {.stage = TL_QUALIFY_DISK};
	struct tl_qualify_watch watch;

	CU_ASSERT_EQUAL(watch_it(&watch, &cfg, TL_QUALIFY_PARSER, &filling, 60000), 1000);
	CU_ASSERT_EQUAL(watch_it(&watch, &cfg, TL_QUALIFY_DISK, &filling, 60000), 15000);
	CU_ASSERT_TRUE(tl_qualify_fill(&row, &watch, 0));
	CU_ASSERT_EQUAL(row.written_bytes, 1000000);
	CU_ASSERT_DOUBLE_EQUAL(row.quarter_pps[1], 2000, 1e-6); // into the cache
	CU_ASSERT_DOUBLE_EQUAL(row.quarter_pps[3], 1000, 1e-6); // beyond it
	CU_ASSERT_DOUBLE_EQUAL(row.slowdown, 0.5, 1e-9);
}

TL_TEST("an interrupted run has the figures so far")
{
	const struct tl_qualify_cfg cfg = {.seconds = 4};
	struct tl_qualify_row row = {.stage = TL_QUALIFY_RINGS};
	struct tl_qualify_watch watch;

	(void)watch_it(&watch, &cfg, row.stage, &warming, 990);
	CU_ASSERT_FALSE(tl_qualify_fill(&row, &watch, 0)); // of the warm-up
	(void)watch_it(&watch, &cfg, row.stage, &warming, 2500);
	CU_ASSERT_TRUE(tl_qualify_fill(&row, &watch, 0));
	CU_ASSERT_DOUBLE_EQUAL(row.seconds, 2.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.pps, 2000, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(row.quarter_pps[1], 2000, 1e-6);
	CU_ASSERT_EQUAL(row.quarter_pps[2], TL_QUALIFY_UNKNOWN);
	CU_ASSERT_EQUAL(row.slowdown, TL_QUALIFY_UNKNOWN);
}

// Return the first recording in a stage's configuration.
static const json_t *recording_of(json_t *config)
{
	return json_array_get(json_object_get(config, "capture"), 0);
}

// Return the most that a ring occupies: a file is opened before the oldest is dropped.
static uint64_t sum_of_ring(const json_t *recording)
{
	return (uint64_t)(json_integer_value(json_object_get(recording, "keep_bytes")) +
			  json_integer_value(json_object_get(recording, "rotate_bytes")));
}

TL_TEST("each stage adds its keys to a recording")
{
	static const char *const dirs[] = {"/data/q"};
	json_t *config = json_loads(
		"{\"ports\": [{\"name\": \"a\", \"device\": \"eth0\", \"ip\": \"192.0.2.1/24\", "
		"\"rx_queues\": 2}], \"echo\": [], \"capture\": [{\"port\": \"a\", \"path\": "
		"\"/data/x.pcapng\", \"filter\": \"udp\", \"classes\": [], \"digest\": \"crc32c\", \"fsync\": "
		"\"close\", \"rotate_seconds\": 60}]}",
		0, NULL);
	static const char *const keys[] = {
		"direction", "filter", "classes", "fsync", "digest", "rotate_bytes", "keep_bytes"};
	static const char has[TL_QUALIFY_STAGES][8] = {
		"1000000", "0000000", "0110000", "0110000", "0111011", "0111011", "0111111"};

	for (enum tl_qualify_stage at = 0; at < TL_QUALIFY_STAGES; at++) {
		json_t *made = tl_qualify_config(config, at, "f.pcap", dirs, UINT64_C(64) << 20);
		for (size_t k = 0; k < TL_ARRAY_LEN(keys); k++)
			CU_ASSERT_EQUAL(json_object_get(recording_of(made), keys[k]) != NULL, has[at][k] == '1');
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(recording_of(made), "path")),
			at < TL_QUALIFY_WRITER ? "null:"
			: at < TL_QUALIFY_DISK ? "/dev/null"
					       : "/data/q/recording.pcapng");
		CU_ASSERT_EQUAL(json_is_true(json_object_get(recording_of(made), "index")), at >= TL_QUALIFY_INDEX);
		if (at >= TL_QUALIFY_DISK) // and the next file
			CU_ASSERT(sum_of_ring(recording_of(made)) > UINT64_C(63) << 20 &&
				  sum_of_ring(recording_of(made)) <= UINT64_C(64) << 20);
		CU_ASSERT_PTR_NULL(json_object_get(made, "echo"));
		const json_t *port = json_array_get(json_object_get(made, "ports"), 0);
		CU_ASSERT_PTR_NULL(json_object_get(port, "ip"));
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(port, "device")),
			"vdev:net_pcap0,rx_pcap=f.pcap,rx_pcap=f.pcap,infinite_rx=1");
		json_decref(made);
	}
	json_decref(config);
}

TL_TEST("recordings have a dummy disk each, but those that are discarded have none")
{
	static const char *const dirs[] = {"/data/q", NULL, "/data/r"};
	static const char *const paths[] = {"/dev/null", "null:", "/dev///null"};
	json_t *config =
		json_loads("{\"capture\": [{\"port\": \"a\"}, {\"port\": \"a\"}, {\"port\": \"a\"}]}", 0, NULL);
	json_t *made = tl_qualify_config(config, TL_QUALIFY_WRITER, "f.pcap", dirs, UINT64_C(64) << 20);

	for (size_t i = 0; i < TL_ARRAY_LEN(paths); i++)
		CU_ASSERT_STRING_EQUAL(
			json_string_value(json_object_get(json_array_get(json_object_get(made, "capture"), i), "path")),
			paths[i]);
	json_decref(made);
	json_decref(config);
}

// ---- rx

// Runs of 1 s at the sender's highest rate; each has counted lost[i] of 1000 frames as dropped.
static const struct tl_ladder_rung sleeping = {.name = "recv"}, polling = {.name = "dpdk-memory", .polls = true};

static struct rx_run run_of(uint64_t cpu_ns, uint64_t lost)
{
	return (struct rx_run){.sent = {.pkts = 1000, .elapsed_ns = TL_NS_PER_S, .cpu_ns = 5000},
		.was = {.at_ns = 500, .cpu_ns = 7, .drops = 3, .wakeups = 10, .instructions = -1, .cycles = 100},
		.is = {.at_ns = 500 + 2 * TL_NS_PER_S,
			.cpu_ns = 7 + cpu_ns,
			.drops = 3 + lost,
			.wakeups = 60,
			.instructions = 5,
			.cycles = 2100,
			.user_ns = 10,
			.system_ns = 30},
		.pkts = 1000 - lost,
		.elapsed_ns = TL_NS_PER_S / 2,
		.pps = 2000};
}

static struct tl_bench_rx_row rows_of(
	const struct tl_ladder_rung *rung, const struct rx_run runs[TL_BENCH_RX_RUNS], bool sends)
{
	struct tl_bench_rx_row row = {.rung = rung};

	rx_runs_fill(runs, sends, &row);
	return row;
}

TL_TEST("a row has the figures of the run with the median cost")
{
	const struct rx_run runs[] = {run_of(9000000, 0), run_of(1000000, 0), run_of(2000000, 0)};
	struct tl_bench_rx_row row = rows_of(&sleeping, runs, true);

	CU_ASSERT_DOUBLE_EQUAL(row.cpu_ns, 2000, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.user_ns, 500, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.system_ns, 1500, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.sender_ns, 5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.wakeups_per_s, 25, 1e-9); // of the time between the snapshots
	CU_ASSERT_DOUBLE_EQUAL(row.cycles, 2, 1e-9);
	CU_ASSERT_EQUAL(row.instructions, TL_BENCH_RX_UNKNOWN);
	CU_ASSERT_DOUBLE_EQUAL(row.offered_pps, 2000, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.spread, 4, 1e-9); // (9 - 1) / 2
	CU_ASSERT_TRUE(row.noisy);
}

TL_TEST("a row is noisy by cost or, with own traffic, by rate")
{
	struct rx_run runs[] = {run_of(1000000, 0), run_of(1040000, 0), run_of(1090000, 0)};

	CU_ASSERT_FALSE(rows_of(&sleeping, runs, true).noisy);
	runs[1].elapsed_ns = TL_NS_PER_S;
	CU_ASSERT_TRUE(rows_of(&sleeping, runs, true).noisy);
	CU_ASSERT_FALSE(rows_of(&sleeping, runs, false).noisy);
	runs[0].pkts = 0; // no cost is known
	CU_ASSERT_TRUE(rows_of(&sleeping, runs, false).noisy);
}

TL_TEST("a loss in any of the runs excludes the sender's highest rate")
{
	const struct rx_run clean[] = {run_of(1000, 0), run_of(2000, 0), run_of(3000, 0)};
	const struct rx_run lossy[] = {run_of(1000, 0), run_of(2000, 0), run_of(3000, 1)};

	CU_ASSERT_TRUE(rows_of(&sleeping, clean, true).sender_bound);
	CU_ASSERT_FALSE(rows_of(&sleeping, clean, false).sender_bound); // nothing was sent
	CU_ASSERT_FALSE(rows_of(&sleeping, lossy, true).sender_bound);
}

TL_TEST("a receiver that a buffer helps has its own rate, and that of the sender is not free of loss")
{
	struct rx_run runs[] = {run_of(1000, 0), run_of(2000, 0), run_of(3000, 0)};

	runs[1].late_ns = RX_BATCH_NS; // a batch
	CU_ASSERT_TRUE(rows_of(&sleeping, runs, true).sender_bound);
	CU_ASSERT_DOUBLE_EQUAL(rows_of(&sleeping, runs, true).received_pps, 2000, 1e-9);
	runs[1].late_ns = TL_NS_PER_S / 2;
	CU_ASSERT_FALSE(rows_of(&sleeping, runs, true).sender_bound);
	CU_ASSERT_DOUBLE_EQUAL(rows_of(&sleeping, runs, true).received_pps, 1000, 1e-9);
}

TL_TEST("the rate without loss is the highest of the runs that kept up")
{
	struct rx_run runs[] = {run_of(1000, 0), run_of(2000, 1), run_of(3000, 0)};

	runs[0].pps = 3000;
	runs[1].pps = 4000;
	CU_ASSERT_DOUBLE_EQUAL(rows_of(&sleeping, runs, true).loss_free_pps, 3000, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(rows_of(&sleeping, runs, false).loss_free_pps, 0, 1e-9);
	struct tl_bench_rx_row row = {.rung = &sleeping, .loss_free_pps = 5000}; // of the slow run
	rx_runs_fill(runs, true, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.loss_free_pps, 5000, 1e-9);
}

TL_TEST("a loss is attributed to one counter, or to none")
{
	struct rx_run run = run_of(1000, 100); // of which the rung's counter has 60
	struct tl_bench_rx_row row;

	run.is.drops = run.was.drops + 60;
	run.sent.unsent_pkts = 10;
	run.lost_interface_pkts = 25;
	row = rows_of(&sleeping, (const struct rx_run[]){run, run, run}, true);
	CU_ASSERT_EQUAL(row.lost_pkts, 100);
	CU_ASSERT_EQUAL(row.lost_sender_pkts, 10);
	CU_ASSERT_EQUAL(row.lost_rung_pkts, 60);
	CU_ASSERT_EQUAL(row.lost_interface_pkts, 25);
	CU_ASSERT_EQUAL(row.lost_elsewhere_pkts, 5);
	run.lost_interface_pkts = 1000; // frames of others, too
	row = rows_of(&sleeping, (const struct rx_run[]){run, run, run}, true);
	CU_ASSERT_EQUAL(row.lost_interface_pkts, 30);
	CU_ASSERT_EQUAL(row.lost_elsewhere_pkts, 0);
}

TL_TEST("a frame that AF_XDP and the interface count as lost is lost once")
{
	const struct tl_ladder_rung xdp = {.takes = true}, own = {.own_source = true};

	CU_ASSERT_EQUAL(rx_interface_losses(&sleeping, 25, 60), 25);
	CU_ASSERT_EQUAL(rx_interface_losses(&xdp, 60, 60), 0);
	CU_ASSERT_EQUAL(rx_interface_losses(&xdp, 65, 60), 5); // by the NIC
	CU_ASSERT_EQUAL(rx_interface_losses(&xdp, 0, 60), 0);  // of another driver
	CU_ASSERT_EQUAL(rx_interface_losses(&own, 25, 0), 0);
}

TL_TEST("losses of real traffic are those of the rung and of its interface")
{
	struct rx_run run = run_of(1000, 60);
	struct tl_bench_rx_row row;

	run.sent = (struct rx_sent){.pkts = 0};
	run.lost_interface_pkts = 25;
	row = rows_of(&sleeping, (const struct rx_run[]){run, run, run}, false);
	CU_ASSERT_EQUAL(row.lost_pkts, 85);
	CU_ASSERT_EQUAL(row.lost_rung_pkts, 60);
	CU_ASSERT_EQUAL(row.lost_interface_pkts, 25);
	CU_ASSERT_EQUAL(row.lost_elsewhere_pkts, 0);
	CU_ASSERT_EQUAL(row.sender_ns, TL_BENCH_RX_UNKNOWN);
}

TL_TEST("a polling thread costs the time of its polls that returned frames")
{
	struct rx_run run = run_of(1000000, 0);

	run.is.polling_ns = 1000000;
	run.is.busy_ns = 250;
	run.is.at_ns = run.was.at_ns + 1000;
	CU_ASSERT_DOUBLE_EQUAL(rows_of(&polling, (const struct rx_run[]){run, run, run}, true).cpu_ns, 250, 1e-9);
	run.is.polling_ns = 400000; // other threads sleep
	CU_ASSERT_DOUBLE_EQUAL(rows_of(&polling, (const struct rx_run[]){run, run, run}, true).cpu_ns, 700, 1e-9);
}

int main(void)
{
	return tl_test_run("bench");
}
