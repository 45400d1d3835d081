// SPDX-License-Identifier: BSD-3-Clause
// TX stamps of PTP frames and replies, on a simulated NIC whose clock runs with the TSC and whose two registers are
// filled by the tests.

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_lcore.h>
#include <tl_port.h>
#include <tl_tail.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>
#include <tl_timesync.h>

#define DELAY_NS (100 * TL_NS_PER_MS) // between host and wire: above any bound of the clocks, on a busy host too
#define PTP_FLAGS (RTE_MBUF_F_RX_IEEE1588_PTP | RTE_MBUF_F_RX_IEEE1588_TMST)
#define SEQUENCE 44
#define NONE UINT64_MAX

struct nic {
	uint64_t offset_ns, mask;
	uint64_t sent, received; // the registers, NONE when empty
	uint64_t first;		 // the first of four registers, if there are four: received is the last
	bool stamps;		 // sent frames get a stamp
	bool keeps;		 // reading a register does not clear it
	bool refuses;		 // rejects frames
	unsigned n_sent;
	uint8_t frame[64]; // the last frame sent
	int enable_rc;
	unsigned disabled;
};

static struct tl_clock *test_clock;
static struct tl_port *port;
static struct nic nic;
static unsigned (*latches)(void *ctx); // function for the next NIC
static unsigned slow_us;	       // duration of a reading of its clock

static uint64_t nic_ns(uint64_t tsc)
{
	return (tl_clock_mono_ns(test_clock, tsc) + nic.offset_ns) & nic.mask;
}

static int enable(void *ctx)
{
	return nic.enable_rc;
}

static void disable(void *ctx)
{
	nic.disabled++;
}

static int read_clock(void *ctx, uint64_t *ns)
{
	rte_delay_us_block(slow_us);
	*ns = nic_ns(rte_rdtsc_precise());
	return 0;
}

static int take(uint64_t *latch, uint64_t *ns)
{
	if (*latch == NONE)
		return -EINVAL;
	*ns = *latch;
	*latch = nic.keeps ? *latch : NONE;
	return 0;
}

static int read_sent(void *ctx, uint64_t *ns)
{
	return take(&nic.sent, ns);
}

static int read_received(void *ctx, uint32_t latch, uint64_t *ns)
{
	CU_ASSERT(latch <= 3);
	if (latch == 3)
		return take(&nic.received, ns);
	return latch == 0 && nic.first != 0 ? take(&nic.first, ns) : -EINVAL;
}

// Flush the queue: frames reach the wire DELAY_NS after the start of the call.
static void send(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	for (uint16_t i = 0; i < q->n; i++) {
		struct rte_mbuf *m = q->pkts[i];
		CU_ASSERT_EQUAL(m->data_len, 60);
		if (nic.refuses) {
			q->drop_tx_pkts++;
		} else {
			memcpy(nic.frame, rte_pktmbuf_mtod(m, void *), 60);
			nic.n_sent++;
			if (nic.stamps && nic.sent == NONE && (m->ol_flags & RTE_MBUF_F_TX_IEEE1588_TMST) != 0)
				nic.sent = (nic_ns(q->begin_tsc) + DELAY_NS) & nic.mask;
		}
		rte_pktmbuf_free(m);
	}
	q->n = 0;
}

// Return a NIC whose clock has this many bits and shows first_ns now; 0: monotonic time.
static struct tl_timesync *start_cfg(
	struct tl_timesync_cfg *cfg, unsigned bits, uint64_t first_ns, struct tl_service *service)
{
	static struct tl_timesync_ops ops;
	struct tl_timesync *sync = NULL;
	struct tl_err err;

	nic = (struct nic){.mask = UINT64_MAX >> (64 - bits), .sent = NONE, .received = NONE, .stamps = true};
	nic.offset_ns = first_ns != 0 ? first_ns - tl_clock_mono_ns(test_clock, rte_rdtsc()) : 0;
	ops = (struct tl_timesync_ops){.enable = enable,
		.disable = disable,
		.read_clock = read_clock,
		.read_sent = read_sent,
		.read_received = read_received,
		.latches = latches,
		.bits = bits};
	cfg->name = "lan";
	cfg->clock = test_clock;
	cfg->ops = &ops;
	CU_ASSERT_EQUAL_FATAL(tl_timesync_create(cfg, &sync, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_timesync_start(sync, &err), 0);
	tl_timesync_service(sync, service);
	return sync;
}

static struct tl_timesync *start_at(uint32_t probes_per_s, unsigned bits, uint64_t first_ns, struct tl_service *service)
{
	struct tl_timesync_cfg cfg = {.port = port, .probes_per_s = probes_per_s};

