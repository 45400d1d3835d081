// SPDX-License-Identifier: BSD-3-Clause
// Timestamp sources: those available to a port, and stamps put into mbufs by a NIC, over DPDK's ring device, which
// passes mbufs on unchanged. The NIC's clock is simulated.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <tl_capture.h>
#include <tl_clock.h>
#include <tl_err.h>
#include <tl_port.h>
#include <tl_test.h>
#include <tl_test_eal.h>

#define TICK_NS 8 // resolution of the NIC's clock
#define FIRST_TICKS UINT64_C(987654321)

static struct tl_clock *test_clock;
static int clock_error;
static uint64_t reset_ticks; // size of the clock step

static uint64_t kernel_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * TL_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t nic_ticks(void)
{
	return FIRST_TICKS + reset_ticks + kernel_ns(CLOCK_MONOTONIC_RAW) / TICK_NS;
}

static int read_ticks(uint16_t port_id, uint64_t *ticks)
{
	*ticks = nic_ticks();
	return clock_error;
}

static int read_tai(uint16_t port_id, uint64_t *ticks)
{
	*ticks = kernel_ns(CLOCK_REALTIME) + 37 * TL_NS_PER_S;
	return 0;
}

static const struct tl_port_nic test_nic = {.stamps = true, .read_clock = read_ticks};

// Open a port; on an error the caller checks it.
static int open_port(const char *text, enum tl_ts_source timestamps, const struct tl_port_nic *nic, uint16_t tx_queues,
	struct tl_port **out, struct tl_err *err)
{
	struct tl_port_cfg cfg = {.name = "p",
		.rx_queues = 1,
		.tx_queues = tx_queues,
		.mtu = 1500,
		.timestamps = timestamps,
		.nic = nic,
		.clock = test_clock,
		.socket_id = 0};

	CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse(text, &cfg.spec, err), 0);
	return tl_port_open(&cfg, out, err);
}

// Return a new ring device: DPDK keeps the ring of a closed one.
static int open_ring(
	enum tl_ts_source timestamps, const struct tl_port_nic *nic, struct tl_port **out, struct tl_err *err)
{
	static int number;
	char text[32];

	snprintf(text, sizeof(text), "vdev:net_ring_s%d", number++);
	return open_port(text, timestamps, nic, 1, out, err);
}

static struct tl_port *start_port(enum tl_ts_source timestamps, const struct tl_port_nic *nic)
{
	struct tl_err err = {{0}};
	struct tl_port *port;

	if (open_ring(timestamps, nic, &port, &err) != 0 || tl_port_start(port, &err) != 0) {
		printf("# %s\n", err.text);
		CU_FAIL_FATAL("no port");
	}
	return port;
}

// Send a frame as a NIC would deliver it: with these ticks, or without a stamp.
static void send_frame(struct tl_port *port, bool stamped, uint64_t ticks)
{
	struct tl_txq *tx = tl_port_txq(port, 0);
	struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(port));
	int offset = 0;
	uint64_t flag = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	memset(rte_pktmbuf_append(m, 60), 0, 60);
	CU_ASSERT_EQUAL_FATAL(rte_mbuf_dyn_rx_timestamp_register(&offset, &flag), 0);
	m->ol_flags |= stamped ? flag : 0;
	*RTE_MBUF_DYNFIELD(m, offset, rte_mbuf_timestamp_t *) = ticks;
	tl_txq_push(tx, m);
	tl_txq_flush(tx);
}

static uint16_t receive(struct tl_port *port, struct tl_burst *b)
{
	struct tl_rxq *q = tl_port_rxq(port, 0);

	return q->burst(q, b);
}

// ---- tests

TL_TEST("every timestamp source has a name")
{
	static const char *const names[] = {[TL_TS_AUTO] = "auto",
		[TL_TS_TSC] = "tsc",
		[TL_TS_NIC_RX] = "nic-rx",
		[TL_TS_NIC_PTP] = "nic-ptp",
		[TL_TS_NIC_TX] = "nic-tx",
		[TL_TS_KERNEL] = "kernel",
		[TL_TS_FILE] = "file"};

	for (unsigned i = 0; i < TL_ARRAY_LEN(names); i++)
		CU_ASSERT_STRING_EQUAL(tl_ts_source_name((enum tl_ts_source)i), names[i]);
}

