// SPDX-License-Identifier: BSD-3-Clause
// Cost of a frame in a class tree of 4 levels. Prints a line "NAME FRAMES NANOSECONDS" per scenario; callgrind
// counts the instructions of bench_frames() between bench_count_begin() and bench_count_end().

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tl_tree.h>

#include "counted.h"

#define FRAMES 20000
#define BYTES 1000
#define MTU 1514
#define BURST_MAX 32
#define RATE UINT64_C(10000000000)
#define FRAME_NS (BYTES * 8 * TL_NS_PER_S / RATE)

struct scenario {
	const char *name;
	uint32_t width[3]; // classes on the levels below the root
	uint64_t gap_ns;   // between frames
	uint32_t burst;	   // frames per call
	uint32_t queued;   // frames per leaf
	uint32_t flows;
	uint64_t share; // guaranteed to the leaves, percent of the root's rate
};

static void bench_drop(void *ctx, void *frame)
{
	(void)ctx;
	(void)frame;
	abort();
}

// Send frames and enqueue the next of their classes. Return their number.
static __attribute__((noinline)) uint32_t bench_frames(struct tl_tree *tree, uint64_t now_ns, uint32_t burst)
{
	void *frames[BURST_MAX];
	uint32_t n = tl_tree_dequeue(tree, now_ns, frames, burst);

	for (uint32_t i = 0; i < n; i++)
		tl_tree_enqueue(tree, now_ns, (uint32_t)(uintptr_t)frames[i], i, BYTES, frames[i]);
	return n;
}

static uint32_t bench_leaf(const struct scenario *s)
{
	return 1 + s->width[0] + s->width[1];
}

static struct tl_tree_class *bench_classes(const struct scenario *s, uint32_t n)
{
	uint32_t level_at = 1, above_at = 0, above = 1;
	struct tl_tree_class *classes = calloc(n, sizeof(*classes));

	if (classes == NULL)
		exit(1);
	classes[0] = (struct tl_tree_class){.name = "root", .rate = RATE};
	for (uint32_t level = 0; level < 3; level++) {
		for (uint32_t i = 0; i < s->width[level]; i++)
			classes[level_at + i] = (struct tl_tree_class){.name = "c",
				.parent = above_at + i % above,
				.rate = RATE / 100 * (s->share * (6 - level) / 4) / s->width[level], // falling sums
				.ceil = RATE,
				.quantum = 2 * MTU,
				.flows = level == 2 ? s->flows : 0,
				.burst = level == 2 ? 4 * MTU : 0};
		above_at = level_at;
		above = s->width[level];
		level_at += above;
	}
	return classes;
}

static struct tl_tree *bench_tree(const struct scenario *s, uint32_t n)
{
	struct tl_tree_class *classes = bench_classes(s, n);
	struct tl_tree_cfg cfg = {
		.classes = classes, .n_classes = n, .mtu = MTU, .frames = s->queued * n, .drop = bench_drop};
	struct tl_tree *tree;

	if (tl_tree_create(&cfg, &tree, NULL) != 0)
		exit(1);
	free(classes);
	return tree;
}

static struct tl_tree *bench_open(const struct scenario *s, uint32_t *out_n, uint64_t *out_now_ns)
{
	uint32_t n = bench_leaf(s) + s->width[2];
	struct tl_tree *tree = bench_tree(s, n);

	*out_n = n;
	*out_now_ns = 0;
	for (uint32_t k = 0; k < s->queued; k++)
		for (uint32_t i = bench_leaf(s); i < n; i++)
			tl_tree_enqueue(tree, 0, i, k, BYTES, (void *)(uintptr_t)i);
	for (uint32_t i = 0; i < 8 * n / s->burst; i++) // the first bursts
		bench_frames(tree, *out_now_ns += s->gap_ns * s->burst, s->burst);
	return tree;
}

// End a scenario that began at this time.
static void report(const char *name, uint32_t n, const struct timespec *from)
{
	struct timespec to;

	clock_gettime(CLOCK_MONOTONIC, &to);
	bench_count_end();
	printf("%s %" PRIu32 " %" PRId64 "\n", name, n,
		(int64_t)(to.tv_sec - from->tv_sec) * (int64_t)TL_NS_PER_S + to.tv_nsec - from->tv_nsec);
}

