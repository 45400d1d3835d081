// SPDX-License-Identifier: BSD-3-Clause
// Latency report: contents, and agreement of its formats.

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_latency.h>
#include <tl_random.h>
#include <tl_test.h>

static struct tl_latency *new_report(void)
{
	struct tl_latency *report = tl_latency_create();

	strcpy(report->name, "a name");
	strcpy(report->method, "two-port");
	tl_latency_set_sources(report, "nic-rx", 8, "kernel", TL_LATENCY_UNBOUNDED);
	tl_latency_set_clocks(report, 7, "NIC", 1, "");
	return report;
}

static void add(struct tl_latency *report, uint64_t time_ns, uint64_t latency_ns, uint64_t packet_id)
{
	CU_ASSERT_EQUAL(tl_latency_add(report, &(struct tl_latency_sample){time_ns, latency_ns, packet_id}), 0);
}

// Add a clock comparison per second, with errors of 1, 2, 3 ... ns; every thousandth is a step above the bound.
static void add_clock(struct tl_latency *report, size_t n)
{
	struct tl_latency_clock_point *points = calloc(n + 1, sizeof(*points));

	for (size_t i = 0; i < n; i++)
		points[i] = (struct tl_latency_clock_point){.time_ns = 1795235116000000000 + i * TL_NS_PER_S,
			.offset_ns = i % 2 == 0 ? (int64_t)i : -(int64_t)i,
			.bound_ns = i % 3 == 0 ? 5000 : 50,
			.half_ns = 25,
			.rate_hz = 2.5e9,
			.stepped = i % 1000 == 500};
	CU_ASSERT_EQUAL(tl_latency_add_clock(report, "</script>.pcapng", "REALTIME", 7000, points, n), 0);
	free(points);
}

// Add an entry of each kind, and text that would end a script or break a tag.
static struct tl_latency *full_report(void)
{
	struct tl_latency *report = new_report();
	struct tl_latency_point point = {.axis = TL_LATENCY_PAYLOAD_BYTES, .latency = {10, 1, 2, 3, 4, 5, 6, 2.5}};
	struct tl_latency_cost cost = {
		.name = "ours", .latency = {10, 1, 2, 3, 4, 5, 6, 2.5}, .p50 = {20, 10, 30}, .p999 = {-5, -6.5, -3}};
	struct tl_latency_outlier outlier = {
		.sample = {5000, 900, 77}, .poll_gap_ns = 800, .interrupts = 1, .steal_ns = UINT64_MAX};

	strcpy(report->name, "</script><script>alert(1)</script> & <!-- \"");
	report->cold_wanted = 2;
	for (uint64_t i = 0; i < 1000; i++)
		add(report, 1795235116000000000 + i * 1000, 500 + i * i, i);
	tl_latency_add_pair(report, 20, 10, 1, false);
	report->unmatched_triggers = 1;
	report->unmatched_replies = 2;
	report->duplicates = 3;
	report->unstamped = 4;
	report->subtracted_ns = 5;
	tl_hist_record(&tl_latency_stage(report, "wire to poll")->hist, 300);
	tl_hist_record(&tl_latency_stage(report, "parsed")->hist, TL_HIST_MAX_NS + 1);
	for (point.at = 16; point.at <= 1024; point.at *= 4) {
		point.latency.p50_ns = 900 + point.at * 3 / 2;
		tl_latency_add_point(report, &point);
	}
	point.axis = TL_LATENCY_RATE_PPS;
	tl_latency_add_point(report, &point);
	tl_latency_add_cost(report, &cost);
	strcpy(outlier.note, "</script>");
	tl_latency_add_outlier(report, &outlier);
	tl_latency_add_fact(report, "kernel", "%s", "6.1.0");
	tl_latency_add_invalid(&report->invalid, "steal time %d %%", 3);
	add_clock(report, 3 * TL_LATENCY_CLOCK_POINTS);
	return report;
}

