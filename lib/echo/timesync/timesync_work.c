// SPDX-License-Identifier: BSD-3-Clause
// Main side while the lcore runs: reads stamps and assigns them to frames.

#include "timesync_priv.h"

#include <rte_cycles.h>

#include <tl_log.h>

#define PATIENCE_NS (100 * TL_NS_PER_MS) // a stamp arrives within microseconds, or never
#define TELL_AFTER 20			 // frames without a single stamp before the warning

int64_t tl_timesync_wire_ns(const struct tl_timesync *sync, uint64_t stamp_ns)
{
	return (int64_t)tl_clock_track_ns(sync->track, stamp_ns);
}

int64_t tl_timesync_host_ns(const struct tl_timesync *sync, uint64_t tsc)
{
	return (int64_t)tl_clock_wall_ns(sync->cfg.clock, tsc);
}

void tl_timesync_record(struct tl_hist *hist, int64_t span_ns)
{
	tl_hist_record(hist, span_ns > 0 ? (uint64_t)span_ns : 0);
}

// ---- sent frames

// Detect, once, a driver that sends a frame and does not request its stamp, as in a DPDK without RTE_LIBRTE_IEEE1588.
static void judge_silence(struct tl_timesync *sync)
{
	if (sync->heard || sync->stats.unstamped || ++sync->silent < TELL_AFTER)
		return;
	sync->stats.unstamped = true;
	tl_warn("port %s: none of %u frames to be stamped was: %s", sync->name, TELL_AFTER, sync->cfg.ops->silence);
}

enum tl_timesync_look tl_timesync_look(struct tl_timesync *sync, uint64_t begin_tsc, bool last_look, uint64_t *stamp_ns)
{
	bool late = tl_clock_span_ns(sync->cfg.clock, rte_rdtsc() - begin_tsc) > PATIENCE_NS;

	if (sync->cfg.ops->read_sent(sync->cfg.ops_ctx, stamp_ns) != 0 || *stamp_ns == sync->last_sent_ns) {
		if (!late && !last_look)
			return TL_TIMESYNC_WAITS;
		judge_silence(sync);
		return TL_TIMESYNC_LOST;
	}
	sync->last_sent_ns = *stamp_ns;
	int64_t span_ns = tl_timesync_wire_ns(sync, *stamp_ns) - tl_timesync_host_ns(sync, begin_tsc);
	if (!tl_timesync_is_plausible(span_ns, tl_clock_track_bound_ns(sync->track)))
		return TL_TIMESYNC_LOST;
	sync->heard = true;
	return TL_TIMESYNC_STAMPED;
}

// True if the probe sent is completed: its stamp has been read, or is given up.
static bool read_probe(struct tl_timesync *sync, bool last_look)
{
	uint64_t stamp_ns;
	enum tl_timesync_look look = tl_timesync_look(sync, sync->probe_tsc, last_look, &stamp_ns);

	if (look == TL_TIMESYNC_WAITS)
		return false;
	sync->stats.probes_stamped += look == TL_TIMESYNC_STAMPED;
	sync->stats.probes_lost += look == TL_TIMESYNC_LOST;
	if (look == TL_TIMESYNC_STAMPED)
		tl_timesync_record(&sync->tx_to_wire,
			tl_timesync_wire_ns(sync, stamp_ns) - tl_timesync_host_ns(sync, sync->probe_tsc));
	return true;
}

// True if no frame with a requested stamp is in flight. A reply not sent yet does not count.
static bool is_free(struct tl_timesync *sync, bool last_look)
{
	struct tl_timesync_reply *r = sync->reply;
	int probe = atomic_load_explicit(&sync->probe_state, memory_order_acquire);

	if (probe == TL_TIMESYNC_WANTED || (probe == TL_TIMESYNC_DONE && !read_probe(sync, last_look)))
		return false;
	atomic_store_explicit(&sync->probe_state, TL_TIMESYNC_IDLE, memory_order_release);
	if (r == NULL)
		return true;
	if (tl_tx_stamp_is_published(&r->stamp)) {
		if (!tl_timesync_read_reply(sync, last_look))
			return false;
		tl_tx_stamp_clear(&r->stamp);
	}
	return tl_tx_stamp_withdraw(&r->stamp);
}

