// SPDX-License-Identifier: BSD-3-Clause
// Run a trace of arrivals through a class tree on a simulated clock. Reads the numbers of classes and arrivals, a line
// "PARENT RATE CEIL PRIO QUANTUM BURST LIMIT FLOWS" per class, parents first, rates in bit/s, and a line "NS CLASS HASH
// BYTES" per arrival, in order of time; prints a line per arrival: when the frame departed, 0 if it was dropped.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tl_base.h>
#include <tl_err.h>
#include <tl_tree.h>

#define MTU 1514
#define BATCH 32
#define CLASSES_MAX 1024
#define ARRIVALS_MAX UINT32_C(10000000)

// The frame of arrival i is a pointer into the array.
struct arrival {
	uint64_t at_ns, departed_ns;
	uint32_t cls, hash, bytes;
};

static void ignore_drop(void *ctx, void *frame)
{
	(void)ctx;
	(void)frame;
}

static bool read_class(struct tl_tree_class *c)
{
	return scanf("%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32,
		       &c->parent, &c->rate, &c->ceil, &c->prio, &c->quantum, &c->burst, &c->limit_pkts,
		       &c->flows) == 8;
}

static bool read_arrival(struct arrival *a)
{
	return scanf("%" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32, &a->at_ns, &a->cls, &a->hash, &a->bytes) == 4;
}

static struct tl_tree *read_tree(uint32_t n, uint32_t frames)
{
	struct tl_tree_class classes[CLASSES_MAX] = {0};
	struct tl_tree_cfg cfg = {
		.classes = classes, .n_classes = n, .mtu = MTU, .frames = frames, .drop = ignore_drop};
	struct tl_tree *tree;
	struct tl_err err;

	for (uint32_t i = 0; i < n; i++) {
		if (!read_class(&classes[i]))
			return NULL;
		classes[i].cburst = classes[i].burst;
	}
	if (tl_tree_create(&cfg, &tree, &err) == 0)
		return tree;
	fprintf(stderr, "%s\n", err.text);
	return NULL;
}

// Let the frames depart that may do so until end_ns.
static void depart(struct tl_tree *tree, uint64_t end_ns)
{
	void *out[BATCH];
	uint64_t now_ns;

	while ((now_ns = tl_tree_next_ns(tree)) <= end_ns)
		for (uint32_t n = tl_tree_dequeue(tree, now_ns, out, BATCH); n-- > 0;)
			((struct arrival *)out[n])->departed_ns = now_ns;
}

static void run(struct tl_tree *tree, struct arrival *arrivals, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct arrival *a = &arrivals[i];
		depart(tree, a->at_ns);
		tl_tree_enqueue(tree, a->at_ns, a->cls, a->hash, a->bytes, a);
	}
	depart(tree, TL_TREE_NEVER - 1);
}

int main(void)
{
	uint32_t n_classes, n;

	if (scanf("%" SCNu32 " %" SCNu32, &n_classes, &n) != 2 || n_classes > CLASSES_MAX || n == 0 || n > ARRIVALS_MAX)
		return 2;
	struct tl_tree *tree = read_tree(n_classes, n);
	struct arrival *arrivals = calloc(n, sizeof(*arrivals));
	if (tree == NULL || arrivals == NULL)
		return 2;
	for (uint32_t i = 0; i < n; i++)
		if (!read_arrival(&arrivals[i]) || arrivals[i].cls >= n_classes)
			return 2;
	run(tree, arrivals, n);
	for (uint32_t i = 0; i < n; i++)
		printf("%" PRIu64 "\n", arrivals[i].departed_ns);
	free(arrivals);
	tl_tree_destroy(tree);
	return 0;
}
