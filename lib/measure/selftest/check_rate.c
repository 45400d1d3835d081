// SPDX-License-Identifier: BSD-3-Clause
// Rates of sent and received frames, against the line rate.

#include "selftest_priv.h"

#include <inttypes.h>
#include <string.h>

#include <rte_mbuf.h>

#define BATCH 32u
#define ON_WIRE 24u // per frame, beside its bytes: preamble 8, FCS 4, gap 12 (IEEE 802.3)
#define LINE_PERCENT 99u
#define BLOCKED_PERCENT 10u // share of the calls from which the port is the limit

struct rate {
	uint32_t bytes;
	uint64_t sent, came, ns;
	uint64_t calls, blocked; // of tx_burst; those that did not accept all frames
};

static uint64_t mbps(const struct rate *r, uint64_t pkts)
{
	return r->ns != 0 ? pkts * (r->bytes + ON_WIRE) * 8 * 1000 / r->ns : 0;
}

// Refill the burst. Every frame is the same: it is written once into each mbuf, whose bytes persist in the pool.
static uint16_t refill(struct tl_selftest *t, const uint8_t *frame, uint32_t bytes, struct rte_mbuf **pkts)
{
	if (rte_pktmbuf_alloc_bulk(t->pool, pkts, BATCH) != 0)
		return 0;
	for (uint32_t i = 0; i < BATCH; i++) {
		uint8_t *data = rte_pktmbuf_mtod(pkts[i], uint8_t *);
		pkts[i]->data_len = (uint16_t)bytes;
		pkts[i]->pkt_len = bytes;
		if (memcmp(data, frame, TL_ETHER_LEN + TL_IPV4_LEN + TL_TCP_LEN) != 0)
			memcpy(data, frame, bytes);
	}
	return BATCH;
}

static void send_burst(struct tl_selftest *t, const uint8_t *frame, struct rate *r)
{
	struct rte_mbuf *pkts[BATCH];
	uint16_t n = refill(t, frame, r->bytes, pkts);
	uint16_t sent = t->way.tx->send(t->way.tx, pkts, n);

	rte_pktmbuf_free_bulk(pkts + sent, (unsigned)(n - sent));
	r->sent += sent;
	r->calls++;
	r->blocked += sent < BATCH;
}

static void run(struct tl_selftest *t, struct rate *r)
{
	struct tl_selftest_flow flow = tl_selftest_flow(1);
	uint8_t frame[TL_SELFTEST_BYTES_MAX];
	uint64_t begin_ns = tl_clock_now_ns(t->cfg->clock);

	tl_selftest_make(t, &flow, 0, r->bytes, frame);
	do {
		send_burst(t, frame, r);
		r->came += tl_selftest_poll(t, NULL, NULL);
		r->ns = tl_clock_now_ns(t->cfg->clock) - begin_ns;
	} while (r->ns < t->cfg->rate_ns && !tl_selftest_stopped(t));
}

// True for a network card: the rate that a virtual device reports is of no wire.
static bool is_card(const struct tl_port *port)
{
	return tl_port_traits(&tl_port_config(port)->spec)->nic;
}

static void conclude(struct tl_selftest *t, const struct rate *r, uint64_t drops, struct tl_selftest_check *check)
{
	uint64_t line_mbps = tl_port_speed_bps(t->way.tx_port) / 1000000, sent_mbps = mbps(r, r->sent);
	uint64_t lost = r->sent - tl_min_u64(r->came, r->sent);
	json_t *figures = json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "bytes", (int)r->bytes, "sent",
		(json_int_t)r->sent, "received", (json_int_t)r->came, "drops", (json_int_t)drops, "ns",
		(json_int_t)r->ns, "line_mbps", (json_int_t)line_mbps, "sent_mbps", (json_int_t)sent_mbps, "calls",
		(json_int_t)r->calls, "blocked", (json_int_t)r->blocked);

	if (lost > drops)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%" PRIu64 " of %" PRIu64 " frames are missing, and no counter shows %" PRIu64 " of them", lost,
			r->sent, lost - drops);
	else if (line_mbps == 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_NOT_AVAILABLE,
			"the line's rate is not known; %" PRIu64 " Mbit/s left", sent_mbps);
	else if (sent_mbps * 100 >= line_mbps * LINE_PERCENT && lost == 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS,
			"%" PRIu64 " of %" PRIu64 " Mbit/s left and arrived", sent_mbps, line_mbps);
	else if (lost != 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_NOT_AVAILABLE,
			"%" PRIu64 " Mbit/s left; one thread that sends as well could not take %" PRIu64 " of %" PRIu64
			" frames, all counted",
			sent_mbps, lost, r->sent);
	else if (is_card(t->way.tx_port) && r->blocked * 100 >= r->calls * BLOCKED_PERCENT)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"the port took %" PRIu64 " of %" PRIu64 " Mbit/s: check the slot and pause frames", sent_mbps,
			line_mbps);
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_NOT_AVAILABLE,
			"this CPU sends and receives %" PRIu64 " of %" PRIu64 " Mbit/s on one thread", sent_mbps,
			line_mbps);
}

static void check_rate(struct tl_selftest *t, struct tl_selftest_check *check, uint32_t bytes)
{
	struct tl_selftest_account before, after;
	struct rate r = {.bytes = bytes};

	tl_selftest_begin_phase(t);
	tl_selftest_account(t, &before);
	run(t, &r);
	tl_selftest_account(t, &after);
	for (uint32_t more = 1; more != 0 && r.came + tl_selftest_drops(&before, &after) < r.sent; r.came += more) {
		more = tl_selftest_await(t, 1, NULL, NULL);
		tl_selftest_account(t, &after);
	}
	conclude(t, &r, tl_selftest_drops(&before, &after), check);
}

void tl_selftest_check_rate_large(struct tl_selftest *t, struct tl_selftest_check *check)
{
	check_rate(t, check, TL_SELFTEST_BYTES_MAX);
}

void tl_selftest_check_rate_small(struct tl_selftest *t, struct tl_selftest_check *check)
{
	check_rate(t, check, TL_SELFTEST_BYTES_MIN);
}
