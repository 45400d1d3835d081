// SPDX-License-Identifier: BSD-3-Clause
// Cost of frames on several lcores of a port: owner lookup, and hand-off of the frames of other lcores. All lcores run
// in this thread, one after the other. Prints a line "NAME FRAMES NANOSECONDS" per scenario; callgrind counts the
// instructions of tl_steer_split() and tl_steer_take() between bench_count_begin() and bench_count_end().

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_mbuf.h>

#include <tl_err.h>
#include <tl_steer.h>
#include <tl_test_eal.h>
#include <tl_wire.h>

#include "counted.h"

#define OUR_IP tl_be32(0xc0000201)
#define PEER_IP tl_be32(0xc0000202)
#define FIRST_PORT 5001
#define FRAME_BYTES 60
#define ROUNDS 50

enum owners { OWN, AWAY, SPREAD }; // of the frames: the receiving lcore; the others in turn; all in turn

struct bench {
	struct rte_mempool *pool;
	struct tl_steer *steer;
	uint16_t lcores;
	struct tl_burst bursts[TL_PORT_QUEUES_MAX];
};

static void die(const char *text)
{
	fprintf(stderr, "bench_steer: %s\n", text);
	exit(1);
}

static void write_datagram(uint8_t *frame, uint16_t port)
{
	struct tl_ether_hdr ether = {.dst = {2, [5] = 1}, .src = {2, [5] = 2}, .type_be = tl_be16(TL_ETHERTYPE_IPV4)};
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45,
		.total_len_be = tl_be16(FRAME_BYTES - TL_ETHER_LEN),
		.ttl = 64,
		.proto = TL_IPPROTO_UDP,
		.src_be = PEER_IP,
		.dst_be = OUR_IP};
	struct tl_udp_hdr udp = {tl_be16(port), tl_be16(port), tl_be16(FRAME_BYTES - TL_ETHER_LEN - TL_IPV4_LEN), 0};

	memset(frame, 0, FRAME_BYTES);
	tl_wire_ipv4_finish(&ip);
	memcpy(frame, &ether, sizeof(ether));
	memcpy(frame + TL_ETHER_LEN, &ip, sizeof(ip));
	memcpy(frame + TL_ETHER_LEN + TL_IPV4_LEN, &udp, sizeof(udp));
}

static uint16_t owner_of(const struct bench *b, enum owners owners, uint16_t lcore, uint16_t i)
{
	switch (owners) {
	case OWN:
		return lcore;
	case AWAY:
		return (uint16_t)((lcore + 1 + i % (b->lcores - 1)) % b->lcores);
	default:
		return i % b->lcores;
	}
}

static void receive(struct bench *b, enum owners owners, uint16_t lcore)
{
	struct tl_burst *burst = &b->bursts[lcore];

	burst->n = TL_BURST;
	if (rte_pktmbuf_alloc_bulk(b->pool, burst->pkts, burst->n) != 0)
		die("no mbufs");
	for (uint16_t i = 0; i < burst->n; i++) {
		uint8_t *frame = (uint8_t *)rte_pktmbuf_append(burst->pkts[i], FRAME_BYTES);
		write_datagram(frame, (uint16_t)(FIRST_PORT + owner_of(b, owners, lcore, i)));
		tl_wire_parse(frame, FRAME_BYTES, &burst->pkt[i]);
	}
}

// The turns of all lcores: each hands over first, then takes.
static __attribute__((noinline)) void bench_round(struct bench *b)
{
	struct tl_burst *taken;

	for (uint16_t q = 0; q < b->lcores; q++) {
		tl_steer_split(tl_steer_side(b->steer, q), &b->bursts[q]);
		rte_pktmbuf_free_bulk(b->bursts[q].pkts, b->bursts[q].n);
	}
	for (uint16_t q = 0; q < b->lcores; q++)
		while ((taken = tl_steer_take(tl_steer_side(b->steer, q), 1)) != NULL)
			rte_pktmbuf_free_bulk(taken->pkts, taken->n);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * TL_NS_PER_S + now.tv_nsec;
}

static void check_counters(const struct bench *b, enum owners owners)
{
	uint64_t handed = 0, dropped = 0;

	for (uint16_t q = 0; q < b->lcores; q++) {
		struct tl_ledger_handoff stats;
		tl_steer_sample(tl_steer_side(b->steer, q), &stats);
		handed += stats.handoff_pkts;
		dropped += stats.drop_handoff_pkts;
	}
	if (dropped != 0 || (handed != 0) != (owners != OWN))
		die("unexpected hand-offs");
}

static void measure(struct rte_mempool *pool, const char *name, uint16_t lcores, enum owners owners)
{
	static struct bench b;
	struct tl_steer_cfg cfg = {.ip_be = OUR_IP, .mac = {2, [5] = 1}, .queues = lcores, .socket_id = SOCKET_ID_ANY};
	struct tl_err err;
	int64_t ns = 0;

	b = (struct bench){.pool = pool, .lcores = lcores};
	if (tl_steer_create(&cfg, &b.steer, &err) != 0)
		die("no rings");
	for (uint16_t q = 0; q < lcores; q++)
		tl_steer_own_udp(tl_steer_side(b.steer, q), tl_be16((uint16_t)(FIRST_PORT + q)));
	bench_count_begin();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint16_t q = 0; q < lcores; q++)
			receive(&b, owners, q);
		ns -= now_ns();
		bench_round(&b);
		ns += now_ns();
	}
	bench_count_end();
	check_counters(&b, owners);
	tl_steer_destroy(b.steer);
	printf("%s-%u %u %" PRId64 "\n", name, lcores, ROUNDS * lcores * TL_BURST, ns);
}

int main(void)
{
	static const uint16_t lcores[] = {2, 4, 8, 16};

	tl_test_eal_start();
	struct rte_mempool *pool = rte_pktmbuf_pool_create("bench", 4095, 256, 0, 256, SOCKET_ID_ANY);
	if (pool == NULL)
		die("no pool");
	for (size_t i = 0; i < TL_ARRAY_LEN(lcores); i++) {
		measure(pool, "own", lcores[i], OWN);
		measure(pool, "away", lcores[i], AWAY);
		measure(pool, "spread", lcores[i], SPREAD);
	}
	return 0;
}