TL_TEST("every matched pair counts as cold, as recorded or as negative")
{
	struct tl_latency *report = new_report();

	report->cold_wanted = 3;
	for (uint64_t i = 1; i <= 10; i++)
		add(report, 1000 * i, 100 * i, i);
	CU_ASSERT_EQUAL(tl_latency_add_pair(report, 5000, 4999, 11, false), 0);
	CU_ASSERT_EQUAL(tl_latency_add_pair(report, 5000, 5000, 12, false), 0);
	CU_ASSERT_EQUAL(report->matched, 12);
	CU_ASSERT_EQUAL(report->cold_count, 3);
	CU_ASSERT_EQUAL(report->cold_ns[2], 300);
	CU_ASSERT_EQUAL(report->reply_first, 1);
	CU_ASSERT_EQUAL(report->latency.count, 8);
	CU_ASSERT_EQUAL(report->latency.min_ns, 0);
	CU_ASSERT_EQUAL(report->latency.max_ns, 1000);
	CU_ASSERT_EQUAL(report->n_samples, 8);
	CU_ASSERT_EQUAL(report->samples[0].packet_id, 4);
	tl_latency_destroy(report);
}

TL_TEST("samples beyond the configured number are kept in the histogram only")
{
	struct tl_latency *report = new_report();

	report->samples_max = 5;
	for (uint64_t i = 0; i < 10; i++)
		add(report, i, i, i);
	CU_ASSERT_EQUAL(report->n_samples, 5);
	CU_ASSERT_EQUAL(report->latency.count, 10);
	tl_latency_destroy(report);
}

// The first samples are the smallest: percentiles of them alone would be wrong.
TL_TEST("percentiles are exact only if every sample is kept")
{
	for (uint64_t kept = 4; kept <= 10; kept += 6) {
		struct tl_latency *report = new_report();
		struct tl_hist_summary summary, by_hist;
		report->samples_max = kept;
		for (uint64_t i = 1; i <= 10; i++)
			add(report, i, 1000001 * i, i);
		tl_hist_summarize(&report->latency, &by_hist);
		CU_ASSERT_EQUAL(tl_latency_summarize(report, &summary), kept == 10);
		CU_ASSERT_EQUAL(summary.count, 10);
		CU_ASSERT_EQUAL(summary.p50_ns, kept == 10 ? 5 * 1000001 : by_hist.p50_ns);
		CU_ASSERT_EQUAL(summary.p90_ns, kept == 10 ? 9 * 1000001 : by_hist.p90_ns);
		CU_ASSERT_EQUAL(summary.p999_ns, 10 * 1000001);
		tl_latency_destroy(report);
	}
}

TL_TEST("full lists keep the worst entries or invalidate the result")
{
	struct tl_latency *report = new_report();
	struct tl_latency_outlier outlier = {0};
	char name[32];

	for (unsigned i = 0; i < TL_LATENCY_STAGES; i++) {
		snprintf(name, sizeof(name), "stage %u", i);
		CU_ASSERT_PTR_NOT_NULL(tl_latency_stage(report, name));
	}
	CU_ASSERT_PTR_NULL(tl_latency_stage(report, "one more"));
	CU_ASSERT_PTR_EQUAL(tl_latency_stage(report, "stage 3"), report->stages[3]);
	for (uint64_t i = 0; i < TL_LATENCY_OUTLIERS + 10; i++) { // the smallest are evicted
		outlier.sample.latency_ns = 1000 + i;
		tl_latency_add_outlier(report, &outlier);
	}
	CU_ASSERT_EQUAL(report->n_outliers, TL_LATENCY_OUTLIERS);
	CU_ASSERT_EQUAL(report->outliers[0].sample.latency_ns, 1010);
	CU_ASSERT_EQUAL(report->invalid.n, 0);
	for (int i = 0; i <= TL_LATENCY_POINTS; i++)
		tl_latency_add_point(report, &(struct tl_latency_point){0});
	CU_ASSERT_EQUAL(report->n_points, TL_LATENCY_POINTS);
	CU_ASSERT_EQUAL(report->invalid.n, 1);
	tl_latency_destroy(report);
}

static json_int_t number(const json_t *json, const char *key)
{
	CU_ASSERT(json_is_integer(json_object_get(json, key)));
	return json_integer_value(json_object_get(json, key));
}

