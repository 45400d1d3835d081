// SPDX-License-Identifier: BSD-3-Clause
// Traffic of the self-test: guarantees for every seed. tests/func/latency_selftest_test.sh checks the expected pairs
// with an independent oracle.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_test.h>
#include <tl_traffic.h>

#define SEEDS 3000

static struct tl_traffic *create(void)
{
	struct tl_traffic *traffic = tl_traffic_create();

	if (traffic == NULL)
		abort();
	return traffic;
}

TL_TEST("equal seeds generate equal traffic")
{
	struct tl_traffic *one = create(), *other = create();

	for (uint64_t seed = 0; seed < 20; seed++) {
		tl_traffic_make(one, seed);
		tl_traffic_make(other, seed + 1);
		CU_ASSERT_NOT_EQUAL(memcmp(one, other, sizeof(*one)), 0);
		tl_traffic_make(other, seed);
		CU_ASSERT_EQUAL(memcmp(one, other, sizeof(*one)), 0);
	}
	tl_traffic_destroy(one);
	tl_traffic_destroy(other);
}

TL_TEST("every kind of disturbance occurs")
{
	static const enum tl_traffic_trick never[][2] = {{TL_TRAFFIC_IDENTICAL, TL_TRAFFIC_SHORT},
		{TL_TRAFFIC_POSITION, TL_TRAFFIC_SEQUENCE}, {TL_TRAFFIC_LINK, TL_TRAFFIC_VLAN}};
	struct tl_traffic *traffic = create();
	unsigned played[TL_TRAFFIC_TRICKS][TL_TRAFFIC_TRICKS] = {0}, exact = 0, orderly = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		tl_traffic_make(traffic, seed);
		exact += traffic->exact;
		orderly += traffic->orderly;
		for (unsigned i = 0; i < TL_TRAFFIC_TRICKS; i++)
			for (unsigned k = 0; k < TL_TRAFFIC_TRICKS; k++)
				played[i][k] += (traffic->tricks >> i & traffic->tricks >> k & 1) != 0;
	}
	for (unsigned i = 0; i < TL_TRAFFIC_TRICKS; i++) {
		CU_ASSERT(played[i][i] >= SEEDS / 50);
		CU_ASSERT(played[i][i] < SEEDS);
		CU_ASSERT(strlen(tl_traffic_trick_name(i)) != 0);
		CU_ASSERT(i == TL_TRAFFIC_NO_REPLY || played[i][TL_TRAFFIC_NO_REPLY] != 0);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(never); i++)
		CU_ASSERT_EQUAL(played[never[i][0]][never[i][1]], 0);
	CU_ASSERT(exact > SEEDS / 2);
	CU_ASSERT(orderly > SEEDS / 100);
	tl_traffic_destroy(traffic);
}

static void check_pairs(const struct tl_traffic *traffic)
{
	uint64_t ambiguous = 0, reply_first = 0;

	CU_ASSERT(traffic->pairs <= traffic->triggers);
	for (uint32_t i = 0; i < traffic->pairs; i++) {
		const struct tl_traffic_pair *pair = &traffic->pair[i];
		int64_t latency_ns = (int64_t)(pair->reply_ns - pair->trigger_ns);
		CU_ASSERT(i == 0 || pair->trigger_packet > pair[-1].trigger_packet);
		CU_ASSERT((uint64_t)llabs(latency_ns) <= traffic->match.window_ns);
		CU_ASSERT(pair->segments >= 1);
		ambiguous += pair->ambiguous;
		reply_first += latency_ns < 0;
	}
	CU_ASSERT_EQUAL(traffic->ambiguous, ambiguous);
	CU_ASSERT_EQUAL(traffic->reply_first, reply_first);
}

TL_TEST("the counts agree with the pairs")
{
	struct tl_traffic *traffic = create();
	uint64_t pairs = 0, ambiguous = 0, reply_first = 0, split = 0, again = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		tl_traffic_make(traffic, seed);
		check_pairs(traffic);
		pairs += traffic->pairs;
		ambiguous += traffic->ambiguous;
		reply_first += traffic->reply_first;
		for (uint32_t i = 0; i < traffic->pairs; i++) {
			split += traffic->pair[i].segments > 1;
			again += traffic->pair[i].retransmitted;
		}
	}
	CU_ASSERT(pairs > 20 * SEEDS);
	CU_ASSERT(ambiguous != 0);
	CU_ASSERT(reply_first != 0);
	CU_ASSERT(split > pairs / 100);
	CU_ASSERT(again > pairs / 100);
	tl_traffic_destroy(traffic);
}

TL_TEST("a failed write is reported")
{
	const char *const paths[TL_TRAFFIC_FILES] = {"/dev/full", "/dev/full"};
	const char *const nowhere[TL_TRAFFIC_FILES] = {"/proc/none/a", "/proc/none/b"};
	struct tl_traffic *traffic = create();
	struct tl_err err = {.text = ""};

	tl_traffic_make(traffic, 1);
	CU_ASSERT_EQUAL(tl_traffic_write(traffic, paths, &err), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/dev/full: cannot write all of it"));
	CU_ASSERT_EQUAL(tl_traffic_write(traffic, nowhere, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/proc/none/a: cannot write"));
	tl_traffic_destroy(traffic);
}

int main(void)
{
	return tl_test_run("traffic");
}
