// SPDX-License-Identifier: BSD-3-Clause
// Report as text tables, and its samples as CSV.

#include <tl_latency_dependence.h>

#include "latency_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <tl_text.h>
#include <tl_units.h>

#define NS_TEXT 32

static void print_overflow(FILE *out, const struct tl_hist *hist)
{
	if (hist->overflow != 0)
		fprintf(out, "%-32s %10" PRIu64 " of them above %" PRIu64 " s\n", "", hist->overflow,
			TL_HIST_MAX_NS / TL_NS_PER_S);
}

static void print_hist(FILE *out, const char *name, const struct tl_hist *hist)
{
	struct tl_hist_summary summary;

	tl_hist_summarize(hist, &summary);
	tl_latency_print_summary(out, name, &summary);
	print_overflow(out, hist);
}

// Print the summary of the report, exact if possible.
static void print_latency(FILE *out, const struct tl_latency *report)
{
	struct tl_hist_summary summary;

	tl_latency_summarize(report, &summary);
	tl_latency_print_row(out, "latency", &summary); // its marks are in a separate row
	print_overflow(out, &report->latency);
}

static void print_limit(FILE *out, const char *name, const uint64_t limits_ns[TL_LATENCY_LEVELS])
{
	char text[NS_TEXT];

	fprintf(out, "%-32s %10s %11s", name, "", "");
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		fprintf(out, " %11s",
			limits_ns[i] == TL_LATENCY_UNBOUNDED ? "-" : tl_format_ns(limits_ns[i], text, sizeof(text)));
	fputc('\n', out);
}

// Print the intervals, and the equivalent number of independent samples. Prints nothing if the order of the samples is
// unknown.
static void print_intervals(FILE *out, const struct tl_latency_level levels[TL_LATENCY_LEVELS])
{
	uint64_t low_ns[TL_LATENCY_LEVELS], high_ns[TL_LATENCY_LEVELS];

	if (levels[0].effective <= 0)
		return;
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++) {
		low_ns[i] = levels[i].low_ns;
		high_ns[i] = levels[i].high_ns;
	}
	print_limit(out, "with 95 % confidence from", low_ns);
	print_limit(out, "to", high_ns);
	fprintf(out, "%-32s %10s %11s", "effective samples", "", "");
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		fprintf(out, " %11.0f", levels[i].effective);
	fputc('\n', out);
}

static void print_dependence(FILE *out, const struct tl_latency *report)
{
	struct tl_latency_dependence dependence;
	char text[2][NS_TEXT];
	uint64_t low_ns = UINT64_MAX, high_ns = 0;

	tl_latency_depend(report, &dependence);
	for (size_t i = 0; i < dependence.n_lags; i++)
		fprintf(out, "%s%+.3f at %" PRIu64, i == 0 ? "autocorrelation: " : ", ", dependence.lags[i].r,
			dependence.lags[i].samples);
	if (dependence.n_lags != 0)
		fprintf(out, " samples; by chance within %.3f\n", dependence.chance);
	for (size_t i = 0; i < dependence.n_stretches; i++) {
		low_ns = tl_min_u64(low_ns, dependence.p50_ns[i]);
		high_ns = tl_max_u64(high_ns, dependence.p50_ns[i]);
	}
	if (dependence.n_stretches != 0)
		fprintf(out, "drift: p50 of %zu stretches from %s to %s, the last less the first %+" PRId64 " ns%s\n",
			dependence.n_stretches, tl_format_ns(low_ns, text[0], sizeof(text[0])),
			tl_format_ns(high_ns, text[1], sizeof(text[1])),
			(int64_t)(dependence.p50_ns[dependence.n_stretches - 1] - dependence.p50_ns[0]),
			dependence.settled ? "" : "; the run does not settle, so p50 has no interval");
}