TL_TEST("the JSON has the counts, the percentiles and the fit")
{
	struct tl_latency *report = full_report();
	json_t *json = tl_latency_json(report), *latency = json_object_get(json, "latency_ns");

	CU_ASSERT_EQUAL(number(json, "matched"), 1001);
	CU_ASSERT_EQUAL(number(json, "unmatched_triggers"), 1);
	CU_ASSERT_EQUAL(number(json, "unmatched_replies"), 2);
	CU_ASSERT_EQUAL(number(latency, "count"), 998);
	CU_ASSERT_EQUAL(number(latency, "min"), 504);
	CU_ASSERT_EQUAL(number(latency, "max"), 500 + 999 * 999);
	CU_ASSERT_EQUAL(number(latency, "p50"), 500 + 500 * 500); // exact: all samples are kept
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json, "source")), "nic-rx to kernel");
	CU_ASSERT(json_is_false(json_object_get(json, "valid")));
	json_t *fit = json_object_get(json, "payload_fit");
	CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(fit, "ns_per_byte")), 1.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(fit, "p50_at_0_bytes_ns")), 900, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(fit, "r2")), 1, 1e-9);
	json_decref(json);
	tl_latency_destroy(report);
}

TL_TEST("a report is restored from its JSON, except for the samples")
{
	struct tl_latency *report = full_report(), *again = NULL;
	json_t *json, *json_again;
	struct tl_err err = {0};

	report->n_samples = 0; // are not in the JSON, and with them the percentiles would be exact
	json = tl_latency_json(report);
	CU_ASSERT_EQUAL_FATAL(tl_latency_from_json(json, &again, &err), 0);
	CU_ASSERT_EQUAL(memcmp(&report->latency, &again->latency, sizeof(report->latency)), 0);
	CU_ASSERT_EQUAL(again->stages[1]->hist.overflow, 1);
	CU_ASSERT_EQUAL(again->outliers[0].steal_ns, UINT64_MAX);
	json_again = tl_latency_json(again);
	json_object_set_new(json_object_get(json, "series"), "autocorrelation", json_null()); // depends on the order
	json_object_set_new(json_object_get(json, "series"), "drift", json_null());
	CU_ASSERT(json_equal(json, json_again));
	json_decref(json);
	json_decref(json_again);
	tl_latency_destroy(report);
	tl_latency_destroy(again);
}

TL_TEST("inconsistent JSON is refused with an error")
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"latency_ns\": {\"count\": 0}}",
		"{\"latency_ns\": {\"count\": 1}, \"histogram\": []}",
		"{\"latency_ns\": {\"count\": 2, \"min\": 5, \"max\": 5}, \"histogram\": [[5, 1]]}",
		"{\"latency_ns\": {\"count\": -1}, \"histogram\": []}",
		"{\"latency_ns\": {\"count\": \"1\"}, \"histogram\": [[5, 1]]}",
		"{\"latency_ns\": {\"count\": 1, \"min\": 6, \"max\": 5}, \"histogram\": [[5, 1]]}",
		"{\"latency_ns\": {\"count\": 1, \"overflow\": 2}, \"histogram\": [[5, 1]]}",
		"{\"latency_ns\": {\"count\": 1}, \"histogram\": [[5]]}",
		"{\"latency_ns\": {\"count\": 1}, \"histogram\": [5]}",
		"{\"latency_ns\": {\"count\": 1}, \"histogram\": [[-5, 1]]}",
		"{\"latency_ns\": {\"count\": 1}, \"histogram\": [[5, 9223372036854775807], [6, 9223372036854775807]]}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"matched\": -1}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"stages\": [{\"latency_ns\": {\"count\": 1}}]}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"cold_ns\": [\"x\"]}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"series\": {\"blocks\": [[1, 5, 1, 1, 1]]}}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"series\": {\"blocks\": [[1, 5, 1, 1, 1, 2]]}}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"series\": {\"blocks\": [[0, 0, 0, 0, 0, 0]]}}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"series\": {\"blocks\": [[1, -5, 1, 1, 1, 1]]}}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"series\": {\"blocks\": [[4194305, 5, 1, 1, 1, 1]]}}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"series\": {\"span_ns\": -1}}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"invalid\": [1]}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"outliers\": [{\"time_ns\": 1.5}]}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"sweep\": [{\"latency_ns\": {\"mean\": 1e64}}]}",
		"{\"latency_ns\": {\"count\": 0}, \"histogram\": [], \"sweep\": [{\"latency_ns\": {\"mean\": -0.5}}]}",
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++) {
		struct tl_latency *out = NULL;
		struct tl_err err = {0};
		json_t *json = json_loads(bad[i], 0, NULL);
		CU_ASSERT_PTR_NOT_NULL(json);
		CU_ASSERT_EQUAL(tl_latency_from_json(json, &out, &err), -22);
		CU_ASSERT(err.text[0] != '\0');
		json_decref(json);
	}
}

