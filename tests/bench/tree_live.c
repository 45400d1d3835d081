// SPDX-License-Identifier: BSD-3-Clause
// Rate and gaps of frames that leave a class tree in real time: 4 levels, frames of 1000 bytes, one class with a
// backlog, on a CPU that does nothing else. Arguments: seconds per rate. Prints a JSON object per rate, of the frames
// after the first second, in which the burst leaves.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tl_coarse.h>
#include <tl_err.h>
#include <tl_tree.h>

#define BYTES 1000
#define MTU 1514
#define BATCH 32
#define QUEUED 64

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * TL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void ignore_drop(void *ctx, void *frame)
{
	(void)ctx;
	(void)frame;
}

// Open a tree of four classes, each the only one of its parent, with bursts of 20 ms.
static struct tl_tree *open_tree(uint64_t rate)
{
	struct tl_tree_class classes[4];
	uint64_t burst = tl_max_u64(4 * MTU, rate / 8 / 50);
	struct tl_tree_cfg cfg = {.classes = classes,
		.n_classes = TL_ARRAY_LEN(classes),
		.mtu = MTU,
		.frames = QUEUED,
		.now_ns = now(),
		.drop = ignore_drop};
	struct tl_tree *tree;
	struct tl_err err;

	for (uint32_t i = 0; i < cfg.n_classes; i++)
		classes[i] = (struct tl_tree_class){
			.name = "c", .parent = i == 0 ? 0 : i - 1, .rate = rate, .burst = burst, .cburst = burst};
	if (tl_tree_create(&cfg, &tree, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	for (uint32_t i = 0; i < QUEUED; i++)
		tl_tree_enqueue(tree, cfg.now_ns, 3, 0, BYTES, tree);
	return tree;
}

struct departures {
	uint64_t first_ns, last_ns, n; // of those that count
	struct tl_coarse errors;       // of the gaps, ns
};

static void count(struct departures *d, uint64_t now_ns, uint64_t gap_ns)
{
	uint64_t past_ns = now_ns - d->last_ns;

	if (d->n++ == 0)
		d->first_ns = now_ns;
	else
		tl_coarse_record(&d->errors, past_ns > gap_ns ? past_ns - gap_ns : gap_ns - past_ns);
	d->last_ns = now_ns;
}

static void measure(uint64_t rate, uint64_t seconds)
{
	struct tl_tree *tree = open_tree(rate);
	uint64_t gap_ns = BYTES * 8 * TL_NS_PER_S / rate, begin_ns = now(), now_ns;
	struct departures d = {0};
	struct tl_coarse total = {0};
	void *frames[BATCH];

	while ((now_ns = now()) < begin_ns + (seconds + 1) * TL_NS_PER_S) {
		uint32_t n = tl_tree_dequeue(tree, now_ns, frames, BATCH);
		for (uint32_t i = 0; i < n; i++) {
			tl_tree_enqueue(tree, now_ns, 3, 0, BYTES, tree);
			if (now_ns >= begin_ns + TL_NS_PER_S)
				count(&d, now_ns, gap_ns);
		}
	}
	uint64_t gaps = tl_coarse_add(&total, &d.errors);
	printf("{\"rate_bps\": %" PRIu64 ", \"frames\": %" PRIu64
	       ", \"ratio\": %.5f, \"gap_error_ns\": {\"p50\": %" PRIu64 ", \"p90\": %" PRIu64 ", \"p99\": %" PRIu64
	       "}}\n",
		rate, d.n,
		(double)(d.n - 1) * BYTES * 8 * (double)TL_NS_PER_S / (double)rate / (double)(d.last_ns - d.first_ns),
		tl_coarse_permille(&total, gaps, 500), tl_coarse_permille(&total, gaps, 900),
		tl_coarse_permille(&total, gaps, 990));
	tl_tree_destroy(tree);
}

int main(int argc, char **argv)
{
	static const uint64_t rates[] = {64000, 1000000, 10000000, 100000000, 1000000000, UINT64_C(10000000000)};

	for (size_t i = 0; i < TL_ARRAY_LEN(rates); i++)
		measure(rates[i], argc > 1 ? strtoul(argv[1], NULL, 10) : 10);
	return 0;
}
