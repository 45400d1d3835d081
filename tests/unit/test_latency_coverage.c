// SPDX-License-Identifier: BSD-3-Clause
// Coverage of a comparison's intervals: 95 % of pairs of equal series, independent, autocorrelated and bursty, must
// cover the difference, which is 0; runs that are too short must be rejected. All random numbers are seeded.
//
// With a number as argument the program prints the table of docs/latency-reports.md, computed from that many pairs.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_latency_compare.h>
#include <tl_random.h>
#include <tl_sanitizer.h>
#include <tl_test.h>

#define SAMPLES 12000
#define RUN_SAMPLES 1500		// p99.9 is not judged
#define PAIRS (TL_SANITIZED ? 20 : 150) // sanitizers check the code, not the coverage
#define ROWS (TL_LATENCY_QUANTILES + 3) // plus the mean, the share of answered messages, and all together
#define ROW_MEAN TL_LATENCY_QUANTILES
#define ROW_ANSWERED (TL_LATENCY_QUANTILES + 1)
#define ROW_ALL (TL_LATENCY_QUANTILES + 2)

struct series {
	const char *name;
	double rho;			 // of an AR(1) process; the latency is its exponential
	double quiet, busy, busy_factor; // mean length of a state, in samples; 0: one state only
	double busy_loss;		 // share of lost replies in the busy state
	uint64_t unit_ns;		 // resolution of the stamps
	size_t samples, runs;		 // per run, per side
	double run_spread;		 // spread of runs: standard deviation of the logarithm
	enum { COVERS, ONLY_SHOWN, TOO_SHORT } expected;
};

static const struct series kinds[] = {
	{"independent", .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"AR(1), 0.5", .rho = 0.5, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"AR(1), 0.8", .rho = 0.8, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"AR(1), 0.95", .rho = 0.95, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"AR(1), 0.95, in steps of 250 ns", .rho = 0.95, .unit_ns = 250, .samples = SAMPLES, .runs = 1},
	{"bursts of 20", .quiet = 180, .busy = 20, .busy_factor = 3, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"bursts of 100", .quiet = 900, .busy = 100, .busy_factor = 3, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"two states, 50 each", .quiet = 50, .busy = 50, .busy_factor = 2, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"bursts of 200, six in the run", .expected = ONLY_SHOWN, .quiet = 1800, .busy = 200, .busy_factor = 3,
		.unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"two states, 500 each", .expected = ONLY_SHOWN, .quiet = 500, .busy = 500, .busy_factor = 2, .unit_ns = 1,
		.samples = SAMPLES, .runs = 1},
	{"two states, 2000 each: a sixth of the run", .expected = TOO_SHORT, .quiet = 2000, .busy = 2000,
		.busy_factor = 2, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"1 in 200 lost, independent", .expected = ONLY_SHOWN, .quiet = 199, .busy = 1, .busy_factor = 1,
		.busy_loss = 1, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"1 in 200 lost, in bursts of 10", .quiet = 1990, .busy = 10, .busy_factor = 1, .busy_loss = 1, .unit_ns = 1,
		.samples = SAMPLES, .runs = 1},
	{"1 in 200 lost, in bursts of 60, one in the run", .expected = ONLY_SHOWN, .quiet = 11940, .busy = 60,
		.busy_factor = 1, .busy_loss = 1, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"half lost in bad times of 100, a tenth of the run", .quiet = 900, .busy = 100, .busy_factor = 3,
		.busy_loss = 0.5, .unit_ns = 1, .samples = SAMPLES, .runs = 1},
	{"3 runs each, apart by 5 %", .unit_ns = 1, .samples = RUN_SAMPLES, .runs = 3, .run_spread = 0.05},
	{"10 runs each, apart by 5 %", .unit_ns = 1, .samples = RUN_SAMPLES, .runs = 10, .run_spread = 0.05},
};

struct tally {
	unsigned judged[ROWS], covered[ROWS];
};

static double uniform(uint64_t *state)
{
	return ((double)(tl_random_next(state) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));
	return radius * cos(2 * M_PI * uniform(state));
}

static struct tl_latency *draw(const struct series *kind, uint64_t seed)
{
	struct tl_latency *report = tl_latency_create();
	double x = normal(&seed), run = exp(kind->run_spread * normal(&seed));
	bool busy = kind->quiet != 0 && uniform(&seed) < kind->busy / (kind->quiet + kind->busy);

	report->samples_max = 0;
	for (size_t i = 0; i < kind->samples; i++) {
		x = kind->rho * x + sqrt(1 - kind->rho * kind->rho) * normal(&seed);
		if (kind->quiet != 0)
			busy = busy != (uniform(&seed) < 1 / (busy ? kind->busy : kind->quiet));
		if (busy && kind->busy_loss > 0 && uniform(&seed) < kind->busy_loss) {
			report->unmatched_triggers++;
			tl_latency_date_lost(report, 1000 * i);
			continue;
		}
		uint64_t latency_ns = (uint64_t)(1000 * run * exp(0.6 * x) * (busy ? kind->busy_factor : 1));
		tl_latency_add(report, &(struct tl_latency_sample){.time_ns = 1000 * i,
					       .latency_ns = latency_ns / kind->unit_ns * kind->unit_ns});
	}
	return report;
}

