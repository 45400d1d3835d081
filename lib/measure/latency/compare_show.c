// SPDX-License-Identifier: BSD-3-Clause
// Input and output of a comparison: thresholds, whether a report is usable, text and JSON.

#include <tl_latency_compare.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tl_json.h>
#include <tl_text.h>
#include <tl_units.h>

int tl_latency_parse_threshold(const char *text, struct tl_latency_threshold *out)
{
	static const struct {
		const char *suffix;
		double scale;
		bool percent;
	} units[] = {{"", 1, false}, {"ns", 1, false}, {"us", 1e3, false}, {"ms", 1e6, false}, {"%", 1, true}};
	char *end;
	double value = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || !isfinite(value))
		return -EINVAL;
	for (size_t i = 0; i < TL_ARRAY_LEN(units); i++) {
		if (strcmp(end, units[i].suffix) == 0) {
			*out = (struct tl_latency_threshold){value * units[i].scale, units[i].percent};
			return 0;
		}
	}
	return -EINVAL;
}

static const char *verdict_name(enum tl_latency_verdict verdict)
{
	static const char *const names[] = {
		[TL_LATENCY_SAME] = "same",
		[TL_LATENCY_FASTER] = "faster",
		[TL_LATENCY_SLOWER] = "slower",
		[TL_LATENCY_TOO_FEW] = "too few samples",
		[TL_LATENCY_INCONCLUSIVE] = "inconclusive",
	};
	return names[verdict];
}

const char *tl_latency_no_verdict(const struct tl_latency_comparison *c)
{
	if (c->verdict == TL_LATENCY_INCONCLUSIVE)
		return "a run is too short for how slowly it changes: measure ten times as long, or compare several runs of each";
	if (c->verdict != TL_LATENCY_TOO_FEW)
		return NULL;
	return c->ordered
		       ? "too few samples for a verdict; measure longer, or compare several runs of each"
		       : "no verdict: a report lacks the order of its samples, or the times of its losses; measure again with this version, or compare several runs of each";
}

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

// unit: "_ns", or empty.
static json_t *row_json(const struct tl_latency_row *row, const char *unit)
{
	const struct {
		const char *name;
		double value;
		bool judged;
	} figures[] = {{"a", row->a, false}, {"b", row->b, false}, {"diff", row->diff.diff_ns, true},
		{"low", row->diff.low_ns, true}, {"high", row->diff.high_ns, true}};
	json_t *object = json_object();
	char key[16];

	for (size_t i = 0; i < TL_ARRAY_LEN(figures); i++) {
		bool known = !figures[i].judged || tl_latency_has_interval(row);
		snprintf(key, sizeof(key), "%s%s", figures[i].name, unit);
		put(object, key, known ? tl_latency_real_json(figures[i].value) : json_null());
	}
	put(object, "a_effective", row->a_effective != 0 ? json_real(row->a_effective) : json_null());
	put(object, "b_effective", row->b_effective != 0 ? json_real(row->b_effective) : json_null());
	return object;
}

static json_t *quantile_json(const struct tl_latency_quantile *quantile)
{
	json_t *object = row_json(&quantile->row, "_ns");

	put(object, "quantile", json_string(quantile->name));
	put(object, "threshold_ns", json_real(quantile->threshold_ns));
	put(object, "samples_needed", json_integer((json_int_t)quantile->needed));
	put(object, "verdict", json_string(verdict_name(quantile->row.verdict)));
	return object;
}

json_t *tl_latency_comparison_json(const struct tl_latency_comparison *c)
{
	json_t *quantiles = json_array(), *answered = row_json(&c->answered, "");

	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++)
		json_array_append_new(quantiles, quantile_json(&c->quantiles[i]));
	put(answered, "verdict", json_string(c->counted ? verdict_name(c->answered.verdict) : "unknown"));
	return json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:b, s:b, s:o, s:o, s:o, s:f, s:o*}", //
		"verdict", verdict_name(c->verdict), "no_verdict", tl_latency_no_verdict(c),			    //
		"a_runs", (json_int_t)c->a_runs, "b_runs", (json_int_t)c->b_runs,				    //
		"a_samples", (json_int_t)c->a_count, "b_samples", (json_int_t)c->b_count,			    //
		"a_lost", (json_int_t)c->a_lost, "b_lost", (json_int_t)c->b_lost,				    //
		"confidence", c->confidence, "stamps_ns", c->stamps_ns,						    //
		"ordered", c->ordered, "counted", c->counted,							    //
		"quantiles", quantiles, "mean", row_json(&c->mean, "_ns"), "answered", answered,		    //
		"b_larger", c->b_larger, "differs", c->differs[0] != '\0' ? tl_json_string(c->differs) : NULL);
}

static const char *latency_text(double ns, char *text, size_t size)
{
	return isinf(ns) ? "lost" : tl_format_ns((uint64_t)ns, text, size);
}

