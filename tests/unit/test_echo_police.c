// SPDX-License-Identifier: BSD-3-Clause
// Policers of echoes: a host with echoes, whose frames the test writes, in virtual time.

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

#include "police.h"

#define IP(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define OUR_IP IP(192, 0, 2, 1)
#define PEER_IP IP(192, 0, 2, 2)
#define GROUP IP(239, 1, 1, 1)
#define UDP_PORT 1007
#define GROUP_PORT 5001
#define SINK_PORT 5002
#define ACTION(dropped)                                                                                                \
	{                                                                                                              \
		.drop = (dropped), .dscp = TL_EDIT_KEEP, .pcp = TL_EDIT_KEEP                                           \
	}

static struct tl_clock *test_clock;
static struct tl_port *port;
static struct rte_mempool *pool;

static struct {
	struct tl_txq tx;
	struct tl_echo_host *host;
	struct tl_service echo, delay;
	uint64_t now_ns;
	unsigned replies, mbufs; // UDP frames sent; mbufs in use before
} bed;

static void flush(struct tl_txq *q)
{
	q->begin_tsc = q->end_tsc = rte_rdtsc();
	for (uint16_t i = 0; i < q->n; i++) {
		struct tl_pkt pkt;
		tl_wire_parse(rte_pktmbuf_mtod(q->pkts[i], uint8_t *), q->pkts[i]->data_len, &pkt);
		bed.replies += pkt.kind == TL_PKT_UDP;
		rte_pktmbuf_free(q->pkts[i]);
	}
	q->tx_pkts += q->n;
	q->n = 0;
}

static struct tl_echo_stats stats(uint32_t echo)
{
	struct tl_echo_stats s;

	tl_echo_sample(bed.host, echo, &s);
	return s;
}

static int make(const struct tl_echo_cfg *echoes, uint32_t n, struct tl_err *err)
{
	static const struct tl_net_neighbour peer = {.ip_be = PEER_IP, .mac = {2, 0, 0, 0, 0, 2}};
	struct tl_echo_host_cfg cfg = {.net = {.name = "ours",
					       .tx = &bed.tx,
					       .pool = pool,
					       .mac = {2, 0, 0, 0, 0, 1},
					       .ip_be = OUR_IP,
					       .mask_be = IP(255, 255, 255, 0),
					       .mtu = 1500,
					       .neighbours = &peer,
					       .n_neighbours = 1,
					       .seed = 1},
		.echoes = echoes,
		.n_echoes = n,
		.port = port,
		.clock = test_clock};

	memset(&bed, 0, sizeof(bed));
	bed.mbufs = rte_mempool_in_use_count(pool);
	bed.tx.flush_fn = flush;
	bed.now_ns = tl_clock_mono_ns(test_clock, rte_rdtsc());
	return tl_echo_host_create(&cfg, &bed.host, err);
}

static void set_up(const struct tl_echo_cfg *echoes, uint32_t n)
{
	struct tl_err err = {""};

	CU_ASSERT_EQUAL_FATAL(make(echoes, n, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_echo_hosts_start(&bed.host, 1, &err), 0);
	tl_echo_host_service(bed.host, &bed.echo);
	(void)tl_echo_delay_service(bed.host, &bed.delay);
}

static void tear_down(uint32_t n)
{
	bed.echo.close(bed.echo.ctx);
	for (int i = 0; i < 3000 && !bed.echo.closed(bed.echo.ctx); i++) {
		bed.now_ns += TL_NS_PER_MS;
		bed.echo.tick(bed.echo.ctx, bed.now_ns);
		tl_txq_flush(&bed.tx);
	}
	if (bed.delay.ctx != NULL && bed.host->delays != NULL)
		bed.delay.finish(bed.delay.ctx);
	for (uint32_t i = 0; i < n; i++) {
		struct tl_echo_stats s = stats(i);
		uint64_t outcomes = s.lost_unacked_msgs;
#define ADD(name) outcomes += s.name;
		TL_ECHO_PARTS(ADD)
		CU_ASSERT_EQUAL(s.received_msgs, outcomes);
		if (bed.host->echoes[i].police != NULL)
			CU_ASSERT_EQUAL(s.received_msgs, s.green_msgs + s.yellow_msgs + s.red_msgs);
	}
	tl_echo_host_destroy(bed.host);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), bed.mbufs);
}

