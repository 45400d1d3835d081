// SPDX-License-Identifier: BSD-3-Clause
// Main's side while the lcore runs: reads stamps, and decides whose they are.

#include "timesync_priv.h"

#include <rte_cycles.h>

#include <tl_log.h>

#define PATIENCE_NS (100 * TL_NS_PER_MS) // a stamp comes within microseconds, or not at all
#define SPAN_MAX_NS TL_NS_PER_S		 // between the wire and the call of a frame
#define TELL_AFTER 20			 // probes without a single stamp

// Whether a stamp can be that of a frame, by how long it is after the frame's call: not where the register still held
// the stamp of another one. A span may be negative within the bound of the clocks.
static bool is_plausible(const struct tl_timesync *sync, int64_t span_ns)
{
	return span_ns >= -(int64_t)tl_clock_track_bound_ns(sync->track) && span_ns <= (int64_t)SPAN_MAX_NS;
}

static int64_t wire_ns(const struct tl_timesync *sync, uint64_t stamp_ns)
{
	return (int64_t)tl_clock_track_ns(sync->track, stamp_ns);
}

static int64_t host_ns(const struct tl_timesync *sync, uint64_t tsc)
{
	return (int64_t)tl_clock_wall_ns(sync->cfg.clock, tsc);
}

static void record(struct tl_hist *hist, int64_t span_ns)
{
	tl_hist_record(hist, span_ns > 0 ? (uint64_t)span_ns : 0);
}

// Once: how a DPDK without RTE_LIBRTE_IEEE1588 shows. Its drivers send the probe and do not ask for its stamp.
static void judge_silence(struct tl_timesync *sync)
{
	if (sync->stats.unstamped || sync->stats.probes_stamped != 0 || sync->stats.probes_lost < TELL_AFTER)
		return;
	sync->stats.unstamped = true;
	tl_warn("port %s: the NIC stamped none of %u PTP probes: this DPDK was built without RTE_LIBRTE_IEEE1588, as Debian's "
		"is (make one with tools/build-dpdk.sh, and Tapline with -Ddpdk_prefix)",
		sync->name, TELL_AFTER);
}

// Whether the probe that was sent is done with: its stamp has come, or will not come any more.
static bool read_probe(struct tl_timesync *sync, bool last_look)
{
	struct tl_timesync_stats *stats = &sync->stats;
	bool late = tl_clock_span_ns(sync->cfg.clock, rte_rdtsc() - sync->probe_tsc) > PATIENCE_NS;
	uint64_t stamp_ns;

	if (sync->cfg.ops->read_sent(sync->cfg.ops_ctx, &stamp_ns) != 0 || stamp_ns == sync->last_sent_ns) {
		stats->probes_lost += late || last_look;
		return late || last_look;
	}
	int64_t span_ns = wire_ns(sync, stamp_ns) - host_ns(sync, sync->probe_tsc);
	sync->last_sent_ns = stamp_ns;
	if (!is_plausible(sync, span_ns)) {
		stats->probes_lost++;
		return true;
	}
	record(&sync->tx_to_wire, span_ns);
	stats->probes_stamped++;
	return true;
}

static bool is_due(const struct tl_timesync *sync, uint64_t now_tsc)
{
	return sync->cfg.probes_per_s != 0 &&
	       tl_clock_span_ns(sync->cfg.clock, now_tsc - sync->wanted_tsc) >= TL_NS_PER_S / sync->cfg.probes_per_s;
}

// A probe that was given up may have left its stamp since.
static void clear_sent(struct tl_timesync *sync)
{
	uint64_t stamp_ns;

	if (sync->cfg.ops->read_sent(sync->cfg.ops_ctx, &stamp_ns) == 0)
		sync->last_sent_ns = stamp_ns;
}

static void work_on_probe(struct tl_timesync *sync, bool last_look)
{
	int state = atomic_load_explicit(&sync->probe_state, memory_order_acquire);
	uint64_t now_tsc = rte_rdtsc();

	if (state == TL_TIMESYNC_WANTED)
		return;
	if (state == TL_TIMESYNC_DONE) {
		if (!read_probe(sync, last_look))
			return;
		judge_silence(sync);
	}
	state = TL_TIMESYNC_IDLE;
	if (is_due(sync, now_tsc) && !last_look) {
		clear_sent(sync);
		sync->wanted_tsc = now_tsc;
		state = TL_TIMESYNC_WANTED;
	}
	atomic_store_explicit(&sync->probe_state, state, memory_order_release);
}

static void read_taken(struct tl_timesync *sync)
{
	struct tl_timesync_stats *stats = &sync->stats;
	uint64_t stamp_ns;

	sync->last_latch = sync->latch;
	if (sync->cfg.ops->read_received(sync->cfg.ops_ctx, sync->latch, &stamp_ns) != 0 ||
		stamp_ns == sync->last_received_ns) {
		stats->ptp_lost++;
		return;
	}
	int64_t span_ns = host_ns(sync, sync->taken_tsc) - wire_ns(sync, stamp_ns);
	sync->last_received_ns = stamp_ns;
	if (!is_plausible(sync, span_ns)) {
		stats->ptp_lost++;
		return;
	}
	record(&sync->wire_to_poll, span_ns);
	stats->ptp_stamped++;
}

// Reading empties the register: until then the NIC stamps no other frame.
static void work_on_received(struct tl_timesync *sync)
{
	if (atomic_load_explicit(&sync->taken_state, memory_order_acquire) != TL_TIMESYNC_DONE)
		return;
	read_taken(sync);
	atomic_store_explicit(&sync->taken_state, TL_TIMESYNC_WANTED, memory_order_release);
}

void tl_timesync_work(struct tl_timesync *sync)
{
	work_on_probe(sync, false);
	work_on_received(sync);
}

// In a second in which no frame was taken the register should be empty. If it is not, its frame was dropped on its way
// to the lcore, and would keep the register for ever.
static void free_latch(struct tl_timesync *sync)
{
	uint64_t stamp_ns, taken = sync->stats.ptp_stamped + sync->stats.ptp_lost;
	bool is_silent = taken == sync->taken_before &&
			 atomic_load_explicit(&sync->taken_state, memory_order_acquire) == TL_TIMESYNC_WANTED;

	if (is_silent && sync->cfg.ops->read_received(sync->cfg.ops_ctx, sync->last_latch, &stamp_ns) == 0)
		sync->last_received_ns = stamp_ns;
	sync->taken_before = taken;
}

void tl_timesync_sample(struct tl_timesync *sync)
{
	(void)tl_clock_track_sample(sync->track); // where it fails, the bound grows
	free_latch(sync);
}

void tl_timesync_end(struct tl_timesync *sync)
{
	if (sync->track == NULL)
		return; // never started
	work_on_probe(sync, true);
	work_on_received(sync);
	sync->cfg.ops->disable(sync->cfg.ops_ctx);
}
