// SPDX-License-Identifier: BSD-3-Clause
// Compare every pair of the CSV, and each count, quantile and reason of the report, with the truth.

#include "latency_truth.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 5 // differences printed for a capture

static void differ(struct tl_latency_subject *s, const char *fmt, ...) TL_PRINTF(2, 3);

static void differ(struct tl_latency_subject *s, const char *fmt, ...)
{
	va_list args;

	if (++s->differences > SHOWN)
		return;
	printf("seed %" PRIu64 ": ", s->traffic->seed);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

// ---- pairs

enum {
	TIME = 1,
	LATENCY,
	AMBIGUOUS,
	REPLY_TIME,
	TRIGGER_PACKET,
	REPLY_PACKET,
	SEGMENTS = 15,
	RETRANSMITTED,
	COLUMNS = 18
};

// Parse a line. Return false if it is not a line of version 1.
static bool read_pair(char *line, struct tl_traffic_pair *pair)
{
	char *column[COLUMNS + 1], *rest = line;
	size_t n = 0;

	while (n <= COLUMNS && (column[n] = strsep(&rest, ",")) != NULL)
		n++;
	if (n != COLUMNS)
		return false;
	pair->trigger_ns = strtoull(column[TIME], NULL, 10);
	pair->reply_ns = strtoull(column[REPLY_TIME], NULL, 10);
	pair->trigger_packet = (uint32_t)strtoul(column[TRIGGER_PACKET], NULL, 10);
	pair->reply_packet = (uint32_t)strtoul(column[REPLY_PACKET], NULL, 10);
	pair->segments = (uint32_t)strtoul(column[SEGMENTS], NULL, 10);
	pair->ambiguous = strcmp(column[AMBIGUOUS], "1") == 0;
	pair->retransmitted = strcmp(column[RETRANSMITTED], "1") == 0;
	return strtoll(column[LATENCY], NULL, 10) == (int64_t)(pair->reply_ns - pair->trigger_ns);
}

static int by_trigger(const void *a, const void *b)
{
	const struct tl_traffic_pair *x = a, *y = b;

	return x->trigger_packet < y->trigger_packet ? -1 : x->trigger_packet > y->trigger_packet;
}

static void read_pairs(struct tl_latency_subject *s)
{
	char line[512];
	FILE *file = fopen(s->csv, "re");

	if (file == NULL || fgets(line, sizeof(line), file) == NULL) {
		differ(s, "%s: cannot be read", s->csv);
	} else {
		while (fgets(line, sizeof(line), file) != NULL)
			if (s->pairs == TL_ARRAY_LEN(s->pair) || !read_pair(line, &s->pair[s->pairs++])) {
				differ(s, "%s: line %u is not a pair", s->csv, s->pairs + 1);
				break;
			}
	}
	if (file != NULL)
		fclose(file);
	qsort(s->pair, s->pairs, sizeof(s->pair[0]), by_trigger);
}

static void differ_pair(
	struct tl_latency_subject *s, const struct tl_traffic_pair *have, const struct tl_traffic_pair *want)
{
	differ(s,
		"trigger %u: reply %u after %" PRId64 " ns in %u segments, ambiguous %d, retransmitted %d; "
		"true is reply %u after %" PRId64 " ns in %u segments, %d, %d",
		have->trigger_packet, have->reply_packet, (int64_t)(have->reply_ns - have->trigger_ns), have->segments,
		have->ambiguous, have->retransmitted, want->reply_packet, (int64_t)(want->reply_ns - want->trigger_ns),
		want->segments, want->ambiguous, want->retransmitted);
}

static bool is_same(const struct tl_traffic_pair *a, const struct tl_traffic_pair *b)
{
	return a->reply_packet == b->reply_packet && a->trigger_ns == b->trigger_ns && a->reply_ns == b->reply_ns &&
	       a->segments == b->segments && a->ambiguous == b->ambiguous && a->retransmitted == b->retransmitted;
}

static void compare_pairs(struct tl_latency_subject *s)
{
	const struct tl_traffic *t = s->traffic;
	uint32_t i = 0, k = 0;

	while (i < s->pairs || k < t->pairs) {
		const struct tl_traffic_pair *have = &s->pair[i], *want = &t->pair[k];
		int side = i == s->pairs ? 1 : k == t->pairs ? -1 : by_trigger(have, want);
		if (side > 0)
			differ(s, "trigger %u: no reply; true is reply %u", want->trigger_packet, want->reply_packet);
		else if (side < 0)
			differ(s, "trigger %u: reply %u; true is none", have->trigger_packet, have->reply_packet);
		else if (!is_same(have, want))
			differ_pair(s, have, want);
		i += side <= 0;
		k += side >= 0;
	}
}

// Check the unmarked pairs: with repeated payloads, each unmarked pair of a valid result must be true.
static void compare_unmarked(struct tl_latency_subject *s)
{
	for (uint32_t i = 0; i < s->pairs; i++) {
		const struct tl_traffic_pair *have = &s->pair[i];
		const struct tl_traffic_pair *want =
			bsearch(have, s->traffic->pair, s->traffic->pairs, sizeof(*have), by_trigger);
		if (!have->ambiguous && (want == NULL || want->reply_packet != have->reply_packet))
			differ(s, "trigger %u: reply %u, in a result that is valid; true is another",
				have->trigger_packet, have->reply_packet);
	}
}

// ---- the report

static void compare_count(struct tl_latency_subject *s, const json_t *json, const char *key, uint64_t want)
{
	const json_t *value = json_object_get(json, key);

	if (!json_is_integer(value) || (uint64_t)json_integer_value(value) != want)
		differ(s, "%s: %" JSON_INTEGER_FORMAT "; true is %" PRIu64, key, json_integer_value(value), want);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

// Compare a quantile; TL_LATENCY_NEVER is null.
static void compare_quantile(
	struct tl_latency_subject *s, const json_t *quantile, const char *name, const char *key, uint64_t want)
{
	const json_t *value = json_object_get(quantile, key);
	bool same = want == TL_LATENCY_NEVER ? json_is_null(value)
					     : json_is_integer(value) && (uint64_t)json_integer_value(value) == want;

	if (!same)
		differ(s, "%s.%s: %" JSON_INTEGER_FORMAT "; true is %" PRId64, name, key, json_integer_value(value),
			(int64_t)want);
}

// Compare the quantiles by nearest rank: of the samples, and of all triggers, those without a reply last.
static void compare_quantiles(struct tl_latency_subject *s, const json_t *json)
{
	static const struct {
		const char *name;
		uint64_t thousandths;
	} ranks[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p999", 999}};
	const struct tl_traffic *t = s->traffic;
	uint64_t sample[TL_TRAFFIC_PAIRS], n = 0;

	for (uint32_t i = 0; i < t->pairs; i++)
		if (t->pair[i].reply_ns >= t->pair[i].trigger_ns)
			sample[n++] = t->pair[i].reply_ns - t->pair[i].trigger_ns;
	qsort(sample, n, sizeof(sample[0]), by_size);
	for (size_t i = 0; i < TL_ARRAY_LEN(ranks) && n != 0; i++) {
		const json_t *quantile = json_object_get(json_object_get(json, "quantiles"), ranks[i].name);
		uint64_t rank = (n * ranks[i].thousandths + 999) / 1000;
		uint64_t with_loss = ((n + t->triggers - t->pairs) * ranks[i].thousandths + 999) / 1000;
		compare_quantile(s, quantile, ranks[i].name, "ns", sample[rank - 1]);
		compare_quantile(s, quantile, ranks[i].name, "with_loss_ns",
			with_loss <= n ? sample[with_loss - 1] : TL_LATENCY_NEVER);
	}
}

// Check that invalid[] has a reason with these words, or has none.
static void compare_reason(struct tl_latency_subject *s, const struct tl_latency *report, const char *words, bool want)
{
	bool have = false;

	for (size_t i = 0; i < report->invalid.n; i++)
		have |= strstr(report->invalid.text[i], words) != NULL;
	if (have != want)
		differ(s, "that \"%s\" is %s", words, have ? "said, and is not true" : "true, and is not said");
}

static void compare_verdict(struct tl_latency_subject *s, const struct tl_latency *report)
{
	const struct tl_traffic *t = s->traffic;
	uint64_t lost = t->triggers - t->pairs;
	const struct {
		const char *words;
		bool is;
	} reasons[] = {{"no reply was matched", t->pairs == 0}, {"stamped before their triggers", t->reply_first != 0},
		{"could answer several triggers", t->ambiguous * 1000 > t->pairs},
		{"triggers have no reply", lost * 1000 > t->max_loss_permille * t->triggers}};
	size_t wanted = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(reasons); i++) {
		compare_reason(s, report, reasons[i].words, reasons[i].is);
		wanted += reasons[i].is;
	}
	if (report->invalid.n != wanted)
		differ(s, "%zu reasons against the result; true are %zu", report->invalid.n, wanted);
}

static void compare_report(struct tl_latency_subject *s, const struct tl_latency *report, const json_t *json)
{
	const struct tl_traffic *t = s->traffic;
	bool valid = json_is_true(json_object_get(json, "valid"));

	compare_count(s, json, "triggers", t->triggers);
	compare_count(s, json, "matched", s->pairs);
	compare_count(s, json, "unanswered", t->triggers - s->pairs);
	if (valid != (report->invalid.n == 0))
		differ(s, "valid: %d, with %zu reasons against", valid, report->invalid.n);
	if (t->missing && valid)
		differ(s, "valid: by position, and replies are missing");
	if (!t->exact) {
		if (t->orderly && valid)
			compare_unmarked(s);
		return;
	}
	compare_pairs(s);
	compare_count(s, json, "ambiguous", t->ambiguous);
	compare_count(s, json, "duplicates", t->duplicates);
	compare_count(s, json, "reply_first", t->reply_first);
	if (t->match.method != TL_MATCH_POSITION)
		compare_count(s, json, "unmatched_replies", t->unmatched_replies);
	compare_quantiles(s, json);
	compare_verdict(s, report);
}

void tl_latency_compare_truth(struct tl_latency_subject *s, const struct tl_latency *report)
{
	json_t *json = tl_latency_json(report);

	read_pairs(s);
	compare_report(s, report, json);
	json_decref(json);
}
