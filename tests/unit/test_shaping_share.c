// SPDX-License-Identifier: BSD-3-Clause
// Shapes, and classes of a shape, that share a rate, on a simulated clock: how long an idle member waits for its share,
// and others for what it does not use. Here the functions of lib/shape are simulated: frames leave at the limits.

#include <string.h>

#include <tl_test.h>

#include "shaping_priv.h"

#define RATE UINT64_C(16000000)
#define MEMBERS 2
#define POLL_MS 20 // of the main thread
#define WITHIN_MS 100

// A member: what arrives, bit/s, and its frames.
struct line {
	uint64_t offered;
	uint64_t in_bytes, sent_bytes;
	uint32_t n; // lines of the shape, this one and those behind it
	uint64_t busy_ns;
};

struct bed {
	struct line lines[MEMBERS];
	struct tl_config config;
	struct tl_config_class classes[MEMBERS + 1]; // of each shape the first; of one shape all
	struct tl_shaping shapes[MEMBERS], *of[MEMBERS];
	struct tl_tree_class trees[MEMBERS + 1];
	struct tl_share_demand demands[MEMBERS + 1];
	uint64_t limits[MEMBERS + 1];
	struct tl_shaping_shares shares;
	uint64_t now_ms;
	bool by_class;
	uint64_t port; // what it takes, bytes per ms; 0: everything
};

// ---- lib/shape

void tl_shape_load(const struct tl_shape *shape, struct tl_tree_load *out)
{
	const struct line *line = (const void *)shape;

	*out = (struct tl_tree_load){0};
	for (uint32_t i = 0; i < line->n; i++) {
		out->in_bytes += line[i].in_bytes;
		out->sent_bytes += line[i].sent_bytes;
	}
	out->backlog_bytes = out->in_bytes - out->sent_bytes;
}

uint64_t tl_shape_busy_ns(const struct tl_shape *shape)
{
	return ((const struct line *)(const void *)shape)->busy_ns;
}

void tl_shape_sample(const struct tl_shape *shape, uint32_t cls, struct tl_tree_stats *out)
{
	const struct line *line = (const struct line *)(const void *)shape + (cls - 1);

	*out = (struct tl_tree_stats){.in_bytes = line->in_bytes, .backlog_bytes = line->in_bytes - line->sent_bytes};
}

int shaping_set(struct tl_shaping *s, const struct tl_tree_class *classes, uint64_t limit, struct tl_err *err)
{
	(void)classes;
	(void)err;
	s->limit = limit;
	return 0;
}

// ---- bed

static uint64_t limit_of(const struct bed *b, uint32_t member)
{
	return b->by_class ? b->limits[member + 1] : b->shapes[member].limit;
}

static void open_shape(struct bed *b, uint32_t i, uint32_t n_classes)
{
	b->config.shapes[i] = (struct tl_config_shape){.classes = &b->classes[i],
		.n_classes = n_classes,
		.weight = 1,
		.share = b->by_class ? TL_CONFIG_NO_SHARE : 0};
	b->lines[i].n = n_classes == 1 ? 1 : MEMBERS;
	b->shapes[i] = (struct tl_shaping){.config = &b->config.shapes[i],
		.shape = (void *)&b->lines[i],
		.kept = {.classes = &b->trees[i], .limits = b->limits, .demands = b->demands},
		.limit = UINT64_MAX};
	b->of[i] = &b->shapes[i];
}

// Begin with two members: of a shape each, or classes of one.
static void open_bed(struct bed *b, bool by_class)
{
	memset(b, 0, sizeof(*b));
	b->by_class = by_class;
	b->now_ms = 1000;
	b->config.n_shares = 1;
	b->config.shares[0].rate = RATE;
	b->config.shares[0].n_classes = by_class ? MEMBERS : 0;
	b->config.n_shapes = by_class ? 1 : MEMBERS;
	for (uint32_t i = 0; i < MEMBERS + 1; i++) {
		b->trees[i] = (struct tl_tree_class){.rate = RATE, .ceil = RATE};
		b->classes[i].member.weight = by_class && i != 0 ? 1 : 0;
		b->limits[i] = RATE;
	}
	for (uint32_t i = 0; i < b->config.n_shapes; i++)
		open_shape(b, i, by_class ? MEMBERS + 1 : 1);
	tl_shaping_share_init(&b->shares);
}