static void print_levels(FILE *out, const struct tl_latency *report)
{
	struct tl_latency_level levels[TL_LATENCY_LEVELS];
	char window[NS_TEXT];

	tl_latency_levels(report, levels);
	print_intervals(out, levels);
	tl_latency_print_levels(out, levels, report->unmatched_triggers, report->window_ns);
	if (report->ambiguous != 0)
		fprintf(out,
			"  ambiguous: %" PRIu64
			" replies fit several triggers: min, max and mean may be of a wrong pair\n",
			report->ambiguous);
	if (report->unmatched_triggers != 0 && report->window_ns != 0)
		fprintf(out, "  window: %s; a trigger without a reply waited at least that long\n",
			tl_format_ns(report->window_ns, window, sizeof(window)));
	if (report->n_samples != 0 && report->n_samples != report->latency.count)
		fprintf(out, "samples kept: the %s %zu of %" PRIu64 "\n", tl_latency_kept(report), report->n_samples,
			report->latency.count);
	print_dependence(out, report);
}

static void print_source(FILE *out, const char *of, const struct tl_latency_source *source)
{
	char text[NS_TEXT];

	fprintf(out, "%-32s %s, unit ", of, TL_PRINTABLE(source->name));
	if (source->unit_ns != 0)
		fprintf(out, "%s, ", tl_format_ns(source->unit_ns, text, sizeof(text)));
	else
		fprintf(out, "unknown, ");
	if (source->has_bound)
		fprintf(out, "within %s%s%s\n", tl_format_ns(source->bound_ns, text, sizeof(text)),
			source->clock[0] != '\0' ? " of " : "", TL_PRINTABLE(source->clock));
	else
		fprintf(out, "bound unknown\n");
}

// True if a table of costs is the only content.
static bool is_costs_only(const struct tl_latency *report)
{
	return report->matched == 0 && report->n_costs != 0;
}

static void print_head(FILE *out, const struct tl_latency *report)
{
	if (report->name[0] != '\0')
		fprintf(out, "%s\n", TL_PRINTABLE(report->name));
	fprintf(out, "%-32s %s\n", "method", TL_PRINTABLE(report->method));
	if (report->clocks_shown[0] != '\0')
		fprintf(out, "%-32s %s\n", "clocks", TL_PRINTABLE(report->clocks_shown));
	print_source(out, "stamps of triggers", &report->trigger);
	print_source(out, "stamps of replies", &report->reply);
	tl_latency_clocks_text(report, out);
	for (size_t i = 0; i < tl_latency_n_counters; i++) {
		uint64_t value = tl_latency_counter_read(report, i);
		if (value != 0 || (i == 0 && !is_costs_only(report)))
			fprintf(out, "%-32s %" PRIu64 "\n", tl_latency_counters[i].label, value);
	}
}

static void print_cold(FILE *out, const struct tl_latency *report)
{
	char text[NS_TEXT];

	if (report->cold_count == 0)
		return;
	fprintf(out, "first %" PRIu64 ", not in these:", report->cold_count);
	for (size_t i = 0; i < report->cold_count; i++)
		fprintf(out, " %s%s", tl_format_ns(report->cold_ns[i], text, sizeof(text)),
			i + 1 < report->cold_count ? "," : "\n");
}

static void print_points(
	FILE *out, const struct tl_latency *report, enum tl_latency_axis axis, const char *title, const char *unit)
{
	bool any = false;
	char at[TL_LATENCY_NAME];

	for (size_t i = 0; i < report->n_points; i++) {
		if (report->points[i].axis != axis)
			continue;
		if (!any) {
			fputc('\n', out);
			tl_latency_print_columns(out, title);
		}
		any = true;
		snprintf(at, sizeof(at), "%" PRIu64 " %s", report->points[i].at, unit);
		tl_latency_print_summary(out, at, &report->points[i].latency);
	}
}

void tl_latency_interval_text(const struct tl_latency_interval *interval, FILE *out)
{
	fprintf(out, "  %+9.1f ", interval->diff_ns);
	if (isfinite(interval->low_ns) && isfinite(interval->high_ns))
		fprintf(out, "[%+.1f, %+.1f]", interval->low_ns, interval->high_ns);
	else
		fputs("[unbounded]", out);
}

