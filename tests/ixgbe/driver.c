// SPDX-License-Identifier: BSD-3-Clause
// DPDK's ixgbe driver on the modelled card with a loopback wire, without Tapline: features not yet used by Tapline, and
// tests that would take too many runs of it. Print "ok - …" or "not ok - …" per sentence.
//
// driver ADDRESS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_thash.h>

#define QUEUES 4
#define STARTS 100
#define FLOWS 32
#define TUPLES 128
#define FRAME_BYTES 60
#define WAIT_MS 2000
#define MARK 7
#define FDIRCTRL 0xEE00
#define FDIRCTRL_REPORT 0x20 // Report-Status
#define BURST 32	     // the driver's vector path returns no frames for bursts below 4

static struct rte_mempool *pool;
static uint8_t key[40];
static bool failed;

static void tell(bool good, const char *sentence)
{
	printf("%s - ixgbe-driver: %s\n", good ? "ok" : "not ok", sentence);
	failed |= !good;
}

// ---- frames

static void put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value & 0xFFFF);
}

// Make UDP or TCP over IPv4; its checksums do not matter here.
static void make_packet(uint8_t *frame, uint8_t proto, uint32_t src, uint32_t dst, unsigned sport, unsigned dport)
{
	memset(frame, 0, FRAME_BYTES);
	memset(frame, 0x02, 12);
	put16(frame + 12, 0x0800);
	frame[14] = 0x45;
	put16(frame + 16, FRAME_BYTES - 14);
	frame[22] = 64;
	frame[23] = proto;
	put32(frame + 26, src);
	put32(frame + 30, dst);
	put16(frame + 34, sport);
	put16(frame + 36, dport);
}

static void make_other(uint8_t *frame, unsigned ethertype)
{
	memset(frame, 0, FRAME_BYTES);
	memset(frame, 0x02, 12);
	put16(frame + 12, ethertype);
}

static bool send_frame(const uint8_t *frame)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	memcpy(rte_pktmbuf_append(m, FRAME_BYTES), frame, FRAME_BYTES);
	return rte_eth_tx_burst(0, 0, &m, 1) == 1;
}

struct arrival {
	uint64_t flags;
	uint32_t hash;
	uint16_t fdir_id;
};

// Return the queue at which the frame arrives, or -1, and the NIC's results.
static int send_around(const uint8_t *frame, struct arrival *out)
{
	if (!send_frame(frame))
		return -1;
	for (unsigned ms = 0; ms < WAIT_MS; ms++) {
		for (uint16_t q = 0; q < QUEUES; q++) {
			struct rte_mbuf *m[BURST];
			uint16_t n = rte_eth_rx_burst(0, q, m, BURST);
			if (n == 0)
				continue;
			if (out != NULL)
				*out = (struct arrival){m[0]->ol_flags, m[0]->hash.rss, m[0]->hash.fdir.id};
			rte_pktmbuf_free_bulk(m, n);
			return q;
		}
		rte_delay_us_sleep(1000);
	}
	return -1;
}

// ---- the port

static bool set_up(void)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS}};

	for (size_t i = 0; i < sizeof(key); i += 2)
		memcpy(key + i, (const uint8_t[]){0x6D, 0x5A}, 2);
	conf.rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){.rss_key = key,
		.rss_key_len = sizeof(key),
		.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP};
	pool = rte_pktmbuf_pool_create("frames", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	bool good = pool != NULL && rte_eth_dev_configure(0, QUEUES, 1, &conf) == 0;
	for (uint16_t q = 0; q < QUEUES && good; q++)
		good = rte_eth_rx_queue_setup(0, q, 512, SOCKET_ID_ANY, NULL, pool) == 0;
	return good && rte_eth_tx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL) == 0;
}

static bool start(void)
{
	return rte_eth_dev_start(0) == 0 && rte_eth_promiscuous_enable(0) == 0;
}

static bool starts_and_stops(void)
{
	uint8_t frame[FRAME_BYTES];

	make_other(frame, 0x88B5);
	for (unsigned i = 0; i < STARTS; i++)
		if (!start() || send_around(frame, NULL) != 0 || rte_eth_dev_stop(0) != 0)
			return false;
	return true;
}