TL_TEST("the series of 100,000 samples has 2,000 points and every peak")
{
	struct tl_latency *report = new_report();
	size_t total = 0, peaks = 0, i;
	json_t *point;

	for (uint64_t n = 0; n < 100000; n++)
		add(report, 7000 + n, n % 20000 == 12345 ? 1000000 + n : 500 + n % 10, n);
	json_t *json = tl_latency_json(report), *series = json_object_get(json, "series");
	CU_ASSERT_EQUAL(number(series, "start_ns"), 7000);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(series, "points")), 2000);
	json_array_foreach (json_object_get(series, "points"), i, point) {
		json_int_t at = json_integer_value(json_array_get(point, 0));
		total += (size_t)json_integer_value(json_array_get(point, 3));
		CU_ASSERT(json_integer_value(json_array_get(point, 1)) == 500);
		if (json_integer_value(json_array_get(point, 2)) > 1000) {
			peaks++;
			CU_ASSERT_EQUAL(json_integer_value(json_array_get(point, 2)), 1000000 + at);
			CU_ASSERT_EQUAL(json_integer_value(json_array_get(point, 4)), at);
			CU_ASSERT_EQUAL(at % 20000, 12345);
		}
	}
	CU_ASSERT_EQUAL(total, 100000);
	CU_ASSERT_EQUAL(peaks, 5);
	json_decref(json);
	tl_latency_destroy(report);
}

// Slightly more than twice the samples that are kept: every fourth one remains, in order of arrival.
TL_TEST("the record of the sample order has bounded memory")
{
	struct tl_latency *report = new_report();
	struct tl_latency_blocks blocks;
	uint64_t kept = 0, beyond = 0, last = 0;

	report->samples_max = 0;
	for (uint64_t i = 0; i <= 2 * TL_LATENCY_ORDER_MAX; i++)
		tl_latency_add(report, &(struct tl_latency_sample){.time_ns = 5000 + i, .latency_ns = i >> 13});
	CU_ASSERT_EQUAL(report->order.stride, 4);
	CU_ASSERT_EQUAL(report->order.n, TL_LATENCY_ORDER_MAX / 2 + 1);
	CU_ASSERT(report->order.room <= TL_LATENCY_ORDER_MAX);
	CU_ASSERT_EQUAL(report->order.last_ns - report->order.first_ns, 2 * TL_LATENCY_ORDER_MAX);
	for (size_t i = 0; i < report->order.n; i++)
		CU_ASSERT_EQUAL(report->order.bucket[i], i * 4 >> 13);
	tl_latency_get_blocks(report, &blocks);
	CU_ASSERT_EQUAL(blocks.n, TL_LATENCY_BLOCKS);
	for (size_t i = 0; i < blocks.n; i++) {
		CU_ASSERT(blocks.at[i].sum_ns / blocks.at[i].n >= last);
		last = blocks.at[i].sum_ns / blocks.at[i].n;
		kept += blocks.at[i].n;
		beyond += blocks.at[i].n - blocks.at[i].at_most[2];
	}
	CU_ASSERT_EQUAL(kept, report->order.n);
	CU_ASSERT(beyond * 90 <= kept && beyond * 110 >= kept); // a thousand values: accurate to one of them
	tl_latency_destroy(report);
}

// 2000 samples, 1 ms apart, and 50 lost triggers between two of them, dated later and out of order.
TL_TEST("lost triggers are assigned to the block of their time and read back")
{
	struct tl_latency *report = new_report(), *again = NULL;
	struct tl_latency_blocks blocks, read;
	struct tl_err err = {0};

	for (uint64_t i = 0; i < 2000; i++) {
		add(report, 1000000 * (i + (i >= 600 ? 50 : 0)), 500, i);
		for (uint64_t k = 0; k < 50 && i == 605; k++)
			tl_latency_date_lost(report, 1000000 * (600 + k));
	}
	tl_latency_date_lost(report, 0);
	tl_latency_get_blocks(report, &blocks);
	CU_ASSERT_FALSE(blocks.dated); // not counted
	report->unmatched_triggers = 51;
	tl_latency_get_blocks(report, &blocks);
	CU_ASSERT(blocks.dated);
	CU_ASSERT_EQUAL(blocks.weight, 1);
	CU_ASSERT_EQUAL(blocks.at[0].lost, 1);
	CU_ASSERT_EQUAL(blocks.at[71].lost + blocks.at[72].lost, 50); // of 240 blocks: 600 of 2000 samples precede
	json_t *json = tl_latency_json(report);
	CU_ASSERT_EQUAL_FATAL(tl_latency_from_json(json, &again, &err), 0);
	tl_latency_get_blocks(again, &read);
	CU_ASSERT(read.dated);
	for (size_t i = 0; i < blocks.n; i++)
		CU_ASSERT_EQUAL(read.at[i].lost, blocks.at[i].lost);
	json_decref(json);
	tl_latency_destroy(again);
	tl_latency_destroy(report);
}

