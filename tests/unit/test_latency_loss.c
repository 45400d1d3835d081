// SPDX-License-Identifier: BSD-3-Clause
// Validity of quantiles: triggers without a reply, few samples, samples that were not kept, two clocks.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tl_latency.h>
#include <tl_latency_drift.h>
#include <tl_random.h>
#include <tl_test.h>

static struct tl_latency *report_of(uint64_t samples, uint64_t unanswered)
{
	struct tl_latency *report = tl_latency_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(report);
	for (uint64_t i = 1; i <= samples; i++)
		CU_ASSERT_EQUAL(tl_latency_add(report, &(struct tl_latency_sample){i, 100 * i, i}), 0);
	report->unmatched_triggers = unanswered;
	report->window_ns = 1000000;
	return report;
}

static char *text_of(const struct tl_latency *report)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(tl_latency_text(report, out), 0);
	fclose(out);
	return text;
}

static void check_text(const struct tl_latency *report, const char *has)
{
	char *text = text_of(report);

	CU_ASSERT_PTR_NOT_NULL(strstr(text, has));
	free(text);
}

// ---- triggers without a reply

// 990 samples and 10 losses: rank 990 of 1000 is the last sample, rank 999 has none.
TL_TEST("triggers without a reply rank above every sample")
{
	struct tl_latency *report = report_of(990, 10);
	struct tl_latency_level levels[TL_LATENCY_LEVELS];

	for (int exact = 1; exact >= 0; exact--) {
		report->n_samples = exact != 0 ? 990 : 0;
		tl_latency_levels(report, levels);
		CU_ASSERT_EQUAL(levels[0].ns, exact != 0 ? 49500 : tl_hist_upper_ns(tl_hist_index(49500)));
		CU_ASSERT_EQUAL(levels[0].with_loss_ns, exact != 0 ? 50000 : tl_hist_upper_ns(tl_hist_index(50000)));
		CU_ASSERT_EQUAL(levels[2].with_loss_ns, 99000);
		CU_ASSERT_EQUAL(levels[3].ns, 99000);
		CU_ASSERT_EQUAL(levels[3].with_loss_ns, TL_LATENCY_NEVER);
	}
	report->unmatched_triggers = 11;
	tl_latency_levels(report, levels);
	CU_ASSERT_EQUAL(levels[2].with_loss_ns, TL_LATENCY_NEVER);
	tl_latency_destroy(report);
}

TL_TEST("a quantile among lost triggers is null and reported as above the window")
{
	struct tl_latency *report = report_of(990, 10), *again = NULL;
	struct tl_err err = {0};
	json_t *json = tl_latency_json(report), *quantiles = json_object_get(json, "quantiles");
	json_t *p50 = json_object_get(quantiles, "p50"), *p999 = json_object_get(quantiles, "p999");

	CU_ASSERT_EQUAL(json_integer_value(json_object_get(p50, "ns")), 49500);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(p50, "with_loss_ns")), 50000);
	CU_ASSERT(json_is_false(json_object_get(p50, "above_window")));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(p999, "ns")), 99000);
	CU_ASSERT(json_is_null(json_object_get(p999, "with_loss_ns")));
	CU_ASSERT(json_is_true(json_object_get(p999, "above_window")));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "triggers")), 1000);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "answered")), 990);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "unanswered")), 10);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "window_ns")), 1000000);
	check_text(report, "> window");
	check_text(report, "window: 1.000 ms");
	CU_ASSERT_EQUAL_FATAL(tl_latency_from_json(json, &again, &err), 0);
	CU_ASSERT_EQUAL(again->window_ns, 1000000);
	tl_latency_destroy(again);
	json_object_set_new(json, "triggers", json_integer(999));
	CU_ASSERT_EQUAL(tl_latency_from_json(json, &again, &err), -22);
	json_decref(json);
	tl_latency_destroy(report);
}

TL_TEST("without replies there are no quantiles")
{
	struct tl_latency *report = report_of(0, 3);
	json_t *json = tl_latency_json(report);
	const json_t *p50 = json_object_get(json_object_get(json, "quantiles"), "p50");

	CU_ASSERT(json_is_null(json_object_get(p50, "ns")));
	CU_ASSERT(json_is_null(json_object_get(p50, "with_loss_ns")));
	CU_ASSERT(json_is_true(json_object_get(p50, "above_window")));
	json_decref(json);
	tl_latency_destroy(report);
}