// ---- RSS

static bool both_ways_are_one(void)
{
	uint8_t frame[FRAME_BYTES];
	bool good = true;

	for (uint32_t i = 0; i < FLOWS; i++) {
		uint32_t src = 0x0A000001 + 7919 * i, dst = 0x0A010001 + i;
		struct arrival there = {0}, back = {0};
		uint32_t tuple[] = {src, dst, (1000 + i) << 16 | 80};
		make_packet(frame, 6, src, dst, 1000 + i, 80);
		int to = send_around(frame, &there);
		make_packet(frame, 6, dst, src, 80, 1000 + i);
		good &= to >= 0 && to == send_around(frame, &back) && there.hash == back.hash;
		good &= there.hash == rte_softrss(tuple, 3, key) && to == (int)(there.hash % 128 % QUEUES);
	}
	return good;
}

// ---- rules

static struct rte_flow *to_queue(
	uint32_t priority, const struct rte_flow_item *pattern, uint16_t queue, struct rte_flow_error *error)
{
	const struct rte_flow_attr attr = {.ingress = 1, .priority = priority};
	const struct rte_flow_action_queue target = {.index = queue};
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &target}, {.type = RTE_FLOW_ACTION_TYPE_END}};

	return rte_flow_create(0, &attr, pattern, actions, error);
}

static bool a_tuple_is_steered(void)
{
	const struct rte_flow_item_ipv4 ip = {
		.hdr = {.src_addr = RTE_BE32(0x0A000001), .dst_addr = RTE_BE32(0x0A000002), .next_proto_id = 17}};
	const struct rte_flow_item_ipv4 ip_mask = {
		.hdr = {.src_addr = UINT32_MAX, .dst_addr = UINT32_MAX, .next_proto_id = 0xFF}};
	const struct rte_flow_item_udp udp = {.hdr = {.src_port = RTE_BE16(4000), .dst_port = RTE_BE16(5001)}};
	const struct rte_flow_item_udp udp_mask = {.hdr = {.src_port = UINT16_MAX, .dst_port = UINT16_MAX}};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow_error error;
	uint8_t frame[FRAME_BYTES];
	bool good = true;

	make_packet(frame, 17, 0x0A000001, 0x0A000002, 4000, 5001);
	int before = send_around(frame, NULL);
	uint16_t wanted = (uint16_t)((before + 1) % QUEUES);
	struct rte_flow *flow = to_queue(1, pattern, wanted, &error);
	good = flow != NULL && send_around(frame, NULL) == wanted;
	good = good && rte_flow_destroy(0, flow, &error) == 0 && send_around(frame, NULL) == before;
	return good;
}

static bool an_ethertype_is_steered(void)
{
	const struct rte_flow_item_eth eth = {.hdr.ether_type = RTE_BE16(0x88B6)};
	const struct rte_flow_item_eth mask = {.hdr.ether_type = UINT16_MAX};
	const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth, .mask = &mask}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow_error error;
	uint8_t frame[FRAME_BYTES];

	make_other(frame, 0x88B6);
	struct rte_flow *flow = to_queue(0, pattern, 3, &error);
	bool good = flow != NULL && send_around(frame, NULL) == 3;
	make_other(frame, 0x88B5);
	return good && send_around(frame, NULL) == 0 && rte_flow_destroy(0, flow, &error) == 0;
}

// Request to the model, see model/control.c. Return its value, or -1.
static long ask_model(const char *request)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char answer[256] = "";

	snprintf(path.sun_path, sizeof(path.sun_path), "%s", getenv("IXGBE_MODEL"));
	if (connect(fd, (const struct sockaddr *)&path, sizeof(path)) == 0 && send(fd, request, strlen(request), 0) > 0)
		(void)recv(fd, answer, sizeof(answer) - 1, 0);
	close(fd);
	return strncmp(answer, "ok ", 3) == 0 ? strtol(answer + 3, NULL, 10) : -1;
}

