// SPDX-License-Identifier: BSD-3-Clause
// Intervals of quantiles, autocorrelation, drift and residuals, for series with known values.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tl_latency_dependence.h>
#include <tl_random.h>
#include <tl_test.h>

// Return a value between 0 and 1.
static double uniform(uint64_t *state)
{
	return (double)(tl_random_next(state) >> 11) / 0x1p53;
}

static double normal(uint64_t *state)
{
	return sqrt(-2 * log(1 - uniform(state))) * cos(2 * M_PI * uniform(state));
}

static void add(struct tl_latency *report, uint64_t number, double latency_ns)
{
	struct tl_latency_sample sample = {
		.time_ns = 1000 * number, .latency_ns = (uint64_t)latency_ns, .packet_id = number};

	CU_ASSERT_EQUAL(tl_latency_add(report, &sample), 0);
}

// Return a value from the uniform distribution from 1000 to 2000 ns: p50 is 1500, p90 1900.
static struct tl_latency *independent(uint64_t seed, uint64_t n)
{
	struct tl_latency *report = tl_latency_create();

	for (uint64_t i = 0; i < n; i++)
		add(report, i, 1000 + 1000 * uniform(&seed));
	return report;
}

// AR(1): each value is a times the previous one plus noise; the median is 1000000 ns.
static struct tl_latency *dependent(uint64_t seed, uint64_t n, double a)
{
	struct tl_latency *report = tl_latency_create();
	double x = normal(&seed);

	for (uint64_t i = 0; i < n; i++) {
		x = a * x + sqrt(1 - a * a) * normal(&seed);
		add(report, i, 1e6 * exp(x / 2));
	}
	return report;
}

// ---- autocorrelation

TL_TEST("independent samples have no autocorrelation")
{
	struct tl_latency *report = independent(1, 20000);
	struct tl_latency_dependence out;

	tl_latency_depend(report, &out);
	CU_ASSERT_EQUAL(out.n_lags, 12); // up to a quarter of the samples
	CU_ASSERT_EQUAL(out.lags[11].samples, 5000);
	CU_ASSERT_DOUBLE_EQUAL(out.chance, 1.96 / sqrt(20000), 1e-12);
	for (size_t i = 0; i < out.n_lags; i++)
		CU_ASSERT(fabs(out.lags[i].r) < 2 * out.chance);
	tl_latency_destroy(report);
}

// The signs of two normal values with correlation a have the correlation 2 / pi * asin(a).
TL_TEST("dependent samples have the autocorrelation of their model")
{
	struct tl_latency *report = dependent(2, 50000, 0.9);
	struct tl_latency_dependence out;

	tl_latency_depend(report, &out);
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_DOUBLE_EQUAL(out.lags[i].r, M_2_PI * asin(pow(0.9, (double)out.lags[i].samples)), 0.03);
	CU_ASSERT(fabs(out.lags[9].r) < 0.1); // 1000 samples later
	tl_latency_destroy(report);
}

TL_TEST("alternating samples have autocorrelations of -1 and 1")
{
	struct tl_latency *report = tl_latency_create();
	struct tl_latency_dependence out;

	for (uint64_t i = 0; i < 1000; i++)
		add(report, i, i % 2 == 0 ? 500 : 700);
	tl_latency_depend(report, &out);
	CU_ASSERT_DOUBLE_EQUAL(out.lags[0].r, -1, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(out.lags[1].r, 1, 0.01);
	tl_latency_destroy(report);
}

TL_TEST("lags count all samples, including those not kept")
{
	struct tl_latency *report = independent(3, 1000);
	struct tl_latency_dependence out;

	report->order.stride = 8; // as if one of eight samples had been kept
	tl_latency_depend(report, &out);
	CU_ASSERT_EQUAL(out.lags[0].samples, 8);
	CU_ASSERT_EQUAL(out.lags[1].samples, 16);
	tl_latency_destroy(report);
}

TL_TEST("too few samples, or equal ones, give no interval")
{
	struct tl_latency *few = independent(4, 3), *equal = tl_latency_create();
	struct tl_latency_dependence out;

	for (uint64_t i = 0; i < 1000; i++)
		add(equal, i, 800);
	tl_latency_depend(few, &out);
	CU_ASSERT(out.n_lags == 0 && out.n_stretches == 0 && !out.settled);
	tl_latency_depend(equal, &out);
	CU_ASSERT(out.n_lags == 0 && out.n_stretches == TL_LATENCY_STRETCHES && out.settled);
	tl_latency_destroy(few);
	few = independent(4, 4);
	tl_latency_depend(few, &out);
	CU_ASSERT_EQUAL(out.n_lags, 1);
	tl_latency_destroy(few);
	tl_latency_destroy(equal);
}

// ---- drift

// Make samples with this drift per sample, plus uniform noise.
static struct tl_latency *drifting(uint64_t seed, uint64_t n, double each_ns, double chance_ns)
{
	struct tl_latency *report = tl_latency_create();

	for (uint64_t i = 0; i < n; i++)
		add(report, i, 1000 + each_ns * (double)i + chance_ns * uniform(&seed));
	return report;
}

TL_TEST("a drift is detected by the medians of segments, and the run is marked as unsettled")
{
	struct tl_latency *report = drifting(5, 1600, 1, 400);
	struct tl_latency_dependence out;

	tl_latency_depend(report, &out);
	CU_ASSERT_EQUAL(out.n_stretches, 16);
	for (size_t i = 0; i < out.n_stretches; i++)
		CU_ASSERT_DOUBLE_EQUAL((double)out.p50_ns[i], 1250 + 100 * (double)i, 70);
	CU_ASSERT_FALSE(out.settled);
	tl_latency_destroy(report);
	report = independent(5, 1600);
	tl_latency_depend(report, &out);
	CU_ASSERT_TRUE(out.settled);
	tl_latency_destroy(report);
	report = independent(5, 159);
	tl_latency_depend(report, &out);
	CU_ASSERT_EQUAL(out.n_stretches, 0);
	tl_latency_destroy(report);
}

// ---- intervals

TL_TEST("intervals cover the quantile in 95 % of runs")
{
	static const uint64_t truth_ns[] = {1500, 1900};
	unsigned held[2] = {0};

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct tl_latency *report = independent(seed * 7919, 1500);
		struct tl_latency_level levels[TL_LATENCY_LEVELS];
		tl_latency_levels(report, levels);
		for (size_t i = 0; i < 2; i++)
			held[i] += levels[i].low_ns <= truth_ns[i] && truth_ns[i] <= levels[i].high_ns &&
				   levels[i].high_ns != TL_LATENCY_UNBOUNDED;
		tl_latency_destroy(report);
	}
	for (size_t i = 0; i < 2; i++) // 380 are expected; the probability of fewer than 360 or more than 395 is 1e-6
		CU_ASSERT(held[i] >= 360 && held[i] <= 395);
}

