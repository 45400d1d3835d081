// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two reports: error rate for equal distributions, and detection of shifted ones. All random numbers are
// seeded: the rates are the same on every run.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tl_latency_compare.h>
#include <tl_random.h>
#include <tl_test.h>

#define PAIRS 100
#define SAMPLES 20000

static const struct tl_latency_threshold none = {0};

static double uniform(uint64_t *state)
{
	return ((double)(tl_random_next(state) >> 11) + 0.5) * 0x1p-53;
}

// A distribution like that of latencies: a narrow body, and a tail with one value in fifty.
static uint64_t echo_like(uint64_t *state)
{
	double body = 900 + 40 * (uniform(state) + uniform(state) + uniform(state));
	return (uint64_t)(tl_random_next(state) % 50 == 0 ? body / pow(uniform(state), 0.7) : body);
}

static uint64_t heavy_tail(uint64_t *state)
{
	return (uint64_t)(10000 / uniform(state));
}

static uint64_t steps_of_a_clock(uint64_t *state) // a NIC with ticks of 8 ns: few values, many ties
{
	return echo_like(state) / 8 * 8;
}

static uint64_t all_equal(uint64_t *state)
{
	return 1000;
}

static struct tl_latency *draw(uint64_t (*one)(uint64_t *), uint64_t seed, size_t n, double factor, uint64_t shift_ns)
{
	struct tl_latency *report = tl_latency_create();

	report->samples_max = 0;
	for (size_t i = 0; i < n; i++)
		tl_latency_add(report, &(struct tl_latency_sample){.time_ns = 1000 * i,
					       .latency_ns = (uint64_t)((double)one(&seed) * factor) + shift_ns});
	return report;
}

static struct tl_latency_comparison compare_runs(
	struct tl_latency **runs, size_t n_a, size_t n_b, struct tl_latency_threshold threshold)
{
	const struct tl_latency_side a = {runs, n_a}, b = {runs + n_a, n_b};
	struct tl_latency_comparison out;

	CU_ASSERT_EQUAL(tl_latency_compare(&a, &b, &threshold, 0.05, &out), 0);
	for (size_t i = 0; i < n_a + n_b; i++)
		tl_latency_destroy(runs[i]);
	return out;
}

static struct tl_latency_comparison compare(
	struct tl_latency *a, struct tl_latency *b, struct tl_latency_threshold threshold)
{
	return compare_runs((struct tl_latency *[]){a, b}, 1, 1, threshold);
}

static unsigned differing_pairs(uint64_t (*one)(uint64_t *), size_t n)
{
	unsigned different = 0;

	for (uint64_t pair = 0; pair < PAIRS; pair++) {
		struct tl_latency_comparison out =
			compare(draw(one, 2 * pair, n, 1, 0), draw(one, 2 * pair + 1, n, 1, 0), none);
		different += out.verdict != TL_LATENCY_SAME;
	}
	return different;
}

// 95 % confidence rejects 5 of 100 pairs on average; 12 is three standard deviations above that.
TL_TEST("equal distributions of any shape are reported as different in about 5 % of pairs")
{
	static uint64_t (*const shapes[])(uint64_t *) = {echo_like, heavy_tail, steps_of_a_clock, all_equal};

	for (size_t i = 0; i < TL_ARRAY_LEN(shapes); i++) {
		unsigned large = differing_pairs(shapes[i], 10500), small = differing_pairs(shapes[i], 1100);
		CU_ASSERT(large <= 12);
		CU_ASSERT(small <= 12);
	}
}

TL_TEST("a shift of 5 ns in 1 us is detected in 20,000 samples, in both directions")
{
	for (uint64_t pair = 0; pair < 20; pair++) {
		struct tl_latency_comparison out =
			compare(draw(echo_like, pair, SAMPLES, 1, 0), draw(echo_like, 100 + pair, SAMPLES, 1, 5), none);
		CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SLOWER);
		CU_ASSERT_EQUAL(out.quantiles[0].row.verdict, TL_LATENCY_SLOWER);
		CU_ASSERT(out.quantiles[0].row.diff.low_ns > 0 && out.quantiles[0].row.diff.low_ns <= 5);
		CU_ASSERT(out.quantiles[0].row.diff.high_ns >= 5 && out.quantiles[0].row.diff.high_ns < 10);
		CU_ASSERT(out.b_larger > 0.5);
		out = compare(draw(echo_like, pair, SAMPLES, 1, 5), draw(echo_like, 100 + pair, SAMPLES, 1, 0), none);
		CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_FASTER);
		CU_ASSERT(out.b_larger < 0.5);
	}
}