static bool set_report(const char *card)
{
	char request[64];

	snprintf(request, sizeof(request), "read %s %d", card, FDIRCTRL);
	long control = ask_model(request);
	snprintf(request, sizeof(request), "write %s %d %ld", card, FDIRCTRL, control | FDIRCTRL_REPORT);
	return control >= 0 && (control & FDIRCTRL_REPORT) == 0 && ask_model(request) >= 0;
}

// The tables of lib/dpdk/rules rest on these four. The mask of addresses is that of the next test.
static bool a_mark_is_created_and_not_reported(const char *card)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_item_ipv4 ip = {.hdr.dst_addr = RTE_BE32(0x0A000003)};
	const struct rte_flow_item_ipv4 mask = {.hdr.dst_addr = UINT32_MAX};
	const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &mask}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action_queue queue = {.index = 2};
	const struct rte_flow_action_mark mark = {.id = MARK};
	const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
		{.type = RTE_FLOW_ACTION_TYPE_MARK, .conf = &mark}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const uint64_t flags = RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
	struct rte_flow_error error;
	struct arrival seen = {0};
	uint8_t frame[FRAME_BYTES];

	make_packet(frame, 17, 0x0A000001, 0x0A000003, 4000, 5001);
	struct rte_flow *flow = rte_flow_create(0, &attr, pattern, actions, &error);
	bool good = flow != NULL && send_around(frame, &seen) == 2 && (seen.flags & flags) == 0;
	// If the driver set the card to report, a frame would have the mark, but not as rte_flow promises it.
	good = good && set_report(card) && send_around(frame, &seen) == 2;
	good = good && (seen.flags & flags) == RTE_MBUF_F_RX_FDIR && seen.fdir_id == MARK;
	return good && rte_flow_destroy(0, flow, &error) == 0;
}

static bool an_item_alone_matches_every_protocol(void)
{
	const struct rte_flow_item_ipv4 ip = {.hdr.dst_addr = RTE_BE32(0x0A000003)};
	const struct rte_flow_item_ipv4 mask = {.hdr.dst_addr = UINT32_MAX};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_TCP}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow_error error;
	uint8_t frame[FRAME_BYTES];

	make_packet(frame, 17, 0x0A000001, 0x0A000003, 4000, 5001);
	uint16_t wanted = (uint16_t)((send_around(frame, NULL) + 1) % QUEUES);
	struct rte_flow *flow = to_queue(1, pattern, wanted, &error);
	bool good = flow != NULL && send_around(frame, NULL) == wanted; // UDP
	return good && rte_flow_destroy(0, flow, &error) == 0;
}

