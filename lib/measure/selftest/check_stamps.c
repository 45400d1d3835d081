// SPDX-License-Identifier: BSD-3-Clause
// Stamps of received frames, and of PTP frames, which cards without such stamps take one at a time.

#include "selftest_priv.h"

#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

// ---- every frame

#define FRAMES 256u

struct stamped {
	const struct tl_clock *clock;
	uint64_t sent_ns, bound_ns; // of the frame in transit; of stamps against wall time
	uint64_t refused;	    // by the gate of the port
	uint32_t came, unstamped, early, late;
	int64_t least_ns, most_ns; // from the start of the send call to the stamp
};

static void note(void *ctx, const struct tl_selftest_frame *frame)
{
	struct stamped *s = ctx;
	int64_t since_ns = (int64_t)(frame->ts_ns - s->sent_ns);
	int64_t polled_ns = (int64_t)(tl_clock_wall_ns(s->clock, frame->poll_tsc) - s->sent_ns);

	s->came++;
	if (!frame->stamped) {
		s->unstamped++;
		return;
	}
	s->early += since_ns < -(int64_t)s->bound_ns;
	s->late += since_ns > polled_ns + (int64_t)s->bound_ns;
	if (s->came - s->unstamped == 1 || since_ns < s->least_ns)
		s->least_ns = since_ns;
	if (s->came - s->unstamped == 1 || since_ns > s->most_ns)
		s->most_ns = since_ns;
}

// Send one frame at a time. The bounds grow until the clocks are compared again, so they are read for each.
static bool send_all(struct tl_selftest *t, struct stamped *s)
{
	struct tl_port_stamps stamps;

	for (uint32_t i = 0; i < FRAMES && !tl_selftest_stopped(t); i++) {
		struct tl_selftest_flow flow = tl_selftest_flow(i);
		tl_port_stamps(t->way.rx_port, &stamps);
		s->bound_ns = stamps.bound_ns + stamps.unit_ns + 2 * tl_clock_bound_ns(t->cfg->clock);
		s->sent_ns = tl_clock_wall_ns(t->cfg->clock, rte_rdtsc());
		if (!tl_selftest_send(t, &flow, i, TL_SELFTEST_BYTES_MIN) || tl_selftest_await(t, 1, note, s) < 1)
			return false;
	}
	return true;
}

static uint64_t refused_stamps(const struct tl_port *port)
{
	struct tl_port_gate_stats gate;

	return tl_port_gate(port, &gate) ? gate.refused_pkts : 0;
}

static void check_stamps(
	const struct stamped *s, const struct tl_port_stamps *stamps, bool all, struct tl_selftest_check *check)
{
	const char *source = tl_ts_source_name(stamps->source);
	json_t *figures = json_pack("{s:s, s:i, s:i, s:I, s:i, s:i, s:I, s:I, s:I, s:b}", "source", source, "received",
		(int)s->came, "unstamped", (int)s->unstamped, "refused", (json_int_t)s->refused, "early", (int)s->early,
		"late", (int)s->late, "bound_ns", (json_int_t)s->bound_ns, "least_ns", (json_int_t)s->least_ns,
		"most_ns", (json_int_t)s->most_ns, "has_bound", stamps->has_bound);

	if (!all)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL, "%u frames of %u arrived", s->came, FRAMES);
	else if (s->refused != 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%" PRIu64 " %s stamps are implausible for the polls of their frames: the log has the reason",
			s->refused, source);
	else if (s->unstamped != 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL, "%u of %u frames have no stamp of %s",
			s->unstamped, FRAMES, source);
	else if (s->early + s->late != 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"by their %s stamps %u of %u frames arrived before they were sent, %u after they were received",
			source, s->early, FRAMES, s->late);
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS,
			"%s stamps of %u frames are between sending and receiving, within %" PRIu64 " ns", source,
			FRAMES, s->bound_ns);
}

void tl_selftest_check_stamps(struct tl_selftest *t, struct tl_selftest_check *check)
{
	struct stamped s = {.clock = t->cfg->clock};
	struct tl_port_stamps stamps;

	tl_port_stamps(t->way.rx_port, &stamps);
	if (stamps.source == TL_TS_TSC) {
		tl_selftest_verdict(check, NULL, TL_SELFTEST_NOT_AVAILABLE,
			"the port stamps no received frame: times are of the poll (tsc)");
		return;
	}
	tl_selftest_begin_phase(t);
	s.refused = refused_stamps(t->way.rx_port);
	bool all = send_all(t, &s);
	s.refused = refused_stamps(t->way.rx_port) - s.refused;
	check_stamps(&s, &stamps, all, check);
}