static void measure(const struct scenario *s)
{
	uint32_t n, sent = 0;
	uint64_t now_ns;
	struct tl_tree *tree = bench_open(s, &n, &now_ns);
	struct timespec from;

	bench_count_begin();
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (sent < FRAMES)
		sent += bench_frames(tree, now_ns += s->gap_ns * s->burst, s->burst);
	report(s->name, sent, &from);
}

// Measure a change of the rates: per class, in place of frames.
static void measure_change(const struct scenario *s)
{
	uint32_t n;
	uint64_t now_ns;
	struct tl_tree *tree = bench_open(s, &n, &now_ns);
	struct tl_tree_class *classes = bench_classes(s, n);
	struct tl_tree_rates *rates;
	struct timespec from;

	for (uint32_t i = 1; i < n; i++)
		classes[i].prio = 1;
	if (tl_tree_rates_create(tree, classes, &rates, NULL) != 0)
		exit(1);
	tl_tree_offer_rates(tree, rates);
	bench_count_begin();
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (tl_tree_rates_in_use(tree) != rates)
		bench_frames(tree, now_ns, 1);
	report(s->name, n, &from);
	free(classes);
}

// Counted by callgrind, which finds it by its name.
static void bench_adopt(struct tl_tree *tree, struct tl_tree *from, uint64_t now_ns, const uint32_t *to,
	uint32_t leaf) __asm__("bench_frames.adopt");
static __attribute__((noinline)) void bench_adopt(
	struct tl_tree *tree, struct tl_tree *from, uint64_t now_ns, const uint32_t *to, uint32_t leaf)
{
	(void)tl_tree_adopt(tree, from, now_ns, to, leaf);
}

// Measure a change of the classes, which all continue: per class.
static void measure_adopt(const struct scenario *s)
{
	uint32_t n;
	uint64_t now_ns;
	struct scenario without_frames = *s;
	struct tl_tree *from = bench_open(s, &n, &now_ns), *tree;
	uint32_t *to = calloc(n, sizeof(*to));
	struct timespec begin;

	if (to == NULL)
		exit(1);
	for (uint32_t i = 0; i < n; i++)
		to[i] = i;
	without_frames.queued = 0;
	tree = bench_tree(&without_frames, n);
	bench_count_begin();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	bench_adopt(tree, from, now_ns, to, n - 1);
	report(s->name, n, &begin);
	free(to);
}

int main(void)
{
	static const struct scenario scenarios[] = {
		{"tree-borrow-10", {1, 2, 6}, FRAME_NS, 32, 16, 0, 0},
		{"tree-borrow-10000", {10, 100, 9889}, FRAME_NS, 32, 4, 0, 0},
		{"tree-borrow-single-10", {1, 2, 6}, FRAME_NS, 1, 16, 0, 0},
		{"tree-borrow-single-10000", {10, 100, 9889}, FRAME_NS, 1, 4, 0, 0},
		{"tree-flows-10", {1, 2, 6}, FRAME_NS, 32, 64, 64, 0},
		{"tree-rates-10", {1, 2, 6}, FRAME_NS, 32, 16, 0, 50},
		{"tree-rates-10000", {10, 100, 9889}, FRAME_NS, 32, 4, 0, 50},
		{"tree-alone", {1, 1, 1}, 4 * FRAME_NS, 1, 1, 0, 50},
		{"tree-light-10", {1, 2, 6}, 4 * FRAME_NS, 1, 1, 0, 50},
		{"tree-light-10000", {10, 100, 9889}, 4 * FRAME_NS, 1, 1, 0, 50},
	};
	static const struct scenario change = {"tree-change-10000", {10, 100, 9889}, FRAME_NS, 32, 4, 0, 50};
	static const struct scenario adopt = {"tree-adopt-10000", {10, 100, 9889}, FRAME_NS, 32, 4, 0, 50};

	for (size_t i = 0; i < TL_ARRAY_LEN(scenarios); i++)
		measure(&scenarios[i]);
	measure_change(&change);
	measure_adopt(&adopt);
	return 0;
}
