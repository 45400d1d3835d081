// SPDX-License-Identifier: BSD-3-Clause
// Cost of a 16-byte message on the RX lcore, from the return of rx_burst to the call of tx_burst: a null echo, which
// swaps addresses and sends back, multicast to TCP, the same with its stages, in a VLAN, from an IPv6 group, and over
// IPv6 both ways. All on a ring, recorded in both directions, with the product's loop. Then multicast to TCP by number
// of echoes, without a recording, up to the end of the echo's bookkeeping. Print a line "NAME MESSAGES NANOSECONDS"
// each, the latter the median, for echo_path.sh, which also runs it in callgrind and counts the instructions between
// bench_count_begin() and bench_count_end(); and "stamp RDTSC STAMP", the nanoseconds of either, on stderr.
// With the argument "burst" messages arrive 64 at a time, without a recording, at a queue that sends once per burst,
// and at one that sends early. Print a line "NAME MESSAGES FIRST LAST": the median nanoseconds until the first and the
// last send call of a burst; a window is then a whole turn.
//
// With the argument "cold" the caches are emptied before each message, and the lcore then has time for some ticks:
// multicast to TCP without cache warm-up, and with it.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TL_TEST_EAL_MB "1200"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <tl_capture.h>
#include <tl_echo.h>
#include <tl_err.h>
#include <tl_hist.h>
#include <tl_lcore.h>
#include <tl_tcp.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>
#include <tl_wire.h>

#include "counted.h"
#include "facts.h"
#include "lcore_priv.h"

#define IP(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define OUR_IP IP(192, 0, 2, 1)
#define PEER_IP IP(192, 0, 2, 2)
#define GROUP IP(239, 1, 1, 1)
#define UDP_PORT 5001
#define TCP_PORT 5002
#define VLAN 7
#define PEER_IP6 IP6(2)
#define IP6(host)                                                                                                      \
	{                                                                                                              \
		{                                                                                                      \
			0x20, 0x01, 0x0d, 0xb8, [15] = (host)                                                          \
		}                                                                                                      \
	}
#define PAYLOAD_BYTES 16
#define WARM_UP 64	 // messages, for the caches and for slow start
#define WARM_UP_ROUNDS 3 // messages of each of many echoes
#define MANY_COUNTED 64
#define IDLE_NS (30 * TL_NS_PER_MS)	 // of each of many echoes: its timers have ended
#define IDLE_POLL_NS (TL_NS_PER_MS / 10) // at most from poll to poll: timers do not end while the thread is interrupted
#define RTO_US 60000000			 // longer than that on any host: cwnd does not restart
#define ECHOES_MAX 1000
#define UNTIL_NS (300 * TL_NS_PER_S)
#define TICKS_NS (500 * TL_NS_PER_US) // some of them
#define CACHES_BYTES (64u << 20)

// The wire and its ends: frames sent by our port go to the peer, a second stack, and those of the peer to our port.
struct bench {
	struct tl_clock *clock;
	struct tl_port *port;
	struct tl_capture *capture;
	struct tl_echo_host *host;
	struct tl_lcore *lcore;
	struct tl_txq *txq;
	struct tl_net *peer;
	struct tl_txq peer_txq;
	struct tl_tcp_listener *listener;
	struct rte_mbuf *arrived[TL_BURST]; // received by the peer
	uint16_t n_arrived;
	eth_rx_burst_t ring_rx;
	eth_tx_burst_t ring_tx;
	void *rx_queue, *tx_queue;
	uint32_t echoes;		// each with a group and a connection
	uint32_t opened;		// connections
	uint32_t warm_up, counted;	// messages
	uint32_t messages, sent, taken; // to send; sent; returned to the peer
	bool of_many;			// its echoes are idle for IDLE_NS; its window ends with their bookkeeping
	void (*after_tx)(void *ctx, struct tl_burst *burst); // of the echo
	uint16_t vlan;					     // of all frames, 0: untagged
	bool is_group6, is_peer6;			     // the group, and the peer of TCP, are of IPv6
	bool ready;					     // the peer has a connection, or needs none
	bool in_window;
	uint32_t at_once;		// messages per burst
	bool in_turn;			// the window of the current burst ends with the next poll
	uint64_t arrived_tsc, last_tsc; // of that burst: its poll, and its last send call so far
	uint8_t *caches;		// data to fill them; NULL: leave them
	bool emptied;
	uint64_t next_ns;	     // earliest time of the next message
	uint64_t idle_ns, polled_ns; // of many echoes: since the last message; time of the last poll
	uint64_t ends_ns;
	uint64_t start_ns; // time to create the echoes
	struct tl_hist stay, last_stay;
};