	return start_cfg(&cfg, bits, first_ns, service);
}

static struct tl_timesync *start(uint32_t probes_per_s, struct tl_service *service)
{
	return start_at(probes_per_s, 64, TL_NS_PER_S, service);
}

static struct tl_timesync_stats stats_of(const struct tl_timesync *sync)
{
	struct tl_timesync_stats stats;

	tl_timesync_read(sync, &stats);
	return stats;
}

// Run both sides in turn until n more probes are sent or rejected.
static void run_probes(struct tl_timesync *sync, const struct tl_service *service, unsigned n)
{
	struct tl_timesync_stats before = stats_of(sync), now;

	do {
		tl_timesync_work(sync);
		service->tick(service->ctx, 0);
		now = stats_of(sync);
	} while (now.probes_sent + now.probes_refused < before.probes_sent + before.probes_refused + n);
}

static void work_until_judged(struct tl_timesync *sync)
{
	struct tl_timesync_stats s;

	do {
		tl_timesync_work(sync);
		s = stats_of(sync);
	} while (s.probes_stamped + s.probes_lost < s.probes_sent);
}

static bool is_about(uint64_t value_ns, uint64_t bound_ns)
{
	return value_ns + bound_ns >= DELAY_NS && value_ns <= DELAY_NS + bound_ns;
}

static void check_delays(const struct tl_timesync *sync, const struct tl_hist *hist, uint64_t count)
{
	uint64_t bound_ns = stats_of(sync).bound_ns;

	CU_ASSERT_EQUAL(hist->count, count);
	CU_ASSERT(bound_ns < DELAY_NS);
	CU_ASSERT(is_about(hist->min_ns, bound_ns));
	CU_ASSERT(is_about(hist->max_ns, bound_ns));
}

TL_TEST("a probe is a PTP frame whose stamp gives the time to the wire")
{
	struct tl_service service;
	struct tl_timesync *sync = start(40, &service);
	static const uint8_t head[] = {0x01, 0x80, 0xc2, 0, 0, 0x0e};

	run_probes(sync, &service, 3);
	work_until_judged(sync);
	CU_ASSERT_EQUAL(memcmp(nic.frame, head, sizeof(head)), 0);
	CU_ASSERT_EQUAL(memcmp(nic.frame + 6, tl_port_mac(port), 6), 0);
	CU_ASSERT_EQUAL(nic.frame[12] << 8 | nic.frame[13], 0x88f7);
	CU_ASSERT_EQUAL(nic.frame[14], 0); // Sync
	CU_ASSERT_EQUAL(nic.frame[SEQUENCE] << 8 | nic.frame[SEQUENCE + 1], 2);
	CU_ASSERT_EQUAL(stats_of(sync).probes_stamped, 3);
	CU_ASSERT_EQUAL(stats_of(sync).probes_lost, 0);
	CU_ASSERT_FALSE(stats_of(sync).unstamped);
	check_delays(sync, tl_timesync_tx_to_wire(sync), 3);
	tl_timesync_end(sync);
	CU_ASSERT_EQUAL(nic.disabled, 1);
	tl_timesync_destroy(sync);
}

TL_TEST("one probe is in flight at a time")
{
	struct tl_service service;
	struct tl_timesync *sync = start(40, &service);

	nic.stamps = false;
	run_probes(sync, &service, 1);
	service.tick(service.ctx, 0);
	CU_ASSERT_EQUAL(nic.n_sent, 1);
	CU_ASSERT_EQUAL(stats_of(sync).probes_lost, 0);
	tl_timesync_end(sync);
	CU_ASSERT_EQUAL(stats_of(sync).probes_lost, 1); // the account is closed
	tl_timesync_destroy(sync);
}

TL_TEST("a late stamp is not attributed to the next probe")
{
	struct tl_service service;
	struct tl_timesync *sync = start(40, &service);

	nic.stamps = false;
	run_probes(sync, &service, 1);
	uint64_t late = nic_ns(rte_rdtsc());
	work_until_judged(sync);
	CU_ASSERT_EQUAL(stats_of(sync).probes_lost, 1);

	nic.sent = late;
	nic.stamps = true;
	run_probes(sync, &service, 2); // the register may be full when the first probe is sent, but not for the second
	work_until_judged(sync);
	uint64_t stamped = stats_of(sync).probes_stamped;
	CU_ASSERT(stamped == 1 || stamped == 2);
	check_delays(sync, tl_timesync_tx_to_wire(sync), stamped);

	run_probes(sync, &service, 1);
	nic.sent = late + 1; // in place of its own stamp
	work_until_judged(sync);
	CU_ASSERT_EQUAL(stats_of(sync).probes_stamped, stamped);
	CU_ASSERT_EQUAL(stats_of(sync).probes_lost, 4 - stamped);
	check_delays(sync, tl_timesync_tx_to_wire(sync), stamped);
	tl_timesync_destroy(sync);
}

TL_TEST("a repeated stamp in the register is not used")
{
	struct tl_service service;
	struct tl_timesync *sync = start(40, &service);

	nic.keeps = true;
	run_probes(sync, &service, 2);
	work_until_judged(sync);
	CU_ASSERT_EQUAL(stats_of(sync).probes_stamped, 1);
	CU_ASSERT_EQUAL(stats_of(sync).probes_lost, 1);
	tl_timesync_destroy(sync);
}

TL_TEST("a probe refused by the NIC is counted and not awaited")
{
	struct tl_service service;
	struct tl_timesync *sync = start(40, &service);

	nic.refuses = true;
	run_probes(sync, &service, 2);
	CU_ASSERT_EQUAL(stats_of(sync).probes_refused, 2);
	CU_ASSERT_EQUAL(stats_of(sync).probes_sent, 0);
	tl_timesync_destroy(sync);
}

TL_TEST("after twenty probes without a stamp TX stamping counts as unsupported")
{
	struct tl_service service;
	struct tl_timesync *sync = start(40, &service);

	nic.stamps = false;
	run_probes(sync, &service, 20);
	CU_ASSERT_FALSE(stats_of(sync).unstamped);
	work_until_judged(sync);
	CU_ASSERT_TRUE(stats_of(sync).unstamped);
	CU_ASSERT_EQUAL(stats_of(sync).probes_lost, 20);
	tl_timesync_destroy(sync);
}

TL_TEST("a stamp after a wrap of the counter is correct")
{
	uint64_t wrap_ns = UINT64_C(1) << 32;
	struct tl_service service;
	struct tl_timesync *sync = start_at(40, 32, wrap_ns - 200 * TL_NS_PER_MS, &service);

	run_probes(sync, &service, 10); // in 225 ms or more, after 100 ms of clock comparison
	work_until_judged(sync);
	CU_ASSERT(nic_ns(rte_rdtsc()) < wrap_ns / 2);
	CU_ASSERT_EQUAL(stats_of(sync).probes_stamped, 10);
	check_delays(sync, tl_timesync_tx_to_wire(sync), 10);
	tl_timesync_destroy(sync);
}

// Receive a frame in a burst whose poll returned at tsc.
static void receive(const struct tl_service *service, uint64_t flags, uint64_t tsc)
{
	struct tl_burst *b = calloc(1, sizeof(*b));
	struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(port));

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->ol_flags = flags;
	m->timesync = 3;
	b->n = 1;
	b->tsc = tsc;
	b->pkts[0] = m;
	service->rx(service->ctx, b);
	rte_pktmbuf_free(m);
	free(b);
}