// 30 of 40 values are 1000: the level of p50 is below them, that of p90 at most the maximum.
TL_TEST("block levels lie between values")
{
	struct tl_latency *report = new_report();
	struct tl_latency_blocks blocks;

	for (uint64_t i = 0; i < 40; i++)
		add(report, i, i % 4 == 0 ? 500 : 1000, i);
	tl_latency_get_blocks(report, &blocks);
	CU_ASSERT_EQUAL(blocks.n, 40);
	for (size_t i = 0; i < blocks.n; i++) {
		CU_ASSERT_EQUAL(blocks.at[i].n, 1);
		for (size_t level = 0; level < TL_LATENCY_LEVELS; level++)
			CU_ASSERT_EQUAL(blocks.at[i].at_most[level], i % 4 == 0);
	}
	tl_latency_destroy(report);
}

static char *page_of(const json_t *json)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(tl_latency_html(json, out), 0);
	fclose(out);
	return text;
}

static unsigned occurrences(const char *text, const char *part)
{
	unsigned n = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		n++;
	}
	return n;
}

// Parse the output of --json.
static json_t *printed(const json_t *json)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(tl_latency_json_print(json, out), 0);
	fclose(out);
	json_t *again = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL(again);
	free(text);
	return again;
}

// Extract the page's JSON as a browser does: from the tag to the first "</script".
TL_TEST("the page embeds the printed JSON for any strings")
{
	static const char tag[] = "<script id=\"report\" type=\"application/json\">";
	struct tl_latency *reports[] = {full_report(), new_report()};

	for (size_t i = 0; i < TL_ARRAY_LEN(reports); i++) {
		json_t *json = tl_latency_json(reports[i]);
		char *page = page_of(json), *begin = strstr(page, tag);
		CU_ASSERT_PTR_NOT_NULL_FATAL(begin);
		begin += strlen(tag);
		json_t *in_page = json_loadb(begin, (size_t)(strstr(begin, "</script") - begin), 0, NULL);
		json_t *told = printed(json);
		CU_ASSERT(json_equal(told, in_page));
		json_decref(told);
		CU_ASSERT_EQUAL(occurrences(page, "<script"), 2);
		CU_ASSERT_EQUAL(occurrences(page, "</script>"), 2);
		CU_ASSERT_EQUAL(occurrences(page, "@REPORT@"), 0);
		json_decref(json);
		json_decref(in_page);
		free(page);
		tl_latency_destroy(reports[i]);
	}
}

TL_TEST("the page has no external references")
{
	static const char *const fetching[] = {
		"src=", "href", "@import", "url(", "fetch(", "https:", "import ", "<link"};
	struct tl_latency *report = new_report();
	json_t *json = tl_latency_json(report);
	char *page = page_of(json);

	for (size_t i = 0; i < TL_ARRAY_LEN(fetching); i++)
		CU_ASSERT_EQUAL(occurrences(page, fetching[i]), 0);
	CU_ASSERT_EQUAL(occurrences(page, "http:"), occurrences(page, "http://www.w3.org/2000/svg"));
	free(page);
	json_decref(json);
	tl_latency_destroy(report);
}

TL_TEST("the CSV has every sample to the nanosecond")
{
	struct tl_latency *report = new_report();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	add(report, 1795235116123456789, 960, 3);
	add(report, 1795235116123456799, 0, 4);
	CU_ASSERT_EQUAL(tl_latency_csv(report, out), 0);
	fclose(out);
	CU_ASSERT_STRING_EQUAL(text,
		"packet_id,time_ns,latency_ns,ambiguous\n3,1795235116123456789,960,0\n4,1795235116123456799,0,0\n");
	free(text);
	tl_latency_destroy(report);
}