// Deliver a datagram with len bytes.
static void receive(uint32_t dst_be, uint16_t src_port, uint16_t dst_port, uint16_t len)
{
	static struct tl_burst burst;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(TL_ETHER_LEN + TL_IPV4_LEN + TL_UDP_LEN + len));
	struct tl_ether_hdr *ether = (struct tl_ether_hdr *)frame;
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(ether + 1);

	memset(frame, 0, m->data_len);
	*ether = (struct tl_ether_hdr){
		.dst = {2, 0, 0, 0, 0, 1}, .src = {2, 0, 0, 0, 0, 2}, .type_be = tl_be16(TL_ETHERTYPE_IPV4)};
	if (dst_be == GROUP)
		tl_wire_mcast_mac(dst_be, ether->dst);
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + TL_UDP_LEN + len),
		.ttl = 64,
		.proto = TL_IPPROTO_UDP,
		.src_be = PEER_IP,
		.dst_be = dst_be};
	tl_wire_ipv4_finish(ip);
	*(struct tl_udp_hdr *)(ip + 1) = (struct tl_udp_hdr){.src_port_be = tl_be16(src_port),
		.dst_port_be = tl_be16(dst_port),
		.len_be = tl_be16(TL_UDP_LEN + len)};
	burst = (struct tl_burst){.n = 1, .tsc = rte_rdtsc(), .mono_ns = bed.now_ns, .pkts = {m}};
	bed.echo.rx(bed.echo.ctx, &burst);
	tl_txq_flush(&bed.tx);
	bed.echo.after_tx(bed.echo.ctx, &burst);
	rte_pktmbuf_free(m);
}

static void send_to(uint16_t dst_port, uint16_t len)
{
	receive(OUR_IP, 4000, dst_port, len);
}

// 3 messages, and one more per second.
static const struct tl_policer_cfg few = {
	.meter = {.unit = TL_METER_PKTS, .cir = 1, .cbs = 3}, .actions = {ACTION(false), ACTION(false), ACTION(true)}};
#define UDP_ECHO(number, policer)                                                                                      \
	{                                                                                                              \
		.name = "u", .kind = TL_ECHO_KIND_UDP,                                                                 \
		.listen_port_be = (uint16_t)((number) >> 8 | ((number)&0xff) << 8), .police = (policer)                \
	}

// ---- tests

TL_TEST("messages beyond the rate are not echoed")
{
	static const struct tl_echo_cfg echoes[] = {UDP_ECHO(UDP_PORT, &few), UDP_ECHO(UDP_PORT + 1, NULL)};

	set_up(echoes, 2);
	for (int i = 0; i < 5; i++) {
		send_to(UDP_PORT, 100);
		send_to(UDP_PORT + 1, 100);
	}
	CU_ASSERT_EQUAL(bed.replies, 8);
	CU_ASSERT_EQUAL(stats(0).received_msgs, 5);
	CU_ASSERT_EQUAL(stats(0).received_bytes, 500);
	CU_ASSERT_EQUAL(stats(0).echoed_msgs, 3);
	CU_ASSERT_EQUAL(stats(0).drop_police_msgs, 2);
	CU_ASSERT_EQUAL(stats(1).echoed_msgs, 5);
	CU_ASSERT_EQUAL(stats(1).green_msgs, 0);
	bed.now_ns += TL_NS_PER_S - 1;
	send_to(UDP_PORT, 100);
	CU_ASSERT_EQUAL(bed.replies, 8);
	bed.now_ns += 1;
	send_to(UDP_PORT, 100);
	CU_ASSERT_EQUAL(bed.replies, 9);
	CU_ASSERT_EQUAL(stats(0).green_msgs, 4);
	CU_ASSERT_EQUAL(stats(0).red_msgs, 3);
	tear_down(2);
}

