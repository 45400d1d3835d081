// SPDX-License-Identifier: BSD-3-Clause
// Cost of receiving a segment or a datagram on the RX lcore, by number of connections, number of multicast groups and
// length of the payload; a TCP echo is split into message and ACK.
// Print a line "NAME FRAMES NANOSECONDS" per scenario, for connections.sh, which also runs it in callgrind and counts
// there the instructions of take() between bench_count_begin() and bench_count_end().

#include <inttypes.h>

#define TL_TEST_EAL_MB "1200"

#include <rte_cycles.h>

#include "counted.h"
#include "facts.h"
#include "tl_test_crowd.h"
#include "tl_test_eal.h"

#define MESSAGES 40000
#define POOL_CACHE 256	      // that of a port's pool
#define FRAME_NS TL_NS_PER_US // no connection is idle for a retransmission timeout
#define TICK_NS (100 * TL_NS_PER_US)
#define STRIDE 7919 // prime: consecutive frames are not adjacent in memory

struct bench {
	struct crowd crowd;
	uint64_t next_tick_ns;
	uint64_t start_ns; // time to create the stack and to join groups
	uint64_t cycles;   // in take()
};

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "bench_connections: %s\n", text);
	exit(1);
}

// Measured segments.
enum counted { NONE, MESSAGES_ONLY, ACKS_ONLY = 2, ALL = 3 };

static void tick_if_due(struct bench *b)
{
	if (b->crowd.now_ns < b->next_tick_ns)
		return;
	b->next_tick_ns = b->crowd.now_ns + TICK_NS;
	tl_net_tick(b->crowd.net, b->crowd.now_ns);
}

// Run the RX lcore's work for the stack on a burst of one frame: before its reply is sent, and after.
static __attribute__((noinline)) void take(struct bench *b, bool sent)
{
	if (!sent) {
		tl_net_input(b->crowd.net, &b->crowd.burst);
		return;
	}
	tl_net_sent(b->crowd.net);
	tick_if_due(b);
}

static void take_counted(struct bench *b, bool sent)
{
	uint64_t begin = rte_rdtsc();

	take(b, sent);
	b->cycles += rte_rdtsc() - begin;
}

static void give(struct bench *b, uint32_t peer, uint16_t len, bool is_counted)
{
	crowd_write(&b->crowd, peer, TL_TCP_ACK | (len > 0 ? TL_TCP_PSH : 0), len);
	if (is_counted) {
		take_counted(b, false);
		tl_txq_flush(&b->crowd.tx);
		take_counted(b, true);
	} else {
		tl_net_input(b->crowd.net, &b->crowd.burst);
		tl_txq_flush(&b->crowd.tx);
		tl_net_sent(b->crowd.net);
		tick_if_due(b); // so that the counted frames find no timers of these due
	}
}

// Send a message, its echo, and the ACK of the echo, for one peer after the other.
static void send_messages(struct bench *b, uint16_t len, enum counted counted)
{
	uint32_t peer = 0;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		b->crowd.peers[peer].len = 0;
		give(b, peer, len, (counted & MESSAGES_ONLY) != 0);
		if (b->crowd.peers[peer].len != len || b->crowd.peers[peer].wrong)
			die("a message was not echoed");
		give(b, peer, 0, (counted & ACKS_ONLY) != 0);
		peer = (peer + STRIDE) % b->crowd.n;
	}
}

static void print(const struct bench *b, const char *what, uint32_t n, uint32_t frames)
{
	double ns = (double)b->cycles * 1e9 / (double)rte_get_tsc_hz();

	printf("%s-%" PRIu32 " %" PRIu32 " %.0f", what, n, frames, ns);
	bench_print_facts(b->start_ns);
	printf("\n");
	fflush(stdout);
}

static bool is_ip6; // family of the next measurements