static struct bench bench; // the replacement of the driver has no context argument

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "bench_echo_path: %s\n", text);
	exit(1);
}

// ---- the peer

static void peer_opened(void *ctx, struct tl_tcp *c)
{
	bench.ready = ++bench.opened == bench.echoes;
}

static void peer_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	bench.taken += len / PAYLOAD_BYTES;
}

static void peer_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
}

static void to_our_port(struct tl_txq *q)
{
	if (bench.ring_tx(bench.tx_queue, q->pkts, q->n) != q->n)
		die("the ring is full");
	q->n = 0;
}

static const struct tl_ip6 GROUP6 = {{0xff, 0x3e, [15] = 1}};

#define UDP_BYTES (TL_UDP_LEN + PAYLOAD_BYTES)

static uint32_t group_of(uint32_t echo)
{
	return tl_be32(tl_be32(GROUP) + echo);
}

// Write the IP header of a message; return the sum of its pseudo-header.
static uint32_t put_ip4(uint8_t *l3)
{
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + UDP_BYTES),
		.ttl = 1,
		.proto = TL_IPPROTO_UDP,
		.src_be = PEER_IP,
		.dst_be = group_of(bench.sent % bench.echoes)};

	tl_wire_ipv4_finish(&ip);
	memcpy(l3, &ip, sizeof(ip));
	return tl_cksum_pseudo(ip.src_be, ip.dst_be, TL_IPPROTO_UDP, UDP_BYTES);
}

static uint32_t put_ip6(uint8_t *l3)
{
	const struct tl_ipv6_hdr ip = {.version_be = tl_be32(UINT32_C(6) << 28),
		.payload_len_be = tl_be16(UDP_BYTES),
		.next = TL_IPPROTO_UDP,
		.hop_limit = 1,
		.src = PEER_IP6,
		.dst = GROUP6};

	memcpy(l3, &ip, sizeof(ip));
	return tl_cksum_pseudo6(&ip.src, &ip.dst, TL_IPPROTO_UDP, UDP_BYTES);
}

static void send_message(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(bench.port));
	struct tl_udp_hdr udp = {tl_be16(UDP_PORT), tl_be16(UDP_PORT), tl_be16(UDP_BYTES), 0};
	const uint16_t tag_be[] = {tl_be16(TL_ETHERTYPE_VLAN), tl_be16(bench.vlan)};
	uint32_t tag_len = bench.vlan != 0 ? TL_VLAN_LEN : 0, ip_len = bench.is_group6 ? TL_IPV6_LEN : TL_IPV4_LEN;
	uint32_t len = TL_ETHER_LEN + ip_len + UDP_BYTES;

	if (m == NULL)
		die("no mbuf");
	if (len < TL_ETHER_MIN_FRAME)
		len = TL_ETHER_MIN_FRAME;
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(len + tag_len));
	struct tl_ether_hdr *ether = (struct tl_ether_hdr *)frame;
	memset(frame, 0, len + tag_len);
	if (bench.is_group6)
		tl_wire_mcast_mac6(&GROUP6, ether->dst);
	else
		tl_wire_mcast_mac(group_of(bench.sent % bench.echoes), ether->dst);
	ether->src[0] = 2;
	ether->src[5] = 2;
	memcpy(&ether->type_be, tag_be, tag_len);
	frame += tag_len;
	((struct tl_ether_hdr *)frame)->type_be = tl_be16(bench.is_group6 ? TL_ETHERTYPE_IPV6 : TL_ETHERTYPE_IPV4);
	uint8_t *l3 = frame + TL_ETHER_LEN, *l4 = l3 + ip_len;
	uint32_t sum = bench.is_group6 ? put_ip6(l3) : put_ip4(l3);
	memcpy(l4 + TL_UDP_LEN, &bench.sent, sizeof(bench.sent));
	memcpy(l4, &udp, sizeof(udp));
	udp.cksum_be = tl_cksum_finish(tl_cksum_add(sum, l4, UDP_BYTES));
	memcpy(l4, &udp, sizeof(udp));
	tl_txq_push(&bench.peer_txq, m);
	tl_txq_flush(&bench.peer_txq);
	bench.sent++;
}

