// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_classes: a class tree on a simulated clock. Frames are numbers: class and length.

#include <stdio.h>
#include <string.h>

#include <tl_err.h>
#include <tl_meter.h>
#include <tl_random.h>
#include <tl_test.h>
#include <tl_tree.h>

#define TEST_MTU 1514
#define TEST_CLASSES 512
#define MBIT UINT64_C(1000000)

// Load of a leaf.
struct test_load {
	uint32_t bytes;
	uint64_t gap_ns; // between two frames; 0: keep "depth" frames queued, or nothing
	uint32_t depth;
	uint64_t next_ns; // set by the run
};

struct test_tree {
	struct tl_tree *tree;
	struct tl_tree_class classes[TEST_CLASSES];
	uint32_t n;
	bool is_parent[TEST_CLASSES];
	struct test_load loads[TEST_CLASSES];
	uint64_t now_ns;
	uint64_t poll_ns;					    // time between two calls; 0: each at its ns
	uint64_t sent_pkts[TEST_CLASSES], sent_bytes[TEST_CLASSES]; // of leaves and of all above
	uint64_t dropped_pkts, in_pkts;
	// Called per sent frame, may be NULL.
	void (*on_sent)(struct test_tree *t, uint32_t cls, uint32_t bytes);
	void *ctx;
};

static inline void *test_frame(uint32_t cls, uint32_t bytes)
{
	return (void *)((uintptr_t)cls << 32 | bytes | (uintptr_t)1 << 62);
}

static inline uint32_t test_frame_class(const void *frame)
{
	return (uint32_t)((uintptr_t)frame >> 32) & 0xffff;
}

static inline uint32_t test_frame_bytes(const void *frame)
{
	return (uint32_t)(uintptr_t)frame;
}

static inline void test_count_drop(void *ctx, void *frame)
{
	(void)frame;
	((struct test_tree *)ctx)->dropped_pkts++;
}

// Add a class and return its index; names are "0", "1" and so on.
static inline uint32_t test_add(struct test_tree *t, uint32_t parent, struct tl_tree_class cls)
{
	static const char names[TEST_CLASSES][3] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

	t->classes[t->n] = cls;
	t->classes[t->n].parent = parent;
	t->classes[t->n].name = names[t->n];
	if (t->n != 0)
		t->is_parent[parent] = true;
	return t->n++;
}

// Return whether the tree was created.
static inline bool test_create(struct test_tree *t, uint32_t mtu, uint32_t frames)
{
	struct tl_err err = {""};
	struct tl_tree_cfg cfg = {.classes = t->classes,
		.n_classes = t->n,
		.mtu = mtu,
		.frames = frames,
		.now_ns = t->now_ns,
		.drop = test_count_drop,
		.drop_ctx = t};
	bool created = tl_tree_create(&cfg, &t->tree, &err) == 0;

	if (!created)
		printf("# %s\n", err.text);
	return created;
}

static inline void test_open_mtu(struct test_tree *t, uint32_t mtu, uint32_t frames)
{
	bool created = test_create(t, mtu, frames);

	CU_ASSERT_TRUE_FATAL(created);
}

static inline void test_open(struct test_tree *t)
{
	test_open_mtu(t, TEST_MTU, 4096);
}

static inline void test_put(struct test_tree *t, uint32_t cls, uint32_t hash, uint32_t bytes)
{
	t->in_pkts++;
	tl_tree_enqueue(t->tree, t->now_ns, cls, hash, bytes, test_frame(cls, bytes));
}

static inline void test_count_sent(struct test_tree *t, void *frame)
{
	uint32_t leaf = test_frame_class(frame), bytes = test_frame_bytes(frame);

	for (uint32_t i = leaf;; i = t->classes[i].parent) {
		t->sent_pkts[i]++;
		t->sent_bytes[i] += bytes;
		if (i == 0)
			break;
	}
	if (t->on_sent != NULL)
		t->on_sent(t, leaf, bytes);
	if (t->loads[leaf].depth != 0)
		test_put(t, leaf, (uint32_t)t->sent_pkts[leaf], t->loads[leaf].bytes);
}

// Send all frames that may be sent now. Return their number.
static inline uint32_t test_send(struct test_tree *t, uint32_t n)
{
	void *frames[64];
	uint32_t sent = tl_tree_dequeue(t->tree, t->now_ns, frames, n);

	for (uint32_t i = 0; i < sent; i++)
		test_count_sent(t, frames[i]);
	return sent;
}

static inline void test_begin_loads(struct test_tree *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct test_load *l = &t->loads[i];
		for (uint32_t k = 0; k < l->depth; k++)
			test_put(t, i, k, l->bytes);
		l->next_ns = l->gap_ns != 0 ? t->now_ns + i % l->gap_ns : UINT64_MAX;
	}
}

static inline uint64_t test_next_arrival(const struct test_tree *t)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->loads[i].gap_ns != 0)
			next_ns = tl_min_u64(next_ns, t->loads[i].next_ns);
	return next_ns;
}

static inline void test_arrive(struct test_tree *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct test_load *l = &t->loads[i];
		while (l->gap_ns != 0 && l->next_ns <= t->now_ns) {
			test_put(t, i, 0, l->bytes);
			l->next_ns += l->gap_ns;
		}
	}
}

static inline void test_run(struct test_tree *t, uint64_t until_ns)
{
	for (;;) {
		uint64_t next_ns = tl_min_u64(test_next_arrival(t), tl_tree_next_ns(t->tree));
		if (next_ns > until_ns)
			break;
		t->now_ns = tl_max_u64(t->now_ns, next_ns);
		if (t->poll_ns != 0)
			t->now_ns += t->poll_ns - t->now_ns % t->poll_ns;
		test_arrive(t);
		test_send(t, 64);
	}
	t->now_ns = until_ns;
}

static inline void test_close(struct test_tree *t)
{
	uint64_t drop_pkts = 0, drop_bytes = 0;
	struct tl_tree_stats s;
	struct tl_tree_load load;

	tl_tree_sample(t->tree, 0, &s);
	for (uint32_t i = 0; i < TL_TREE_DROPS; i++) {
		drop_pkts += s.drop_pkts[i];
		drop_bytes += s.drop_bytes[i];
	}
	CU_ASSERT_EQUAL(s.in_pkts, t->in_pkts);
	CU_ASSERT_EQUAL(s.sent_pkts, t->sent_pkts[0]);
	CU_ASSERT_EQUAL(drop_pkts, t->dropped_pkts);
	CU_ASSERT_EQUAL(s.in_pkts, s.sent_pkts + s.backlog_pkts + t->dropped_pkts);
	CU_ASSERT_EQUAL(s.in_bytes, s.sent_bytes + s.backlog_bytes + drop_bytes);
	tl_tree_load(t->tree, &load);
	CU_ASSERT(load.in_bytes == s.in_bytes && load.backlog_bytes == s.backlog_bytes);
	uint64_t before = t->dropped_pkts;
	tl_tree_destroy(t->tree);
	CU_ASSERT_EQUAL(t->dropped_pkts - before, s.backlog_pkts); // destroy drops the rest
}
