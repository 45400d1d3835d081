// SPDX-License-Identifier: BSD-3-Clause
// Comparing two reports: how often it is wrong about equal distributions, and what it finds in shifted ones. All random
// numbers come from seeds: the rates are the same on every run.

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

// How latencies look: a narrow body, and a tail that one in fifty belongs to.
static uint64_t echo_like(uint64_t *state)
{
	double body = 900 + 40 * (uniform(state) + uniform(state) + uniform(state));
	return (uint64_t)(tl_random_next(state) % 50 == 0 ? body / pow(uniform(state), 0.7) : body);
}

static uint64_t heavy_tail(uint64_t *state)
{
	return (uint64_t)(10000 / uniform(state));
}

static uint64_t steps_of_a_clock(uint64_t *state) // a NIC that counts in 8 ns: few values, many equal
{
	return echo_like(state) / 8 * 8;
}

static uint64_t all_equal(uint64_t *state)
{
	return 1000;
}

static struct tl_hist *draw(uint64_t (*one)(uint64_t *), uint64_t seed, size_t n, double factor, uint64_t shift_ns)
{
	struct tl_hist *hist = malloc(sizeof(*hist));

	tl_hist_init(hist);
	for (size_t i = 0; i < n; i++)
		tl_hist_record(hist, (uint64_t)((double)one(&seed) * factor) + shift_ns);
	return hist;
}

static struct tl_latency_comparison compare(struct tl_hist *a, struct tl_hist *b, struct tl_latency_threshold threshold)
{
	struct tl_latency_comparison out;

	CU_ASSERT_EQUAL(tl_latency_compare(a, b, &threshold, 1, &out), 0);
	free(a);
	free(b);
	return out;
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

// 95 % confidence leaves 5 of 100 pairs on average; 12 is three standard deviations above that.
static void equal_distributions_seldom_differ(void)
{
	static uint64_t (*const shapes[])(uint64_t *) = {echo_like, heavy_tail, steps_of_a_clock, all_equal};

	for (size_t i = 0; i < TL_ARRAY_LEN(shapes); i++) {
		unsigned large = differing_pairs(shapes[i], 10500), small = differing_pairs(shapes[i], 1100);
		CU_ASSERT(large <= 12);
		CU_ASSERT(small <= 12);
	}
}

static void a_shift_is_found(void)
{
	for (uint64_t pair = 0; pair < 20; pair++) {
		struct tl_latency_comparison out =
			compare(draw(echo_like, pair, SAMPLES, 1, 0), draw(echo_like, 100 + pair, SAMPLES, 1, 5), none);
		CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SLOWER);
		CU_ASSERT_EQUAL(out.quantiles[0].verdict, TL_LATENCY_SLOWER);
		CU_ASSERT(out.quantiles[0].diff.low_ns > 0 && out.quantiles[0].diff.low_ns <= 5);
		CU_ASSERT(out.quantiles[0].diff.high_ns >= 5 && out.quantiles[0].diff.high_ns < 10);
		CU_ASSERT(out.b_larger > 0.5 && out.p_value < 1e-6);
		out = compare(draw(echo_like, pair, SAMPLES, 1, 5), draw(echo_like, 100 + pair, SAMPLES, 1, 0), none);
		CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_FASTER);
		CU_ASSERT(out.b_larger < 0.5);
	}
}

// The body stays, the tail of one in fifty becomes five times as long: p50 and p90 cannot see it.
static uint64_t longer_tail(uint64_t *state)
{
	uint64_t value = echo_like(state);
	return value > 1100 ? value * 5 : value;
}

static void a_longer_tail_is_found_where_it_is(void)
{
	struct tl_latency_comparison out =
		compare(draw(echo_like, 1, SAMPLES, 1, 0), draw(longer_tail, 2, SAMPLES, 1, 0), none);

	CU_ASSERT_EQUAL(out.quantiles[0].verdict, TL_LATENCY_SAME);
	CU_ASSERT_EQUAL(out.quantiles[1].verdict, TL_LATENCY_SAME);
	CU_ASSERT_EQUAL(out.quantiles[2].verdict, TL_LATENCY_SLOWER);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_SLOWER);
}

static void a_difference_below_the_threshold_is_none(void)
{
	const struct tl_latency_threshold ns[] = {{49, false}, {51, false}}, percent[] = {{4.9, true}, {5.5, true}};

	for (int i = 0; i < 2; i++) {
		enum tl_latency_verdict expected = i == 0 ? TL_LATENCY_SLOWER : TL_LATENCY_SAME;
		struct tl_latency_comparison out =
			compare(draw(all_equal, 1, SAMPLES, 1, 0), draw(all_equal, 2, SAMPLES, 1, 50), ns[i]);
		CU_ASSERT_EQUAL(out.verdict, expected);
		CU_ASSERT_EQUAL(out.quantiles[3].diff.diff_ns, 50);
		CU_ASSERT_EQUAL(out.quantiles[3].diff.low_ns, 50);
		CU_ASSERT_EQUAL(out.quantiles[3].diff.high_ns, 50);
		out = compare(draw(all_equal, 1, SAMPLES, 1, 0), draw(all_equal, 2, SAMPLES, 1, 50), percent[i]);
		CU_ASSERT_EQUAL(out.verdict, expected);
		CU_ASSERT_DOUBLE_EQUAL(out.quantiles[0].threshold_ns, percent[i].value * 10, 1e-9);
		out = compare(draw(all_equal, 1, SAMPLES, 1, 50), draw(all_equal, 2, SAMPLES, 1, 0), ns[i]);
		CU_ASSERT_EQUAL(out.verdict, i == 0 ? TL_LATENCY_FASTER : TL_LATENCY_SAME);
	}
}