static void peer_turn(uint64_t mono_ns)
{
	static struct tl_burst burst;

	burst.n = bench.n_arrived;
	burst.mono_ns = mono_ns;
	bench.n_arrived = 0;
	for (uint16_t i = 0; i < burst.n; i++) {
		burst.pkts[i] = bench.arrived[i];
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), burst.pkts[i]->data_len, &burst.pkt[i]);
		bench.taken += bench.host == NULL && burst.pkt[i].kind == TL_PKT_UDP;
	}
	tl_net_input(bench.peer, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	tl_net_tick(bench.peer, mono_ns);
	tl_txq_flush(&bench.peer_txq);
}

// ---- cold

extern const char __executable_start[], etext[];

// Evict this program's code from all caches, and fill those of the core with other data.
static void empty_caches(void)
{
	for (const char *line = __executable_start; line < etext; line += TL_CACHE_LINE)
		__builtin_ia32_clflush(line);
	for (uint32_t at = 0; at < CACHES_BYTES; at += TL_CACHE_LINE)
		bench.caches[at]++;
}

// Let each of many echoes idle for as long, however many there are.
static bool may_come_to_many(uint64_t mono_ns)
{
	bench.idle_ns += tl_min_u64(mono_ns - bench.polled_ns, IDLE_POLL_NS);
	bench.polled_ns = mono_ns;
	if (bench.idle_ns < IDLE_NS / bench.echoes)
		return false;
	bench.idle_ns = 0;
	return true;
}

static bool may_come(uint64_t mono_ns)
{
	if (bench.of_many)
		return may_come_to_many(mono_ns);
	if (bench.caches == NULL)
		return true;
	if (!bench.emptied) {
		empty_caches();
		bench.next_ns = tl_clock_mono_ns(bench.clock, rte_rdtsc()) + TICKS_NS;
	}
	bench.emptied = mono_ns < bench.next_ns;
	return !bench.emptied;
}

// ---- in place of the driver

// End the window of a burst.
static void end_turn(void)
{
	bench_count_end();
	tl_hist_record(&bench.last_stay, tl_clock_span_ns(bench.clock, bench.last_tsc - bench.arrived_tsc));
	bench.in_turn = false;
}

// End the window of a message, or note the first send call of a burst.
static void end_stay(void)
{
	if (bench.at_once == 1)
		bench_count_end();
	tl_hist_record(&bench.stay, tl_clock_span_ns(bench.clock, rte_rdtsc() - bench.arrived_tsc));
	bench.in_window = false;
}

static void after_echo(void *ctx, struct tl_burst *burst)
{
	bench.after_tx(ctx, burst);
	if (bench.in_window)
		end_stay();
}

static uint16_t rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t max)
{
	uint64_t mono_ns = tl_clock_mono_ns(bench.clock, rte_rdtsc());
	uint32_t before = bench.sent;

	if (bench.in_turn)
		end_turn();
	if (mono_ns > bench.ends_ns)
		die("messages got lost");
	peer_turn(mono_ns);
	uint16_t n = bench.ring_rx(queue, pkts, max);
	if (n == 0 && bench.ready && bench.taken == bench.sent) { // idle: send the next
		if (bench.sent == bench.messages)
			tl_lcore_request(bench.lcore, TL_LCORE_STOP);
		else if (may_come(mono_ns))
			for (uint32_t i = 0; i < bench.at_once; i++)
				send_message();
		n = bench.ring_rx(queue, pkts, max);
	}
	bench.in_window = bench.sent != before && bench.sent > bench.warm_up;
	bench.in_turn = bench.in_window && bench.at_once > 1;
	if (bench.in_window) {
		bench.arrived_tsc = rte_rdtsc();
		bench_count_begin();
	}
	return n;
}

