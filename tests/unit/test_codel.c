// SPDX-License-Identifier: BSD-3-Clause
// CoDel on the leaves of a tree, against the pseudo code of RFC 8289, section 5, on random arrivals and departures.

#include <errno.h>
#include <stdlib.h>

#include <tl_test_classes.h>

#define MTU 1500
#define FRAMES 4000
#define TARGET_NS (5 * TL_NS_PER_MS)
#define INTERVAL_NS (100 * TL_NS_PER_MS)

// ---- the pseudo code. A packet is a number; its time of arrival and length are in arrays.

struct packet {
	uint64_t tstamp;
	uint32_t bytes;
};

struct codel {
	const struct packet *packets;
	uint32_t first, last; // queue: packets first to last - 1
	uint64_t queue_bytes, target, interval;
	uint64_t first_above_time, drop_next;
	uint32_t count, lastcount;
	bool dropping;
	void (*drop)(uint32_t packet);
};

struct dodequeue_result {
	int64_t p; // -1: none
	bool ok_to_drop;
};

// The largest integer up to interval / sqrt(count), by halving.
static uint64_t control_law(uint64_t t, uint64_t interval, uint32_t count)
{
	uint64_t low = 0, high = interval;

	while (low < high) {
		uint64_t middle = (low + high + 1) / 2;
		if (middle * middle <= interval * interval / count)
			low = middle;
		else
			high = middle - 1;
	}
	return t + low;
}

static struct dodequeue_result dodequeue(struct codel *q, uint64_t now)
{
	struct dodequeue_result r = {-1, false};

	if (q->first == q->last) {
		q->first_above_time = 0;
		return r;
	}
	r.p = q->first++;
	q->queue_bytes -= q->packets[r.p].bytes;
	if (now - q->packets[r.p].tstamp < q->target || q->queue_bytes <= MTU)
		q->first_above_time = 0;
	else if (q->first_above_time == 0)
		q->first_above_time = now + q->interval;
	else if (now >= q->first_above_time)
		r.ok_to_drop = true;
	return r;
}

static int64_t deque(struct codel *q, uint64_t now)
{
	struct dodequeue_result r = dodequeue(q, now);

	if (q->dropping) {
		if (!r.ok_to_drop)
			q->dropping = false;
		while (now >= q->drop_next && q->dropping) {
			q->drop((uint32_t)r.p);
			++q->count;
			r = dodequeue(q, now);
			if (!r.ok_to_drop)
				q->dropping = false;
			else
				q->drop_next = control_law(q->drop_next, q->interval, q->count);
		}
	} else if (r.ok_to_drop) {
		q->drop((uint32_t)r.p);
		r = dodequeue(q, now);
		q->dropping = true;
		uint32_t delta = q->count - q->lastcount;
		q->count = 1;
		if (delta > 1 && (int64_t)(now - q->drop_next) < (int64_t)(16 * q->interval))
			q->count = delta;
		q->drop_next = control_law(now, q->interval, q->count);
		q->lastcount = q->count;
	}
	return r.p;
}

// ---- comparison

static struct {
	uint32_t ours[FRAMES], theirs[FRAMES];
	uint32_t n_ours, n_theirs;
} dropped;

static void drop_theirs(uint32_t packet)
{
	dropped.theirs[dropped.n_theirs++] = packet;
}

static void drop_ours(void *ctx, void *frame)
{
	(void)ctx;
	dropped.ours[dropped.n_ours++] = (uint32_t)(uintptr_t)frame - 1;
}

static struct tl_tree *make_tree(struct tl_tree_class leaf)
{
	struct tl_tree_class classes[] = {
		{.name = "root", .rate = TL_TREE_RATE_MAX, .burst = TL_TREE_BURST_MAX, .cburst = TL_TREE_BURST_MAX},
		leaf};
	struct tl_tree_cfg cfg = {.classes = classes, .n_classes = 2, .mtu = MTU, .frames = FRAMES, .drop = drop_ours};
	struct tl_tree *tree;

	classes[1].name = "leaf";
	classes[1].ceil = TL_TREE_RATE_MAX;
	classes[1].cburst = TL_TREE_BURST_MAX;
	CU_ASSERT_EQUAL_FATAL(tl_tree_create(&cfg, &tree, NULL), 0);
	return tree;
}