static void too_few_samples_are_said(void)
{
	static const uint64_t needed[] = {20, 100, 1000, 10000};

	for (size_t judged = 0; judged <= TL_LATENCY_QUANTILES; judged++) {
		size_t n = judged < TL_LATENCY_QUANTILES ? needed[judged] - 1 : needed[judged - 1];
		struct tl_latency_comparison out =
			compare(draw(echo_like, 1, n, 1, 0), draw(echo_like, 2, SAMPLES, 2, 0), none);
		for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++) {
			CU_ASSERT_EQUAL(out.quantiles[i].needed, needed[i]);
			CU_ASSERT_EQUAL(out.quantiles[i].verdict == TL_LATENCY_TOO_FEW, i >= judged);
		}
		CU_ASSERT_EQUAL(out.verdict, judged == 0 ? TL_LATENCY_TOO_FEW : TL_LATENCY_SLOWER);
		CU_ASSERT_EQUAL(out.a_count, n);
	}
	struct tl_latency_comparison out = compare(draw(echo_like, 1, 0, 1, 0), draw(echo_like, 2, 0, 1, 0), none);
	CU_ASSERT_EQUAL(out.verdict, TL_LATENCY_TOO_FEW);
	CU_ASSERT_EQUAL(out.p_value, 1);
}

static void the_same_call_gives_the_same_answer(void)
{
	struct tl_latency_comparison first =
		compare(draw(heavy_tail, 1, SAMPLES, 1, 0), draw(heavy_tail, 2, SAMPLES, 1, 0), none);
	struct tl_latency_comparison again =
		compare(draw(heavy_tail, 1, SAMPLES, 1, 0), draw(heavy_tail, 2, SAMPLES, 1, 0), none);

	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++) {
		CU_ASSERT_EQUAL(first.quantiles[i].diff.low_ns, again.quantiles[i].diff.low_ns);
		CU_ASSERT_EQUAL(first.quantiles[i].diff.high_ns, again.quantiles[i].diff.high_ns);
	}
}

// 1 2 3 against 2 3 4: of 9 pairs, B is larger in 6, equal in 2.
static void mann_whitney_counts_pairs(void)
{
	struct tl_hist *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));

	tl_hist_init(a);
	tl_hist_init(b);
	for (uint64_t i = 1; i <= 3; i++) {
		tl_hist_record(a, i);
		tl_hist_record(b, i + 1);
	}
	struct tl_latency_comparison out = compare(a, b, none);
	CU_ASSERT_DOUBLE_EQUAL(out.b_larger, 7.0 / 9, 1e-12);
	// U = 7 of 9, mean 4.5, variance 9 / 12 * (7 - (6 + 6) / 30) = 4.95: two-sided 0.2611
	CU_ASSERT_DOUBLE_EQUAL(out.p_value, 0.2611, 1e-4);
	out = compare(draw(all_equal, 1, 100, 1, 0), draw(all_equal, 2, 100, 1, 0), none);
	CU_ASSERT_DOUBLE_EQUAL(out.b_larger, 0.5, 1e-12);
	CU_ASSERT_EQUAL(out.p_value, 1);
}

static void thresholds_have_units(void)
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

static void what_was_measured_otherwise_is_refused(void)
{
	struct tl_latency *a = tl_latency_create(), *b = tl_latency_create();
	struct tl_err err;

	strcpy(a->method, "two-port");
	strcpy(b->method, "two-port");
	tl_latency_set_sources(a, "nic-rx", 8, "nic-rx", 8);
	tl_latency_set_sources(b, "nic-rx", 8, "nic-rx", 8);
	CU_ASSERT_EQUAL(tl_latency_comparable(a, b, &err), 0);
	b->subtracted_ns = 300;
	CU_ASSERT_EQUAL(tl_latency_comparable(a, b, &err), -22);
	b->subtracted_ns = 0;
	tl_latency_set_sources(b, "nic-rx", 8, "kernel", 8);
	CU_ASSERT_EQUAL(tl_latency_comparable(a, b, &err), -22);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "kernel"));
	tl_latency_set_sources(b, "nic-rx", 8, "nic-rx", 8);
	strcpy(b->method, "software");
	CU_ASSERT_EQUAL(tl_latency_comparable(a, b, &err), -22);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "software"));
	strcpy(b->method, "two-port");
	tl_latency_add_invalid(b, "the sender was late");
	CU_ASSERT_EQUAL(tl_latency_comparable(a, b, &err), -22);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the sender was late"));
	tl_latency_destroy(a);
	tl_latency_destroy(b);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"equal distributions are called different in 5 % of pairs or so, whatever their shape",
			equal_distributions_seldom_differ},
		{"a shift of 5 ns in a microsecond is found in 20,000 samples, in both directions", a_shift_is_found},
		{"a longer tail is found at p99, and not at p50 and p90", a_longer_tail_is_found_where_it_is},
		{"a difference below the threshold is none", a_difference_below_the_threshold_is_none},
		{"a quantile with fewer than 10 samples beyond it is not judged", too_few_samples_are_said},
		{"the same reports give the same intervals", the_same_call_gives_the_same_answer},
		{"Mann-Whitney counts pairs, equal ones half", mann_whitney_counts_pairs},
		{"a threshold is in ns, us, ms or percent", thresholds_have_units},
		{"results that are invalid or were measured otherwise are refused",
			what_was_measured_otherwise_is_refused},
	};
	return tl_test_main("latency_compare", tests, TL_ARRAY_LEN(tests));
}
