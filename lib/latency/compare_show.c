// SPDX-License-Identifier: BSD-3-Clause
// What a comparison is asked for and what it says: thresholds, whether two reports may be compared, text and JSON.

#include <tl_latency_compare.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int is_valid(const struct tl_latency *report, const char *which, struct tl_err *err)
{
	if (report->n_invalid == 0)
		return 0;
	return tl_fail(err, -EINVAL, "%s is an invalid result: %s", which, report->invalid[0]);
}

int tl_latency_comparable(const struct tl_latency *a, const struct tl_latency *b, struct tl_err *err)
{
	int rc = is_valid(a, "the first", err);

	if (rc == 0)
		rc = is_valid(b, "the second", err);
	if (rc != 0)
		return rc;
	if (strcmp(a->method, b->method) != 0)
		return tl_fail(err, -EINVAL,
			"one was measured by method \"%s\", the other by \"%s\": nothing follows from that", a->method,
			b->method);
	if (strcmp(a->trigger.name, b->trigger.name) != 0 || strcmp(a->reply.name, b->reply.name) != 0)
		return tl_fail(err, -EINVAL,
			"one has stamps of %s and %s, the other of %s and %s: nothing follows from that",
			a->trigger.name, a->reply.name, b->trigger.name, b->reply.name);
	if (a->subtracted_ns != b->subtracted_ns)
		return tl_fail(err, -EINVAL,
			"%" PRIu64 " ns were subtracted from one, %" PRIu64
			" from the other: measure both the same way",
			a->subtracted_ns, b->subtracted_ns);
	return 0;
}

const char *tl_latency_verdict_name(enum tl_latency_verdict verdict)
{
	static const char *const names[] = {
		[TL_LATENCY_SAME] = "same",
		[TL_LATENCY_FASTER] = "faster",
		[TL_LATENCY_SLOWER] = "slower",
		[TL_LATENCY_TOO_FEW] = "too few samples",
	};
	return names[verdict];
}

static json_t *quantile_json(const struct tl_latency_quantile *quantile)
{
	bool judged = quantile->verdict != TL_LATENCY_TOO_FEW;

	return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:f, s:I, s:s}", "quantile", quantile->name, //
		"a_ns", (json_int_t)quantile->a_ns,						      //
		"b_ns", (json_int_t)quantile->b_ns,						      //
		"diff_ns", judged ? json_real(quantile->diff.diff_ns) : json_null(),		      //
		"low_ns", judged ? json_real(quantile->diff.low_ns) : json_null(),		      //
		"high_ns", judged ? json_real(quantile->diff.high_ns) : json_null(),		      //
		"threshold_ns", quantile->threshold_ns,						      //
		"samples_needed", (json_int_t)quantile->needed,					      //
		"verdict", tl_latency_verdict_name(quantile->verdict));
}

json_t *tl_latency_comparison_json(const struct tl_latency_comparison *comparison)
{
	json_t *quantiles = json_array();

	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++)
		json_array_append_new(quantiles, quantile_json(&comparison->quantiles[i]));
	return json_pack("{s:s, s:I, s:I, s:f, s:o, s:{s:f, s:f}}",	 //
		"verdict", tl_latency_verdict_name(comparison->verdict), //
		"a_samples", (json_int_t)comparison->a_count,		 //
		"b_samples", (json_int_t)comparison->b_count,		 //
		"confidence", 0.95,					 //
		"quantiles", quantiles,					 //
		"mann_whitney", "b_larger", comparison->b_larger, "p_value", comparison->p_value);
}

static void print_quantile(const struct tl_latency_quantile *quantile, FILE *out)
{
	char a[32], b[32];

	fprintf(out, "%-8s %12s %12s", quantile->name, tl_format_ns(quantile->a_ns, a, sizeof(a)),
		tl_format_ns(quantile->b_ns, b, sizeof(b)));
	if (quantile->verdict == TL_LATENCY_TOO_FEW)
		fprintf(out, " %12s  %-26s  too few samples: both need %" PRIu64 "\n", "-", "-", quantile->needed);
	else
		fprintf(out, " %+12.0f  [%+11.0f, %+11.0f]  %s\n", quantile->diff.diff_ns, quantile->diff.low_ns,
			quantile->diff.high_ns, tl_latency_verdict_name(quantile->verdict));
}

void tl_latency_comparison_text(const struct tl_latency_comparison *comparison, FILE *out)
{
	static const char *const sentences[] = {
		[TL_LATENCY_SAME] = "B is not shown to differ",
		[TL_LATENCY_FASTER] = "B is faster",
		[TL_LATENCY_SLOWER] = "B is slower",
		[TL_LATENCY_TOO_FEW] = "none, too few samples",
	};

	fprintf(out, "%-8s %12s %12s %12s  %-26s\n", "", "A", "B", "B - A, ns", "95 % confidence");
	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++)
		print_quantile(&comparison->quantiles[i], out);
	fprintf(out, "samples  %12" PRIu64 " %12" PRIu64 "\n", comparison->a_count, comparison->b_count);
	fprintf(out, "a sample of B is larger than one of A with probability %.4f (Mann-Whitney, p %.2g)\n",
		comparison->b_larger, comparison->p_value);
	fprintf(out, "verdict: %s\n", sentences[comparison->verdict]);
}