TL_TEST("a loss above the limit invalidates a result and is stated")
{
	static const struct {
		uint64_t answered, unanswered;
		double max_loss;
		size_t reasons;
	} cases[] = {{999, 1, 0.001, 0}, {998, 2, 0.001, 1}, {100, 100, 0.001, 1}, {100, 100, 0.5, 0},
		{99, 101, 0.5, 1}, {1000, 0, 0, 0}, {999, 1, 0, 1}, {0, 5, 1, 0}, {0, 0, 0.001, 0}, {97, 3, 0.03, 0}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct tl_latency *report = report_of(cases[i].answered, cases[i].unanswered);
		tl_latency_check_loss(report, cases[i].max_loss);
		CU_ASSERT_EQUAL(report->invalid.n, cases[i].reasons);
		CU_ASSERT_EQUAL(report->max_loss, cases[i].max_loss);
		tl_latency_destroy(report);
	}
	struct tl_latency *report = report_of(998, 2);
	tl_latency_check_loss(report, 0.001);
	CU_ASSERT_PTR_NOT_NULL(strstr(report->invalid.text[0], "2 of 1000 triggers have no reply within 1.000 ms"));
	CU_ASSERT_PTR_NOT_NULL(strstr(report->invalid.text[0], "more than 0.1 %"));
	tl_latency_destroy(report);
}

TL_TEST("a share is a fraction or percent, from 0 to 1")
{
	static const char *const bad[] = {"", "x", "-0.1", "1.1", "101%", "5 %", "0.1%%", "nan", "inf", "0x1p-3z"};
	double share = -1;

	CU_ASSERT(tl_latency_parse_share("0.001", &share) == 0 && share == 0.001);
	CU_ASSERT(tl_latency_parse_share(TL_LATENCY_MAX_LOSS_TEXT, &share) == 0 &&
		  fabs(share - TL_LATENCY_MAX_LOSS) < 1e-15);
	CU_ASSERT(tl_latency_parse_share("100%", &share) == 0 && share == 1);
	CU_ASSERT(tl_latency_parse_share("0", &share) == 0 && share == 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		CU_ASSERT_EQUAL(tl_latency_parse_share(bad[i], &share), -22);
}

// ---- few samples, and discarded ones

TL_TEST("a quantile with fewer than 10 samples above it is marked")
{
	static const struct {
		uint64_t samples;
		bool few[TL_LATENCY_LEVELS];
	} cases[] = {{0, {false}}, {10, {true, true, true, true}}, {20, {false, true, true, true}},
		{99, {false, true, true, true}}, {100, {false, false, true, true}}, {999, {false, false, true, true}},
		{1000, {false, false, false, true}}, {9999, {false, false, false, true}}, {10000, {false}}};

	static const char *const names[] = {"p50", "p90", "p99", "p99.9"};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct tl_latency *report = report_of(cases[i].samples, 0);
		struct tl_latency_level levels[TL_LATENCY_LEVELS];
		tl_latency_levels(report, levels);
		size_t first = TL_LATENCY_LEVELS;
		for (size_t k = TL_LATENCY_LEVELS; k-- > 0;) {
			CU_ASSERT_EQUAL(levels[k].few, cases[i].few[k]);
			first = cases[i].few[k] ? k : first;
		}
		const char *from = tl_latency_few_from(cases[i].samples);
		CU_ASSERT(from == NULL ? first == TL_LATENCY_LEVELS : strcmp(from, names[first]) == 0);
		tl_latency_destroy(report);
	}
	struct tl_latency *report = report_of(10, 0);
	check_text(report, "few: fewer than 10 samples");
	tl_hist_record_n(&tl_latency_stage(report, "a stage")->hist, 700, 700);
	check_text(report, "  few from p99\n");
	tl_latency_destroy(report);
}

TL_TEST("a quantile possibly caused by the client is marked")
{
	struct tl_latency *report = report_of(20000, 0), *again = NULL;
	struct tl_err err = {0};

	report->late[3] = true;
	json_t *json = tl_latency_json(report), *quantiles = json_object_get(json, "quantiles");
	CU_ASSERT(json_is_true(json_object_get(json_object_get(quantiles, "p999"), "late")));
	CU_ASSERT(json_is_false(json_object_get(json_object_get(quantiles, "p99"), "late")));
	check_text(report, "late: the measuring program was late");
	CU_ASSERT_EQUAL_FATAL(tl_latency_from_json(json, &again, &err), 0);
	CU_ASSERT(again->late[3] && !again->late[2]);
	json_decref(json);
	tl_latency_destroy(report);
	tl_latency_destroy(again);
}

static const char *kept_in_json(const struct tl_latency *report)
{
	static char kept[16];
	json_t *json = tl_latency_json(report);

	snprintf(kept, sizeof(kept), "%s", json_string_value(json_object_get(json_object_get(json, "series"), "kept")));
	json_decref(json);
	return kept;
}

TL_TEST("a report with some samples dropped states which were kept")
{
	struct tl_latency *report = report_of(100, 0);

	CU_ASSERT_STRING_EQUAL(kept_in_json(report), "all");
	report->samples_are_last = true;
	CU_ASSERT_STRING_EQUAL(kept_in_json(report), "all");
	report->n_samples = 40;
	CU_ASSERT_STRING_EQUAL(kept_in_json(report), "last");
	check_text(report, "samples kept: the last 40 of 100");
	report->samples_are_last = false;
	CU_ASSERT_STRING_EQUAL(kept_in_json(report), "first");
	check_text(report, "samples kept: the first 40 of 100");
	report->n_samples = 0;
	CU_ASSERT_STRING_EQUAL(kept_in_json(report), "none");
	tl_latency_destroy(report);
}

