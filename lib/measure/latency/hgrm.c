// SPDX-License-Identifier: BSD-3-Clause
// Histogram in the text format of HdrHistogram's outputPercentileDistribution, as read by its plotters.

#include <tl_latency.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define TICKS_PER_HALF 5 // lines for each halving of the distance to 100 %

// HdrHistogram uses the middle of a bucket for its mean, and has no exact maximum.
static double middle_ns(size_t index)
{
	return (double)(tl_hist_lower_ns(index) + (tl_hist_upper_ns(index) + 1 - tl_hist_lower_ns(index)) / 2);
}

static void print_line(FILE *out, size_t bucket, double level, uint64_t seen)
{
	fprintf(out, "%12.3f %2.12f %10" PRIu64, (double)tl_hist_upper_ns(bucket), level / 100, seen);
	if (level < 100)
		fprintf(out, " %14.2f", 1 / (1 - level / 100));
	fputc('\n', out);
}

// Return the next level: the step halves with each power of two by which 100 - level decreases.
static double next_level(double level)
{
	double halvings = floor(log2(100 / (100 - level))) + 1;
	double next = level + 100 / (TICKS_PER_HALF * exp2(halvings));

	return next > level ? next : 100; // no double lies between
}

// Print the lines. The last bucket has one line for the level reached, however many it passed, and one for 100 %. With
// more samples than the precision of a double others reach 100 %, too.
static void print_levels(const struct tl_hist *hist, FILE *out)
{
	uint64_t seen = 0;
	double level = 0;

	for (size_t i = 0; seen < hist->count; i++) {
		if (hist->bucket[i] == 0)
			continue;
		seen += hist->bucket[i];
		double reached = 100 * (double)seen / (double)hist->count;
		for (; reached >= level && level < 100 && seen < hist->count; level = next_level(level))
			print_line(out, i, level, seen);
		if (seen == hist->count) {
			print_line(out, i, level, seen);
			print_line(out, i, 100, seen);
		}
	}
}

static void print_footer(const struct tl_hist *hist, FILE *out)
{
	double sum = 0, squares = 0, n = (double)hist->count;
	size_t last = 0;

	for (size_t i = 0; i < TL_HIST_BUCKETS; i++) {
		sum += middle_ns(i) * (double)hist->bucket[i];
		if (hist->bucket[i] != 0)
			last = i;
	}
	double mean = hist->count != 0 ? sum / n : 0;
	for (size_t i = 0; i < TL_HIST_BUCKETS; i++)
		squares += (middle_ns(i) - mean) * (middle_ns(i) - mean) * (double)hist->bucket[i];
	fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean, hist->count != 0 ? sqrt(squares / n) : 0);
	fprintf(out, "#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n", (double)tl_hist_upper_ns(last),
		hist->count);
	fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", TL_HIST_MAX_BITS - TL_HIST_SUB_BITS,
		2 << TL_HIST_SUB_BITS);
	fprintf(out, "#[Unit    = nanoseconds]\n");
}

int tl_latency_hgrm(const struct tl_hist *hist, FILE *out)
{
	fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
	print_levels(hist, out);
	print_footer(hist, out);
	return ferror(out) == 0 ? 0 : -EIO;
}