// Return whether the class's account is complete.
static bool is_balanced(const struct tl_tree *tree, uint64_t in, uint64_t codel)
{
	struct tl_tree_stats s;

	tl_tree_sample(tree, 1, &s);
	return s.in_pkts == in && s.drop_pkts[TL_TREE_DROP_CODEL] == codel &&
	       s.in_pkts == s.sent_pkts + s.backlog_pkts + codel;
}

// Return the number of drops. Load phases alternate: above the rate of departures, and below.
static uint32_t compare(uint64_t seed)
{
	struct tl_tree *tree =
		make_tree((struct tl_tree_class){.codel_target_ns = TARGET_NS, .codel_interval_ns = INTERVAL_NS});
	static struct packet packets[FRAMES];
	struct codel q = {.packets = packets, .target = TARGET_NS, .interval = INTERVAL_NS, .drop = drop_theirs};
	uint64_t state = seed, now_ns = 1, gap_ns = 1;
	bool same = true;

	dropped.n_ours = dropped.n_theirs = 0;
	while (q.last < FRAMES && same) {
		if (q.last % 500 == 0)
			gap_ns = (1 + tl_random_next(&state) % 4) * TL_NS_PER_MS;
		now_ns += tl_random_next(&state) % (2 * TL_NS_PER_MS);
		if (tl_random_next(&state) % (2 * gap_ns) < 3 * TL_NS_PER_MS) {
			uint32_t i = q.last++;
			packets[i] = (struct packet){now_ns, 100 + (uint32_t)(tl_random_next(&state) % 1400)};
			q.queue_bytes += packets[i].bytes;
			tl_tree_enqueue(tree, now_ns, 1, 0, packets[i].bytes, (void *)(uintptr_t)(i + 1));
		}
		if (tl_random_next(&state) % 8 < 3 + seed % 3) {
			void *frame = NULL;
			uint32_t n = tl_tree_dequeue(tree, now_ns, &frame, 1);
			int64_t p = deque(&q, now_ns);
			same = p == (n == 1 ? (int64_t)(uintptr_t)frame - 1 : -1) && dropped.n_ours == dropped.n_theirs;
		}
	}
	CU_ASSERT_TRUE(same);
	CU_ASSERT_EQUAL(memcmp(dropped.ours, dropped.theirs, dropped.n_ours * sizeof(dropped.ours[0])), 0);
	CU_ASSERT_TRUE(is_balanced(tree, q.last, dropped.n_ours));
	uint32_t drops = dropped.n_ours;
	dropped.n_ours = 0;
	tl_tree_destroy(tree);
	return drops;
}

TL_TEST("on random arrivals the same frames leave and are dropped as by the pseudo code of RFC 8289, and all are counted")
{
	uint32_t drops = 0, with = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint32_t n = compare(seed);
		drops += n;
		with += n > 20;
	}
	CU_ASSERT(drops > 2000 && with > 20); // the comparison is of long rows of drops
}

// ---- known cases

static uint64_t drops_of(const struct tl_tree *tree, enum tl_tree_drop reason)
{
	struct tl_tree_stats s;

	tl_tree_sample(tree, 1, &s);
	return s.drop_pkts[reason];
}

// One frame leaves and one arrives each 2 ms; 10 frames wait.
TL_TEST("a delay above the target for an interval is dropped at interval / sqrt(count)")
{
	struct tl_tree *tree =
		make_tree((struct tl_tree_class){.codel_target_ns = TARGET_NS, .codel_interval_ns = INTERVAL_NS});
	uint64_t at[4] = {0}, now_ns = 0, seen = 0, n = 1;
	void *frame;

	dropped.n_ours = 0;
	for (; n <= 10; n++)
		tl_tree_enqueue(tree, now_ns, 1, 0, 1000, (void *)(uintptr_t)n);
	for (; seen < 4 && n < 300; n++) {
		now_ns += 2 * TL_NS_PER_MS;
		CU_ASSERT_EQUAL(tl_tree_dequeue(tree, now_ns, &frame, 1), 1);
		tl_tree_enqueue(tree, now_ns, 1, 0, 1000, (void *)(uintptr_t)n);
		if (drops_of(tree, TL_TREE_DROP_CODEL) > seen) {
			at[seen++] = now_ns;
			tl_tree_enqueue(tree, now_ns, 1, 0, 1000, (void *)(uintptr_t)++n);
		}
	}
	CU_ASSERT_EQUAL(at[0], 6 * TL_NS_PER_MS + INTERVAL_NS); // above the target since 6 ms
	CU_ASSERT_EQUAL(at[1], at[0] + INTERVAL_NS);
	CU_ASSERT_EQUAL(at[2], at[1] + 72 * TL_NS_PER_MS);  // 70.7
	CU_ASSERT_EQUAL(at[3], at[1] + 130 * TL_NS_PER_MS); // 70.7 + 57.7
	dropped.n_ours = 0;
	tl_tree_destroy(tree);
}

