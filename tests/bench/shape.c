// SPDX-License-Identifier: BSD-3-Clause
// Cost of a frame from the send queue through its class, by number of expressions. Prints a line "NAME FRAMES
// NANOSECONDS" per scenario; callgrind counts the instructions of bench_frames() between bench_count_begin() and
// bench_count_end().

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_mbuf.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_shape.h>
#include <tl_test_eal.h>
#include <tl_wire.h>

#include "counted.h"

#define FRAMES 20000
#define BURST 16
#define MBUFS 1024
#define RATE UINT64_C(1000000000000)
#define TEXT 40

struct scenario {
	const char *name;
	const char *expression; // with the number of the class
	uint32_t classes;
};

struct traffic {
	struct tl_txq tx;
	struct rte_mbuf *frames[MBUFS];
};

static void send_frames(struct tl_txq *q)
{
	q->n = 0;
}

// Address a frame: host 10.0.x.y, and the same number as the UDP port.
static void address(struct rte_mbuf *m, uint32_t number)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_udp_hdr *udp = (struct tl_udp_hdr *)(ip + 1);

	ip->dst_be = tl_be32(0x0a000000 + number);
	udp->dst_port_be = tl_be16((uint16_t)number);
}

static __attribute__((noinline)) void bench_frames(struct traffic *t, uint32_t burst)
{
	memcpy(t->tx.pkts, &t->frames[burst * BURST % MBUFS], BURST * sizeof(t->frames[0]));
	t->tx.n = BURST;
	t->tx.flush_fn(&t->tx);
}

static void open_shape(const struct scenario *s, const struct tl_clock *clock, struct tl_txq *tx, struct tl_shape **out)
{
	struct tl_shape_class *classes = calloc(s->classes + 2, sizeof(*classes));
	char(*texts)[TEXT] = calloc(s->classes + 2, sizeof(*texts));
	struct tl_shape_cfg cfg = {.txq = tx,
		.clock = clock,
		.classes = classes,
		.n_classes = s->classes + 2,
		.fallback = s->classes + 1,
		.mtu = 1518,
		.frames = 4096};
	struct tl_err err = {""};

	if (classes == NULL || texts == NULL)
		exit(1);
	classes[0].tree = (struct tl_tree_class){.name = "root", .rate = RATE, .burst = 1 << 24};
	for (uint32_t i = 1; i < cfg.n_classes; i++) {
		classes[i].tree = (struct tl_tree_class){.name = "c", .ceil = RATE};
		snprintf(texts[i], TEXT, s->expression, i >> 8, i & 0xff);
		classes[i].match = i != cfg.fallback ? texts[i] : NULL;
	}
	if (tl_shape_create(&cfg, out, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	free(classes);
	free(texts);
}

static void measure(const struct scenario *s, const struct tl_clock *clock, struct traffic *t)
{
	struct tl_shape *shape;
	struct timespec from, to;

	t->tx = (struct tl_txq){.flush_fn = send_frames};
	open_shape(s, clock, &t->tx, &shape);
	for (uint32_t i = 0; i < MBUFS; i++) // BURST different classes in a burst
		address(t->frames[i], 1 + (i % BURST * s->classes / BURST + i / BURST) % s->classes);
	bench_frames(t, 0);
	bench_count_begin();
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t i = 0; i < FRAMES / BURST; i++)
		bench_frames(t, i);
	clock_gettime(CLOCK_MONOTONIC, &to);
	bench_count_end();
	printf("%s %u %" PRId64 "\n", s->name, FRAMES,
		(int64_t)(to.tv_sec - from.tv_sec) * (int64_t)TL_NS_PER_S + to.tv_nsec - from.tv_nsec);
	tl_shape_destroy(shape);
}

static struct rte_mbuf *make_frame(struct rte_mempool *pool)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	if (m == NULL)
		exit(1);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(m, TL_ETHER_MIN_FRAME);
	struct tl_ether_hdr *ether = (struct tl_ether_hdr *)frame;
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(ether + 1);

	memset(frame, 0, TL_ETHER_MIN_FRAME);
	ether->type_be = tl_be16(TL_ETHERTYPE_IPV4);
	*ip = (struct tl_ipv4_hdr){
		.version_ihl = 0x45, .total_len_be = tl_be16(46), .ttl = 64, .proto = TL_IPPROTO_UDP};
	return m;
}

int main(void)
{
	static const struct scenario scenarios[] = {
		{"hosts-16", "dst host 10.0.%u.%u", 16},
		{"hosts-10000", "dst host 10.0.%u.%u", 10000},
		{"any-16", "ip[18] = %u and ip[19] = %u", 16},
		{"any-64", "ip[18] = %u and ip[19] = %u", 64},
	};
	static struct traffic traffic;

	tl_test_eal_start();
	struct tl_clock *clock = tl_clock_create();
	struct rte_mempool *pool = rte_pktmbuf_pool_create("bench_shape", MBUFS, 0, 0, 256, SOCKET_ID_ANY);
	if (clock == NULL || pool == NULL)
		return 1;
	for (uint32_t i = 0; i < MBUFS; i++)
		traffic.frames[i] = make_frame(pool);
	for (size_t i = 0; i < TL_ARRAY_LEN(scenarios); i++)
		measure(&scenarios[i], clock, &traffic);
	return 0;
}