// ---- PTP frames

#define SYNCS 4
#define LATCHES 4 // of i40e; with other drivers the number is ignored
#define LATCH_WAIT_NS (500 * TL_NS_PER_MS)

static const uint8_t ptp_mac[TL_ETHER_ADDR_LEN] = {0x01, 0x1b, 0x19, 0x00, 0x00, 0x00}; // IEEE 1588, annex E

// Create a Sync of version 2 that requests a stamp of its departure.
static struct rte_mbuf *make_sync(struct tl_selftest *t)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(t->pool);

	if (m == NULL)
		return NULL;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	m->data_len = m->pkt_len = TL_SELFTEST_BYTES_MIN;
	memset(frame, 0, TL_SELFTEST_BYTES_MIN);
	memcpy(frame, ptp_mac, sizeof(ptp_mac));
	frame[TL_ETHER_ADDR_LEN] = 0x02;
	frame[12] = 0x88;
	frame[13] = 0xf7;
	frame[15] = 2;	// versionPTP
	frame[17] = 44; // messageLength
	m->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
	return m;
}

static bool read_stamp(struct tl_selftest *t, bool received, int64_t *ns)
{
	struct timespec stamp = {0};
	bool has = false;

	if (!received)
		has = rte_eth_timesync_read_tx_timestamp(t->way.tx->port_id, &stamp) == 0;
	for (uint32_t latch = 0; received && latch < LATCHES && !has; latch++)
		has = rte_eth_timesync_read_rx_timestamp(tl_port_rxq(t->way.rx_port, 0)->port_id, &stamp, latch) == 0;
	*ns = (int64_t)stamp.tv_sec * (int64_t)TL_NS_PER_S + stamp.tv_nsec;
	return has;
}

// Return how many of SYNCS frames have a stamp later than the one before.
static unsigned stamped_syncs(struct tl_selftest *t, bool received)
{
	int64_t last_ns = INT64_MIN, ns;
	unsigned n = 0;

	for (unsigned i = 0; i < SYNCS; i++) {
		struct rte_mbuf *m = make_sync(t);
		if (m == NULL || rte_eth_tx_burst(t->way.tx->port_id, t->way.tx->queue_id, &m, 1) != 1) {
			rte_pktmbuf_free(m);
			continue;
		}
		uint64_t until_ns = tl_clock_now_ns(t->cfg->clock) + LATCH_WAIT_NS;
		bool has = false;
		while (!has && tl_clock_now_ns(t->cfg->clock) < until_ns && !tl_selftest_stopped(t)) {
			uint64_t foreign = t->out->foreign_pkts;
			tl_selftest_poll(t, NULL, NULL);
			t->out->foreign_pkts = foreign;
			has = read_stamp(t, received, &ns);
		}
		n += has && ns > last_ns;
		last_ns = has ? ns : last_ns;
	}
	return n;
}

static void check_ptp(struct tl_selftest *t, struct tl_selftest_check *check, bool received)
{
	uint16_t port_id = received ? tl_port_rxq(t->way.rx_port, 0)->port_id : t->way.tx->port_id;
	const char *what = received ? "received" : "sent";
	int64_t old;

	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_timesync_enable(port_id) != 0) {
		tl_selftest_verdict(check, NULL, TL_SELFTEST_NOT_AVAILABLE, "the driver stamps no PTP frames");
		return;
	}
	tl_selftest_begin_phase(t);
	(void)read_stamp(t, received, &old); // of earlier frames
	unsigned n = stamped_syncs(t, received);
	(void)rte_eth_timesync_disable(port_id);
	json_t *figures = json_pack("{s:i, s:i}", "sent", SYNCS, "stamped", (int)n);
	if (n == SYNCS)
		tl_selftest_verdict(
			check, figures, TL_SELFTEST_PASS, "each of %u %s PTP frames has a stamp of its own", n, what);
	else if (!received && n == 0) // no library reports its build options
		tl_selftest_verdict(check, figures, TL_SELFTEST_NOT_AVAILABLE,
			"no sent PTP frame has a stamp: Intel's drivers request one only in a DPDK built with RTE_LIBRTE_IEEE1588");
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%u of %u %s PTP frames have a stamp of their own", n, SYNCS, what);
}

void tl_selftest_check_ptp_rx(struct tl_selftest *t, struct tl_selftest_check *check)
{
	check_ptp(t, check, true);
}

void tl_selftest_check_ptp_tx(struct tl_selftest *t, struct tl_selftest_check *check)
{
	check_ptp(t, check, false);
}