// Send in turn what the limits permit, up to what the port takes, which is independent of shares.
static void send_some(struct bed *b)
{
	uint64_t may[MEMBERS], room = b->port != 0 ? b->port : UINT64_MAX;

	for (uint32_t i = 0; i < MEMBERS; i++)
		may[i] = tl_min_u64(
			b->lines[i].in_bytes - b->lines[i].sent_bytes, tl_min_u64(limit_of(b, i), RATE) / 8000);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		uint64_t others = i == 0 ? may[1] : 0;
		uint64_t bytes = tl_min_u64(may[i], room - tl_min_u64(room / 2, others));
		b->lines[i].sent_bytes += bytes;
		room -= bytes;
		b->lines[b->by_class ? 0 : i].busy_ns += bytes < may[i] ? TL_NS_PER_MS : 0;
	}
}

// Pass a ms.
static void pass(struct bed *b)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		b->lines[i].in_bytes += b->lines[i].offered / 8000;
	send_some(b);
	if (++b->now_ms % POLL_MS == 0)
		tl_shaping_share(&b->config, b->of, &b->shares, b->now_ms * TL_NS_PER_MS);
}

static void pass_ms(struct bed *b, uint64_t ms)
{
	while (ms-- != 0)
		pass(b);
}

// Return the time until a member has this limit, to a 64th: it rises by no less.
static uint64_t ms_until(struct bed *b, uint32_t member, uint64_t limit)
{
	uint64_t ms = 0;

	for (; limit_of(b, member) < limit - limit / 64 && ms < 1000; ms++)
		pass(b);
	return ms;
}

// Let the first member begin at any time between two divisions, and end. Return the longest waits for its share and for
// the return of it.
static void measure(bool by_class, uint64_t offered, uint64_t share, uint64_t *taken_ms, uint64_t *lent_ms)
{
	static struct bed b;

	*taken_ms = *lent_ms = 0;
	for (uint32_t phase = 0; phase < 2 * WITHIN_MS; phase++) {
		open_bed(&b, by_class);
		b.lines[1].offered = 3 * RATE;
		pass_ms(&b, 1000 + phase);
		CU_ASSERT(limit_of(&b, 0) < RATE / 16 && limit_of(&b, 1) > RATE - RATE / 16);
		b.lines[0].offered = offered;
		*taken_ms = tl_max_u64(*taken_ms, ms_until(&b, 0, share));
		pass_ms(&b, 1000);
		CU_ASSERT(limit_of(&b, 0) >= share - share / 64 && limit_of(&b, 0) <= share + share / 16);
		CU_ASSERT(limit_of(&b, 1) <= RATE - share + RATE / 16);
		b.lines[0].offered = 0;
		b.lines[0].in_bytes = b.lines[0].sent_bytes; // frames that waited are dropped
		*lent_ms = tl_max_u64(*lent_ms, ms_until(&b, 1, RATE - RATE / 32));
	}
}

TL_TEST("a member that begins has its share within 100 ms, and what it does not use is lent within two divisions")
{
	static const uint64_t offered[] = {RATE / 8, RATE / 4, RATE};
	uint64_t taken_ms, lent_ms;

	for (uint32_t by_class = 0; by_class < 2; by_class++) {
		for (size_t i = 0; i < TL_ARRAY_LEN(offered); i++) {
			measure(by_class != 0, offered[i], tl_min_u64(offered[i], RATE / 2), &taken_ms, &lent_ms);
			CU_ASSERT(taken_ms <= WITHIN_MS);
			CU_ASSERT(lent_ms <= 2 * WITHIN_MS);
			if (taken_ms > WITHIN_MS || lent_ms > 2 * WITHIN_MS)
				printf("# offered %lu: taken after %lu ms, lent after %lu ms\n",
					(unsigned long)offered[i], (unsigned long)taken_ms, (unsigned long)lent_ms);
		}
	}
}