// 50 equal latencies in a row, like those of frames that wait for one another.
static uint64_t in_bursts(uint64_t *state)
{
	uint64_t burst = (*state)++ / 50 * UINT64_C(0x9e3779b97f4a7c15);

	return echo_like(&burst);
}

// Compare independent samples of a broad distribution with bursts of a narrow one: the pooled error widens the interval
// of the broad run only.
TL_TEST("exchanged sides negate the interval of the difference")
{
	struct tl_latency_comparison out =
		compare(draw(heavy_tail, 1, SAMPLES, 1, 0), draw(in_bursts, 0, SAMPLES, 1, 0), none);
	struct tl_latency_comparison exchanged =
		compare(draw(in_bursts, 0, SAMPLES, 1, 0), draw(heavy_tail, 1, SAMPLES, 1, 0), none);

	CU_ASSERT(tl_latency_has_interval(&out.quantiles[0].row));
	CU_ASSERT_EQUAL(out.quantiles[0].row.diff.low_ns, -exchanged.quantiles[0].row.diff.high_ns);
	CU_ASSERT_EQUAL(out.quantiles[0].row.diff.high_ns, -exchanged.quantiles[0].row.diff.low_ns);
}

// Scale the tail, one value in fifty, by five: p50 and p90 do not change.
static uint64_t longer_tail(uint64_t *state)
{
	uint64_t value = echo_like(state);
	return value > 1100 ? value * 5 : value;
}

TL_TEST("a longer tail is detected at p99, but not at p50 and p90")
{
	struct tl_latency_comparison out =
		compare(draw(echo_like, 1, SAMPLES, 1, 0), draw(longer_tail, 2, SAMPLES, 1, 0), none);

	CU_ASSERT_EQUAL(out.quantiles[0].row.verdict, TL_LATENCY_SAME);
	CU_ASSERT_EQUAL(out.quantiles[1].row.verdict, TL_LATENCY_SAME);
	CU_ASSERT_EQUAL(out.quantiles[2].row.verdict, TL_LATENCY_SLOWER);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SLOWER);
}

TL_TEST("a difference below the threshold is not reported")
{
	const struct tl_latency_threshold ns[] = {{49, false}, {51, false}}, percent[] = {{4.9, true}, {5.5, true}};

	for (int i = 0; i < 2; i++) {
		enum tl_latency_verdict expected = i == 0 ? TL_LATENCY_SLOWER : TL_LATENCY_SAME;
		struct tl_latency_comparison out =
			compare(draw(all_equal, 1, SAMPLES, 1, 0), draw(all_equal, 2, SAMPLES, 1, 50), ns[i]);
		CU_ASSERT_EQUAL(out.verdict, expected);
		CU_ASSERT_EQUAL(out.quantiles[3].row.diff.diff_ns, 50);
		CU_ASSERT_EQUAL(out.quantiles[3].row.diff.low_ns, 50);
		CU_ASSERT_EQUAL(out.quantiles[3].row.diff.high_ns, 50);
		out = compare(draw(all_equal, 1, SAMPLES, 1, 0), draw(all_equal, 2, SAMPLES, 1, 50), percent[i]);
		CU_ASSERT_EQUAL(out.verdict, expected);
		CU_ASSERT_DOUBLE_EQUAL(out.quantiles[0].threshold_ns, percent[i].value * 10, 1e-9);
		out = compare(draw(all_equal, 1, SAMPLES, 1, 50), draw(all_equal, 2, SAMPLES, 1, 0), ns[i]);
		CU_ASSERT_EQUAL(out.verdict, i == 0 ? TL_LATENCY_FASTER : TL_LATENCY_SAME);
	}
}