TL_TEST("an unsupported source is refused with the supported ones")
{
	static const struct {
		const char *port;
		enum tl_ts_source wanted;
		const char *says;
	} cases[] = {
		{"pcap:/no/such/file", TL_TS_TSC, "no timestamps \"tsc\": give one of those that it has, \"file\","},
		{"lo", TL_TS_NIC_RX, "it has, \"tsc\", \"kernel\","},
		{"xdp:lo", TL_TS_KERNEL, "it has, \"tsc\","},
		{"0000:ff:1f.7", TL_TS_KERNEL, "it has, \"tsc\", \"nic-rx\","},
		{"vdev:net_pcap0,rx_pcap=f", TL_TS_NIC_RX, "it has, \"tsc\", \"file\","},
		{"vdev:eth_pcap0,tx_pcap=g,rx_pcap=f,rx_pcap=h", TL_TS_KERNEL, "it has, \"tsc\", \"file\","},
		{"vdev:net_pcap0,rx_pcap=f,infinite_rx=0", TL_TS_KERNEL, "it has, \"tsc\", \"file\","},
		{"vdev:net_pcap0,rx_pcap=f,infinite_rx=1", TL_TS_FILE, "it has, \"tsc\", or"},
		{"vdev:net_pcap0,rx_iface_in=lo,rx_pcap=f", TL_TS_FILE, "it has, \"tsc\", or"},
		{"vdev:net_pcap0,rx_iface=lo", TL_TS_NIC_RX, "it has, \"tsc\", or"},
		{"vdev:net_pcap0,iface=rx_pcap", TL_TS_FILE, "it has, \"tsc\", or"},
		{"vdev:net_pcap0", TL_TS_FILE, "it has, \"tsc\", or"},
		{"vdev:net_null_x", TL_TS_FILE, "it has, \"tsc\", \"nic-rx\","},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct tl_port_cfg cfg = {.name = "p", .rx_queues = 1, .mtu = 1500, .timestamps = cases[i].wanted};
		struct tl_err err = {{0}};
		CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse(cases[i].port, &cfg.spec, &err), 0);
		CU_ASSERT_EQUAL(tl_port_check(&cfg, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
	}
}

TL_TEST("a device without timestamps uses poll time or is refused")
{
	struct tl_port *port = start_port(TL_TS_AUTO, NULL);
	static struct tl_burst burst;
	struct tl_port_stamps stamps;
	struct tl_err err = {{0}};

	tl_port_stamps(port, &stamps);
	CU_ASSERT_EQUAL(stamps.source, TL_TS_TSC);
	CU_ASSERT(stamps.has_bound && !stamps.has_nic_clock);
	send_frame(port, true, 5); // a flag that was not requested
	CU_ASSERT_EQUAL_FATAL(receive(port, &burst), 1);
	CU_ASSERT_EQUAL(burst.ts_ns[0], tl_clock_wall_ns(test_clock, burst.tsc));
	CU_ASSERT_EQUAL(burst.unstamped, 0);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	tl_port_close(port);
	CU_ASSERT_EQUAL(open_ring(TL_TS_NIC_RX, NULL, &port, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text, "has no timestamps \"nic-rx\": give one of those that it has, \"tsc\","));
}

TL_TEST("NIC ticks are converted to the time at which they were taken")
{
	struct tl_port *port = start_port(TL_TS_AUTO, &test_nic);
	static struct tl_burst burst;
	struct tl_port_stamps stamps;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t before = kernel_ns(CLOCK_REALTIME);
		uint64_t ticks = nic_ticks();
		uint64_t after = kernel_ns(CLOCK_REALTIME);
		send_frame(port, true, ticks);
		CU_ASSERT_EQUAL_FATAL(receive(port, &burst), 1);
		tl_port_stamps(port, &stamps);
		CU_ASSERT(burst.ts_ns[0] + stamps.bound_ns >= before);
		CU_ASSERT(burst.ts_ns[0] <= after + stamps.bound_ns);
		CU_ASSERT(burst.ts_ns[0] < tl_clock_wall_ns(test_clock, burst.tsc) + stamps.bound_ns);
		rte_pktmbuf_free_bulk(burst.pkts, burst.n);
		tl_clock_discipline(test_clock);
		tl_port_discipline(port);
	}
	CU_ASSERT_EQUAL(stamps.source, TL_TS_NIC_RX);
	CU_ASSERT(stamps.has_nic_clock);
	CU_ASSERT_EQUAL(stamps.nic_clock.scale, TL_CLOCK_TICKS);
	CU_ASSERT(stamps.nic_clock.rate_hz > 0.99e9 / TICK_NS && stamps.nic_clock.rate_hz < 1.01e9 / TICK_NS);
	CU_ASSERT_EQUAL(tl_port_rxq(port, 0)->stats.unstamped_pkts, 0);
	tl_port_close(port);
}