static uint16_t tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	if (bench.in_window && !bench.of_many)
		end_stay();
	bench.last_tsc = rte_rdtsc();
	uint16_t sent = bench.ring_tx(queue, pkts, n); // a ring returns frames to its own port: pass them to the peer
	bench.n_arrived += bench.ring_rx(bench.rx_queue, bench.arrived + bench.n_arrived, TL_BURST - bench.n_arrived);
	return sent;
}

static void take_drivers_place(void)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[bench.txq->port_id];

	bench.ring_rx = ops->rx_pkt_burst;
	bench.ring_tx = ops->tx_pkt_burst;
	bench.rx_queue = ops->rxq.data[0];
	bench.tx_queue = ops->txq.data[0];
	ops->rx_pkt_burst = rx_burst;
	ops->tx_pkt_burst = tx_burst;
}

// ---- measurements

static void swap_bytes(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t kept[TL_ETHER_ADDR_LEN];

	memcpy(kept, a, len);
	memcpy(a, b, len);
	memcpy(b, kept, len);
}

// The minimum work of an echo.
static void null_echo(void *ctx, struct tl_burst *burst)
{
	for (uint16_t i = 0; i < burst->n; i++) {
		struct rte_mbuf *m = burst->pkts[i];
		struct tl_ether_hdr *ether = rte_pktmbuf_mtod(m, struct tl_ether_hdr *);
		struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(ether + 1);
		struct tl_udp_hdr *udp = (struct tl_udp_hdr *)(ip + 1);
		swap_bytes(ether->dst, ether->src, sizeof(ether->dst));
		swap_bytes((uint8_t *)&ip->src_be, (uint8_t *)&ip->dst_be, sizeof(ip->src_be));
		swap_bytes((uint8_t *)&udp->src_port_be, (uint8_t *)&udp->dst_port_be, sizeof(udp->src_port_be));
		rte_mbuf_refcnt_update(m, 1); // the loop frees the burst
		tl_txq_push(bench.txq, m);
	}
}

static struct tl_net_cfg net_cfg(const char *name, struct tl_txq *txq, uint8_t host)
{
	static const struct tl_ip6 none;
	const struct tl_ip6 ip6 = IP6(host);

	return (struct tl_net_cfg){.name = name,
		.tx = txq,
		.pool = tl_port_pool(bench.port),
		.mac = {2, 0, 0, 0, 0, host},
		.ip_be = IP(192, 0, 2, host),
		.mask_be = IP(255, 255, 255, 0),
		.ip6 = bench.is_group6 ? ip6 : none,
		.ip6_bits = 64,
		.mtu = 1500,
		.vlan = bench.vlan,
		.max_conns = bench.echoes + 3,
		.send_buffer_bytes = 65536,
		.seed = host};
}

static void make_echoes(struct tl_service *out, bool warm, bool stages)
{
	static struct tl_echo_cfg echoes[ECHOES_MAX];
	struct tl_err err = {{0}};
	struct tl_echo_cfg echo = {.name = "mcast-to-tcp",
		.kind = TL_ECHO_KIND_MCAST_TO_TCP,
		.udp_port_be = tl_be16(UDP_PORT),
		.connect_ip_be = PEER_IP,
		.connect_port_be = tl_be16(TCP_PORT),
		.send_buffer_bytes = 65536,
		.without_cwnd = bench.at_once > 1 || bench.of_many,
		.rto_min_us = bench.of_many ? RTO_US : 0,
		.warm = warm,
		.stages = stages};
	if (bench.is_group6)
		echo.group6 = GROUP6;
	if (bench.is_peer6)
		echo.connect_ip6 = (struct tl_ip6)PEER_IP6;
	for (uint32_t i = 0; i < bench.echoes; i++) {
		echoes[i] = echo;
		echoes[i].group_be = group_of(i);
	}
	struct tl_echo_host_cfg cfg = {.net = net_cfg("ours", bench.txq, 1),
		.echoes = echoes,
		.n_echoes = bench.echoes,
		.port = bench.port,
		.clock = bench.clock};

	if (tl_echo_host_create(&cfg, &bench.host, &err) != 0 || tl_echo_hosts_start(&bench.host, 1, &err) != 0)
		die(err.text);
	tl_echo_host_service(bench.host, out);
}

