// SPDX-License-Identifier: BSD-3-Clause
// Verdict of `bench qualify` on a size.

#include "bench_qualify.h"

#define WIRE_EXTRA_BYTES 24 // preamble, FCS and gap of a frame
#define COSTS 0.9	    // a stage below this share of the rate before it is a limit

struct tl_qualify_verdict tl_qualify_judge(const struct tl_qualify_row rows[], unsigned n)
{
	struct tl_qualify_verdict v = {.size_bytes = rows[0].size_bytes, .limit = -1, .next = -1};
	const struct tl_qualify_row *last = &rows[0];
	double least = COSTS, second = COSTS;

	for (unsigned i = 0; i < n; i++) {
		if (rows[i].skipped)
			continue;
		double share = v.pps > 0 ? rows[i].pps / v.pps : 1;
		v.pps = rows[i].pps;
		last = &rows[i];
		if (share < least) {
			second = least;
			v.next = v.limit;
			least = share;
			v.limit = (int)rows[i].stage;
		} else if (share < second) {
			second = share;
			v.next = (int)rows[i].stage;
		}
	}
	if (last->stage >= TL_QUALIFY_DISK && last->slowdown >= 0 && last->slowdown < TL_QUALIFY_SLOWS)
		v.pps = last->quarter_pps[TL_QUALIFY_QUARTERS - 1];
	v.bits_per_s = v.pps * (v.size_bytes + WIRE_EXTRA_BYTES) * 8;
	return v;
}