static bool a_second_mask_is_valid_and_not_created(void)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_item_ipv4 ip = {.hdr.dst_addr = RTE_BE32(0x0A000003)};
	struct rte_flow_item_ipv4 mask = {.hdr.dst_addr = UINT32_MAX};
	const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &mask}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action drop[] = {{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error;

	struct rte_flow *flow = rte_flow_create(0, &attr, pattern, drop, &error);
	mask.hdr.dst_addr = RTE_BE32(0xFFFFFF00);
	bool good = flow != NULL && rte_flow_validate(0, &attr, pattern, drop, &error) == 0;
	good = good && rte_flow_create(0, &attr, pattern, drop, &error) == NULL;
	return good && rte_flow_destroy(0, flow, &error) == 0;
}

static bool one_tuple_too_many_is_not_created(void)
{
	struct rte_flow_item_ipv4 ip = {.hdr.next_proto_id = 17};
	const struct rte_flow_item_ipv4 mask = {.hdr = {.dst_addr = UINT32_MAX, .next_proto_id = 0xFF}};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow *flows[TUPLES + 1];
	struct rte_flow_error error;
	bool good = true;

	for (uint32_t i = 0; i <= TUPLES; i++) {
		ip.hdr.dst_addr = rte_cpu_to_be_32(0x0A020000 + i);
		flows[i] = to_queue(1, pattern, 0, &error);
		good &= (flows[i] != NULL) == (i < TUPLES);
	}
	for (uint32_t i = 0; i < TUPLES; i++)
		good &= flows[i] != NULL && rte_flow_destroy(0, flows[i], &error) == 0;
	return good;
}

// ---- stamps

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int read_latch(int64_t *stamp_ns)
{
	struct timespec stamp;
	int rc = rte_eth_timesync_read_rx_timestamp(0, &stamp, 0);

	*stamp_ns = ns_of(&stamp);
	return rc;
}

static bool the_latch_keeps_the_first_stamp(void)
{
	struct timespec before, between, after;
	uint8_t frame[FRAME_BYTES];
	int64_t first, none;

	make_other(frame, 0x88F7); // a PTP Sync of version 2
	frame[15] = 2;
	bool good = rte_eth_timesync_enable(0) == 0 && read_latch(&none) == -EINVAL;
	good = good && rte_eth_timesync_read_time(0, &before) == 0 && send_around(frame, NULL) >= 0;
	good = good && rte_eth_timesync_read_time(0, &between) == 0 && send_around(frame, NULL) >= 0;
	good = good && read_latch(&first) == 0 && read_latch(&none) == -EINVAL;
	good = good && first >= ns_of(&before) && first <= ns_of(&between);
	good = good && send_around(frame, NULL) >= 0 && rte_eth_timesync_read_time(0, &after) == 0;
	return good && read_latch(&none) == 0 && none > ns_of(&between) && none <= ns_of(&after);
}

static bool the_clock_keeps_time(void)
{
	struct timespec from, to, host_from, host_to;

	if (rte_eth_timesync_read_time(0, &from) != 0 || clock_gettime(CLOCK_MONOTONIC, &host_from) != 0)
		return false;
	rte_delay_us_sleep(200000);
	if (clock_gettime(CLOCK_MONOTONIC, &host_to) != 0 || rte_eth_timesync_read_time(0, &to) != 0)
		return false;
	double ratio = (double)(ns_of(&to) - ns_of(&from)) / (double)(ns_of(&host_to) - ns_of(&host_from));
	return ratio > 0.9 &&
	       ratio < 1.5; // on a busy host the readings are apart; a wrong scale is a factor of 2 at least
}

int main(int argc, char **argv)
{
	static char no_huge[] = "--no-huge", no_shconf[] = "--no-shconf", memory[] = "-m", mb[] = "128",
		    no_telemetry[] = "--no-telemetry", lcores[] = "--lcores=0", level[] = "--log-level=*:error",
		    allow[] = "-a";
	char *args[] = {argv[0], no_huge, no_shconf, memory, mb, no_telemetry, lcores, level, allow,
		argc > 1 ? argv[1] : NULL, NULL};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2 || rte_eal_init((int)RTE_DIM(args) - 1, args) < 0 || rte_eth_dev_count_avail() != 1 ||
		!set_up()) {
		tell(false, "the driver takes the card");
		return 1;
	}
	tell(starts_and_stops(), "a hundred starts and stops bring a frame around each time");
	tell(start(), "and another start");
	tell(both_ways_are_one(),
		"with a symmetric key both directions of a connection come to the queue that the hash says");
	tell(an_ethertype_is_steered(), "frames of an ethertype come to the queue of their rule");
	tell(a_tuple_is_steered(), "a connection comes to the queue of its rule, and when that is gone to its own");
	tell(an_item_alone_matches_every_protocol(), "an item TCP without the IP header's protocol steers UDP, too");
	tell(a_mark_is_created_and_not_reported(argv[1]),
		"a rule with a mark is created, and no frame bears it, as the driver never has the card report it");
	tell(a_second_mask_is_valid_and_not_created(),
		"a second mask of the flow director is valid, and then not created");
	tell(one_tuple_too_many_is_not_created(), "128 rules for connections are created, and no more");
	tell(the_latch_keeps_the_first_stamp(),
		"the receive latch keeps the stamp of the first PTP frame until it is read");
	tell(the_clock_keeps_time(), "the clock of the stamps goes at the rate of time");
	rte_eal_cleanup();
	return failed;
}