// HdrHistogram's output for 1 to 4, including spaces; the unit is ours.
TL_TEST("percentiles are printed in the format of HdrHistogram")
{
	static const char expected[] = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
				       "       1.000 0.000000000000          1           1.00\n"
				       "       1.000 0.100000000000          1           1.11\n"
				       "       1.000 0.200000000000          1           1.25\n"
				       "       2.000 0.300000000000          2           1.43\n"
				       "       2.000 0.400000000000          2           1.67\n"
				       "       2.000 0.500000000000          2           2.00\n"
				       "       3.000 0.550000000000          3           2.22\n"
				       "       3.000 0.600000000000          3           2.50\n"
				       "       3.000 0.650000000000          3           2.86\n"
				       "       3.000 0.700000000000          3           3.33\n"
				       "       3.000 0.750000000000          3           4.00\n"
				       "       4.000 0.775000000000          4           4.44\n"
				       "       4.000 1.000000000000          4\n"
				       "#[Mean    =        2.500, StdDeviation   =        1.118]\n"
				       "#[Max     =        4.000, Total count    =            4]\n"
				       "#[Buckets =           27, SubBuckets     =         2048]\n"
				       "#[Unit    = nanoseconds]\n";
	struct tl_hist *hist = malloc(sizeof(*hist));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tl_hist_init(hist);
	for (uint64_t value = 1; value <= 4; value++)
		tl_hist_record(hist, value);
	CU_ASSERT_EQUAL(tl_latency_hgrm(hist, out), 0);
	fclose(out);
	CU_ASSERT_STRING_EQUAL(text, expected);
	free(text);
	free(hist);
}

TL_TEST("percentiles of more samples than the precision of a double terminate")
{
	struct tl_hist *hist = malloc(sizeof(*hist));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tl_hist_init(hist);
	tl_hist_record_n(hist, 1, UINT64_C(1) << 60);
	tl_hist_record(hist, 2);
	CU_ASSERT_EQUAL(tl_latency_hgrm(hist, out), 0);
	fclose(out);
	CU_ASSERT(size < 30000);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "       2.000 1.000000000000 1152921504606846977\n"));
	free(text);
	free(hist);
}

TL_TEST("the text has every part of a complete report")
{
	static const char *const parts[] = {"two-port", "nic-rx, unit 7 ns, within 8 ns of NIC",
		"kernel, unit 1 ns, bound unknown", "clock REALTIME, </script>.pcapng", "3000 comparisons",
		"bound at most 7.000 us, found off by at most 2.999 us, 3 steps",
		"first 2, not in these: 500 ns, 501 ns", "wire to poll", "of them above 137 s", "1.500 ns per byte",
		"cost of recording", "outlier      900 ns  packet 77", "poll gap 800 ns", "INVALID: steal time 3 %"};
	struct tl_latency *report = full_report();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(tl_latency_text(report, out), 0);
	fclose(out);
	for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, parts[i]));
	free(text);
	tl_latency_destroy(report);
}

static const json_t *point_of(const json_t *clock, size_t i)
{
	return json_array_get(json_object_get(clock, "points"), i);
}

static json_int_t integer_in(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

TL_TEST("unknown properties of stamps are null")
{
	static const char *const nulls[] = {"reply_bound_ns", "reply_bound_clock"};
	struct tl_latency *report = new_report(), *back = NULL;
	struct tl_err err = {""};
	json_t *json = tl_latency_json(report);

	for (size_t i = 0; i < TL_ARRAY_LEN(nulls); i++)
		CU_ASSERT_TRUE(json_is_null(json_object_get(json, nulls[i])));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "trigger_bound_ns")), 8);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json, "trigger_bound_clock")), "NIC");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "trigger_unit_ns")), 7);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "reply_unit_ns")), 1);
	CU_ASSERT_EQUAL_FATAL(tl_latency_from_json(json, &back, &err), 0);
	CU_ASSERT_TRUE(back->trigger.has_bound && !back->reply.has_bound);
	CU_ASSERT_EQUAL(back->trigger.bound_ns, 8);
	CU_ASSERT_EQUAL(back->reply.bound_ns, 0);
	CU_ASSERT_EQUAL(back->trigger.unit_ns, 7);
	CU_ASSERT_STRING_EQUAL(back->trigger.clock, "NIC");
	json_decref(json);
	tl_latency_destroy(back);
	tl_latency_set_clocks(report, 0, "", 0, "");
	json = tl_latency_json(report);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json, "trigger_unit_ns")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(json, "trigger_bound_clock")));
	json_decref(json);
	tl_latency_destroy(report);
}