static void make_peer(void)
{
	static const struct tl_tcp_ops ops = {.opened = peer_opened, .data = peer_data, .closed = peer_closed};
	struct tl_net_cfg cfg = net_cfg("peer", &bench.peer_txq, 2);
	struct tl_err err = {{0}};

	bench.peer_txq = (struct tl_txq){.flush_fn = to_our_port};
	if (tl_net_create(&cfg, &bench.peer, &err) != 0 ||
		tl_tcp_listen(bench.peer, tl_be16(TCP_PORT), bench.echoes + 1, &ops, NULL, NULL, &bench.listener) != 0)
		die(err.text);
	tl_net_announce(bench.peer, tl_clock_mono_ns(bench.clock, rte_rdtsc()));
}

static void make_recording(const char *path)
{
	struct tl_err err = {{0}};
	struct tl_capture_cfg cfg = {.name = "bench",
		.path = path,
		.dir = {[TL_DIR_RX] = true, [TL_DIR_TX] = true},
		.buffer_bytes = 8 << 20,
		.io = TL_WRITER_IO_PWRITE,
		.port = bench.port,
		.clock = bench.clock};

	if (tl_capture_create(&cfg, &bench.capture, &err) != 0 || tl_capture_start(bench.capture, &err) != 0)
		die(err.text);
}

static void end_recording(void)
{
	struct tl_capture_stats stats;
	struct tl_err err = {{0}};
	uint32_t n;

	if (tl_capture_stop(bench.capture, &err) != 0)
		die(err.text);
	tl_capture_sample(bench.capture, &stats);
	for (int dir = 0; dir < TL_DIRS; dir++)
		if (stats.flow[dir].written_pkts < bench.messages)
			die("the recording is not complete");
	const char *const *files = tl_capture_files(bench.capture, &n);
	for (uint32_t i = 0; i < n; i++)
		unlink(files[i]);
	tl_capture_destroy(bench.capture);
}

// Run the whole life of an RX lcore in this thread.
static void measure(const char *name, struct tl_service service, const char *path)
{
	struct tl_service services[2] = {service};
	struct tl_lcore_cfg cfg = {.rxq = tl_port_rxq(bench.port, 0),
		.txq = bench.txq,
		.clock = bench.clock,
		.services = services,
		.n_services = path != NULL ? 2 : 1};
	struct tl_err err = {{0}};

	make_peer();
	if (path != NULL) {
		make_recording(path);
		tl_capture_service(bench.capture, 0, &services[1]);
	}
	if (tl_lcore_create(&cfg, &bench.lcore, &err) != 0)
		die(err.text);
	bench.messages = bench.warm_up + bench.counted;
	bench.sent = 0;
	bench.taken = 0;
	bench.opened = 0;
	bench.ready = bench.host == NULL;
	bench.ends_ns = tl_clock_mono_ns(bench.clock, rte_rdtsc()) + UNTIL_NS;
	tl_hist_init(&bench.stay);
	tl_hist_init(&bench.last_stay);
	tl_lcore_loop(bench.lcore);
	tl_lcore_destroy(bench.lcore);
	if (path != NULL)
		end_recording();
	tl_net_destroy(bench.peer);
	printf("%s %" PRIu32 " %" PRIu64, name, bench.messages, tl_hist_permille(&bench.stay, 500));
	if (bench.at_once > 1)
		printf(" %" PRIu64, tl_hist_permille(&bench.last_stay, 500));
	if (bench.of_many)
		bench_print_facts(bench.start_ns);
	printf("\n");
	fflush(stdout);
}