// The second queue never has more than one frame.
TL_TEST("each queue of a fair leaf has its own CoDel state")
{
	struct tl_tree *tree = make_tree(
		(struct tl_tree_class){.flows = 4, .codel_target_ns = TARGET_NS, .codel_interval_ns = INTERVAL_NS});
	uint64_t now_ns = 0, n = 1;
	uint32_t second = 0;
	void *frame;

	dropped.n_ours = 0;
	for (; n <= 301; n += 2)
		tl_tree_enqueue(tree, now_ns, 1, 1, 1000, (void *)(uintptr_t)n);
	for (uint32_t i = 0; i < 200; i++) {
		now_ns += 2 * TL_NS_PER_MS;
		if (i % 4 == 0)
			tl_tree_enqueue(
				tree, now_ns, 1, 2, 1000, (void *)(uintptr_t)(2 * i + 2)); // even: waits for longer
		if (tl_tree_dequeue(tree, now_ns, &frame, 1) == 1)
			second += (uintptr_t)frame % 2 == 0;
	}
	CU_ASSERT(drops_of(tree, TL_TREE_DROP_CODEL) >= 4);
	CU_ASSERT_EQUAL(second, 50);
	for (uint32_t i = 0; i < dropped.n_ours; i++)
		CU_ASSERT_EQUAL(dropped.ours[i] % 2, 0); // odd frames of the first
	dropped.n_ours = 0;
	tl_tree_destroy(tree);
}

TL_TEST("the limits of a leaf apply in addition to CoDel and are counted separately")
{
	struct tl_tree *tree = make_tree((struct tl_tree_class){.codel_target_ns = TARGET_NS,
		.codel_interval_ns = INTERVAL_NS,
		.limit_pkts = 20,
		.limit_ns = TL_NS_PER_S});
	void *frame;

	dropped.n_ours = 0;
	for (uint64_t i = 1; i <= 25; i++)
		tl_tree_enqueue(tree, 0, 1, 0, 1000, (void *)(uintptr_t)i);
	CU_ASSERT_EQUAL(tl_tree_dequeue(tree, INTERVAL_NS, &frame, 1), 1);
	CU_ASSERT_EQUAL(tl_tree_dequeue(tree, 3 * INTERVAL_NS, &frame, 1), 1);
	CU_ASSERT_EQUAL(tl_tree_dequeue(tree, TL_NS_PER_S + 1, &frame, 1), 0);
	CU_ASSERT_EQUAL(drops_of(tree, TL_TREE_DROP_LIMIT), 5);
	CU_ASSERT_EQUAL(drops_of(tree, TL_TREE_DROP_CODEL), 1);
	CU_ASSERT_EQUAL(drops_of(tree, TL_TREE_DROP_LATE), 17);
	tl_tree_destroy(tree);
}

TL_TEST("an interval below the target, or too long, is refused")
{
	struct tl_tree_class classes[] = {
		{.name = "root", .rate = 1000, .codel_target_ns = 10, .codel_interval_ns = 9}};
	struct tl_tree_cfg cfg = {.classes = classes, .n_classes = 1, .mtu = MTU, .frames = 1, .drop = drop_ours};
	struct tl_tree *tree;
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_tree_create(&cfg, &tree, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "class root: interval of 9 ns: give one from the target, 10 ns"));
	classes[0].codel_interval_ns = TL_TREE_INTERVAL_MAX + 1;
	CU_ASSERT_EQUAL(tl_tree_create(&cfg, &tree, &err), -EINVAL);
}

int main(void)
{
	return tl_test_run("codel");
}
