// SPDX-License-Identifier: BSD-3-Clause
// Text and JSON of `bench qualify`.

#include "bench_qualify.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <tl_base.h>
#include <tl_json.h>
#include <tl_units.h>

#define SHOWN_LCORES 8

static const struct {
	const char *name, *meaning;
} stages[] = {
	[TL_QUALIFY_SOURCE] = {"source", "lcores poll frames in memory and record nothing"},
	[TL_QUALIFY_RINGS] = {"rings", "a stamp, and a copy as pcapng into a slab, per frame"},
	[TL_QUALIFY_PARSER] = {"parser", "filter, snaplen, cut-off and classes as configured"},
	[TL_QUALIFY_WRITER] = {"writer", "slabs are written to a device that discards them at once"},
	[TL_QUALIFY_DISK] = {"disk", "slabs are written to a ring of files"},
	[TL_QUALIFY_INDEX] = {"index", "the files have an index"},
	[TL_QUALIFY_WHOLE] = {"whole", "digest, compression, order and format as configured"},
};

const char *tl_qualify_stage_name(enum tl_qualify_stage stage)
{
	return stages[stage].name;
}

// Return the row of a stage, or NULL: not measured.
static const struct tl_qualify_row *find(
	const struct tl_qualify_result *result, uint32_t size, enum tl_qualify_stage stage)
{
	for (unsigned i = 0; i < result->n_rows; i++)
		if (result->rows[i].size_bytes == size && result->rows[i].stage == stage && !result->rows[i].skipped)
			return &result->rows[i];
	return NULL;
}

// Return the last row of a size.
static const struct tl_qualify_row *last_of(const struct tl_qualify_result *result, uint32_t size)
{
	const struct tl_qualify_row *last = NULL;

	for (enum tl_qualify_stage stage = 0; stage < TL_QUALIFY_STAGES; stage++) {
		const struct tl_qualify_row *row = find(result, size, stage);
		last = row != NULL ? row : last;
	}
	return last;
}

// Rates of SHOWN_LCORES lcores, computed from those that the host has.
struct more_lcores {
	double pps;	    // at which they fill slabs that are discarded; 0: not measured
	double written_bps; // of the disk for that rate; 0: nothing is written
};

static struct more_lcores more_lcores(const struct tl_qualify_result *result, uint32_t size)
{
	const struct tl_qualify_row *row = find(result, size, TL_QUALIFY_PARSER), *last = last_of(result, size);
	struct more_lcores more = {0};

	row = row != NULL ? row : find(result, size, TL_QUALIFY_RINGS);
	if (row != NULL)
		more.pps = row->pps / result->lcores * SHOWN_LCORES;
	if (last != NULL && last->pps > 0)
		more.written_bps = last->written_bps / last->pps * more.pps;
	return more;
}

// ---- text

static void print_row(const struct tl_qualify_row *row, double before, FILE *out)
{
	fprintf(out, "%8u  %-8s", row->size_bytes, tl_qualify_stage_name(row->stage));
	if (row->skipped) {
		fputs(row->unfed ? "  not measured: it would get too few frames\n" : "  nothing of it is configured\n",
			out);
		return;
	}
	fprintf(out, " %9.3f", row->pps / 1e6);
	if (before > 0)
		fprintf(out, " %7.2f", row->pps / before);
	else
		fprintf(out, " %7s", "");
	if (row->stage >= TL_QUALIFY_DISK)
		fprintf(out, " %9.0f %9.1f %9.1f", row->written_bps / 1e6, (double)row->stall_ns / 1e6,
			(double)row->buffer_ns / 1e6);
	fputc('\n', out);
}