TL_TEST("a quantile with fewer than 10 samples above it gets no verdict")
{
	static const uint64_t needed[] = {20, 100, 1000, 10000};

	for (size_t judged = 0; judged <= TL_LATENCY_QUANTILES; judged++) {
		size_t n = judged < TL_LATENCY_QUANTILES ? needed[judged] - 1 : needed[judged - 1];
		struct tl_latency_comparison out =
			compare(draw(echo_like, 1, n, 1, 0), draw(echo_like, 2, SAMPLES, 2, 0), none);
		for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++) {
			CU_ASSERT_EQUAL(out.quantiles[i].needed, needed[i]);
			CU_ASSERT_EQUAL(out.quantiles[i].row.verdict == TL_LATENCY_TOO_FEW, i >= judged);
		}
		CU_ASSERT_EQUAL(out.verdict, judged == 0 ? TL_LATENCY_TOO_FEW : TL_LATENCY_SLOWER);
		CU_ASSERT_EQUAL(out.a_count, n);
	}
	struct tl_latency_comparison out = compare(draw(echo_like, 1, 0, 1, 0), draw(echo_like, 2, 0, 1, 0), none);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_TOO_FEW);
}

TL_TEST("the same reports give the same intervals")
{
	struct tl_latency_comparison first =
		compare(draw(heavy_tail, 1, SAMPLES, 1, 0), draw(heavy_tail, 2, SAMPLES, 1, 0), none);
	struct tl_latency_comparison again =
		compare(draw(heavy_tail, 1, SAMPLES, 1, 0), draw(heavy_tail, 2, SAMPLES, 1, 0), none);

	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++) {
		CU_ASSERT_EQUAL(first.quantiles[i].row.diff.low_ns, again.quantiles[i].row.diff.low_ns);
		CU_ASSERT_EQUAL(first.quantiles[i].row.diff.high_ns, again.quantiles[i].row.diff.high_ns);
	}
}

// 1 2 3 against 2 3 4: of 9 pairs, B is larger in 6, equal in 2. One more lost message of A makes 12 pairs; a lost one
// is larger than all others.
TL_TEST("equal pairs count half, lost ones as the largest")
{
	for (unsigned lost = 0; lost < 2; lost++) {
		struct tl_latency *a = tl_latency_create(), *b = tl_latency_create();
		for (uint64_t i = 1; i <= 3; i++) {
			tl_latency_add(a, &(struct tl_latency_sample){.latency_ns = i});
			tl_latency_add(b, &(struct tl_latency_sample){.latency_ns = i + 1});
		}
		a->unmatched_triggers = lost;
		CU_ASSERT_DOUBLE_EQUAL(compare(a, b, none).b_larger, 7.0 / (9 + 3 * lost), 1e-12);
	}
	CU_ASSERT_DOUBLE_EQUAL(
		compare(draw(all_equal, 1, 100, 1, 0), draw(all_equal, 2, 100, 1, 0), none).b_larger, 0.5, 1e-12);
}

// With a drift no part of a run bounds the error of the whole.
TL_TEST("a run with drift gets no verdict")
{
	struct tl_latency *drifting = tl_latency_create();
	uint64_t seed = 1;

	for (uint64_t i = 0; i < SAMPLES; i++)
		tl_latency_add(
			drifting, &(struct tl_latency_sample){.time_ns = i, .latency_ns = echo_like(&seed) + i / 50});
	struct tl_latency_comparison out = compare(draw(echo_like, 2, SAMPLES, 1, 0), drifting, none);
	CU_ASSERT_EQUAL(out.quantiles[0].row.verdict, TL_LATENCY_INCONCLUSIVE);
	CU_ASSERT(out.quantiles[0].row.b_effective < 20);
	CU_ASSERT(out.quantiles[0].row.a_effective > SAMPLES / 4);
	CU_ASSERT(tl_latency_has_interval(&out.quantiles[3].row)); // the tail does not drift here
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_INCONCLUSIVE);	   // but there is no verdict for it
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_latency_no_verdict(&out), "too short for how slowly it changes"));
}

