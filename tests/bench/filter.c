// SPDX-License-Identifier: BSD-3-Clause
// Measure the cost of a filter per frame, as native code and in libpcap's interpreter: bench_filter [EXPRESSION]. Print
// JSON.
//
// The frames are 60 bytes long; a random half of them is UDP to port 5001. Either one burst, repeated: in the L1 cache,
// and in an order that the branch predictor has learnt. Or as many as a port has in flight, which is neither. The
// engines alternate in rounds; the time of a round is divided by its frames.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_mbuf.h>
#include <rte_version.h>

#include <tl_err.h>

#include "filter_priv.h"
#include "tl_test_eal.h"

#define FRAMES_MAX 1024
#define FRAMES_OF_A_BURST 32
#define FRAME_BYTES 60
#define FRAMES_A_ROUND 204800
#define ROUNDS 101

static const uint8_t udp_frame[FRAME_BYTES] = {0x01, 0x00, 0x5e, 0x01, 0x01, 0x01, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00,
	0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 239, 1, 1, 1, 0x03, 0xe8, 0x13, 0x88, 0, 26};

struct engine {
	const char *name;
	bool (*match)(const struct tl_filter *filter, const struct rte_mbuf *m);
	uint64_t passed;
	double ns[ROUNDS]; // per frame
};

static bool match_native(const struct tl_filter *filter, const struct rte_mbuf *m)
{
	return tl_filter_match(filter, m, FRAME_BYTES);
}

static bool match_interpreted(const struct tl_filter *filter, const struct rte_mbuf *m)
{
	return tl_filter_match_bytes(filter, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, FRAME_BYTES);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void make_frames(struct rte_mbuf **frames)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("bench", FRAMES_MAX, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);

	if (pool == NULL || rte_pktmbuf_alloc_bulk(pool, frames, FRAMES_MAX) != 0) {
		fprintf(stderr, "no memory for %d mbufs\n", FRAMES_MAX);
		exit(1);
	}
	srandom(1);
	for (int i = 0; i < FRAMES_MAX; i++) {
		memcpy(rte_pktmbuf_append(frames[i], FRAME_BYTES), udp_frame, FRAME_BYTES);
		rte_pktmbuf_mtod(frames[i], uint8_t *)[37] = (uint8_t)(0x88 + (random() >> 8) % 2); // port 5000 or 5001
	}
}

static double run_round(struct engine *e, const struct tl_filter *filter, struct rte_mbuf *const *frames, int n)
{
	uint64_t passed = 0;
	uint64_t start = now_ns();

	for (int pass = 0; pass < FRAMES_A_ROUND / n; pass++)
		for (int i = 0; i < n; i++)
			passed += e->match(filter, frames[i]);
	uint64_t end = now_ns();
	e->passed = passed;
	return (double)(end - start) / FRAMES_A_ROUND;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_engine(struct engine *e, const char *end)
{
	qsort(e->ns, ROUNDS, sizeof(e->ns[0]), by_value);
	printf("\"%s\": {\"min\": %.2f, \"median\": %.2f, \"p90\": %.2f}%s", e->name, e->ns[0], e->ns[ROUNDS / 2],
		e->ns[ROUNDS * 9 / 10], end);
}

// Return true if both engines passed the same number of frames.
static bool measure(const struct tl_filter *filter, struct rte_mbuf *const *frames, int n, const char *end)
{
	static struct engine native = {.name = "match", .match = match_native};
	static struct engine interpreted = {.name = "bpf_filter", .match = match_interpreted};

	for (int i = 0; i < ROUNDS; i++) {
		native.ns[i] = run_round(&native, filter, frames, n);
		interpreted.ns[i] = run_round(&interpreted, filter, frames, n);
	}
	printf("    {\"frames\": %d, ", n);
	print_engine(&native, ", ");
	print_engine(&interpreted, "}");
	printf("%s\n", end);
	return native.passed == interpreted.passed;
}

int main(int argc, char **argv)
{
	const char *expression = argc > 1 ? argv[1] : "udp port 5001";
	static struct rte_mbuf *frames[FRAMES_MAX];
	struct tl_filter *filter;
	struct tl_err err;

	tl_test_eal_start();
	make_frames(frames);
	if (tl_filter_create(expression, &filter, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("{\n  \"filter\": \"%s\",\n  \"engine\": \"%s\",\n  \"dpdk\": \"%s\",\n  \"frame_bytes\": %d,\n",
		expression, tl_filter_engine(filter), rte_version(), FRAME_BYTES);
	printf("  \"ns_per_frame\": [\n");
	bool same = measure(filter, frames, FRAMES_OF_A_BURST, ",");
	same = measure(filter, frames, FRAMES_MAX, "") && same;
	printf("  ]\n}\n");
	tl_filter_destroy(filter);
	return same ? 0 : 1;
}