TL_TEST("a received PTP frame gives the time from the wire")
{
	struct tl_service service;
	struct tl_timesync *sync = start(0, &service);
	uint64_t tsc = rte_rdtsc();

	CU_ASSERT_PTR_NULL(service.tick);
	nic.received = nic_ns(tsc) - DELAY_NS;
	receive(&service, PTP_FLAGS, tsc);
	receive(&service, RTE_MBUF_F_RX_RSS_HASH, tsc);
	tl_timesync_work(sync);
	CU_ASSERT_EQUAL(nic.received, NONE); // free for the next
	CU_ASSERT_EQUAL(stats_of(sync).ptp_received_pkts, 1);
	CU_ASSERT_EQUAL(stats_of(sync).ptp_stamped_pkts, 1);
	check_delays(sync, tl_timesync_wire_to_poll(sync), 1);
	tl_timesync_destroy(sync);
}

TL_TEST("received frames without a stamp of their own are counted")
{
	struct tl_service service;
	struct tl_timesync *sync = start(0, &service);
	uint64_t tsc = rte_rdtsc();

	nic.received = nic_ns(tsc) - DELAY_NS;
	receive(&service, PTP_FLAGS, tsc);
	receive(&service, RTE_MBUF_F_RX_IEEE1588_PTP, tsc); // the register is full
	receive(&service, PTP_FLAGS, tsc);		    // main has not read the register yet
	CU_ASSERT_EQUAL(stats_of(sync).ptp_busy_pkts, 2);
	tl_timesync_work(sync);
	receive(&service, PTP_FLAGS, tsc); // the register is empty
	tl_timesync_work(sync);
	CU_ASSERT_EQUAL(stats_of(sync).ptp_lost_pkts, 1);
	nic.received = nic_ns(tsc) - 10 * TL_NS_PER_S; // of another frame
	receive(&service, PTP_FLAGS, tsc);
	tl_timesync_work(sync);
	CU_ASSERT_EQUAL(stats_of(sync).ptp_lost_pkts, 2);
	CU_ASSERT_EQUAL(stats_of(sync).ptp_stamped_pkts, 1);
	CU_ASSERT_EQUAL(stats_of(sync).ptp_received_pkts, 5);
	check_delays(sync, tl_timesync_wire_to_poll(sync), 1);
	tl_timesync_destroy(sync);
}