static void count(const struct tl_latency_row *row, unsigned *judged, unsigned *covered)
{
	if (!tl_latency_has_interval(row))
		return;
	++*judged;
	*covered += row->diff.low_ns <= 0 && row->diff.high_ns >= 0;
}

static void compare(struct tl_latency **runs, size_t n, double miss, struct tl_latency_comparison *out)
{
	const struct tl_latency_side a = {runs, n}, b = {runs + n, n};
	const struct tl_latency_threshold none = {0};

	if (tl_latency_compare(&a, &b, &none, miss, out) != 0)
		abort(); // the table is printed without CUnit
}

// Count with a confidence of 95 % per interval, then with 95 % for all together.
static void count_pair(struct tl_latency **runs, const struct series *kind, struct tally *tally)
{
	size_t n = kind->runs, intervals = kind->samples == SAMPLES ? 5 : 4; // quantiles and share of the answered
	struct tl_latency_comparison out;

	compare(runs, n, 0.05 * (double)intervals, &out);
	for (size_t i = 0; i < TL_LATENCY_QUANTILES; i++)
		count(&out.quantiles[i].row, &tally->judged[i], &tally->covered[i]);
	count(&out.mean, &tally->judged[ROW_MEAN], &tally->covered[ROW_MEAN]);
	count(&out.answered, &tally->judged[ROW_ANSWERED], &tally->covered[ROW_ANSWERED]);
	compare(runs, n, 0.05, &out);
	tally->judged[ROW_ALL] += tl_latency_no_verdict(&out) == NULL;
	tally->covered[ROW_ALL] += out.verdict == TL_LATENCY_SAME;
}

static struct tally tally_of(const struct series *kind, unsigned pairs)
{
	struct tally tally = {0};
	struct tl_latency **runs = calloc(2 * kind->runs, sizeof(struct tl_latency *));

	for (uint64_t pair = 0; pair < pairs; pair++) {
		for (size_t i = 0; i < 2 * kind->runs; i++)
			runs[i] = draw(kind, (pair * 64 + i) * 7919 + 1);
		count_pair(runs, kind, &tally);
		for (size_t i = 0; i < 2 * kind->runs; i++)
			tl_latency_destroy(runs[i]);
	}
	free(runs);
	return tally;
}

static void print_table(unsigned pairs)
{
	printf("| series | p50 | p90 | p99 | p99.9 | mean | answered | verdict \"same\" |\n|---|---|---|---|---|---|---|---|\n");
	for (size_t kind = 0; kind < TL_ARRAY_LEN(kinds); kind++) {
		struct tally tally = tally_of(&kinds[kind], pairs);
		printf("| %s |", kinds[kind].name);
		for (size_t i = 0; i < ROWS; i++) {
			double judged = tally.judged[i], share = judged / pairs;
			if (share < 0.05)
				printf(" %s |", kinds[kind].samples == SAMPLES ? "refused" : "not judged");
			else if (share < 0.995)
				printf(" %.1f (of %.0f %%) |", 100 * tally.covered[i] / judged, 100 * share);
			else
				printf(" %.1f |", 100 * tally.covered[i] / judged);
		}
		printf("\n");
		fflush(stdout);
	}
}

static void expect_share(const struct series *kind, const struct tally *tally, size_t row, double least, double most)
{
	double judged = tally->judged[row], share = tally->covered[row] / judged;
	double noise = 2 * sqrt(0.05 * 0.95 / PAIRS); // for this number of pairs

	if (judged < PAIRS * 0.98 || share < least - noise || share > most + noise)
		printf("%s, row %zu: %u of %u\n", kind->name, row, tally->covered[row], tally->judged[row]);
	CU_ASSERT(judged >= PAIRS * 0.98);
	CU_ASSERT(share >= least - noise && share <= most + noise);
}

TL_TEST("95 % intervals cover 93 to 97 % of equal pairs: independent, autocorrelated, bursty, several runs")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(kinds); i++) {
		const struct series *kind = &kinds[i];
		if (kind->expected != COVERS)
			continue;
		struct tally tally = tally_of(kind, PAIRS);
		bool several = kind->runs > 1,
		     coarse = kind->unit_ns > 1 || kind->busy_loss > 0; // ties: coverage is higher
		expect_share(kind, &tally, 0, 0.93, coarse ? 1 : 0.97);
		expect_share(kind, &tally, ROW_MEAN, 0.93, 0.97);
		for (size_t row = 1; row < (several ? 3 : TL_LATENCY_QUANTILES); row++)
			expect_share(kind, &tally, row, 0.93, coarse || row > 2 ? 1 : 0.97);
		expect_share(kind, &tally, ROW_ANSWERED, 0.93, 1);
		expect_share(kind, &tally, ROW_ALL, 0.95, 1);
	}
}

// Each state lasts a sixth of the run. That is invisible in the tail, but not in the median.
TL_TEST("runs too short for their correlation time get no verdict")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(kinds); i++) {
		if (kinds[i].expected != TOO_SHORT)
			continue;
		struct tally tally = tally_of(&kinds[i], PAIRS / 2);
		CU_ASSERT(tally.judged[ROW_ALL] <= 0.04 * PAIRS / 2);
		CU_ASSERT(tally.judged[0] <= 0.05 * PAIRS / 2);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		print_table((unsigned)strtoul(argv[1], NULL, 10));
		return 0;
	}
	return tl_test_run("latency_coverage");
}