// Add two periods of a wave, which is the fourth cosine, with 50 times the square of noise. As one of 16 cosines it
// leaves a quarter of the samples; as one of the 4 slowest, a seventeenth.
TL_TEST("a slow oscillation reduces the effective samples like one of the slowest cosines")
{
	struct tl_latency *slow = tl_latency_create();
	uint64_t seed = 1;

	for (uint64_t i = 0; i < SAMPLES; i++) {
		double wave = 20.4 * cos(4 * M_PI * ((double)i + 0.5) / SAMPLES);
		tl_latency_add(slow, &(struct tl_latency_sample){.time_ns = 1000 * i,
					     .latency_ns = (uint64_t)(2000 + 1000 * uniform(&seed) + wave)});
	}
	struct tl_latency_comparison out = compare(draw(echo_like, 2, SAMPLES, 1, 0), slow, none);
	CU_ASSERT(out.mean.b_effective > SAMPLES / 30.0 && out.mean.b_effective < SAMPLES / 8.0);
}

// 40 ns more, in whole microseconds: 2,990 to 3,030 ns.
TL_TEST("a difference below the resolution of the stamps is not reported")
{
	for (uint64_t bound_ns = 0; bound_ns <= 1000; bound_ns += 1000) {
		struct tl_latency *runs[] = {tl_latency_create(), tl_latency_create()};
		for (size_t side = 0; side < 2; side++) {
			tl_latency_set_sources(runs[side], "file", bound_ns, "file", bound_ns);
			for (uint64_t i = 0; i < SAMPLES; i++)
				tl_latency_add(runs[side], &(struct tl_latency_sample){.time_ns = i,
								   .latency_ns = side == 0 ? 2000 : 3000});
		}
		struct tl_latency_comparison out = compare_runs(runs, 1, 1, none);
		CU_ASSERT_EQUAL(out.stamps_ns, 4 * (double)bound_ns);
		CU_ASSERT_EQUAL(out.verdict, bound_ns == 0 ? TL_LATENCY_SLOWER : TL_LATENCY_SAME);
		CU_ASSERT_EQUAL(out.quantiles[0].row.diff.low_ns, 1000 - out.stamps_ns);
		CU_ASSERT_EQUAL(out.quantiles[0].row.diff.high_ns, 1000 + out.stamps_ns);
		CU_ASSERT_EQUAL(out.mean.diff.low_ns, 1000 - out.stamps_ns);
	}
}

static struct tl_latency *lose(struct tl_latency *report, uint64_t lost)
{
	report->unmatched_triggers = lost;
	for (uint64_t i = 0; i < lost; i++)
		tl_latency_date_lost(report, report->order.last_ns / lost * i);
	return report;
}

// B is 100 ns faster, but its slowest replies are lost: too few for p99, or many.
TL_TEST("a side that lost its slowest replies is not called faster")
{
	struct tl_latency_comparison out =
		compare(draw(echo_like, 1, SAMPLES, 1, 100), draw(echo_like, 2, SAMPLES, 1, 0), none);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_FASTER);
	CU_ASSERT_EQUAL(out.answered.verdict, TL_LATENCY_SAME);
	out = compare(draw(echo_like, 1, SAMPLES, 1, 100), lose(draw(echo_like, 2, SAMPLES, 1, 0), 15), none);
	CU_ASSERT_EQUAL(out.quantiles[0].row.verdict, TL_LATENCY_FASTER);
	CU_ASSERT(isfinite(out.quantiles[3].row.b));
	CU_ASSERT_EQUAL(out.answered.verdict, TL_LATENCY_SLOWER);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SLOWER);
	out = compare(draw(echo_like, 1, SAMPLES, 1, 100), lose(draw(echo_like, 2, SAMPLES, 1, 0), 1000), none);
	CU_ASSERT(isinf(out.quantiles[2].row.b) && isinf(out.quantiles[2].row.diff.high_ns));
	CU_ASSERT_EQUAL(out.quantiles[2].row.verdict, TL_LATENCY_SLOWER);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SLOWER);
	CU_ASSERT_DOUBLE_EQUAL(out.answered.b, 20.0 / 21, 1e-12);
	out = compare(
		lose(draw(echo_like, 1, SAMPLES, 1, 0), 1000), lose(draw(echo_like, 2, SAMPLES, 1, 0), 1000), none);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SAME);
	CU_ASSERT_EQUAL(out.quantiles[2].row.diff.diff_ns, 0);
}

static struct tl_latency *lose_at_once(struct tl_latency *report, uint64_t lost)
{
	report->unmatched_triggers = lost;
	for (uint64_t i = 0; i < lost; i++)
		tl_latency_date_lost(report, report->order.last_ns / 3);
	return report;
}