TL_TEST("a register without its frame is emptied")
{
	struct tl_service service;
	struct tl_timesync *sync = start(0, &service);
	uint64_t tsc = rte_rdtsc();

	nic.received = nic_ns(tsc) - DELAY_NS;
	receive(&service, PTP_FLAGS, tsc);
	tl_timesync_work(sync);
	nic.received = nic_ns(tsc);
	tl_timesync_sample(sync); // a frame was taken since the last sample
	CU_ASSERT_NOT_EQUAL(nic.received, NONE);
	tl_timesync_sample(sync);
	CU_ASSERT_EQUAL(nic.received, NONE);
	tl_timesync_destroy(sync);
}

static unsigned four_latches(void *ctx)
{
	return 4;
}

TL_TEST("of several registers all are emptied")
{
	struct tl_service service;

	latches = four_latches;
	struct tl_timesync *sync = start(0, &service);
	latches = NULL;
	nic.first = nic.received = nic_ns(rte_rdtsc());
	tl_timesync_sample(sync);
	CU_ASSERT_EQUAL(nic.first, NONE);
	CU_ASSERT_EQUAL(nic.received, NONE);
	tl_timesync_destroy(sync);
}

TL_TEST("a frame just received keeps its stamp")
{
	struct tl_service service;
	struct tl_timesync *sync = start(0, &service);
	uint64_t tsc = rte_rdtsc();

	tl_timesync_sample(sync);
	nic.received = nic_ns(tsc) - DELAY_NS;
	receive(&service, PTP_FLAGS, tsc);
	tl_timesync_sample(sync); // before main has read it
	tl_timesync_work(sync);
	CU_ASSERT_EQUAL(stats_of(sync).ptp_lost_pkts, 0);
	CU_ASSERT_EQUAL(stats_of(sync).ptp_stamped_pkts, 1);
	tl_timesync_destroy(sync);
}

// ---- replies

#define RX_TICK_NS 4 // resolution of a separate clock for received frames

static uint64_t rx_ticks(uint64_t tsc)
{
	return 987654321 + tl_clock_mono_ns(test_clock, tsc) / RX_TICK_NS;
}

static int read_rx_ticks(uint16_t port_id, uint64_t *ticks)
{
	*ticks = rx_ticks(rte_rdtsc_precise());
	return 0;
}

static int read_rx_phc(uint16_t port_id, uint64_t *ticks)
{
	*ticks = nic_ns(rte_rdtsc_precise());
	return 0;
}

static const struct tl_port_nic ticking = {.stamps = true, .read_clock = read_rx_ticks};
static const struct tl_port_nic by_phc = {.stamps = true, .by_phc = true, .read_clock = read_rx_phc};

// Return a port whose NIC stamps received frames; NULL: without stamps.
static struct tl_port *open_port(const struct tl_port_nic *stamps)
{
	static int number;
	struct tl_port *opened;
	struct tl_err err;
	char text[32];
	struct tl_port_cfg cfg = {
		.name = "lan", .rx_queues = 1, .tx_queues = 1, .mtu = 1500, .nic = stamps, .clock = test_clock};

