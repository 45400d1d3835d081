// SPDX-License-Identifier: BSD-3-Clause
// Cost of flow rules on DPDK's ixgbe driver and the modelled 82599, which is compiled into this program: of a received
// frame in the driver's receive function, and of a rule's installation and removal. Print a line "NAME N NANOSECONDS
// KEY=VALUE..." per scenario; callgrind counts the instructions of the functions counted_*() between
// bench_count_begin() and bench_count_end(). It does not collect in signal handlers, so an access to a register is one
// instruction; the model counts them.
//
// bench_rules ADDRESS; SYSFS_PCI_DEVICES names the simulated host

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "counted.h"
#include "model.h"

#define RX_QUEUES 4
#define DESCRIPTORS 1024
#define BURST 32
#define FRAME_BYTES 60
#define WARM_ROUNDS 64 // two rings: all of the ring and of the pool's cache has been used
#define ROUNDS 32
#define TUPLES_MAX 128
#define RULES_MAX 2046
#define FIRST_IP 0x0A000000u // destination of rule 0; rule i has the i-th after it
#define OTHER_IP 0x0B000000u // of no rule
#define FIRST_SOURCE 0x0C000001u

enum kind { NONE, TUPLE, DROP, DIRECTOR };

// The rules are installed on a running port, and the last of them matches.
struct scenario {
	const char *name;
	enum kind kind;
	uint32_t rules;
	bool hit;     // frames match the last rule
	bool restart; // of the port, with the rules
};

static const struct scenario without_director[] = {
	{"none", NONE, 0, false, false},
	{"tuple-hit-1", TUPLE, 1, true, false},
	{"tuple-miss-1", TUPLE, 1, false, false},
	{"tuple-hit-128", TUPLE, TUPLES_MAX, true, false},
	{"tuple-miss-128", TUPLE, TUPLES_MAX, false, false},
};

// The driver keeps the mode of the flow director when its rules are gone, and looks at it at a start.
static const struct scenario with_director[] = {
	{"drop-hit-1", DROP, 1, true, false},
	{"drop-miss-1", DROP, 1, false, false},
	{"drop-hit-2046", DROP, RULES_MAX, true, false},
	{"drop-miss-2046", DROP, RULES_MAX, false, false},
	{"director-hit-1", DIRECTOR, 1, true, false},
	{"director-hit-2046", DIRECTOR, RULES_MAX, true, false},
	{"director-hit-1-restarted", DIRECTOR, 1, true, true},
	{"director-miss-1-restarted", DIRECTOR, 1, false, true},
};

static struct rte_mempool *pool;
static uint16_t queues;
static uint32_t sources[RX_QUEUES]; // of frames for each queue
static struct rte_flow *flows[RULES_MAX];

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "bench_rules: %s\n", text);
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// ---- the counted functions

static __attribute__((noinline)) uint16_t counted_receive(uint16_t queue, struct rte_mbuf **frames)
{
	return rte_eth_rx_burst(0, queue, frames, BURST);
}

static __attribute__((noinline)) struct rte_flow *counted_install(
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions, struct rte_flow_error *error)
{
	static const struct rte_flow_attr attr = {.ingress = 1};

	return rte_flow_create(0, &attr, pattern, actions, error);
}

static __attribute__((noinline)) int counted_remove(struct rte_flow *flow, struct rte_flow_error *error)
{
	return rte_flow_destroy(0, flow, error);
}

// ---- the port

static void start(void)
{
	if (rte_eth_dev_start(0) != 0 || rte_eth_promiscuous_enable(0) != 0)
		die("the port does not start");
}

static void stop(void)
{
	if (rte_eth_dev_stop(0) != 0)
		die("the port does not stop");
}

// Configure the port as the program does.
static void configure(uint16_t n)
{
	struct rte_eth_conf conf = {.rxmode.offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |
						       RTE_ETH_RX_OFFLOAD_TCP_CKSUM};
	int rc;

	queues = n;
	if (queues > 1) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	}
	rc = rte_eth_dev_configure(0, queues, 1, &conf);
	for (uint16_t q = 0; q < queues && rc == 0; q++)
		rc = rte_eth_rx_queue_setup(0, q, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool);
	if (rc != 0 || rte_eth_tx_queue_setup(0, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) != 0)
		die("the driver refuses the port's configuration");
}