TL_TEST("a frame without a stamp is marked, counted and given poll time")
{
	struct tl_port *port = start_port(TL_TS_NIC_RX, &test_nic);
	static struct tl_burst burst;

	for (unsigned i = 0; i < TL_BURST; i++)
		send_frame(port, i % 3 != 0, nic_ticks());
	CU_ASSERT_EQUAL_FATAL(receive(port, &burst), TL_BURST);
	uint64_t poll_ns = tl_clock_wall_ns(test_clock, burst.tsc), unstamped = 0;
	for (unsigned i = 0; i < TL_BURST; i += 3) {
		CU_ASSERT_EQUAL(burst.ts_ns[i], poll_ns);
		unstamped |= UINT64_C(1) << i;
	}
	CU_ASSERT_EQUAL(burst.unstamped, unstamped);
	CU_ASSERT_EQUAL(tl_port_rxq(port, 0)->stats.unstamped_pkts, 22);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	send_frame(port, true, nic_ticks());
	CU_ASSERT_EQUAL(receive(port, &burst), 1);
	CU_ASSERT_EQUAL(burst.unstamped, 0); // one burst has one count
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	tl_port_close(port);
}

TL_TEST("a NIC with an unreadable clock falls back to poll time or is an error")
{
	struct tl_err err = {{0}};
	struct tl_port *port;

	clock_error = -EIO;
	port = start_port(TL_TS_AUTO, &test_nic);
	CU_ASSERT_EQUAL(tl_port_rxq(port, 0)->source, TL_TS_TSC);
	tl_port_close(port);
	CU_ASSERT_EQUAL_FATAL(open_ring(TL_TS_NIC_RX, &test_nic, &port, &err), 0);
	CU_ASSERT_EQUAL(tl_port_start(port, &err), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "its clock cannot be read"));
	tl_port_close(port);
	CU_ASSERT_EQUAL_FATAL(open_ring(TL_TS_NIC_RX, &test_nic, &port, &err), 0);
	clock_error = 0; // stamping can start later
	CU_ASSERT_EQUAL(tl_port_start(port, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(tl_port_rxq(port, 0)->track);
	tl_port_close(port);
}

TL_TEST("a NIC with a clock reset at the start has correct stamps from the first frame on")
{
	static struct tl_burst burst;
	struct tl_port_stamps stamps;
	struct tl_err err = {{0}};
	struct tl_port *port;

	CU_ASSERT_EQUAL_FATAL(open_ring(TL_TS_NIC_RX, &test_nic, &port, &err), 0);
	reset_ticks = 10 * TL_NS_PER_S / TICK_NS;
	CU_ASSERT_EQUAL_FATAL(tl_port_start(port, &err), 0);
	uint64_t before = kernel_ns(CLOCK_REALTIME);
	send_frame(port, true, nic_ticks());
	uint64_t after = kernel_ns(CLOCK_REALTIME);
	CU_ASSERT_EQUAL_FATAL(receive(port, &burst), 1);
	tl_port_stamps(port, &stamps);
	CU_ASSERT(burst.ts_ns[0] + stamps.bound_ns >= before);
	CU_ASSERT(burst.ts_ns[0] <= after + stamps.bound_ns);
	CU_ASSERT_EQUAL(stamps.nic_clock.steps, 1);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	tl_port_close(port);
	reset_ticks = 0;
}

TL_TEST("a NIC clock in TAI is recognised and converted to UTC")
{
	static const struct tl_port_nic nic = {.stamps = true, .read_clock = read_tai};
	struct tl_port *port = start_port(TL_TS_NIC_RX, &nic);
	static struct tl_burst burst;
	struct tl_port_stamps stamps;

	uint64_t now = kernel_ns(CLOCK_REALTIME);
	send_frame(port, true, now + 37 * TL_NS_PER_S);
	CU_ASSERT_EQUAL_FATAL(receive(port, &burst), 1);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	tl_port_stamps(port, &stamps);
	int64_t off_ns = (int64_t)(burst.ts_ns[0] - now);
	CU_ASSERT(off_ns <= (int64_t)stamps.bound_ns && off_ns >= -(int64_t)stamps.bound_ns);
	// Unless this kernel has another TAI offset.
	CU_ASSERT(stamps.nic_clock.scale == TL_CLOCK_TAI || tl_clock_tai_offset_s() != 0);
	tl_port_close(port);
}

// ---- the gate

#define TRIAL 64    // right stamps in a row that open a gate
#define REOPEN 1024 // and one that was closed
#define HOUR_TICKS (3600 * TL_NS_PER_S / TICK_NS)
#define LONG_NS (TL_NS_PER_S / 10) // longer than a NIC holds a frame back

// Receive a frame with this stamp. Return whether the stamp was used; if not, the frame must have the time of the poll.
static bool is_used(struct tl_port *port, uint64_t ticks)
{
	static struct tl_burst burst;
	const struct tl_rxq *q = tl_port_rxq(port, 0);
	uint64_t left;

	send_frame(port, true, ticks);
	CU_ASSERT_EQUAL_FATAL(receive(port, &burst), 1);
	bool used = burst.unstamped == 0;
	CU_ASSERT_EQUAL(tl_rxq_ticks(q, burst.pkts[0], &left), used); // other readers of the mbuf reject it, too
	CU_ASSERT(used || burst.ts_ns[0] == tl_clock_wall_ns(test_clock, burst.tsc));
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	return used;
}

static enum tl_gate_state gate_of(struct tl_port *port, uint64_t closures, uint64_t refused)
{
	struct tl_port_gate_stats stats;

	CU_ASSERT_TRUE(tl_port_gate(port, &stats));
	CU_ASSERT_EQUAL(stats.closures, closures);
	CU_ASSERT_EQUAL(stats.refused_pkts, refused);
	CU_ASSERT_EQUAL(tl_port_rxq(port, 0)->stats.unstamped_pkts, refused);
	return stats.state;
}

// Clocks of stamps that differ from the clock that the driver reads: UTC (mlx5 with REAL_TIME_CLOCK_ENABLE=1), a PHC
// (ice from DPDK 25.07 on reads CLOCK_MONOTONIC_RAW), a counter that begins at 0 or does not run (ice up to 24.07
// before timesync_enable).
TL_TEST("stamps of a clock other than the one read are refused from the first frame on")
{
	const uint64_t stamps[] = {kernel_ns(CLOCK_REALTIME), kernel_ns(CLOCK_REALTIME) + 37 * TL_NS_PER_S,
		kernel_ns(CLOCK_MONOTONIC_RAW) / TICK_NS + 12345, 1000000, 0, UINT64_MAX};

	for (size_t i = 0; i < TL_ARRAY_LEN(stamps); i++) {
		struct tl_port *port = start_port(TL_TS_AUTO, &test_nic);
		for (uint64_t n = 0; n < 10; n++)
			CU_ASSERT_FALSE(is_used(port, stamps[i] + (stamps[i] > 1 ? n : 0)));
		CU_ASSERT_EQUAL(gate_of(port, 1, 10), TL_GATE_SHUT);
		tl_port_close(port);
	}
}

TL_TEST("jumping stamps shut an open gate, and a series of valid ones reopens it")
{
	for (int ahead = 0; ahead < 2; ahead++) {
		struct tl_port *port = start_port(TL_TS_AUTO, &test_nic);
		CU_ASSERT_EQUAL(gate_of(port, 0, 0), TL_GATE_TRIAL);
		for (unsigned i = 0; i < TRIAL; i++)
			CU_ASSERT_TRUE(is_used(port, nic_ticks()));
		CU_ASSERT_EQUAL(gate_of(port, 0, 0), TL_GATE_OPEN);
		CU_ASSERT_FALSE(is_used(port, nic_ticks() + (ahead != 0 ? HOUR_TICKS : -HOUR_TICKS)));
		CU_ASSERT_EQUAL(gate_of(port, 1, 1), TL_GATE_SHUT);
		for (unsigned i = 0; i < REOPEN - 1; i++)
			CU_ASSERT_FALSE(is_used(port, nic_ticks()));
		CU_ASSERT_EQUAL(gate_of(port, 1, REOPEN), TL_GATE_SHUT);
		CU_ASSERT_TRUE(is_used(port, nic_ticks()));
		CU_ASSERT_EQUAL(gate_of(port, 1, REOPEN), TL_GATE_OPEN);
		tl_port_close(port);
	}
}

TL_TEST("with an open gate frames from the first invalid stamp of a burst on are refused")
{
	static struct tl_burst burst;

	for (unsigned wrong = 0; wrong < TL_BURST; wrong += TL_BURST - 1) {
		struct tl_port *port = start_port(TL_TS_AUTO, &test_nic);
		for (unsigned i = 0; i < TRIAL; i++)
			CU_ASSERT_TRUE(is_used(port, nic_ticks()));
		for (unsigned i = 0; i < TL_BURST; i++)
			send_frame(port, true, nic_ticks() + (i == wrong ? HOUR_TICKS : 0));
		CU_ASSERT_EQUAL_FATAL(receive(port, &burst), TL_BURST);
		CU_ASSERT_EQUAL(burst.unstamped, UINT64_MAX << wrong);
		CU_ASSERT_EQUAL(gate_of(port, 1, TL_BURST - wrong), TL_GATE_SHUT);
		rte_pktmbuf_free_bulk(burst.pkts, burst.n);
		tl_port_close(port);
	}
}

TL_TEST("frames of a long backlog keep their stamps")
{
	struct tl_port *port = start_port(TL_TS_AUTO, &test_nic);
	struct tl_port_gate *gate = &tl_port_rxq(port, 0)->gate;
	uint64_t long_tsc = rte_get_tsc_hz() * LONG_NS / TL_NS_PER_S;
	static struct tl_burst burst;

	CU_ASSERT_EQUAL(receive(port, &burst), 0);
	gate->since_tsc -= long_tsc; // as if the poll and the frames were that much older
	gate->poll_tsc -= long_tsc;
	for (unsigned i = 0; i < 5 * TL_BURST; i++)
		send_frame(port, true, nic_ticks() - LONG_NS / TICK_NS);
	for (unsigned i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL_FATAL(receive(port, &burst), TL_BURST);
		CU_ASSERT_EQUAL(burst.unstamped, 0);
		rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	}
	CU_ASSERT_EQUAL(gate_of(port, 0, 0), TL_GATE_OPEN);
	tl_port_close(port);
}

TL_TEST("stamps older than the last poll that emptied the queue are refused")
{
	struct tl_port *port = start_port(TL_TS_AUTO, &test_nic);
	static struct tl_burst burst;
	uint64_t old_ticks = nic_ticks() - LONG_NS / TICK_NS;

	CU_ASSERT_EQUAL(receive(port, &burst), 0);
	CU_ASSERT_TRUE(is_used(port, nic_ticks()));
	CU_ASSERT_FALSE(is_used(port, old_ticks));
	CU_ASSERT_EQUAL(gate_of(port, 1, 1), TL_GATE_SHUT);
	tl_port_close(port);
}

TL_TEST("a step of the wall clock does not shut the gate")
{
	struct tl_port *port = start_port(TL_TS_AUTO, &test_nic);

	CU_ASSERT_TRUE(is_used(port, nic_ticks()));
	test_clock->wall.line.base_ns += 3600 * TL_NS_PER_S; // seen by main, not yet by the NIC's clock
	CU_ASSERT_TRUE(is_used(port, nic_ticks()));
	test_clock->wall.line.base_ns -= 3600 * TL_NS_PER_S;
	CU_ASSERT_EQUAL(gate_of(port, 0, 0), TL_GATE_TRIAL);
	tl_port_close(port);
}

// ---- transmission at a set time

static struct tl_port *start_sender(const struct tl_port_nic *nic, enum tl_ts_source timestamps, bool send_at)
{
	static int number;
	struct tl_port_cfg cfg = {.name = "p",
		.rx_queues = 1,
		.tx_queues = 1,
		.mtu = 1500,
		.timestamps = timestamps,
		.send_at = send_at,
		.nic = nic,
		.clock = test_clock,
		.socket_id = 0};
	struct tl_err err = {{0}};
	struct tl_port *port;
	char text[32];

	snprintf(text, sizeof(text), "vdev:net_ring_t%d", number++);
	CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse(text, &cfg.spec, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_port_open(&cfg, &port, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_port_start(port, &err), 0);
	return port;
}

TL_TEST("a frame can have a launch time of the NIC's clock")
{
	static const struct tl_port_nic nic = {.stamps = true, .sends_at = true, .read_clock = read_ticks};
	struct tl_port *port = start_sender(&nic, TL_TS_NIC_RX, true);
	struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(port));
	int offset = 0;
	uint64_t flag = 0;

	CU_ASSERT_TRUE_FATAL(tl_port_sends_at(port));
	CU_ASSERT_EQUAL_FATAL(rte_mbuf_dyn_tx_timestamp_register(&offset, &flag), 0);
	CU_ASSERT_EQUAL(m->ol_flags & flag, 0);
	uint64_t wanted_ns = kernel_ns(CLOCK_REALTIME) + TL_NS_PER_MS;
	uint64_t exact_ns = tl_port_send_at(port, m, wanted_ns);
	CU_ASSERT(exact_ns + TICK_NS >= wanted_ns && exact_ns <= wanted_ns + TICK_NS);
	CU_ASSERT_NOT_EQUAL(m->ol_flags & flag, 0);
	uint64_t ticks = *RTE_MBUF_DYNFIELD(m, offset, rte_mbuf_timestamp_t *);
	CU_ASSERT_EQUAL(tl_clock_track_ns(tl_port_rxq(port, 0)->track, ticks), exact_ns);
	struct tl_port_send_field field = tl_port_send_field(port);
	CU_ASSERT_EQUAL(field.offset, offset);
	CU_ASSERT_EQUAL(field.flag, flag);
	for (int64_t off_ns = -(int64_t)TL_NS_PER_S; off_ns <= (int64_t)TL_NS_PER_S; off_ns += TL_NS_PER_MS * 100) {
		uint64_t near_ns = wanted_ns + (uint64_t)off_ns;
		struct tl_clock_line line = tl_port_send_line(port, wanted_ns);
		(void)tl_port_send_at(port, m, near_ns);
		ticks = *RTE_MBUF_DYNFIELD(m, offset, rte_mbuf_timestamp_t *);
		CU_ASSERT_TRUE(llabs((int64_t)(tl_clock_apply(&line, near_ns) - ticks)) <= 2);
	}
	rte_pktmbuf_free(m);
	tl_port_close(port);
}

TL_TEST("launch times are used if requested and if the clock is that of the stamps")
{
	static const struct tl_port_nic nic = {.stamps = true, .sends_at = true, .read_clock = read_ticks};
	const struct {
		const struct tl_port_nic *nic;
		enum tl_ts_source timestamps;
		bool send_at;
	} cases[] = {{&nic, TL_TS_NIC_RX, false}, {&test_nic, TL_TS_NIC_RX, true}, {&nic, TL_TS_TSC, true},
		{NULL, TL_TS_AUTO, true}};
	uint64_t faults[TL_PORT_SEND_FAULTS];

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct tl_port *port = start_sender(cases[i].nic, cases[i].timestamps, cases[i].send_at);
		CU_ASSERT_FALSE(tl_port_sends_at(port));
		tl_port_send_faults(port, faults);
		for (unsigned k = 0; k < TL_PORT_SEND_FAULTS; k++)
			CU_ASSERT_EQUAL(faults[k], 0);
		tl_port_close(port);
	}
}