	nic = (struct nic){.mask = UINT64_MAX}; // the port reads its clock
	snprintf(text, sizeof(text), "vdev:net_ring_r%d", number++);
	CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse(text, &cfg.spec, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_port_open(&cfg, &opened, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_port_start(opened, &err), 0);
	tl_port_txq(opened, 0)->flush_fn = send;
	return opened;
}

// Begin on a new port, until end_replies().
static struct tl_port *on;

static struct tl_timesync *start_replies(
	const struct tl_port_nic *stamps, uint32_t probes_per_s, struct tl_service *service)
{
	on = open_port(stamps);
	struct tl_timesync_cfg cfg = {.port = on, .replies_per_s = 40, .probes_per_s = probes_per_s};

	return start_cfg(&cfg, 64, 0, service);
}

static void end_replies(struct tl_timesync *sync)
{
	tl_timesync_destroy(sync);
	tl_port_close(on);
}

// Receive a trigger; its reply is sent with a stamp. Return when the poll delivered the trigger.
static uint64_t answer(struct tl_timesync *sync, struct tl_tx_stamp_facts facts, uint64_t stamp_ns)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(port));

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	while (!tl_tx_stamp_take(tl_timesync_tx_stamp(sync), m))
		tl_timesync_work(sync);
	CU_ASSERT((m->ol_flags & RTE_MBUF_F_TX_IEEE1588_TMST) != 0);
	rte_pktmbuf_free(m);
	tl_timesync_work(sync); // waits for the stamp
	nic.sent = stamp_ns;
	tl_tx_stamp_publish(tl_timesync_tx_stamp(sync), &facts);
	tl_timesync_work(sync);
	return facts.poll_tsc;
}

static struct tl_tx_stamp_facts facts_now(void)
{
	uint64_t tsc = rte_rdtsc();

	return (struct tl_tx_stamp_facts){
		.left = true, .poll_tsc = tsc, .begin_tsc = tsc, .poll_ns = tl_clock_wall_ns(test_clock, tsc)};
}

static struct tl_timesync_replies replies_of(const struct tl_timesync *sync)
{
	struct tl_timesync_stats s = stats_of(sync);
	struct tl_timesync_replies replies;

	CU_ASSERT_TRUE_FATAL(tl_timesync_replies(sync, &replies));
	CU_ASSERT_EQUAL(s.replies_marked, s.replies_timed + s.replies_untimed + s.replies_lost);
	CU_ASSERT_EQUAL(replies.latency->count, s.replies_timed);
	CU_ASSERT_EQUAL(tl_tail_samples_count(replies.samples), s.replies_timed);
	return replies;
}

TL_TEST("a stamped reply gives the time from the poll to the wire")
{
	struct tl_service service;
	struct tl_timesync *sync = start_replies(NULL, 0, &service);

	for (unsigned i = 0; i < 3; i++) {
		struct tl_tx_stamp_facts facts = facts_now();
		answer(sync, facts, nic_ns(facts.begin_tsc) + DELAY_NS);
	}
	struct tl_timesync_replies replies = replies_of(sync);
	CU_ASSERT_EQUAL(replies.trigger_source, TL_TS_TSC);
	CU_ASSERT_PTR_NULL(replies.wire_to_poll);
	check_delays(sync, replies.latency, 3);
	check_delays(sync, replies.tx_to_wire, 3);
	end_replies(sync);
}

TL_TEST("the bound of latencies is the widest of their stamps, not that of a line which has settled since")
{
	struct tl_service service;

	slow_us = 50;
	struct tl_timesync *sync = start_replies(NULL, 0, &service);
	struct tl_tx_stamp_facts facts = facts_now();
	answer(sync, facts, nic_ns(facts.begin_tsc) + DELAY_NS);
	uint64_t early_ns = replies_of(sync).reply_bound_ns;
	CU_ASSERT(early_ns >= 25000); // half of a reading
	slow_us = 0;
	while (stats_of(sync).bound_ns >= early_ns) {
		rte_delay_us_block(10000);
		tl_timesync_sample(sync);
	}
	facts = facts_now();
	answer(sync, facts, nic_ns(facts.begin_tsc) + DELAY_NS);
	CU_ASSERT(replies_of(sync).reply_bound_ns >= early_ns);
	end_replies(sync);
}