// ---- frames

static void put32(uint8_t *p, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> 8 * (3 - i));
}

// Let a UDP frame arrive.
static void arrive(uint32_t src, uint32_t dst)
{
	uint8_t frame[FRAME_BYTES] = {2, [5] = 1, [6] = 2, [12] = 8, [14] = 0x45, [17] = FRAME_BYTES - 14, [22] = 64,
		[23] = 17, [34] = 16, [36] = 19, [39] = FRAME_BYTES - 34};

	put32(frame + 26, src);
	put32(frame + 30, dst);
	uint16_t sum = (uint16_t)~checksum(frame + 14, 20, 0);
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	model_lock();
	rx_arrive(&cards[0], frame, sizeof(frame));
	model_unlock();
}

// Find a source address for each queue, by RSS.
static void find_sources(void)
{
	struct rte_mbuf *frames[BURST];
	uint16_t found = 0;

	for (uint32_t src = FIRST_SOURCE; src < FIRST_SOURCE + 1000 && found < queues; src++) {
		arrive(src, OTHER_IP);
		for (uint16_t q = 0; q < queues; q++) {
			uint16_t n = rte_eth_rx_burst(0, q, frames, BURST);
			rte_pktmbuf_free_bulk(frames, n);
			found += n != 0 && sources[q] == 0;
			sources[q] = n != 0 ? src : sources[q];
		}
	}
	if (found != queues)
		die("no flow comes to a queue");
}

static void receive_rounds(const struct scenario *s, uint32_t rounds, int64_t *ns)
{
	uint32_t dst = s->hit ? FIRST_IP + s->rules - 1 : OTHER_IP;
	uint16_t expected = s->kind == DROP && s->hit ? 0 : BURST;
	struct rte_mbuf *frames[BURST];

	for (uint32_t i = 0; i < rounds; i++)
		for (uint16_t q = 0; q < queues; q++) {
			for (unsigned f = 0; f < BURST; f++)
				arrive(sources[q], dst);
			int64_t begin = now_ns();
			uint16_t n = counted_receive(q, frames);
			*ns += now_ns() - begin;
			if (n != expected)
				die("other frames arrive than were sent");
			rte_pktmbuf_free_bulk(frames, n);
		}
}

// Return the kind of the driver's receive function: the vector path returns no frames for bursts below 4.
static const char *receive_path(void)
{
	struct rte_mbuf *frames[BURST];

	for (unsigned f = 0; f < BURST; f++)
		arrive(sources[0], OTHER_IP);
	uint16_t first = rte_eth_rx_burst(0, 0, frames, 1);
	rte_pktmbuf_free_bulk(frames, first);
	uint16_t later = rte_eth_rx_burst(0, 0, frames, BURST);
	rte_pktmbuf_free_bulk(frames, later);
	if (first + later != BURST)
		die("a frame does not arrive");
	return first == 0 ? "vector" : "scalar";
}

// ---- rules