TL_TEST("a clock is reported by its worst comparisons")
{
	struct tl_latency *report = new_report();

	add_clock(report, 999);
	add_clock(report, 3001);
	add_clock(report, 0);
	json_t *json = tl_latency_json(report), *clocks = json_object_get(json, "clocks");
	const json_t *all = json_array_get(clocks, 0), *some = json_array_get(clocks, 1);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(all, "points")), 999);
	CU_ASSERT_EQUAL(integer_in(point_of(all, 7), 0), 7 * (json_int_t)TL_NS_PER_S);
	CU_ASSERT_EQUAL(integer_in(point_of(all, 7), 1), -7);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(some, "comparisons")), 3001);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(some, "offset_max_ns")), 3000);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(some, "bound_max_ns")), 7000);
	size_t n = json_array_size(json_object_get(some, "points")), stepped = 0;
	CU_ASSERT_TRUE(n > 700 && n <= TL_LATENCY_CLOCK_POINTS);
	for (size_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(integer_in(point_of(some, i), 2), 5000);
		CU_ASSERT_EQUAL(llabs(integer_in(point_of(some, i), 1)), (long long)tl_min_u64(4 * i + 3, 3000));
		stepped += json_is_true(json_array_get(point_of(some, i), 5));
	}
	CU_ASSERT_EQUAL(stepped, 3);
	CU_ASSERT_EQUAL(llabs(integer_in(point_of(some, n - 1), 1)), 3000);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json_array_get(clocks, 2), "points")), 0);
	json_decref(json);
	add_clock(report, 1);
	CU_ASSERT_EQUAL(tl_latency_add_clock(report, "x", "NIC", 0, NULL, 0), -ENOSPC);
	tl_latency_destroy(report);
}

TL_TEST("a file that cannot be written is named")
{
	struct tl_latency *report = new_report();
	struct tl_latency_files nowhere = {.html = "/nonexistent/x.html"}, full = {.csv = "/dev/full"};
	struct tl_err err = {0};

	CU_ASSERT_EQUAL(tl_latency_save(report, &nowhere, &err), -2);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nonexistent/x.html"));
	err.text[0] = '\0';
	CU_ASSERT_EQUAL(tl_latency_files_check(&nowhere, &err), -2);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nonexistent/x.html"));
	CU_ASSERT_EQUAL(
		tl_latency_files_check(&(struct tl_latency_files){.csv = "new.csv", .hgrm = "/dev/null"}, &err), 0);
	CU_ASSERT_NOT_EQUAL(access("new.csv", F_OK), 0);
	CU_ASSERT(tl_latency_save(report, &full, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/dev/full"));
	tl_latency_destroy(report);
}

// Exponential, with a median of ln 2: strongly asymmetric.
static double draw(uint64_t *state)
{
	return -log(((double)(tl_random_next(state) >> 11) + 0.5) * 0x1p-53);
}

TL_TEST("the interval of a median covers it in 95 % of runs for any distribution")
{
	static const struct {
		double confidence;
		size_t n, low;
	} ranks[] = {{0.95, 6, 0}, {0.95, 8, 0}, {0.95, 9, 1}, {0.95, 12, 2}, {0.95, 100, 39}, {0.99, 8, 0},
		{0.99, 12, 1}, {0.99, 25, 5}, {0.99, 100, 36}}; // tables of the sign test
	double values[100];
	uint64_t state = 1;
	unsigned held = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(ranks); i++) {
		size_t n = ranks[i].n;
		for (size_t k = 0; k < n; k++)
			values[k] = (double)(n - 1 - k);
		struct tl_latency_interval interval = tl_latency_median(values, n, ranks[i].confidence);
		CU_ASSERT_EQUAL(interval.diff_ns, (double)(n - 1) / 2);
		CU_ASSERT_EQUAL(interval.low_ns, (double)ranks[i].low);
		CU_ASSERT_EQUAL(interval.high_ns, (double)(n - 1 - ranks[i].low));
	}
	for (unsigned i = 0; i < 10000; i++) {
		for (unsigned k = 0; k < 9; k++)
			values[k] = draw(&state);
		struct tl_latency_interval interval = tl_latency_median(values, 9, 0.95);
		held += interval.low_ns <= log(2) && log(2) <= interval.high_ns;
	}
	CU_ASSERT(held >= 9500 && held <= 9700); // 96.1 % with nine
}

TL_TEST("too few values give no interval")
{
	static const struct {
		double confidence;
		size_t needs;
	} cases[] = {{0.5, 2}, {0.95, 6}, {0.99, 8}, {1 - 0.05 / 18, 10}}; // least n with 2^(1 - n) <= 1 - confidence

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		double values[10] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
		size_t needs = cases[i].needs;
		CU_ASSERT_EQUAL(tl_latency_median_needs(cases[i].confidence), needs);
		struct tl_latency_interval interval = tl_latency_median(values, needs - 1, cases[i].confidence);
		CU_ASSERT_EQUAL(interval.low_ns, -INFINITY);
		CU_ASSERT_EQUAL(interval.high_ns, INFINITY);
		interval = tl_latency_median(values, needs, cases[i].confidence);
		CU_ASSERT_EQUAL(interval.high_ns - interval.low_ns, (double)(needs - 1)); // from minimum to maximum
	}
}