// The clock being read has to be that of the stamps; mlx5's may differ with REAL_TIME_CLOCK_ENABLE=1
// (drivers/net/mlx5/mlx5_txpp.c:998, DPDK v22.11.11).
TL_TEST("frames get launch times only after a valid stamp and while no gate is shut")
{
	static const struct tl_port_nic nic = {.stamps = true, .sends_at = true, .read_clock = read_ticks};
	struct tl_port *port = start_sender(&nic, TL_TS_NIC_RX, true);

	CU_ASSERT_TRUE(tl_port_sends_at(port));
	CU_ASSERT_FALSE(tl_port_may_send_at(port));
	CU_ASSERT_TRUE(is_used(port, nic_ticks()));
	CU_ASSERT_TRUE(tl_port_may_send_at(port));
	CU_ASSERT_FALSE(is_used(port, nic_ticks() + HOUR_TICKS));
	CU_ASSERT_FALSE(tl_port_sends_at(port));
	CU_ASSERT_FALSE(tl_port_may_send_at(port));
	for (unsigned i = 0; i < REOPEN; i++) {
		CU_ASSERT_FALSE(tl_port_may_send_at(port));
		(void)is_used(port, nic_ticks());
	}
	CU_ASSERT_TRUE(tl_port_sends_at(port));
	CU_ASSERT_TRUE(tl_port_may_send_at(port));
	tl_port_close(port);
}

