// SPDX-License-Identifier: BSD-3-Clause
// Lower envelope of latencies over time.

#include <tl_latency_drift.h>

#include <tl_latency.h>

#define WINDOWS 16
// The range of 16 exponential minima is below 9.7 of their mean in 999 of 1000 cases, and two minima of half as many
// samples differ by 1.4 of it at the median; the rest is margin for the error of that median.
#define BY_CHANCE 12

static uint64_t least(const struct tl_latency_sample *samples, size_t first, size_t end)
{
	uint64_t least_ns = samples[first].latency_ns;

	for (size_t i = first + 1; i < end; i++)
		least_ns = tl_min_u64(least_ns, samples[i].latency_ns);
	return least_ns;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t median(uint64_t *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && values[k - 1] > values[k]; k--) {
			uint64_t larger = values[k - 1];
			values[k - 1] = values[k];
			values[k] = larger;
		}
	return values[n / 2];
}

// Set the verdict. A drift shows from one end of the span to the other.
static void set_verdict(uint64_t bounds_ns, uint64_t chance_ns, struct tl_latency_drift *out)
{
	out->allowed_ns = bounds_ns + BY_CHANCE * chance_ns;
	out->seen_ppm = out->span_ns != 0 ? (double)out->allowed_ns / (double)out->span_ns * 1e6 : 0;
	if (out->moves_ns > out->allowed_ns)
		out->verdict = TL_LATENCY_DRIFT_MOVES;
	else if (out->span_ns != 0 && out->seen_ppm <= TL_LATENCY_DRIFT_PPM)
		out->verdict = TL_LATENCY_DRIFT_FLAT;
}

void tl_latency_drift(
	const struct tl_latency_sample *samples, size_t n, uint64_t bounds_ns, struct tl_latency_drift *out)
{
	uint64_t low_ns = UINT64_MAX, high_ns = 0, differ_ns[WINDOWS];

	*out = (struct tl_latency_drift){.verdict = TL_LATENCY_DRIFT_UNKNOWN};
	if (n < TL_LATENCY_DRIFT_PAIRS)
		return;
	for (size_t w = 0; w < WINDOWS; w++) {
		size_t first = n * w / WINDOWS, end = n * (w + 1) / WINDOWS, middle = first + (end - first) / 2;
		uint64_t early_ns = least(samples, first, middle), late_ns = least(samples, middle, end);
		differ_ns[w] = apart(early_ns, late_ns);
		low_ns = tl_min_u64(low_ns, tl_min_u64(early_ns, late_ns));
		high_ns = tl_max_u64(high_ns, tl_min_u64(early_ns, late_ns));
	}
	out->span_ns = apart(samples[n - 1].time_ns, samples[0].time_ns);
	out->moves_ns = high_ns - low_ns;
	set_verdict(bounds_ns, median(differ_ns, WINDOWS), out);
}