static void print_stamp_cost(void)
{
	const struct tl_stamp_cost *cost = tl_echo_stamp_cost(bench.host);

	fprintf(stderr, "stamp %.2f %.2f\n", cost->rdtsc_ns, cost->stamp_ns);
}

static void measure_echo(const char *name, bool warm, bool stages, const char *path)
{
	struct tl_service service;
	uint64_t begin_ns = bench_now_ns();

	make_echoes(&service, warm, stages);
	bench.start_ns = bench_now_ns() - begin_ns;
	bench.after_tx = service.after_tx;
	if (bench.of_many)
		service.after_tx = after_echo;
	measure(name, service, path);
	if (stages)
		print_stamp_cost();
	tl_echo_host_destroy(bench.host);
}

static void measure_bursts(void)
{
	uint16_t early_pkts = bench.txq->early_pkts;

	bench.at_once = TL_BURST;
	bench.counted -= bench.counted % TL_BURST;
	bench.txq->early_pkts = 0;
	measure_echo("burst-sent-whole", true, false, NULL);
	bench.txq->early_pkts = early_pkts;
	measure_echo("burst-sent-early", true, false, NULL);
}

// Messages to one echo after the other.
static void measure_many(void)
{
	static const uint32_t counts[] = {1, 16, 100, ECHOES_MAX};
	char name[32];

	bench.of_many = true;
	bench.counted = (uint32_t)tl_min_u64(bench.counted, MANY_COUNTED);
	for (size_t i = 0; i < TL_ARRAY_LEN(counts); i++) {
		bench.echoes = counts[i];
		bench.warm_up = (uint32_t)tl_max_u64(WARM_UP, (uint64_t)WARM_UP_ROUNDS * counts[i]);
		snprintf(name, sizeof(name), "echoes-%" PRIu32, counts[i]);
		measure_echo(name, true, false, NULL);
	}
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/tapline-bench-XXXXXX";
	char path[64];
	bool cold = argc > 2 && strcmp(argv[2], "cold") == 0, bursts = argc > 2 && strcmp(argv[2], "burst") == 0;

	bench.at_once = 1;
	bench.echoes = 1;
	bench.warm_up = WARM_UP;
	bench.counted = argc > 1 ? (uint32_t)atoi(argv[1]) : 10000;
	if (mkdtemp(dir) == NULL)
		die("no directory under /tmp");
	snprintf(path, sizeof(path), "%s/%%s.pcapng", dir);
	tl_test_eal_start();
	bench.clock = tl_clock_create();
	bench.port = tl_test_port("vdev:net_ring_echo", 1, bench.clock);
	if (bench.clock == NULL || bench.port == NULL)
		die("no port");
	bench.txq = tl_port_txq(bench.port, 0);
	take_drivers_place();
	if (cold) {
		bench.caches = calloc(1, CACHES_BYTES);
		if (bench.caches == NULL)
			die("no memory");
		measure_echo("cold", false, false, path);
		measure_echo("cold-warmed", true, false, path);
		free(bench.caches);
	} else if (bursts) {
		measure_bursts();
	} else {
		measure("null-echo", (struct tl_service){.rx = null_echo}, path);
		measure_echo("mcast-to-tcp", true, false, path);
		measure_echo("mcast-to-tcp-stages", true, true, path);
		bench.vlan = VLAN;
		measure_echo("mcast-to-tcp-vlan", true, false, path);
		bench.vlan = 0;
		bench.is_group6 = true;
		measure_echo("mcast6-to-tcp", true, false, path);
		bench.is_peer6 = true;
		measure_echo("mcast6-to-tcp6", true, false, path);
		bench.is_group6 = false;
		bench.is_peer6 = false;
		measure_many();
	}
	rmdir(dir);
	return 0;
}