// ---- clocks

#define PAIRS 10000
#define PERIOD_NS 1000000 // between triggers: 10 s in all
#define FLOOR_NS 5000

struct clocks {
	double ppm;	 // rate difference of the second clock
	int64_t off_ns;	 // offset of the second clock
	int64_t step_ns; // one step
	double step_at;	 // position of the step, as a share of the run
	double noise_ns; // of the latency, exponential
	uint64_t unit_ns;
};

static struct tl_latency_sample samples[PAIRS];

static struct tl_latency_drift see(const struct clocks *clocks, size_t n, uint64_t bounds_ns, uint64_t seed)
{
	struct tl_latency_drift drift;

	for (size_t i = 0; i < n; i++) {
		double t = (double)i * PERIOD_NS;
		double uniform = ((double)(tl_random_next(&seed) >> 11) + 0.5) * 0x1p-53;
		double latency = FLOOR_NS - clocks->noise_ns * log(uniform) + clocks->ppm * 1e-6 * t +
				 (double)clocks->off_ns +
				 ((double)i >= clocks->step_at * (double)n ? (double)clocks->step_ns : 0);
		uint64_t unit = clocks->unit_ns != 0 ? clocks->unit_ns : 1;
		samples[i] = (struct tl_latency_sample){
			.time_ns = (uint64_t)t, .latency_ns = (uint64_t)latency / unit * unit};
	}
	tl_latency_drift(samples, n, bounds_ns, &drift);
	return drift;
}

TL_TEST("a common clock is detected for any latency noise")
{
	unsigned flat = 0;

	for (uint64_t seed = 1; seed <= 300; seed++)
		flat += see(&(struct clocks){.noise_ns = 3000}, PAIRS, 2, seed).verdict == TL_LATENCY_DRIFT_FLAT;
	CU_ASSERT(flat >= 297);
	CU_ASSERT_EQUAL(see(&(struct clocks){.noise_ns = 3000, .unit_ns = 1000}, PAIRS, 2000, 1).verdict,
		TL_LATENCY_DRIFT_FLAT);
	CU_ASSERT_EQUAL(see(&(struct clocks){0}, PAIRS, 2, 1).verdict, TL_LATENCY_DRIFT_FLAT);
}

TL_TEST("a drift of 0.1 ppm between two clocks is detected in 10 s")
{
	static const double ppms[] = {-50, -1, -0.4, 0.1, 1, 20, 300};

	for (size_t i = 0; i < TL_ARRAY_LEN(ppms); i++)
		for (uint64_t seed = 1; seed <= 20; seed++)
			CU_ASSERT_EQUAL(see(&(struct clocks){.ppm = ppms[i], .off_ns = 1000000, .noise_ns = 3000},
						PAIRS, 2, seed)
						.verdict,
				TL_LATENCY_DRIFT_MOVES);
}

// Steps between the halves of a window are detected, too, but none within the first or last 16th of the run.
TL_TEST("a clock step is detected except in the first and last sixteenth")
{
	for (int64_t step_ns = -4000; step_ns <= 4000; step_ns += 8000)
		for (double at = 1.0 / 16; at <= 15.0 / 16; at += 1.0 / 64)
			CU_ASSERT_EQUAL(
				see(&(struct clocks){.step_ns = step_ns, .step_at = at, .noise_ns = 3000}, PAIRS, 2, 7)
					.verdict,
				TL_LATENCY_DRIFT_MOVES);
}

TL_TEST("a constant offset between clocks counts as latency")
{
	const struct clocks ahead = {.off_ns = 700000, .noise_ns = 3000};

	CU_ASSERT_EQUAL(see(&ahead, PAIRS, 2, 3).verdict, TL_LATENCY_DRIFT_FLAT);
}

// 600 pairs are 0.6 s; the minimum of each window is then accurate to about 100 ns.
TL_TEST("too few pairs or too short a run give no clock verdict")
{
	CU_ASSERT_EQUAL(see(&(struct clocks){.noise_ns = 3000}, 511, 2, 1).verdict, TL_LATENCY_DRIFT_UNKNOWN);
	CU_ASSERT_EQUAL(see(&(struct clocks){.noise_ns = 30000}, 600, 2, 1).verdict, TL_LATENCY_DRIFT_UNKNOWN);
	CU_ASSERT_EQUAL(see(&(struct clocks){.noise_ns = 30}, 600, 2, 1).verdict, TL_LATENCY_DRIFT_FLAT);
	CU_ASSERT_EQUAL(see(&(struct clocks){.noise_ns = 30}, 600, 2000000, 1).verdict, TL_LATENCY_DRIFT_UNKNOWN);
	memset(samples, 0, sizeof(samples)); // without times
	struct tl_latency_drift drift;
	tl_latency_drift(samples, PAIRS, 2, &drift);
	CU_ASSERT_EQUAL(drift.verdict, TL_LATENCY_DRIFT_UNKNOWN);
}

int main(void)
{
	return tl_test_run("latency_loss");
}