static void print_table(const struct tl_qualify_result *result, FILE *out)
{
	double before = 0;

	fprintf(out, "%8s  %-8s %9s %7s %9s %9s %9s\n", "bytes", "stage", "Mpps", "share", "MB/s", "stall ms",
		"cover ms");
	for (unsigned i = 0; i < result->n_rows; i++) {
		const struct tl_qualify_row *row = &result->rows[i];
		print_row(row, row->stage == TL_QUALIFY_SOURCE ? 0 : before, out);
		if (!row->skipped)
			before = row->pps;
	}
	fputc('\n', out);
	for (enum tl_qualify_stage stage = 0; stage < TL_QUALIFY_STAGES; stage++)
		fprintf(out, "%-8s %s\n", stages[stage].name, stages[stage].meaning);
	fputs("share    of the rate of the stage before; stall: longest time without a confirmed write; cover: the stall that\n"
	      "         the buffers outlast at this rate\n\n",
		out);
}

// Tell warm-up, steady state and a drive beyond its cache apart.
static void print_quarters(const struct tl_qualify_cfg *cfg, const struct tl_qualify_row *row, FILE *out)
{
	fputs("  warm-up and three quarters more:", out);
	for (unsigned i = 0; i < TL_QUALIFY_QUARTERS; i++)
		fprintf(out, "%s %.3f", i > 0 ? "," : "", row->quarter_pps[i] / 1e6);
	fprintf(out, " Mpps; %.2f GB written, ", (double)row->written_bytes / 1e9);
	if (cfg->cache_bytes != 0)
		fprintf(out, "%.1f times the cache of the drive\n",
			(double)row->written_bytes / (double)cfg->cache_bytes);
	else
		fputs("the cache of the drive is not known (--cache)\n", out);
	if (row->slowdown >= 0 && row->slowdown < TL_QUALIFY_SLOWS)
		fprintf(out,
			"  the rate fell to %.0f %% of the second quarter's: the cache of the drive is full, it collects garbage, or the\n"
			"  host had less CPU; the verdict has the rate of the last quarter: measure longer (--seconds) for a steady one\n",
			row->slowdown * 100);
}

static void print_disk(const struct tl_qualify_cfg *cfg, const struct tl_qualify_row *row, FILE *out)
{
	if (row->written_bps <= 0)
		return;
	fprintf(out, "  the longest write stall, %.1f ms, %s within the %.1f ms that the buffers cover\n",
		(double)row->stall_ns / 1e6, row->stall_ns <= row->buffer_ns ? "is" : "is not",
		(double)row->buffer_ns / 1e6);
	print_quarters(cfg, row, out);
}

static void print_more_lcores(const struct more_lcores *more, FILE *out)
{
	if (more->pps <= 0)
		return;
	fprintf(out, "  %d lcores with a core each would fill slabs at %.3f Mpps", SHOWN_LCORES, more->pps / 1e6);
	if (more->written_bps > 0)
		fprintf(out, ", and need %.1f GB/s of the disk", more->written_bps / 1e9);
	fputc('\n', out);
}

static void print_verdict(const struct tl_qualify_cfg *cfg, const struct tl_qualify_result *result,
	const struct tl_qualify_verdict *v, FILE *out)
{
	const struct tl_qualify_row *last = last_of(result, v->size_bytes);
	double seconds = last->seconds < cfg->seconds + 1 ? cfg->seconds : round(last->seconds); // more, with a cache

	fprintf(out, "%u bytes: sustains %.3f Mpps, %.2f Gbit/s on the wire, for %g s with %u lcore%s; ", v->size_bytes,
		v->pps / 1e6, v->bits_per_s / 1e9, seconds, result->lcores, result->lcores == 1 ? "" : "s");
	if (v->limit < 0)
		fputs("limit: the source, as no component costs a tenth", out);
	else
		fprintf(out, "limit: %s", stages[v->limit].name);
	if (v->next >= 0)
		fprintf(out, "; next limit: %s", stages[v->next].name);
	fputs(v->noisy ? " (noisy: a stage was faster than one before it)\n" : "\n", out);
	if (v->kept < TL_QUALIFY_FEEDS) {
		fprintf(out,
			"  no verdict on writer and disk: filter, cut-off and classes drop %.0f %% of these frames, which are UDP\n"
			"  of 256 flows to 239.1.1.1:5001\n",
			100 * (1 - v->kept));
		return;
	}
	const struct more_lcores more = more_lcores(result, v->size_bytes);
	print_disk(cfg, last, out);
	print_more_lcores(&more, out);
}