TL_TEST("stamps of two clocks are compared within their bounds")
{
	struct tl_service service;
	struct tl_timesync *sync = start_replies(&ticking, 0, &service);
	struct tl_tx_stamp_facts facts = facts_now();

	facts.stamped = true;
	facts.rx_ticks = rx_ticks(facts.poll_tsc) - DELAY_NS / 2 / RX_TICK_NS;
	facts.rx_ns = tl_clock_track_ns(tl_port_rxq(on, 0)->track, facts.rx_ticks);
	answer(sync, facts, nic_ns(facts.begin_tsc) + DELAY_NS / 2);
	struct tl_timesync_replies replies = replies_of(sync);
	CU_ASSERT_EQUAL(replies.trigger_source, TL_TS_NIC_RX);
	CU_ASSERT_FALSE(replies.one_clock);
	CU_ASSERT_EQUAL(replies.latency->count, 1);
	CU_ASSERT(is_about(replies.latency->max_ns, replies.trigger_bound_ns + replies.reply_bound_ns));
	CU_ASSERT_EQUAL(replies.wire_to_poll->count, 1);
	end_replies(sync);
}

TL_TEST("the difference between stamps of one clock is exact")
{
	struct tl_service service;
	struct tl_timesync *sync = start_replies(&by_phc, 0, &service);
	struct tl_tx_stamp_facts facts = facts_now();

	facts.stamped = true;
	facts.rx_ticks = nic_ns(facts.poll_tsc) - 1000;
	facts.rx_ns = facts.poll_ns - 1000;
	answer(sync, facts, facts.rx_ticks + DELAY_NS + 12345);
	struct tl_timesync_replies replies = replies_of(sync);
	CU_ASSERT_TRUE(replies.one_clock);
	CU_ASSERT_EQUAL(replies.latency->count, 1);
	CU_ASSERT_EQUAL(replies.latency->max_ns, DELAY_NS + 12345);
	CU_ASSERT_EQUAL(replies.trigger_bound_ns + replies.reply_bound_ns, 2);
	facts.rx_ticks -= 10 * TL_NS_PER_S; // of another frame
	facts.rx_ns -= 10 * TL_NS_PER_S;
	answer(sync, facts, nic_ns(rte_rdtsc()));
	CU_ASSERT_EQUAL(stats_of(sync).replies_untimed, 1);
	CU_ASSERT_EQUAL(replies_of(sync).latency->count, 1);
	end_replies(sync);
}

// A burst of frames handed over by another lcore has the poll time of the oldest.
TL_TEST("a trigger may arrive after the oldest poll of its burst")
{
	struct tl_service service;
	struct tl_timesync *sync = start_replies(&by_phc, 0, &service);
	struct tl_tx_stamp_facts facts = facts_now();

	rte_delay_us_block(300000); // above the bound between the clocks
	uint64_t tsc = rte_rdtsc();
	facts.stamped = true;
	facts.rx_ticks = nic_ns(tsc);
	facts.rx_ns = tl_clock_wall_ns(test_clock, tsc);
	facts.begin_tsc = rte_rdtsc();
	answer(sync, facts, facts.rx_ticks + DELAY_NS);
	struct tl_timesync_replies replies = replies_of(sync);
	CU_ASSERT_EQUAL(replies.latency->count, 1);
	CU_ASSERT_EQUAL(replies.latency->max_ns, DELAY_NS);
	CU_ASSERT_EQUAL(replies.wire_to_poll->count, 0);
	end_replies(sync);
}

TL_TEST("stamps of different clocks give no latency")
{
	static const struct tl_port_nic wrong = {.stamps = true, .by_phc = true, .read_clock = read_rx_ticks};
	struct tl_service service;
	struct tl_timesync *sync = start_replies(&wrong, 0, &service);
	struct tl_tx_stamp_facts facts = facts_now();

	facts.stamped = true;
	facts.rx_ticks = rx_ticks(facts.poll_tsc);
	facts.rx_ns = facts.poll_ns;
	answer(sync, facts, nic_ns(rte_rdtsc()));
	CU_ASSERT_EQUAL(stats_of(sync).replies_untimed, 1);
	CU_ASSERT_EQUAL(replies_of(sync).latency->count, 0);
	end_replies(sync);
}

