// SPDX-License-Identifier: BSD-3-Clause
// Main side of replies whose departure is stamped by the NIC: wire-to-wire latency of each.

#include "timesync_priv.h"

#include <errno.h>
#include <stdlib.h>

#define APART_MAX_NS TL_NS_PER_MS // tolerance for two stamps of one clock, in addition to the bound
#define SAMPLES_KEPT 65536	  // most recent samples: half an hour at the largest rate

int tl_timesync_replies_create(struct tl_timesync *sync)
{
	struct tl_timesync_reply *r;

	if (sync->cfg.replies_per_s == 0)
		return 0;
	r = sync->reply = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	tl_hist_init(&r->latency);
	tl_hist_init(&r->wire_to_poll);
	tl_hist_init(&r->poll_to_tx);
	tl_hist_init(&r->tx_to_wire);
	r->samples = tl_tail_samples_create(SAMPLES_KEPT);
	return r->samples != NULL ? 0 : -ENOMEM;
}

void tl_timesync_replies_destroy(struct tl_timesync *sync)
{
	if (sync->reply == NULL)
		return;
	tl_tail_samples_destroy(sync->reply->samples);
	free(sync->reply);
}

// Determine, after the start of the port, the stamps of received frames.
void tl_timesync_replies_start(struct tl_timesync *sync)
{
	struct tl_timesync_reply *r = sync->reply;
	struct tl_port_stamps stamps;

	if (r == NULL)
		return;
	tl_port_stamps(sync->cfg.port, &stamps);
	r->has_rx = stamps.source == TL_TS_NIC_RX;
	r->one_clock = r->has_rx && stamps.by_phc;
	r->rx_track = tl_port_rxq(sync->cfg.port, 0)->track;
}

// Widen the bounds to those of this latency's stamps: while the line is young they are larger than at the end. The
// difference between stamps of one clock is not converted.
static void widen(struct tl_timesync *sync, bool is_due)
{
	struct tl_timesync_reply *r = sync->reply;
	bool is_exact = r->one_clock && !is_due, has_rx = r->has_rx && !is_due && !is_exact;

	r->trigger_bound_ns = tl_max_u64(r->trigger_bound_ns, has_rx ? tl_clock_track_bound_ns(r->rx_track) : 1);
	r->reply_bound_ns = tl_max_u64(r->reply_bound_ns, is_exact ? 1 : tl_clock_track_bound_ns(sync->track));
}

static void keep(struct tl_timesync *sync, bool is_due, uint64_t time_ns, int64_t span_ns)
{
	struct tl_timesync_reply *r = sync->reply;
	uint64_t latency_ns = span_ns > 0 ? (uint64_t)span_ns : 0;
	struct tl_tail_sample sample = {
		.time_ns = time_ns, .residence_ns = latency_ns, .poll_gap_ns = TL_TAIL_UNKNOWN, .msgs = 1};

	widen(sync, is_due);
	tl_hist_record(&r->latency, latency_ns);
	tl_tail_samples_add(r->samples, &sample);
	sync->stats.replies_timed++;
}

// Measure from the trigger's stamp to the reply's. With one clock the difference is exact; the absolute times of both
// verify that. For frames handed over by another lcore the poll may be that of an older one: the trigger must precede
// the send call, and this stage is known only if it also precedes the poll. False: the stamps cannot belong to this
// pair.
static bool pair(struct tl_timesync *sync, const struct tl_tx_stamp_facts *facts, uint64_t stamp_ns)
{
	struct tl_timesync_reply *r = sync->reply;
	int64_t bound_ns = (int64_t)(tl_clock_track_bound_ns(r->rx_track) + tl_clock_track_bound_ns(sync->track));
	int64_t wire_to_poll_ns = (int64_t)(facts->poll_ns - facts->rx_ns);
	int64_t wire_to_tx_ns =
		wire_to_poll_ns + (int64_t)tl_clock_span_ns(sync->cfg.clock, facts->begin_tsc - facts->poll_tsc);
	int64_t latency_ns = tl_timesync_wire_ns(sync, stamp_ns) - (int64_t)facts->rx_ns;

	if (r->one_clock) {
		int64_t exact_ns = (int64_t)(stamp_ns - facts->rx_ticks);
		if (llabs(exact_ns - latency_ns) > bound_ns + (int64_t)APART_MAX_NS)
			return false;
		latency_ns = exact_ns;
	}
	if (latency_ns < -bound_ns || !tl_timesync_is_plausible(wire_to_tx_ns, (uint64_t)bound_ns))
		return false;
	if (wire_to_poll_ns >= -bound_ns)
		tl_timesync_record(&r->wire_to_poll, wire_to_poll_ns);
	keep(sync, false, facts->rx_ns, latency_ns);
	return true;
}

static void account(struct tl_timesync *sync, const struct tl_tx_stamp_facts *facts, uint64_t stamp_ns)
{
	struct tl_timesync_reply *r = sync->reply;
	int64_t wire_ns = tl_timesync_wire_ns(sync, stamp_ns);
	int64_t span_ns = wire_ns - tl_timesync_host_ns(sync, facts->poll_tsc);

	int64_t tx_to_wire_ns = wire_ns - tl_timesync_host_ns(sync, facts->begin_tsc);

	tl_timesync_record(&r->tx_to_wire, tx_to_wire_ns);
	if (facts->is_due) {
		keep(sync, true, (uint64_t)wire_ns, facts->late_ns + tx_to_wire_ns);
		return;
	}
	tl_hist_record(&r->poll_to_tx, tl_clock_span_ns(sync->cfg.clock, facts->begin_tsc - facts->poll_tsc));
	if (!r->has_rx)
		keep(sync, false, facts->poll_ns, span_ns);
	else if (!facts->stamped || !pair(sync, facts, stamp_ns))
		sync->stats.replies_untimed++;
}

bool tl_timesync_read_reply(struct tl_timesync *sync, bool last_look)
{
	const struct tl_tx_stamp_facts *facts = &sync->reply->stamp.facts;
	uint64_t stamp_ns;
	enum tl_timesync_look look =
		facts->left ? tl_timesync_look(sync, facts->begin_tsc, last_look, &stamp_ns) : TL_TIMESYNC_LOST;

	if (look == TL_TIMESYNC_WAITS)
		return false;
	sync->stats.replies_marked++;
	sync->reply->due = false;
	if (look == TL_TIMESYNC_STAMPED)
		account(sync, facts, stamp_ns);
	else
		sync->stats.replies_lost++;
	return true;
}

struct tl_tx_stamp *tl_timesync_tx_stamp(struct tl_timesync *sync)
{
	return sync->reply != NULL ? &sync->reply->stamp : NULL;
}

bool tl_timesync_replies(const struct tl_timesync *sync, struct tl_timesync_replies *out)
{
	const struct tl_timesync_reply *r = sync->reply;

	if (r == NULL)
		return false;
	*out = (struct tl_timesync_replies){.latency = &r->latency,
		.wire_to_poll = r->has_rx ? &r->wire_to_poll : NULL,
		.poll_to_tx = &r->poll_to_tx,
		.tx_to_wire = &r->tx_to_wire,
		.samples = r->samples,
		.trigger_source = r->has_rx ? TL_TS_NIC_RX : TL_TS_TSC,
		.one_clock = r->one_clock,
		.trigger_bound_ns = r->trigger_bound_ns,
		.reply_bound_ns = r->reply_bound_ns};
	return true;
}