// True if the next of per_s a second is due: the average rate is kept, even if main polls seldom.
static bool is_due(struct tl_timesync *sync, uint32_t per_s, uint64_t *next_ns)
{
	uint64_t now_ns = tl_clock_mono_ns(sync->cfg.clock, rte_rdtsc());

	if (per_s == 0 || now_ns < *next_ns)
		return false;
	uint64_t period_ns = TL_NS_PER_S / per_s;
	*next_ns = tl_max_u64(*next_ns + period_ns, now_ns);
	return true;
}

// Discard a late stamp of a frame that was given up.
static void clear_sent(struct tl_timesync *sync)
{
	uint64_t stamp_ns;

	if (sync->cfg.ops->read_sent(sync->cfg.ops_ctx, &stamp_ns) == 0)
		sync->last_sent_ns = stamp_ns;
}

static void work_on_sent(struct tl_timesync *sync)
{
	struct tl_timesync_reply *r = sync->reply;

	if (!is_free(sync, false))
		return;
	if (is_due(sync, sync->cfg.probes_per_s, &sync->next_probe_ns)) {
		clear_sent(sync);
		atomic_store_explicit(&sync->probe_state, TL_TIMESYNC_WANTED, memory_order_release);
		return;
	}
	if (r != NULL && is_due(sync, sync->cfg.replies_per_s, &r->next_ns))
		r->due = true;
	if (r != NULL && r->due) {
		clear_sent(sync);
		tl_tx_stamp_offer(&r->stamp);
	}
}

// ---- received frames

static void read_taken(struct tl_timesync *sync)
{
	struct tl_timesync_stats *stats = &sync->stats;
	uint64_t stamp_ns;

	sync->last_latch = sync->latch;
	if (sync->cfg.ops->read_received(sync->cfg.ops_ctx, sync->latch, &stamp_ns) != 0 ||
		stamp_ns == sync->last_received_ns) {
		stats->ptp_lost_pkts++;
		return;
	}
	int64_t span_ns = tl_timesync_host_ns(sync, sync->taken_tsc) - tl_timesync_wire_ns(sync, stamp_ns);
	sync->last_received_ns = stamp_ns;
	if (!tl_timesync_is_plausible(span_ns, tl_clock_track_bound_ns(sync->track))) {
		stats->ptp_lost_pkts++;
		return;
	}
	tl_timesync_record(&sync->wire_to_poll, span_ns);
	stats->ptp_stamped_pkts++;
}

// Read the register to empty it: until then the NIC stamps no other frame.
static void work_on_received(struct tl_timesync *sync)
{
	if (atomic_load_explicit(&sync->taken_state, memory_order_acquire) != TL_TIMESYNC_DONE)
		return;
	read_taken(sync);
	atomic_store_explicit(&sync->taken_state, TL_TIMESYNC_WANTED, memory_order_release);
}

void tl_timesync_work(struct tl_timesync *sync)
{
	work_on_sent(sync);
	work_on_received(sync);
}

// Empty the registers after a second in which no frame was taken. A stamp found then belongs to a frame dropped before
// it reached the lcore, and would occupy the register permanently.
static void free_latch(struct tl_timesync *sync)
{
	uint64_t stamp_ns, taken = sync->stats.ptp_stamped_pkts + sync->stats.ptp_lost_pkts;
	bool is_silent = taken == sync->taken_before &&
			 atomic_load_explicit(&sync->taken_state, memory_order_acquire) == TL_TIMESYNC_WANTED;

	for (unsigned i = 0; is_silent && i < sync->latches; i++)
		if (sync->cfg.ops->read_received(
			    sync->cfg.ops_ctx, sync->latches > 1 ? i : sync->last_latch, &stamp_ns) == 0)
			sync->last_received_ns = stamp_ns;
	sync->taken_before = taken;
}

void tl_timesync_sample(struct tl_timesync *sync)
{
	(void)sync->cfg.ops->enable(sync->cfg.ops_ctx); // the link speed may have changed
	(void)tl_clock_track_sample(sync->track);	// after a failure the bound grows
	free_latch(sync);
}

void tl_timesync_end(struct tl_timesync *sync)
{
	if (sync->track == NULL)
		return; // never started
	(void)is_free(sync, true);
	work_on_received(sync);
	sync->cfg.ops->disable(sync->cfg.ops_ctx);
}
