// SPDX-License-Identifier: BSD-3-Clause
// Verdict of `bench qualify` on a size.

#include "bench_qualify.h"

#define WIRE_EXTRA_BYTES 24 // preamble, FCS and gap of a frame
#define COSTS 0.9	    // a stage below this share of the rate before it is a limit

// Return the rate that the stage leaves to those behind it: one that was faster shows that it is no limit.
static double passed_pps(const struct tl_qualify_row rows[], unsigned n)
{
	double pps = 0;

	for (unsigned i = 0; i < n; i++)
		if (!rows[i].skipped && rows[i].pps > pps)
			pps = rows[i].pps;
	return pps;
}

// Check for a stage that can take work from those before it: less to copy or to write.
static bool relieves(enum tl_qualify_stage stage)
{
	return stage == TL_QUALIFY_PARSER || stage == TL_QUALIFY_WHOLE;
}

static bool is_noisy(const struct tl_qualify_row rows[], unsigned n)
{
	double least = 0;
	bool noisy = false;

	for (unsigned i = 0; i < n; i++) {
		if (rows[i].skipped)
			continue;
		if (least == 0 || relieves(rows[i].stage))
			least = rows[i].pps;
		noisy |= rows[i].pps * COSTS > least;
		least = rows[i].pps < least ? rows[i].pps : least;
	}
	return noisy;
}

struct tl_qualify_verdict tl_qualify_judge(const struct tl_qualify_row rows[], unsigned n)
{
	struct tl_qualify_verdict v = {
		.size_bytes = rows[0].size_bytes, .limit = -1, .next = -1, .noisy = is_noisy(rows, n)};
	const struct tl_qualify_row *last = &rows[0];
	double before = 0;

	for (unsigned i = 0; i < n; i++) {
		if (rows[i].skipped)
			continue;
		double pps = passed_pps(&rows[i], n - i);
		if (pps < COSTS * before) {
			v.next = v.limit;
			v.limit = (int)rows[i].stage;
		}
		before = pps;
		last = &rows[i];
	}
	v.pps = last->pps;
	v.kept = last->kept;
	if (last->stage >= TL_QUALIFY_DISK && last->slowdown >= 0 && last->slowdown < TL_QUALIFY_SLOWS)
		v.pps = last->quarter_pps[TL_QUALIFY_QUARTERS - 1];
	v.bits_per_s = v.pps * (v.size_bytes + WIRE_EXTRA_BYTES) * 8;
	return v;
}