static void measure_echo(
	struct rte_mempool *pool, const char *what, uint32_t conns, uint16_t len, enum counted counted, uint32_t n)
{
	static const struct tl_tcp_opts opts = {// those of an echo
		.window_follows_room = true,
		.keepalive_idle_ns = 30 * TL_NS_PER_S,
		.user_timeout_ms = 20000};
	struct bench *b = calloc(1, sizeof(*b));

	if (b == NULL)
		die("no memory");
	uint64_t begin_ns = bench_now_ns();
	crowd_start_family(&b->crowd, conns, pool, &opts, is_ip6);
	b->start_ns = bench_now_ns() - begin_ns;
	for (uint32_t i = 0; i < conns; i++)
		crowd_open(&b->crowd, i);
	if (b->crowd.opened != conns)
		die("not all connections opened");
	crowd_tick(&b->crowd);
	b->crowd.frame_ns = FRAME_NS;
	send_messages(b, len, NONE); // first messages start congestion control
	bench_count_begin();
	send_messages(b, len, counted);
	bench_count_end();
	print(b, what, n, counted == ALL ? 2 * MESSAGES : MESSAGES);
	crowd_stop(&b->crowd);
	free(b);
}

static void take_datagram(void *ctx, const struct tl_udp_datagram *datagram)
{
	++*(uint32_t *)ctx;
}

static void measure_groups(struct rte_mempool *pool, uint32_t groups)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct tl_udp *udp = NULL;
	uint32_t taken = 0;

	if (b == NULL)
		die("no memory");
	uint64_t begin_ns = bench_now_ns();
	crowd_start(&b->crowd, 1, pool, NULL);
	if (tl_udp_open_groups(b->crowd.net, CROWD_GROUP(0), groups, 0, tl_be16(30001), take_datagram, &taken, &udp))
		die("cannot join all groups");
	b->start_ns = bench_now_ns() - begin_ns;
	for (uint32_t i = 0; i < 30; i++) { // until all reports are sent
		b->crowd.now_ns += 100 * TL_NS_PER_MS;
		crowd_tick(&b->crowd);
	}
	bench_count_begin();
	for (uint32_t i = 0; i < MESSAGES; i++) {
		crowd_write_datagram(&b->crowd, (uint32_t)((uint64_t)i * STRIDE % groups));
		uint64_t begin = rte_rdtsc();
		take(b, false);
		b->cycles += rte_rdtsc() - begin;
	}
	bench_count_end();
	if (taken != MESSAGES)
		die("a datagram was not taken");
	print(b, "groups", groups, MESSAGES);
	crowd_stop(&b->crowd);
	free(b);
}

int main(int argc, char **argv)
{
	static const uint32_t conns[] = {1, 1000, 100000, 1000000};
	static const uint16_t lens[] = {1, 16, 64, 256, 512, 1024, 1460};
	uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;

	tl_test_eal_start();
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create("bench", 4095, POOL_CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		die("no mbuf pool");
	for (size_t i = 0; i < TL_ARRAY_LEN(conns) && conns[i] <= most; i++)
		measure_echo(pool, "connections", conns[i], 16, ALL, conns[i]);
	for (size_t i = 0; i < TL_ARRAY_LEN(lens); i++)
		measure_echo(pool, "payload", 1, lens[i], ALL, lens[i]);
	measure_echo(pool, "message", 1, 16, MESSAGES_ONLY, 16);
	measure_echo(pool, "ack", 1, 16, ACKS_ONLY, 16);
	is_ip6 = true;
	for (size_t i = 0; i < TL_ARRAY_LEN(conns) && conns[i] <= tl_min_u32(most, 1000); i++)
		measure_echo(pool, "connections6", conns[i], 16, ALL, conns[i]);
	measure_echo(pool, "payload6", 1, 256, ALL, 256);
	measure_echo(pool, "message6", 1, 16, MESSAGES_ONLY, 16);
	measure_echo(pool, "ack6", 1, 16, ACKS_ONLY, 16);
	for (uint32_t groups = 1; groups <= 10000; groups *= 100)
		measure_groups(pool, groups);
	return 0;
}