// Install the i-th rule of a kind. The driver takes the first filter of these that can have the rule: a 5-tuple
// filter, with a protocol; the flow director, which alone drops, and alone accepts a mark.
static struct rte_flow *install(enum kind kind, uint32_t i)
{
	const struct rte_flow_item_ipv4 ip = {
		.hdr = {.dst_addr = rte_cpu_to_be_32(FIRST_IP + i), .next_proto_id = kind == TUPLE ? 17 : 0}};
	const struct rte_flow_item_ipv4 mask = {
		.hdr = {.dst_addr = UINT32_MAX, .next_proto_id = kind == TUPLE ? 0xFF : 0}};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &mask}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action_queue queue = {.index = 0};
	const struct rte_flow_action_mark mark = {.id = 1 + i};
	const struct rte_flow_action actions[] = {
		{.type = kind == DROP ? RTE_FLOW_ACTION_TYPE_DROP : RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
		{.type = kind == DIRECTOR ? RTE_FLOW_ACTION_TYPE_MARK : RTE_FLOW_ACTION_TYPE_END, .conf = &mark},
		{.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error = {0};
	struct rte_flow *flow = counted_install(pattern, actions, &error);

	if (flow == NULL)
		die(error.message != NULL ? error.message : "the driver refuses a rule");
	return flow;
}

static void remove_rule(struct rte_flow *flow)
{
	struct rte_flow_error error;

	if (counted_remove(flow, &error) != 0)
		die("the driver does not remove a rule");
}

// Print the cost of one rule beside others.
static void measure_rule(const char *kind_name, enum kind kind, uint32_t others)
{
	uint64_t accesses = cards[0].accesses;

	bench_count_begin();
	int64_t begin = now_ns();
	flows[others] = install(kind, others);
	printf("install-%s-%" PRIu32 " 1 %" PRId64 " accesses=%" PRIu64 "\n", kind_name, others + 1, now_ns() - begin,
		cards[0].accesses - accesses);
	bench_count_end();
	accesses = cards[0].accesses;
	bench_count_begin();
	begin = now_ns();
	remove_rule(flows[others]);
	printf("remove-%s-%" PRIu32 " 1 %" PRId64 " accesses=%" PRIu64 "\n", kind_name, others + 1, now_ns() - begin,
		cards[0].accesses - accesses);
	bench_count_end();
}

// Measure the first rule, one beside another, and the last that the card holds.
static void measure_rules(const char *kind_name, enum kind kind, uint32_t most)
{
	measure_rule(kind_name, kind, 0);
	flows[0] = install(kind, 0);
	measure_rule(kind_name, kind, 1);
	for (uint32_t i = 1; i < most - 1; i++)
		flows[i] = install(kind, i);
	measure_rule(kind_name, kind, most - 1);
	for (uint32_t i = 0; i < most - 1; i++)
		remove_rule(flows[i]);
}

static void measure(const struct scenario *s)
{
	int64_t ns = 0;

	for (uint32_t i = 0; i < s->rules; i++)
		flows[i] = install(s->kind, i);
	if (s->restart) {
		stop();
		start();
	}
	receive_rounds(s, WARM_ROUNDS, &ns);
	ns = 0;
	bench_count_begin();
	receive_rounds(s, ROUNDS, &ns);
	bench_count_end();
	printf("%s %u %" PRId64 " path=%s\n", s->name, ROUNDS * BURST * queues, ns, receive_path());
	for (uint32_t i = 0; i < s->rules; i++)
		remove_rule(flows[i]);
}

static void measure_spread(void)
{
	configure(RX_QUEUES);
	start();
	find_sources();
	stop();
	start(); // rings are at their beginning: at their end the vector path returns a part of a burst
	measure(&(struct scenario){.name = "rss-4"});
	stop();
}

static void measure_one_queue(void)
{
	configure(1);
	start();
	for (size_t i = 0; i < RTE_DIM(without_director); i++)
		measure(&without_director[i]);
	measure_rules("tuple", TUPLE, TUPLES_MAX);
	measure_rules("drop", DROP, RULES_MAX);
	measure_rules("director", DIRECTOR, RULES_MAX);
	for (size_t i = 0; i < RTE_DIM(with_director); i++)
		measure(&with_director[i]);
}

int main(int argc, char **argv)
{
	static char no_huge[] = "--no-huge", no_shconf[] = "--no-shconf", memory[] = "-m", mb[] = "128",
		    no_telemetry[] = "--no-telemetry", lcores[] = "--lcores=0", level[] = "--log-level=*:error",
		    allow[] = "-a";
	char *args[] = {argv[0], no_huge, no_shconf, memory, mb, no_telemetry, lcores, level, allow,
		argc > 1 ? argv[1] : NULL, NULL};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2 || rte_eal_init((int)RTE_DIM(args) - 1, args) < 0 || rte_eth_dev_count_avail() != 1)
		die("the driver does not take the card");
	pool = rte_pktmbuf_pool_create("frames", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		die("no memory");
	measure_spread();
	measure_one_queue();
	rte_eal_cleanup();
	return 0;
}
