// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the reader of latency reports: any JSON is a report or is rejected with a message, and a report can be written
// in every format, read again, and compared with itself.

#include <stdlib.h>

#include <tl_latency_compare.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Numbers of any size survive as long as they fit JSON's integers.
static void write_and_read(const struct tl_latency *report)
{
	struct tl_latency *again = NULL;
	struct tl_err err = {""};
	json_t *json = tl_latency_json(report);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (out == NULL || json == NULL)
		abort();
	if (tl_latency_text(report, out) != 0 || tl_latency_hgrm(&report->latency, out) != 0 ||
		tl_latency_html(json, out) != 0 || tl_latency_json_print(json, out) != 0)
		abort();
	if (tl_latency_from_json(json, &again, &err) != 0 || again->latency.count != report->latency.count ||
		again->invalid.n != report->invalid.n)
		abort();
	tl_latency_destroy(again);
	json_decref(json);
	fclose(out);
	free(text);
}

// A report does not differ from itself, compared as one run or as two.
static void compare(struct tl_latency *report)
{
	struct tl_latency *runs[] = {report, report};
	struct tl_latency_comparison out;
	struct tl_err err = {""};
	FILE *null = fopen("/dev/null", "we");

	for (size_t n = 1; n <= 2; n++) {
		const struct tl_latency_side side = {runs, n};
		if (tl_latency_compare(&side, &side, &(struct tl_latency_threshold){0}, 0.05, &out) != 0 ||
			null == NULL)
			abort();
		json_t *json = tl_latency_comparison_json(&out);
		if (json == NULL || out.verdict == TL_LATENCY_SLOWER || out.verdict == TL_LATENCY_FASTER)
			abort();
		tl_latency_comparison_text(&out, null);
		json_decref(json);
	}
	fclose(null);
	if (tl_latency_alike(report, "a", report, "b", &err) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_latency *report = NULL;
	struct tl_err err = {""};
	json_t *json = json_loadb((const char *)data, size, 0, NULL);

	if (json == NULL)
		return 0;
	int rc = tl_latency_from_json(json, &report, &err);
	if ((rc == 0) != (report != NULL) || (rc != 0 && err.text[0] == '\0'))
		abort();
	if (report != NULL) {
		write_and_read(report);
		compare(report);
	}
	tl_latency_destroy(report);
	json_decref(json);
	return 0;
}