// 40 losses at one time are one event, equally likely in either run; 40 scattered losses are significant. Losses
// without a time are inconclusive.
TL_TEST("simultaneous losses count as one event, and losses of unknown time get no verdict")
{
	struct tl_latency_comparison out =
		compare(draw(echo_like, 1, SAMPLES, 1, 0), lose_at_once(draw(echo_like, 2, SAMPLES, 1, 0), 40), none);
	CU_ASSERT_EQUAL(out.answered.verdict, TL_LATENCY_SAME);
	CU_ASSERT(out.answered.b_effective < SAMPLES / 20);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SAME);
	out = compare(draw(echo_like, 1, SAMPLES, 1, 0), lose(draw(echo_like, 2, SAMPLES, 1, 0), 40), none);
	CU_ASSERT_EQUAL(out.answered.verdict, TL_LATENCY_SLOWER);
	struct tl_latency *undated = draw(echo_like, 2, SAMPLES, 1, 0);
	undated->unmatched_triggers = 40;
	out = compare(draw(echo_like, 1, SAMPLES, 1, 100), undated, none);
	CU_ASSERT_FALSE(out.ordered);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_TOO_FEW);
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_latency_no_verdict(&out), "the times of its losses"));
}

TL_TEST("without a count of lost triggers no side is called faster")
{
	for (size_t side = 0; side < 2; side++) {
		struct tl_latency *runs[] = {draw(echo_like, 1, SAMPLES, 1, 100), draw(echo_like, 2, SAMPLES, 1, 0)};
		runs[side]->uncounted = true;
		struct tl_latency_comparison out = compare_runs(runs, 1, 1, none);
		CU_ASSERT_FALSE(out.counted);
		CU_ASSERT_EQUAL(out.quantiles[0].row.verdict, TL_LATENCY_FASTER);
		CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SAME);
	}
}

static struct tl_latency *without_order(struct tl_latency *report)
{
	report->order.n = 0;
	return report;
}

TL_TEST("a single run without sample order gets no verdict, several runs do")
{
	struct tl_latency_comparison out =
		compare(draw(echo_like, 1, SAMPLES, 1, 0), without_order(draw(echo_like, 2, SAMPLES, 2, 0)), none);
	struct tl_latency *runs[6];

	CU_ASSERT_FALSE(out.ordered);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_TOO_FEW);
	CU_ASSERT(out.quantiles[0].row.b > 1.5 * out.quantiles[0].row.a);
	for (uint64_t i = 0; i < 6; i++)
		runs[i] = without_order(draw(echo_like, i, SAMPLES, i < 3 ? 1 : 2, 0));
	out = compare_runs(runs, 3, 3, none);
	CU_ASSERT(out.ordered);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SLOWER);
	CU_ASSERT_EQUAL(out.quantiles[0].row.a_effective, 3);
}

// Each run is offset by more than the difference to detect: two single runs differ, many runs together do not.
TL_TEST("several runs are compared by their variance")
{
	static const uint64_t offsets_ns[] = {0, 30, 10, 50, 20, 40, 11, 42, 33, 2};
	struct tl_latency *runs[10];

	for (uint64_t shift_ns = 0; shift_ns <= 200; shift_ns += 200) {
		for (uint64_t i = 0; i < 10; i++)
			runs[i] = draw(echo_like, i, 2000, 1, offsets_ns[i] + (i < 5 ? 0 : shift_ns));
		struct tl_latency_comparison out = compare_runs(runs, 5, 5, none);
		CU_ASSERT_EQUAL(out.verdict, shift_ns == 0 ? TL_LATENCY_SAME : TL_LATENCY_SLOWER);
		CU_ASSERT_EQUAL(out.a_count, 10000);
		CU_ASSERT(fabs(out.quantiles[0].row.diff.diff_ns - 4 - (double)shift_ns) < 4);
	}
	CU_ASSERT_EQUAL(compare(draw(echo_like, 1, 2000, 1, 0), draw(echo_like, 2, 2000, 1, 30), none).verdict,
		TL_LATENCY_SLOWER);
}