TL_TEST("the rate counts bytes of payload")
{
	static const struct tl_policer_cfg bytes = {
		.meter = {.cir = 1, .cbs = 100, .ebs = 50}, .actions = {ACTION(false), ACTION(true), ACTION(true)}};
	static const struct tl_echo_cfg echo = UDP_ECHO(UDP_PORT, &bytes);

	set_up(&echo, 1);
	send_to(UDP_PORT, 100);
	send_to(UDP_PORT, 0);
	send_to(UDP_PORT, 50);
	send_to(UDP_PORT, 1);
	CU_ASSERT_EQUAL(bed.replies, 2);
	CU_ASSERT_EQUAL(stats(0).green_msgs, 2);
	CU_ASSERT_EQUAL(stats(0).yellow_msgs, 1);
	CU_ASSERT_EQUAL(stats(0).red_msgs, 1);
	CU_ASSERT_EQUAL(stats(0).drop_police_msgs, 2);
	tear_down(1);
}

TL_TEST("a message of a refused sender takes tokens")
{
	static const struct tl_echo_cfg echo = UDP_ECHO(UDP_PORT, &few);

	set_up(&echo, 1);
	receive(OUR_IP, 53, UDP_PORT, 8);
	for (int i = 0; i < 3; i++)
		send_to(UDP_PORT, 8);
	CU_ASSERT_EQUAL(bed.replies, 2);
	CU_ASSERT_EQUAL(stats(0).refused_msgs, 1);
	CU_ASSERT_EQUAL(stats(0).drop_police_msgs, 1);
	tear_down(1);
}

TL_TEST("multicast messages are dropped whole")
{
	static const struct tl_echo_cfg echo = {.name = "m",
		.kind = TL_ECHO_KIND_MCAST_TO_TCP,
		.group_be = GROUP,
		.udp_port_be = (uint16_t)(GROUP_PORT >> 8 | (GROUP_PORT & 0xff) << 8),
		.connect_ip_be = PEER_IP,
		.connect_port_be = (uint16_t)(SINK_PORT >> 8 | (SINK_PORT & 0xff) << 8),
		.send_buffer_bytes = 65536,
		.reconnect_min_ns = TL_NS_PER_S,
		.reconnect_max_ns = TL_NS_PER_S,
		.police = &few};

	set_up(&echo, 1);
	for (int i = 0; i < 7; i++)
		receive(GROUP, 4000, GROUP_PORT, 10);
	CU_ASSERT_EQUAL(stats(0).received_msgs, 7);
	CU_ASSERT_EQUAL(stats(0).received_bytes, 70);
	CU_ASSERT_EQUAL(stats(0).drop_no_conn_msgs, 3);
	CU_ASSERT_EQUAL(stats(0).drop_police_msgs, 4);
	tear_down(1);
}

TL_TEST("a message is policed before it is delayed")
{
	struct tl_echo_cfg echo = UDP_ECHO(UDP_PORT, &few);

	echo.delay_ns = TL_NS_PER_MS;
	echo.delay_limit = 64;
	set_up(&echo, 1);
	for (int i = 0; i < 5; i++)
		send_to(UDP_PORT, 8);
	CU_ASSERT_EQUAL(stats(0).waiting_msgs, 3);
	bed.now_ns += TL_NS_PER_MS;
	while (bed.delay.poll(bed.delay.ctx, bed.now_ns) != 0)
		continue;
	CU_ASSERT_EQUAL(bed.replies, 3);
	CU_ASSERT_EQUAL(stats(0).drop_police_msgs, 2);
	tear_down(1);
}

TL_TEST("invalid rates are refused")
{
	static const struct tl_policer_cfg wrong = {.meter = {.cir = 3, .cbs = TL_METER_BURST_MAX}};
	static const struct tl_echo_cfg echo = UDP_ECHO(UDP_PORT, &wrong);
	struct tl_err err = {""};

	CU_ASSERT_EQUAL(make(&echo, 1, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "echo u: police: cbs 1099511627776: too large to be exact"));
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), bed.mbufs);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("test_echo_police", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	port = tl_test_port("vdev:net_ring_p", 1, test_clock);
	if (port == NULL)
		return 1;
	return tl_test_run("echo_police");
}