static const char *effective_text(double effective, char *text, size_t size)
{
	if (effective == 0)
		return "-";
	snprintf(text, size, "%.0f", effective);
	return text;
}

static void print_diff(const struct tl_latency_row *row, FILE *out)
{
	if (!tl_latency_has_interval(row))
		fprintf(out, " %12s  %-26s", "-", "-");
	else
		fprintf(out, " %+12.0f  [%+11.0f, %+11.0f]", row->diff.diff_ns, row->diff.low_ns, row->diff.high_ns);
}

static void print_row(const char *name, const struct tl_latency_row *row, FILE *out)
{
	char a[32], b[32];

	fprintf(out, "%-8s %12s %12s", name, latency_text(row->a, a, sizeof(a)), latency_text(row->b, b, sizeof(b)));
	print_diff(row, out);
	fprintf(out, " %11s", effective_text(row->a_effective, a, sizeof(a)));
	fprintf(out, " %11s  ", effective_text(row->b_effective, b, sizeof(b)));
}

static void print_quantile(const struct tl_latency_comparison *c, const struct tl_latency_quantile *quantile, FILE *out)
{
	bool few = quantile->row.verdict == TL_LATENCY_TOO_FEW;

	print_row(quantile->name, &quantile->row, out);
	if (few && c->ordered)
		fprintf(out, "too few samples: each run needs %" PRIu64 "\n", quantile->needed);
	else
		fprintf(out, "%s\n", few ? "not judged" : verdict_name(quantile->row.verdict));
}

static void print_answered(const struct tl_latency_comparison *c, FILE *out)
{
	const struct tl_latency_row *row = &c->answered;
	char text[32], a[32], b[32];

	if (!c->counted) {
		fprintf(out,
			"%-8s unknown: a report does not count triggers without a reply; no quantile is declared faster\n",
			"answered");
		return;
	}
	fprintf(out, "%-8s", "answered");
	fprintf(out, " %10.4f %% %10.4f %%", row->a * 100, row->b * 100);
	if (!tl_latency_has_interval(row)) {
		fprintf(out, "%s\n", row->verdict == TL_LATENCY_INCONCLUSIVE ? "  inconclusive" : "");
		return;
	}
	snprintf(text, sizeof(text), "[%+.4f, %+.4f] %%", row->diff.low_ns * 100, row->diff.high_ns * 100);
	fprintf(out, " %+10.4f %%  %-26s %11s %11s  %s\n", row->diff.diff_ns * 100, text,
		effective_text(row->a_effective, a, sizeof(a)), effective_text(row->b_effective, b, sizeof(b)),
		row->verdict == TL_LATENCY_SLOWER   ? "B answers fewer"
		: row->verdict == TL_LATENCY_FASTER ? "B answers more"
						    : "same");
}

static void print_basis(const struct tl_latency_comparison *c, FILE *out)
{
	char text[32];

	fprintf(out,
		"samples  %12" PRIu64 " %12" PRIu64 "   of %zu and %zu runs; without a reply %" PRIu64 " and %" PRIu64
		"\n",
		c->a_count, c->b_count, c->a_runs, c->b_runs, c->a_lost, c->b_lost);
	if (c->a_runs > 1)
		fprintf(out, "the interval is of the differences between runs\n");
	else if (c->ordered)
		fprintf(out, "one run each: intervals do not contain the variation between runs\n");
	else
		fprintf(out,
			"a report lacks the order of its samples, or the times of its losses: their dependence is unknown\n");
	if (c->stamps_ns != 0)
		fprintf(out, "each interval is wider by %s on both sides, the error of the stamps\n",
			tl_format_ns((uint64_t)fmin(c->stamps_ns, 1e18), text, sizeof(text)));
	if (c->differs[0] != '\0')
		fprintf(out, "FORCED: %s\n", TL_PRINTABLE(c->differs));
}

void tl_latency_comparison_text(const struct tl_latency_comparison *c, FILE *out)
{
	static const char *const sentences[] = {
		[TL_LATENCY_SAME] = "B is not shown to differ",
		[TL_LATENCY_FASTER] = "B is faster",
		[TL_LATENCY_SLOWER] = "B is slower",
		[TL_LATENCY_TOO_FEW] = "none",
		[TL_LATENCY_INCONCLUSIVE] = "inconclusive: a run is too short for how slowly it changes",
	};

	fprintf(out, "%-8s %12s %12s %12s  %2.0f %-23s %11s %11s\n", "", "A", "B", "B - A, ns", c->confidence * 100,
		"% confidence, together", "A effective", "B effective");
	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++)
		print_quantile(c, &c->quantiles[i], out);
	print_row("mean", &c->mean, out);
	fprintf(out, "of the answered; decides nothing\n");
	print_answered(c, out);
	print_basis(c, out);
	fprintf(out, "a sample of B is larger than one of A with probability %.4f\n", c->b_larger);
	fprintf(out, "verdict: %s\n", sentences[c->verdict]);
}