// ---- in a file

struct found {
	char interfaces[4][300]; // descriptions
	unsigned n_interfaces, n_frames;
	uint32_t frame_interface[TL_BURST];
	uint64_t frame_ns[TL_BURST];
	uint64_t received[4]; // from the statistics of each interface
};

static uint32_t word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

// Read the description of an IDB: option 3.
static void take_interface(struct found *found, const uint8_t *block)
{
	const uint8_t *option = block + 16;
	char *to = found->interfaces[found->n_interfaces++];

	for (uint32_t head = word(option); head != 0; head = word(option)) {
		uint32_t len = head >> 16;
		if ((head & 0xffff) == 3)
			snprintf(to, sizeof(found->interfaces[0]), "%.*s", (int)len, (const char *)option + 4);
		option += 4 + (len + 3) / 4 * 4;
	}
}

// Read the number of frames received by an interface: option 4 of an ISB.
static void take_statistics(struct found *found, const uint8_t *block)
{
	uint32_t bytes = word(block + 4) - 24, at = 0;
	struct tl_pcap_option option;

	while (tl_pcap_next_option(block + 20, bytes, false, &at, &option) == 1)
		if (option.code == 4)
			memcpy(&found->received[word(block + 8)], option.value, sizeof(found->received[0]));
}

static void read_blocks(const char *path, struct found *found)
{
	static uint8_t bytes[1 << 20];
	FILE *f = fopen(path, "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	size_t size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	*found = (struct found){.n_interfaces = 0};
	for (const uint8_t *b = bytes; b < bytes + size; b += word(b + 4)) {
		if (word(b) == 1)
			take_interface(found, b);
		if (word(b) == TL_PCAPNG_ISB)
			take_statistics(found, b);
		if (word(b) != 6)
			continue;
		found->frame_interface[found->n_frames] = word(b + 8);
		found->frame_ns[found->n_frames++] = (uint64_t)word(b + 12) << 32 | word(b + 16);
	}
}

// Record the port's received and sent frames.
static void record(struct tl_port *port, const struct tl_capture_cfg *more, struct tl_burst *received,
	struct tl_burst *sent, struct found *found)
{
	struct tl_capture_cfg cfg = *more;
	struct tl_capture *capture;
	struct tl_service service;
	struct tl_err err = {{0}};
	char path[64];

	snprintf(path, sizeof(path), "/tmp/tl_test_stamps_%d.pcapng", (int)getpid());
	cfg.name = "cap";
	cfg.path = path;
	cfg.port = port;
	cfg.clock = test_clock;
	cfg.buffer_bytes = 4 << 20;
	CU_ASSERT_EQUAL_FATAL(tl_capture_create(&cfg, &capture, &err), 0);
	tl_capture_service(capture, 0, &service);
	service.rx(service.ctx, received);
	if (sent != NULL)
		service.sent(service.ctx, sent);
	service.finish(service.ctx);
	CU_ASSERT_EQUAL(tl_capture_start(capture, &err), 0);
	CU_ASSERT_EQUAL(tl_capture_stop(capture, &err), 0);
	tl_capture_destroy(capture);
	read_blocks(path, found);
	unlink(path);
}

static void a_file_says_of_each_record_which_source_its_time_has(const struct tl_capture_cfg *cfg)
{
	struct tl_port *port = start_port(TL_TS_NIC_RX, &test_nic);
	static struct tl_burst burst, sent;
	static struct found found;

	for (unsigned i = 0; i < 9; i++)
		send_frame(port, i % 4 != 0, nic_ticks());
	CU_ASSERT_EQUAL_FATAL(receive(port, &burst), 9);
	sent = (struct tl_burst){.n = 1, .pkts = {burst.pkts[0]}, .ts_ns = {7}, .wire_bytes = {60}};
	record(port, cfg, &burst, cfg->dir[TL_DIR_TX] ? &sent : NULL, &found);
	CU_ASSERT_EQUAL(found.n_interfaces, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(found.interfaces[0], "queue 0, received, "));
	CU_ASSERT_PTR_NOT_NULL(strstr(found.interfaces[0], "timestamps: nic-rx (hardware"));
	CU_ASSERT_PTR_NOT_NULL(strstr(found.interfaces[0], ", unit 8 ns, bound "));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		found.interfaces[1], cfg->dir[TL_DIR_TX] ? "sent, or received without a stamp" : "without a stamp"));
	CU_ASSERT_PTR_NOT_NULL(strstr(found.interfaces[1], "timestamps: tsc (software"));
	CU_ASSERT_EQUAL_FATAL(found.n_frames, cfg->dir[TL_DIR_TX] ? 10 : 9);
	for (unsigned i = 0; i < 9; i++) {
		CU_ASSERT_EQUAL(found.frame_interface[i], i % 4 == 0 ? 1 : 0);
		CU_ASSERT_EQUAL(found.frame_ns[i], burst.ts_ns[i]);
	}
	if (cfg->dir[TL_DIR_TX])
		CU_ASSERT_EQUAL(found.frame_interface[9], 1);
	CU_ASSERT_EQUAL(found.received[0], 9);
	CU_ASSERT_EQUAL(found.received[1], cfg->dir[TL_DIR_TX] ? 1 : 0);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	tl_port_close(port);
}

TL_TEST("each record names its source")
{
	a_file_says_of_each_record_which_source_its_time_has(&(struct tl_capture_cfg){.dir = {[TL_DIR_RX] = true}});
}

TL_TEST("each record names its source with a cut-off")
{
	a_file_says_of_each_record_which_source_its_time_has(
		&(struct tl_capture_cfg){.dir = {[TL_DIR_RX] = true}, .cutoff_bytes = 1 << 20, .cutoff_flows = 1024});
}

TL_TEST("sent frames have software time")
{
	a_file_says_of_each_record_which_source_its_time_has(
		&(struct tl_capture_cfg){.dir = {[TL_DIR_RX] = true, [TL_DIR_TX] = true}});
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	return test_clock == NULL ? 1 : tl_test_run("stamps");
}