// The port takes a quarter of what the shapes, or classes, may send.
TL_TEST("members divide by weight what a port takes that is slower than their rates")
{
	static struct bed b;

	for (uint32_t by_class = 0; by_class < 2; by_class++) {
		open_bed(&b, by_class != 0);
		b.config.shares[0].rate = 0;
		b.config.shapes[0].weight = 3;
		b.classes[1].member.weight = by_class != 0 ? 3 : 0;
		b.lines[0].offered = b.lines[1].offered = RATE / 16;
		pass_ms(&b, 1000);
		CU_ASSERT(limit_of(&b, 0) >= RATE && limit_of(&b, 1) >= RATE); // not known yet
		b.port = RATE / 4 / 8000;
		b.lines[0].offered = b.lines[1].offered = RATE;
		pass_ms(&b, 5000);
		uint64_t sum = limit_of(&b, 0) + limit_of(&b, 1), before = b.lines[0].sent_bytes;
		CU_ASSERT(sum >= RATE / 4 * 15 / 16 && sum <= RATE / 4 * 5 / 4);
		CU_ASSERT(limit_of(&b, 0) >= 29 * limit_of(&b, 1) / 10 && limit_of(&b, 0) <= 31 * limit_of(&b, 1) / 10);
		pass_ms(&b, 1000);
		uint64_t percent = (b.lines[0].sent_bytes - before) * 100 / (1000 * b.port);
		CU_ASSERT(percent >= 68 && percent <= 78);
		b.lines[1].offered = 0;
		b.lines[1].in_bytes = b.lines[1].sent_bytes; // frames that waited are dropped
		pass_ms(&b, 1000);
		CU_ASSERT(limit_of(&b, 0) >= RATE / 4 * 14 / 16);
		b.port *= 2;
		pass_ms(&b, 3000);
		CU_ASSERT(limit_of(&b, 0) + limit_of(&b, 1) >= RATE / 2 * 15 / 16);
	}
}

// Small changes of a small limit, which are still smaller parts of the large one.
TL_TEST("the limits of members that need all add up to no more than the rate of their share")
{
	static struct bed b;

	for (uint32_t by_class = 0; by_class < 2; by_class++) {
		open_bed(&b, by_class != 0);
		b.lines[1].offered = 3 * RATE;
		for (uint32_t part = 16; part < 20; part++) {
			b.lines[0].offered = RATE * part / 160;
			pass_ms(&b, 1000);
			CU_ASSERT(limit_of(&b, 0) >= b.lines[0].offered - b.lines[0].offered / 64);
			CU_ASSERT(limit_of(&b, 0) + limit_of(&b, 1) <= RATE);
		}
	}
}

TL_TEST("classes divide the rate of their shape after a change that makes it less than that of their share")
{
	static struct bed b;

	open_bed(&b, true);
	b.classes[1].member.weight = 3;
	b.lines[0].offered = b.lines[1].offered = 3 * RATE;
	pass_ms(&b, 1000);
	CU_ASSERT(limit_of(&b, 0) == RATE / 4 * 3 && limit_of(&b, 1) == RATE / 4);
	b.trees[0].rate = RATE / 2;
	pass_ms(&b, 1000);
	CU_ASSERT(limit_of(&b, 0) == RATE / 8 * 3 && limit_of(&b, 1) == RATE / 8);
}

// Its classes have rates of half the share, and lower ones since a change at run time.
TL_TEST("an idle shape keeps its floor though the rates of its classes were lowered")
{
	static struct bed b;
	struct tl_tree_class lowered[] = {{.rate = RATE, .ceil = RATE}, {.rate = RATE / 64}};

	open_bed(&b, false);
	b.config.shapes[0].n_classes = TL_ARRAY_LEN(lowered);
	b.classes[1].rate = RATE / 2;
	b.shapes[0].kept.classes = lowered;
	b.lines[1].offered = 3 * RATE;
	pass_ms(&b, 1000);
	CU_ASSERT_EQUAL(limit_of(&b, 0), RATE / 2);
	CU_ASSERT(limit_of(&b, 1) > RATE - RATE / 16);
}

int main(void)
{
	return tl_test_run("shaping_share");
}