static void print_confidence(FILE *out, const struct tl_latency *report)
{
	fprintf(out, "\ndifference to %s, ns, at p50, p99, p99.9, ", TL_PRINTABLE(report->costs[0].name));
	if (report->costs_family == 0)
		fputs("each with the interval that holds it with 95 % confidence\n", out);
	else
		fprintf(out, "with intervals that hold all %" PRIu64 " together with 95 %% confidence\n",
			report->costs_family);
}

static void print_costs(FILE *out, const struct tl_latency *report)
{
	if (report->n_costs == 0)
		return;
	fputc('\n', out);
	tl_latency_print_columns(out, "cost of recording");
	for (size_t i = 0; i < report->n_costs; i++)
		tl_latency_print_summary(out, report->costs[i].name, &report->costs[i].latency);
	print_confidence(out, report);
	for (size_t i = 1; i < report->n_costs; i++) {
		fprintf(out, "%-32s", TL_PRINTABLE(report->costs[i].name));
		tl_latency_interval_text(&report->costs[i].p50, out);
		tl_latency_interval_text(&report->costs[i].p99, out);
		tl_latency_interval_text(&report->costs[i].p999, out);
		fputc('\n', out);
	}
}

static void print_outliers(FILE *out, const struct tl_latency *report)
{
	char text[NS_TEXT];

	for (size_t i = 0; i < report->n_outliers; i++) {
		const struct tl_latency_outlier *outlier = &report->outliers[i];
		fprintf(out, "%soutlier %11s  packet %" PRIu64 " at %" PRIu64 ".%09" PRIu64, i == 0 ? "\n" : "",
			tl_format_ns(outlier->sample.latency_ns, text, sizeof(text)), outlier->sample.packet_id,
			outlier->sample.time_ns / TL_NS_PER_S, outlier->sample.time_ns % TL_NS_PER_S);
		if (outlier->poll_gap_ns != UINT64_MAX)
			fprintf(out, "  poll gap %s", tl_format_ns(outlier->poll_gap_ns, text, sizeof(text)));
		if (outlier->interrupts != UINT64_MAX)
			fprintf(out, "  interrupts %" PRIu64, outlier->interrupts);
		if (outlier->steal_ns != UINT64_MAX)
			fprintf(out, "  steal %s", tl_format_ns(outlier->steal_ns, text, sizeof(text)));
		fprintf(out, "%s%s\n", outlier->note[0] != '\0' ? "  " : "", TL_PRINTABLE(outlier->note));
	}
}

int tl_latency_text(const struct tl_latency *report, FILE *out)
{
	const struct tl_latency_fit fit = tl_latency_payload_fit(report->points, report->n_points);

	print_head(out, report);
	fputc('\n', out);
	if (!is_costs_only(report)) {
		tl_latency_print_columns(out, "");
		print_latency(out, report);
		print_levels(out, report);
	}
	for (size_t i = 0; i < report->n_stages; i++)
		print_hist(out, report->stages[i]->name, &report->stages[i]->hist);
	print_cold(out, report);
	print_points(out, report, TL_LATENCY_PAYLOAD_BYTES, "payload", "bytes");
	tl_latency_fit_print(out, &fit);
	print_points(out, report, TL_LATENCY_RATE_PPS, "rate", "pps");
	print_costs(out, report);
	print_outliers(out, report);
	tl_latency_print_invalid(out, &report->invalid);
	return ferror(out) == 0 ? 0 : -EIO;
}

int tl_latency_csv(const struct tl_latency *report, FILE *out)
{
	fputs("packet_id,time_ns,latency_ns,ambiguous\n", out);
	for (size_t i = 0; i < report->n_samples; i++)
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d\n", report->samples[i].packet_id,
			report->samples[i].time_ns, report->samples[i].latency_ns, report->samples[i].ambiguous);
	return ferror(out) == 0 ? 0 : -EIO;
}
