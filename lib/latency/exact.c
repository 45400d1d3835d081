// SPDX-License-Identifier: BSD-3-Clause
// The summary of a report: by nearest rank over the samples where all of them were kept, else by the histogram.

#include "latency_priv.h"

#include <stdlib.h>

static int by_value(const void *a_ns, const void *b_ns)
{
	uint64_t a = *(const uint64_t *)a_ns, b = *(const uint64_t *)b_ns;

	return (a > b) - (a < b);
}

// The least value that so many of a thousand are not above.
static uint64_t permille(const uint64_t *sorted_ns, size_t n, size_t of_thousand)
{
	return sorted_ns[(n * of_thousand + 999) / 1000 - 1];
}

bool tl_latency_summarize(const struct tl_latency *report, struct tl_hist_summary *out)
{
	size_t n = report->n_samples;
	uint64_t *sorted_ns;

	tl_hist_summarize(&report->latency, out);
	if (n == 0 || n != report->latency.count)
		return n == report->latency.count;
	sorted_ns = reallocarray(NULL, n, sizeof(*sorted_ns));
	if (sorted_ns == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		sorted_ns[i] = report->samples[i].latency_ns;
	qsort(sorted_ns, n, sizeof(*sorted_ns), by_value);
	out->p50_ns = permille(sorted_ns, n, 500);
	out->p90_ns = permille(sorted_ns, n, 900);
	out->p99_ns = permille(sorted_ns, n, 990);
	out->p999_ns = permille(sorted_ns, n, 999);
	free(sorted_ns);
	return true;
}