TL_TEST("dependent samples reduce the effective sample size")
{
	struct tl_latency *report = dependent(6, 20000, 0.95);
	struct tl_latency_level levels[TL_LATENCY_LEVELS];

	tl_latency_levels(report, levels);
	CU_ASSERT(levels[0].effective > 200 && levels[0].effective < 3000);
	CU_ASSERT(levels[0].low_ns < levels[0].ns && levels[0].ns < levels[0].high_ns);
	CU_ASSERT(levels[0].high_ns - levels[0].low_ns > 20000); // 18000 for independent ones
	tl_latency_destroy(report);
}

static void no_interval(const struct tl_latency_level *level)
{
	CU_ASSERT_EQUAL(level->low_ns, TL_LATENCY_UNBOUNDED);
	CU_ASSERT_EQUAL(level->high_ns, TL_LATENCY_UNBOUNDED);
}

TL_TEST("an unbounded quantile has no interval")
{
	struct tl_latency *report = independent(7, 1000), *drifts = drifting(7, 2000, 0.2, 1000);
	struct tl_latency_level levels[TL_LATENCY_LEVELS];

	tl_latency_levels(report, levels);
	CU_ASSERT(levels[0].low_ns < levels[0].high_ns && levels[0].high_ns != TL_LATENCY_UNBOUNDED);
	no_interval(&levels[3]); // one sample above p99.9
	tl_latency_levels_of(&report->latency, 0, NULL, levels);
	no_interval(&levels[0]); // a histogram has no order
	CU_ASSERT_EQUAL(levels[0].effective, 0);
	tl_latency_levels(drifts, levels);
	no_interval(&levels[0]); // the run does not settle
	tl_latency_destroy(report);
	tl_latency_destroy(drifts);
}

// ---- residuals

static json_int_t at(const json_t *row, size_t i)
{
	return json_integer_value(json_array_get(row, i));
}

// Make blocks of 100 samples: 99 around the median, and one far below or above in some.
TL_TEST("residuals keep every extreme in a bounded number of points")
{
	struct tl_latency *report = tl_latency_create();
	size_t i, least = 0, most = 0;
	json_t *row;

	for (uint64_t n = 1; n <= 100000; n++)
		add(report, n, n == 12345 ? 7 : n == 54321 ? 900000 : (double)(1000 + n % 3));
	json_t *json = tl_latency_json(report);
	json_t *residuals = json_object_get(json_object_get(json, "series"), "residuals");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(residuals, "against_ns")), 1001);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(residuals, "points")), 1000);
	json_array_foreach (json_object_get(residuals, "points"), i, row) {
		CU_ASSERT_EQUAL(at(row, 0), 1 + 100 * (json_int_t)i);
		CU_ASSERT_EQUAL(at(row, 1), 0);
		least += at(row, 2) == 12345 && at(row, 3) == 7 - 1001;
		most += at(row, 4) == 54321 && at(row, 5) == 900000 - 1001;
	}
	CU_ASSERT(least == 1 && most == 1);
	json_decref(json);
	tl_latency_destroy(report);
}

// ---- output

TL_TEST("text and JSON show intervals, autocorrelation and drift")
{
	static const char *const parts[] = {"with 95 % confidence from", "effective samples",
		"autocorrelation: ", " samples; by chance within 0.044", "drift: p50 of 16 stretches from "};
	struct tl_latency *report = independent(8, 2000);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(tl_latency_text(report, out), 0);
	fclose(out);
	for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, parts[i]));
	free(text);
	json_t *json = tl_latency_json(report), *series = json_object_get(json, "series");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json_object_get(series, "drift"), "p50_ns")), 16);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json_object_get(series, "autocorrelation"), "lags")), 9);
	CU_ASSERT(
		json_is_integer(json_object_get(json_object_get(json_object_get(json, "quantiles"), "p50"), "low_ns")));
	json_decref(json);
	tl_latency_destroy(report);
}

int main(void)
{
	return tl_test_run("latency_dependence");
}