// Welch's t of 10 12 14 and 20 24 28: difference 12, standard error 2.582, 2.94 degrees of freedom; at 98.75 %, for
// four simultaneous intervals, t is 5.52.
TL_TEST("the interval between runs follows Welch's t-test")
{
	static const uint64_t values_ns[] = {10, 12, 14, 20, 24, 28};
	struct tl_latency *runs[6];

	for (size_t i = 0; i < 6; i++) {
		runs[i] = draw(all_equal, 1, 1000, 0, values_ns[i]);
		runs[i]->uncounted = i == 5;
	}
	struct tl_latency_comparison out = compare_runs(runs, 3, 3, none); // three quantiles, p99.9 has too few
	double off = tl_latency_student(0.05 / 3, 2.9411765) * sqrt(20.0 / 3);
	CU_ASSERT_DOUBLE_EQUAL(out.quantiles[0].row.diff.diff_ns, 12, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(out.quantiles[0].row.diff.low_ns, 12 - off, 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(out.quantiles[0].row.diff.high_ns, 12 + off, 1e-4);
	CU_ASSERT_EQUAL(out.quantiles[3].row.verdict, TL_LATENCY_TOO_FEW);
}

// With 2 and 2 runs chance separates the lossy runs once in six times: no verdict. With 5 and 5 once in 252.
TL_TEST("runs with a lost quantile are slower only if all runs of the side lost it")
{
	struct tl_latency *runs[10];

	for (size_t n = 2; n <= 5; n += 3)
		for (size_t lossy = n - 1; lossy <= n; lossy++) {
			for (size_t i = 0; i < 2 * n; i++)
				runs[i] = lose(draw(all_equal, 1, 1000, 1, 0), i >= 2 * n - lossy ? 100 : 0);
			struct tl_latency_comparison out = compare_runs(runs, n, n, none);
			CU_ASSERT_EQUAL(out.quantiles[2].row.verdict,
				n == 5 && lossy == 5 ? TL_LATENCY_SLOWER : TL_LATENCY_SAME);
			CU_ASSERT_EQUAL(out.quantiles[0].row.verdict, TL_LATENCY_SAME);
		}
}

TL_TEST("each side has one run, or each has at least two")
{
	struct tl_latency *runs[] = {tl_latency_create(), tl_latency_create(), tl_latency_create()};
	const struct tl_latency_side one = {runs, 1}, two = {runs + 1, 2};
	struct tl_latency_comparison out;

	CU_ASSERT_EQUAL(tl_latency_compare(&one, &two, &none, 0.05, &out), -22);
	CU_ASSERT_EQUAL(tl_latency_compare(&two, &one, &none, 0.05, &out), -22);
	for (size_t i = 0; i < 3; i++)
		tl_latency_destroy(runs[i]);
}

TL_TEST("a saved report compares identically to the measured one")
{
	struct tl_latency *a = draw(echo_like, 1, SAMPLES, 1, 0), *b = draw(heavy_tail, 2, SAMPLES, 1, 0), *read[2];
	struct tl_err err;

	for (size_t i = 0; i < 2; i++) {
		json_t *json = tl_latency_json(i == 0 ? a : b);
		CU_ASSERT_EQUAL_FATAL(tl_latency_from_json(json, &read[i], &err), 0);
		json_decref(json);
	}
	struct tl_latency_comparison measured = compare(a, b, none), saved = compare_runs(read, 1, 1, none);
	CU_ASSERT(saved.ordered && saved.counted);
	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++) {
		CU_ASSERT_EQUAL(measured.quantiles[i].row.diff.low_ns, saved.quantiles[i].row.diff.low_ns);
		CU_ASSERT_EQUAL(measured.quantiles[i].row.b_effective, saved.quantiles[i].row.b_effective);
	}
	CU_ASSERT_EQUAL(measured.mean.diff.high_ns, saved.mean.diff.high_ns);
}

TL_TEST("a threshold is in ns, us, ms or percent")
{
	static const struct {
		const char *text;
		double value;
		bool percent;
	} good[] = {{"0", 0, false}, {"50", 50, false}, {"50ns", 50, false}, {"1.5us", 1500, false},
		{"2ms", 2e6, false}, {"5%", 5, true}, {"0.5%", 0.5, true}};
	static const char *const bad[] = {"", "-1", "5 %", "ns", "1s", "nan", "inf", "1e400", "5%%", " 5"};
	struct tl_latency_threshold out;

	for (size_t i = 0; i < TL_ARRAY_LEN(good); i++) {
		CU_ASSERT_EQUAL(tl_latency_parse_threshold(good[i].text, &out), 0);
		CU_ASSERT_DOUBLE_EQUAL(out.value, good[i].value, 1e-9);
		CU_ASSERT_EQUAL(out.percent, good[i].percent);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		CU_ASSERT_EQUAL(tl_latency_parse_threshold(bad[i], &out), -22);
}

TL_TEST("quantiles of Student's t agree with published tables")
{
	static const double known[][3] = {{0.05, 1, 12.706}, {0.05, 2, 4.303}, {0.05, 5, 2.571}, {0.05, 24, 2.064},
		{0.05, 1e6, 1.960}, {0.01, 1, 63.657}, {0.01, 4, 4.604}, {0.01, 60, 2.660}, {0.01, 1e6, 2.576}};

	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++)
		CU_ASSERT_DOUBLE_EQUAL(tl_latency_student(known[i][0], known[i][1]), known[i][2], 6e-4 * known[i][2]);
}

static struct tl_latency *like_a(void)
{
	struct tl_latency *report = draw(all_equal, 1, 100, 1, 0);

	strcpy(report->method, "two-port");
	tl_latency_set_sources(report, "nic-rx", 8, "nic-rx", 8);
	report->window_ns = 1000000;
	tl_latency_add_fact(report, "payload_bytes", "16");
	tl_latency_add_fact(report, "asked_pps", "1000");
	return report;
}

// Expect b to be rejected beside a report of like_a(), with both words in the message.
static void expect_refused(struct tl_latency *b, const char *word, const char *other)
{
	struct tl_latency *a = like_a();
	struct tl_err err = {""};

	CU_ASSERT_EQUAL(tl_latency_alike(a, "a.json", b, "b.json", &err), -22);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, word));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, other));
	tl_latency_destroy(a);
	tl_latency_destroy(b);
}

