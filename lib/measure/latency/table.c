// SPDX-License-Identifier: BSD-3-Clause
// Table of distributions in text reports.

#include "latency_priv.h"

#include <inttypes.h>

#include <tl_text.h>
#include <tl_units.h>

static void print_time(FILE *out, uint64_t ns)
{
	char text[32];

	fprintf(out, " %11s", tl_format_ns(ns, text, sizeof(text)));
}

void tl_latency_print_columns(FILE *out, const char *title)
{
	fprintf(out, "%-32s %10s %11s %11s %11s %11s %11s %11s %11s\n", title, "samples", "min", "p50", "p90", "p99",
		"p99.9", "max", "mean");
}

static void print_figures(FILE *out, const char *name, const struct tl_hist_summary *s)
{
	const uint64_t values_ns[] = {
		s->min_ns, s->p50_ns, s->p90_ns, s->p99_ns, s->p999_ns, s->max_ns, (uint64_t)(s->mean_ns + 0.5)};

	fprintf(out, "%-32s %10" PRIu64, TL_PRINTABLE(name), s->count);
	for (size_t i = 0; i < TL_ARRAY_LEN(values_ns); i++)
		if (s->count == 0)
			fprintf(out, " %11s", "-");
		else
			print_time(out, values_ns[i]);
}

void tl_latency_print_row(FILE *out, const char *name, const struct tl_hist_summary *summary)
{
	print_figures(out, name, summary);
	fputc('\n', out);
}

void tl_latency_print_summary(FILE *out, const char *name, const struct tl_hist_summary *summary)
{
	const char *few = tl_latency_few_from(summary->count);

	print_figures(out, name, summary);
	fprintf(out, "%s%s\n", few != NULL ? "  few from " : "", few != NULL ? few : "");
}

// If triggers lack a reply: print the quantiles that include them, with minimum and maximum.
static void print_with_loss(
	FILE *out, const struct tl_latency_level levels[TL_LATENCY_LEVELS], uint64_t unanswered, uint64_t window_ns)
{
	const char *never = window_ns != 0 ? "> window" : "no reply";

	if (unanswered == 0)
		return;
	fprintf(out, "%-32s %10" PRIu64 " %11s", "with triggers without a reply", levels->samples + unanswered, "");
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		if (levels[i].with_loss_ns == TL_LATENCY_NEVER)
			fprintf(out, " %11s", never);
		else
			print_time(out, levels[i].with_loss_ns);
	fprintf(out, " %11s\n", never);
}

static void print_marks(FILE *out, const struct tl_latency_level levels[TL_LATENCY_LEVELS])
{
	static const char *const marks[] = {"", "few", "late", "few, late"};
	bool few = false, late = false;

	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++) {
		few |= levels[i].few;
		late |= levels[i].late;
	}
	if (!few && !late)
		return;
	fprintf(out, "%-32s %10s %11s", "marks", "", "");
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		fprintf(out, " %11s", marks[levels[i].few + 2 * levels[i].late]);
	fputc('\n', out);
	if (few)
		fprintf(out, "  few: fewer than %d samples lie beyond that quantile\n", TL_LATENCY_FEW);
	if (late)
		fputs("  late: the measuring program was late enough to explain that quantile\n", out);
}

void tl_latency_print_levels(
	FILE *out, const struct tl_latency_level levels[TL_LATENCY_LEVELS], uint64_t unanswered, uint64_t window_ns)
{
	print_with_loss(out, levels, unanswered, window_ns);
	print_marks(out, levels);
}

void tl_latency_fit_print(FILE *out, const struct tl_latency_fit *fit)
{
	if (!fit->known)
		return;
	fprintf(out, "p50 grows by %.3f ns per byte, from %.1f ns (r2 %.4f", fit->slope, fit->base, fit->r2);
	if (fit->slope_se >= 0)
		fprintf(out, ", standard error of the slope %.3f", fit->slope_se);
	fputs(")\n", out);
}

void tl_latency_print_invalid(FILE *out, const struct tl_latency_reasons *invalid)
{
	for (size_t i = 0; i < invalid->n; i++)
		fprintf(out, "%sINVALID: %s\n", i == 0 ? "\n" : "", TL_PRINTABLE(invalid->text[i]));
}