int tl_qualify_print(const struct tl_qualify_cfg *cfg, const struct tl_qualify_result *result, FILE *out)
{
	print_table(result, out);
	for (unsigned i = 0; i < result->n_verdicts; i++)
		print_verdict(cfg, result, &result->verdicts[i], out);
	if (result->interrupted)
		fputs("interrupted: sizes without a verdict were not finished, and the last row may be shorter\n", out);
	return fflush(out) == 0 && ferror(out) == 0 ? 0 : -EIO;
}

// ---- JSON

static json_t *number_or_null(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *quarters_json(const struct tl_qualify_row *row)
{
	json_t *quarters = json_array();

	for (unsigned i = 0; i < TL_QUALIFY_QUARTERS; i++)
		json_array_append_new(quarters, number_or_null(round(row->quarter_pps[i])));
	return quarters;
}

static json_t *row_json(const struct tl_qualify_row *row)
{
	if (row->skipped)
		return json_pack("{s:i, s:s, s:b}", "size_bytes", (int)row->size_bytes, "stage",
			tl_qualify_stage_name(row->stage), "skipped", 1);
	bool writes = row->stage >= TL_QUALIFY_DISK;
	return json_pack("{s:i, s:s, s:b, s:f, s:f, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", //
		"size_bytes", (int)row->size_bytes,					 //
		"stage", tl_qualify_stage_name(row->stage),				 //
		"skipped", 0,								 //
		"seconds", row->seconds,						 //
		"pps", round(row->pps),							 //
		"quarter_pps", quarters_json(row),					 //
		"written_bytes", (json_int_t)row->written_bytes,			 //
		"dropped_pkts", (json_int_t)row->dropped_pkts,				 //
		"written_bytes_per_s", writes ? json_real(round(row->written_bps)) : json_null(), "stall_ns",
		writes ? json_integer((json_int_t)row->stall_ns) : json_null(), "buffer_ns",
		writes ? json_integer((json_int_t)row->buffer_ns) : json_null(), "slowdown",
		number_or_null(row->slowdown));
}

static json_t *stage_or_null(int stage)
{
	return stage < 0 ? json_null() : json_string(stages[stage].name);
}

static json_t *verdict_json(const struct tl_qualify_result *result, const struct tl_qualify_verdict *v)
{
	const struct more_lcores more = more_lcores(result, v->size_bytes);

	return json_pack("{s:i, s:f, s:f, s:f, s:b, s:o, s:o, s:{s:f, s:o}}", "size_bytes", (int)v->size_bytes, "pps",
		round(v->pps), "bits_per_s", round(v->bits_per_s), "kept", v->kept, "noisy", v->noisy, "limit",
		stage_or_null(v->limit), "next", stage_or_null(v->next), "eight_lcores", "pps", round(more.pps),
		"written_bytes_per_s", more.written_bps > 0 ? json_real(round(more.written_bps)) : json_null());
}

json_t *tl_qualify_json(const struct tl_qualify_cfg *cfg, const struct tl_qualify_result *result)
{
	json_t *rows = json_array(), *verdicts = json_array();

	for (unsigned i = 0; i < result->n_rows; i++)
		json_array_append_new(rows, row_json(&result->rows[i]));
	for (unsigned i = 0; i < result->n_verdicts; i++)
		json_array_append_new(verdicts, verdict_json(result, &result->verdicts[i]));
	return json_pack("{s:s, s:f, s:o, s:i, s:b, s:o, s:o}", "config", cfg->config, "seconds", cfg->seconds,
		"cache_bytes", cfg->cache_bytes != 0 ? json_integer((json_int_t)cfg->cache_bytes) : json_null(),
		"lcores", (int)result->lcores, "interrupted", result->interrupted, "rows", rows, "verdicts", verdicts);
}