TL_TEST("a reply without both stamps has no latency, and is counted")
{
	struct tl_service service;
	struct tl_timesync *sync = start_replies(&ticking, 0, &service);
	struct tl_tx_stamp_facts facts = facts_now();

	answer(sync, facts, nic_ns(facts.begin_tsc) + DELAY_NS); // the trigger has no stamp
	CU_ASSERT_EQUAL(stats_of(sync).replies_untimed, 1);
	CU_ASSERT_EQUAL(replies_of(sync).tx_to_wire->count, 1);
	facts = facts_now();
	facts.left = false;
	answer(sync, facts, NONE);
	CU_ASSERT_EQUAL(stats_of(sync).replies_lost, 1);
	answer(sync, facts_now(), NONE); // in flight; on a slow host the timeout of 100 ms may have expired
	tl_timesync_end(sync);
	CU_ASSERT_EQUAL(stats_of(sync).replies_marked, 3);
	CU_ASSERT_EQUAL(stats_of(sync).replies_lost, 2);
	CU_ASSERT_EQUAL(replies_of(sync).latency->count, 0);
	end_replies(sync);
}

TL_TEST("an unsent reply does not delay the probes")
{
	struct tl_service service;
	struct tl_timesync *sync = start_replies(NULL, 20, &service);

	run_probes(sync, &service, 3);
	work_until_judged(sync);
	CU_ASSERT_EQUAL(stats_of(sync).probes_stamped, 3);
	CU_ASSERT_EQUAL(stats_of(sync).replies_marked, 0);
	while (!tl_tx_stamp_is_offered(tl_timesync_tx_stamp(sync))) {
		tl_timesync_work(sync);
		service.tick(service.ctx, 0); // a probe may be due first
	}
	struct tl_tx_stamp_facts facts = facts_now();
	nic.sent = NONE;
	answer(sync, facts, nic_ns(facts.begin_tsc) + DELAY_NS);
	check_delays(sync, replies_of(sync).latency, 1);
	end_replies(sync);
}

// Two lcores that send all the time, and publish their requests.
struct sender {
	struct tl_timesync *sync;
	_Atomic(bool) *ended;
	pthread_t thread;
	uint64_t told;
};

static void *send_all_the_time(void *arg)
{
	struct sender *sender = arg;
	struct tl_tx_stamp *tx_stamp = tl_timesync_tx_stamp(sender->sync);
	struct rte_mbuf frame = {.ol_flags = 0};

	while (!atomic_load(sender->ended)) {
		if (!tl_tx_stamp_is_offered(tx_stamp) || !tl_tx_stamp_take(tx_stamp, &frame))
			continue;
		sender->told++;
		tl_tx_stamp_publish(tx_stamp, &(struct tl_tx_stamp_facts){.poll_tsc = 1}); // it was not sent
	}
	return NULL;
}

TL_TEST("each offer is taken by one of two lcores")
{
	struct tl_service service;
	struct tl_timesync *sync = start_replies(NULL, 0, &service);
	_Atomic(bool) ended = false;
	struct sender senders[2] = {{.sync = sync, .ended = &ended}, {.sync = sync, .ended = &ended}};

	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&senders[i].thread, NULL, send_all_the_time, &senders[i]), 0);
	while (stats_of(sync).replies_marked < 20)
		tl_timesync_work(sync);
	atomic_store(&ended, true);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(senders[i].thread, NULL);
	tl_timesync_end(sync);
	CU_ASSERT_EQUAL(stats_of(sync).replies_marked, senders[0].told + senders[1].told);
	CU_ASSERT_EQUAL(stats_of(sync).replies_lost, stats_of(sync).replies_marked);
	end_replies(sync);
}

TL_TEST("a port with a driver without stamps is refused")
{
	struct tl_timesync_cfg cfg = {.name = "lan", .port = port, .clock = test_clock};
	struct tl_timesync *sync = NULL;
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_timesync_create(&cfg, &sync, &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "port lan"));
	CU_ASSERT_PTR_NULL(sync);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	port = tl_test_port("vdev:net_ring_sync", 1, test_clock);
	if (test_clock == NULL || port == NULL)
		return 1;
	tl_port_txq(port, 0)->flush_fn = send;
	int rc = tl_test_run("timesync");
	tl_port_close(port);
	tl_clock_destroy(test_clock);
	return rc;
}