TL_TEST("invalid results and results of other parameters are refused")
{
	struct tl_latency *a = like_a(), *b = like_a();
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_latency_alike(a, "a", b, "b", &err), 0);
	strcpy(b->facts[0].value, "");
	CU_ASSERT_EQUAL(tl_latency_alike(a, "a", b, "b", &err), 0); // the report lacks the field
	tl_latency_add_invalid(&b->invalid, "the sender was late");
	CU_ASSERT_EQUAL(tl_latency_usable(a, &err), 0);
	CU_ASSERT_EQUAL(tl_latency_usable(b, &err), -22);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the sender was late"));
	tl_latency_destroy(a);
	tl_latency_destroy(b);

	b = like_a();
	b->subtracted_ns = 300;
	expect_refused(b, "subtracted_ns is 0 in a.json and 300 in b.json", "");
	b = like_a();
	tl_latency_set_sources(b, "nic-rx", 8, "kernel", 8);
	expect_refused(b, "reply_source is nic-rx", "kernel");
	b = like_a();
	tl_latency_set_sources(b, "kernel", 8, "nic-rx", 8);
	expect_refused(b, "trigger_source is nic-rx", "kernel");
	b = like_a();
	b->window_ns = 1000;
	expect_refused(b, "window_ns is 1000000 in a.json", "1000 in b.json");
	b = like_a();
	strcpy(b->method, "software");
	expect_refused(b, "method is two-port", "software");
	b = like_a();
	strcpy(b->facts[0].value, "64");
	expect_refused(b, "payload_bytes is 16", "64 in b.json");
	b = like_a();
	strcpy(b->facts[1].value, "2000");
	expect_refused(b, "asked_pps is 1000", "2000");
	b = like_a();
	tl_latency_add_point(b, &(struct tl_latency_point){.axis = TL_LATENCY_RATE_PPS, .at = 5000});
	expect_refused(b, "sweep is none", "5000 pps");
	b = like_a();
	b->order.last_ns = 200000;
	expect_refused(b, "measured rate", "1e+06 in a.json and 495000 in b.json");
}

int main(void)
{
	return tl_test_run("latency_compare");
}