TL_TEST("an unbounded interval is absent from every report format")
{
	struct tl_latency *report = new_report(), *again;
	struct tl_latency_cost cost = {
		.name = "ours", .p50 = {7, -INFINITY, INFINITY}, .p99 = {7, 6, 8}, .p999 = {7, 6, 8}};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tl_latency_add_cost(report, &(struct tl_latency_cost){.name = "none"});
	tl_latency_add_cost(report, &cost);
	report->costs_family = 3;
	json_t *json = tl_latency_json(report), *row = json_array_get(json_object_get(json, "costs"), 1);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_object_get(row, "p50_ns"), "low")));
	CU_ASSERT_TRUE(json_is_real(json_object_get(json_object_get(row, "p99_ns"), "low")));
	CU_ASSERT_EQUAL_FATAL(tl_latency_from_json(json, &again, NULL), 0);
	CU_ASSERT_EQUAL(again->costs[1].p50.low_ns, -INFINITY);
	CU_ASSERT_EQUAL(again->costs[1].p50.high_ns, INFINITY);
	CU_ASSERT_EQUAL(again->costs_family, 3);
	CU_ASSERT_EQUAL(tl_latency_text(again, out), 0);
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "+7.0 [unbounded]  "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "that hold all 3 together"));
	free(text);
	json_decref(json);
	tl_latency_destroy(again);
	tl_latency_destroy(report);
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

TL_TEST("the line through points is the least-squares fit")
{
	const double x[] = {16, 64, 256, 1024, 1472}, exact[] = {5024, 5096, 5384, 6536, 7208};
	struct tl_latency_fit fit = tl_latency_fit(x, exact, 5);

	CU_ASSERT_TRUE(fit.known);
	CU_ASSERT_TRUE(is_near(fit.slope, 1.5));
	CU_ASSERT_TRUE(is_near(fit.base, 5000));
	CU_ASSERT_TRUE(is_near(fit.r2, 1));
	CU_ASSERT_TRUE(fabs(fit.slope_se) < 1e-6);

	// Computed by hand: means 2.5 and 3.25; sums of squares 5, 12.75 and 7.5; residual 1.5.
	const double few[] = {1, 2, 3, 4}, rough[] = {1, 3, 3, 6};
	fit = tl_latency_fit(few, rough, 4);
	CU_ASSERT_TRUE(is_near(fit.slope, 1.5));
	CU_ASSERT_TRUE(is_near(fit.base, -0.5));
	CU_ASSERT_TRUE(is_near(fit.r2, 1 - 1.5 / 12.75));
	CU_ASSERT_TRUE(is_near(fit.slope_se, sqrt(1.5 / 2 / 5)));
}

TL_TEST("a fit needs at least two points")
{
	const double x[] = {16, 16, 32}, y[] = {1, 2, 3};

	CU_ASSERT_FALSE(tl_latency_fit(x, y, 0).known);
	CU_ASSERT_FALSE(tl_latency_fit(x, y, 1).known);
	CU_ASSERT_FALSE(tl_latency_fit(x, y, 2).known); // equal x
	CU_ASSERT_TRUE(tl_latency_fit(x + 1, y + 1, 2).known);
	CU_ASSERT_TRUE(tl_latency_fit(x + 1, y + 1, 2).slope_se < 0);
}

int main(void)
{
	return tl_test_run("latency");
}
