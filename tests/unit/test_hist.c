// SPDX-License-Identifier: BSD-3-Clause
// Histogram, compared with a sorted array of the same values.

#include <stdlib.h>
#include <string.h>

#include <tl_coarse.h>
#include <tl_hist.h>
#include <tl_random.h>
#include <tl_test.h>

#define VALUES 20000

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static struct tl_hist *new_hist(void)
{
	struct tl_hist *hist = malloc(sizeof(*hist));
	tl_hist_init(hist);
	return hist;
}

#define EXACT (UINT64_C(2) << TL_HIST_SUB_BITS) // below it every value has its own bucket

TL_TEST("each value below 2048 has its own bucket")
{
	CU_ASSERT_EQUAL(EXACT, 2048);
	for (uint64_t v = 0; v < EXACT; v++)
		CU_ASSERT_EQUAL(tl_hist_index(v), v);
}

static void check_bucket(unsigned index, uint64_t first, uint64_t last)
{
	CU_ASSERT_EQUAL(tl_hist_index(first), index);
	CU_ASSERT_EQUAL(tl_hist_index(last), index);
	CU_ASSERT_EQUAL(tl_hist_index(first - 1), index - 1);
	CU_ASSERT_EQUAL(tl_hist_lower_ns(index), first);
	CU_ASSERT_EQUAL(tl_hist_upper_ns(index), last);
	CU_ASSERT((last - first) * 1000 < first); // 3 significant digits
}

TL_TEST("buckets are contiguous up to 137 s with a relative width below 0.1 %")
{
	// Within an octave every bucket is 2^shift wide: check both sides of each edge.
	unsigned index = EXACT - 1;
	for (unsigned shift = 1; (EXACT << shift) - 1 <= TL_HIST_MAX_NS; shift++)
		for (uint64_t lead = EXACT / 2; lead < EXACT; lead++)
			check_bucket(++index, lead << shift, (lead << shift) + ((UINT64_C(1) << shift) - 1));
	CU_ASSERT_EQUAL(index, TL_HIST_BUCKETS - 1);
	CU_ASSERT_EQUAL(tl_hist_index(TL_HIST_MAX_NS), TL_HIST_BUCKETS - 1);
	CU_ASSERT(TL_HIST_MAX_NS >= 100 * TL_NS_PER_S);
}

TL_TEST("buckets are monotonic")
{
	uint64_t seed = 1;
	uint64_t *values = malloc(VALUES * sizeof(*values));

	for (size_t i = 0; i < VALUES; i++)
		values[i] = tl_random_next(&seed) >> (tl_random_next(&seed) & 63);
	qsort(values, VALUES, sizeof(*values), by_value);
	for (size_t i = 1; i < VALUES; i++)
		CU_ASSERT(tl_hist_index(values[i]) >= tl_hist_index(values[i - 1]));
	free(values);
}

TL_TEST("an empty histogram is all zero")
{
	struct tl_hist *hist = new_hist();
	struct tl_hist_summary got, zero = {0};

	memset(&got, 0xff, sizeof(got));
	tl_hist_summarize(hist, &got);
	CU_ASSERT_EQUAL(memcmp(&got, &zero, sizeof(got)), 0);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 0), 0);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 1000), 0);
	CU_ASSERT_EQUAL(hist->min_ns, UINT64_MAX);
	free(hist);
}

TL_TEST("a single value is every percentile exactly")
{
	struct tl_hist *hist = new_hist();

	tl_hist_record(hist, 123457);
	for (unsigned permille = 0; permille <= 1000; permille++)
		CU_ASSERT_EQUAL(tl_hist_permille(hist, permille), 123457);
	free(hist);
}

TL_TEST("values above the last bucket are counted as overflow, and their maximum is exact")
{
	struct tl_hist *hist = new_hist(), *merged = new_hist(), *copy = new_hist();

	tl_hist_record(hist, 0);
	tl_hist_record(hist, TL_HIST_MAX_NS);
	CU_ASSERT_EQUAL(hist->overflow, 0);
	tl_hist_record(hist, TL_HIST_MAX_NS + 1);
	tl_hist_record(hist, UINT64_MAX);
	CU_ASSERT_EQUAL(hist->overflow, 2);
	CU_ASSERT_EQUAL(hist->bucket[TL_HIST_BUCKETS - 1], 3);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 250), 0);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 500), TL_HIST_MAX_NS);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 501), UINT64_MAX);
	tl_hist_merge(merged, hist);
	tl_hist_merge(merged, hist);
	CU_ASSERT_EQUAL(merged->overflow, 4);
	tl_hist_copy(copy, hist);
	CU_ASSERT_EQUAL(copy->overflow, 2);
	free(hist);
	free(merged);
	free(copy);
}

// Nearest rank on the sorted values: the histogram's result lies in the same bucket, and is exact at both ends.
static void check_percentiles(const struct tl_hist *hist, const uint64_t *sorted, size_t n)
{
	size_t wrong = 0;

	for (unsigned permille = 1; permille <= 1000; permille++) {
		uint64_t exact = sorted[(n * permille + 999) / 1000 - 1];
		uint64_t got = tl_hist_permille(hist, permille);
		wrong += got < exact || tl_hist_index(got) != tl_hist_index(exact) || (exact < EXACT && got != exact);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 0), sorted[0]);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 1000), sorted[n - 1]);
	CU_ASSERT_EQUAL(
		tl_hist_at_rank(hist, 1), tl_min_u64(tl_hist_upper_ns(tl_hist_index(sorted[0])), sorted[n - 1]));
}

static uint64_t all_equal(uint64_t *seed)
{
	return 123456789;
}

static uint64_t narrow(uint64_t *seed) // like a NIC's: around 1 us, some 100 ns wide
{
	uint64_t sum = 0;
	for (int i = 0; i < 8; i++)
		sum += tl_random_next(seed) % 50;
	return 800 + sum;
}

static uint64_t two_humps(uint64_t *seed)
{
	return tl_random_next(seed) % 100 == 0 ? 900000 + tl_random_next(seed) % 100000
					       : 2000 + tl_random_next(seed) % 100;
}

static uint64_t any_octave(uint64_t *seed)
{
	return (tl_random_next(seed) & TL_HIST_MAX_NS) >> tl_random_next(seed) % TL_HIST_MAX_BITS;
}

static uint64_t long_tail(uint64_t *seed) // reciprocal of a uniform value: infinite mean
{
	return TL_HIST_MAX_NS / (1 + tl_random_next(seed) % 1000000);
}

static uint64_t on_edges(uint64_t *seed) // powers of two, minus 1, 0 or plus 1
{
	return (UINT64_C(1) << (1 + tl_random_next(seed) % (TL_HIST_MAX_BITS - 1))) + tl_random_next(seed) % 3 - 1;
}

static void check_distribution(uint64_t (*draw)(uint64_t *seed), uint64_t seed, uint64_t *values, size_t n)
{
	struct tl_hist *hist = new_hist();
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < n; i++) {
		values[i] = draw(&seed);
		sum_ns += values[i];
		tl_hist_record(hist, values[i]);
	}
	qsort(values, n, sizeof(*values), by_value);
	CU_ASSERT_EQUAL(hist->count, n);
	CU_ASSERT_EQUAL(hist->overflow, 0);
	CU_ASSERT_EQUAL(hist->sum_ns, sum_ns);
	CU_ASSERT_EQUAL(hist->min_ns, values[0]);
	CU_ASSERT_EQUAL(hist->max_ns, values[n - 1]);
	check_percentiles(hist, values, n);
	free(hist);
}

TL_TEST("percentiles of every distribution lie in the bucket of the nearest rank")
{
	static uint64_t (*const draws[])(uint64_t *) = {all_equal, narrow, two_humps, any_octave, long_tail, on_edges};
	static const size_t sizes[] = {1, 2, 9, 1000, 1001, VALUES - 7};
	uint64_t *values = malloc(VALUES * sizeof(*values));

	for (size_t d = 0; d < TL_ARRAY_LEN(draws); d++)
		for (size_t s = 0; s < TL_ARRAY_LEN(sizes); s++)
			for (uint64_t seed = 1; seed <= 3; seed++)
				check_distribution(draws[d], seed, values, sizes[s]);
	free(values);
}

TL_TEST("the summary of 1 to 100 is correct")
{
	struct tl_hist *hist = new_hist();
	struct tl_hist_summary got;

	for (uint64_t v = 1; v <= 100; v++)
		tl_hist_record(hist, v);
	tl_hist_summarize(hist, &got);
	CU_ASSERT_EQUAL(got.count, 100);
	CU_ASSERT_EQUAL(got.min_ns, 1);
	CU_ASSERT_EQUAL(got.p50_ns, 50);
	CU_ASSERT_EQUAL(got.p90_ns, 90);
	CU_ASSERT_EQUAL(got.p99_ns, 99);
	CU_ASSERT_EQUAL(got.p999_ns, 100);
	CU_ASSERT_EQUAL(got.max_ns, 100);
	CU_ASSERT_DOUBLE_EQUAL(got.mean_ns, 50.5, 1e-9);
	free(hist);
}

TL_TEST("recording n values at once equals recording n times")
{
	struct tl_hist *at_once = new_hist(), *one_by_one = new_hist();
	uint64_t seed = 3;

	for (unsigned i = 0; i < 200; i++) {
		uint64_t value = tl_random_next(&seed) >> 30, n = tl_random_next(&seed) % 10;
		tl_hist_record_n(at_once, value, n);
		for (uint64_t k = 0; k < n; k++)
			tl_hist_record(one_by_one, value);
	}
	CU_ASSERT_EQUAL(memcmp(at_once, one_by_one, sizeof(*at_once)), 0);
	tl_hist_record_n(at_once, 0, 0);
	CU_ASSERT_EQUAL(memcmp(at_once, one_by_one, sizeof(*at_once)), 0);
	free(at_once);
	free(one_by_one);
}

TL_TEST("merging equals recording both")
{
	struct tl_hist *a = new_hist(), *b = new_hist(), *both = new_hist(), *empty = new_hist();
	uint64_t seed = 4;

	for (unsigned i = 0; i < 2000; i++) {
		uint64_t value = tl_random_next(&seed) >> (tl_random_next(&seed) & 63);
		tl_hist_record(i % 3 == 0 ? a : b, value);
		tl_hist_record(both, value);
	}
	tl_hist_merge(a, b);
	CU_ASSERT_EQUAL(memcmp(a, both, sizeof(*a)), 0);
	tl_hist_merge(a, empty);
	CU_ASSERT_EQUAL(memcmp(a, both, sizeof(*a)), 0);
	tl_hist_merge(empty, a);
	CU_ASSERT_EQUAL(memcmp(empty, both, sizeof(*a)), 0);
	free(a);
	free(b);
	free(both);
	free(empty);
}

TL_TEST("a copy equals its unmodified original")
{
	struct tl_hist *hist = new_hist(), *copy = malloc(sizeof(*copy));
	uint64_t seed = 5;

	for (unsigned i = 0; i < 1000; i++)
		tl_hist_record(hist, tl_random_next(&seed) >> 40);
	memset(copy, 0xff, sizeof(*copy));
	tl_hist_copy(copy, hist);
	CU_ASSERT_EQUAL(memcmp(copy, hist, sizeof(*copy)), 0);
	hist->count += 3; // values being recorded by another thread: the total precedes the buckets
	tl_hist_copy(copy, hist);
	CU_ASSERT_EQUAL(copy->count, 1000);
	free(hist);
	free(copy);
}

TL_TEST("percentiles of 2^63 values do not overflow")
{
	struct tl_hist *hist = new_hist();

	tl_hist_record_n(hist, 1, UINT64_C(1) << 62);
	tl_hist_record_n(hist, 2, UINT64_C(1) << 62);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 499), 1);
	CU_ASSERT_EQUAL(tl_hist_permille(hist, 501), 2);
	free(hist);
}

TL_TEST("buckets of a coarse histogram are contiguous up to 2^64 - 1")
{
	unsigned index = 16;

	for (uint64_t v = 0; v < 16; v++)
		CU_ASSERT_EQUAL(tl_coarse_index(v), v);
	for (unsigned shift = 1; shift <= 60; shift++)
		for (uint64_t lead = 8; lead < 16; lead++, index++) {
			CU_ASSERT_EQUAL(tl_coarse_index(lead << shift), index);
			CU_ASSERT_EQUAL(tl_coarse_index((lead << shift) + (UINT64_C(1) << shift) - 1), index);
		}
	CU_ASSERT_EQUAL(index, TL_COARSE_BUCKETS);
}

TL_TEST("percentiles of coarse histograms and of their sums are upper edges of buckets")
{
	struct tl_coarse a = {0}, b = {0}, sum = {0};

	CU_ASSERT_EQUAL(tl_coarse_permille(&sum, 0, 990), 0);
	for (uint64_t v = 1; v <= 99; v++)
		tl_coarse_record(&a, v);
	tl_coarse_record(&b, UINT64_MAX);
	CU_ASSERT_EQUAL(tl_coarse_add(&sum, &a), 99);
	CU_ASSERT_EQUAL(tl_coarse_add(&sum, &b), 1);
	CU_ASSERT_EQUAL(tl_coarse_permille(&sum, 100, 10), 1);
	CU_ASSERT_EQUAL(tl_coarse_permille(&sum, 100, 500), 51);  // 48 to 51
	CU_ASSERT_EQUAL(tl_coarse_permille(&sum, 100, 990), 103); // 96 to 103
	CU_ASSERT_EQUAL(tl_coarse_permille(&sum, 100, 991), UINT64_MAX);
}

int main(void)
{
	return tl_test_run("hist");
}
