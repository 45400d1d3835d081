// SPDX-License-Identifier: BSD-3-Clause
// Replay: set-up, clock, ledger, tear-down.

#include "replay_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_lcore.h>

#include <tl_ahead.h>
#include <tl_guard.h>
#include <tl_shape.h>
#include <tl_units.h>
#include <tl_wire.h>

#define LEAD_NS (2 * TL_NS_PER_MS) // from begin() to the anchor: start-up time of the lcore
#define BRACKETS 16
#define POOL_CACHE 256

// ---- set-up

static uint32_t frame_limit(const struct tl_replay_cfg *cfg)
{
	uint32_t limit = 0;

	for (unsigned i = 0; i < cfg->n_outs; i++)
		limit = RTE_MAX(limit, cfg->outs[i].frame_limit);
	return limit;
}

// Return the bytes of a frame that an mbuf holds.
static uint32_t room_bytes(const struct tl_replay_cfg *cfg)
{
	return RTE_MIN(frame_limit(cfg) + TL_VLAN_LEN, TL_PORT_SEGMENT_BYTES);
}

// Count the mbufs: those of the ring, of the ports, the three batches of the reader, that of the lcore, the caches of
// the pool.
static uint32_t count_mbufs(const struct tl_replay_cfg *cfg)
{
	uint32_t n = cfg->ahead_pkts + TL_BURST + 3 * REPLAY_BATCH + 2 * POOL_CACHE;

	for (unsigned i = 0; i < cfg->n_outs; i++)
		n += cfg->outs[i].held_pkts + cfg->outs[i].shape_pkts + TL_TXQ_MAX;
	return n;
}

static int make_ring(struct tl_replay *r, struct tl_err *err)
{
	const struct tl_replay_cfg *cfg = &r->cfg;
	const char *name = cfg->name != NULL ? cfg->name : "replay";

	r->pool = rte_pktmbuf_pool_create(name, count_mbufs(cfg), POOL_CACHE, sizeof(struct replay_tag),
		(uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes(cfg)), cfg->socket_id);
	r->ring =
		rte_ring_create(name, cfg->ahead_pkts, cfg->socket_id, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (r->pool != NULL && r->ring != NULL)
		return 0;
	return tl_fail(err, -ENOMEM, "no memory for %u frames of %u bytes (%s): reserve more hugepages",
		count_mbufs(cfg), room_bytes(cfg), rte_strerror(rte_errno));
}

// Make the histograms: two of the run, and one per port.
static bool make_hists(struct tl_replay *r)
{
	struct tl_hist **hists[] = {
		&r->lateness, &r->sender.undisturbed, &r->sender.outs[0].lateness, &r->sender.outs[1].lateness};

	for (unsigned i = 0; i < 2 + r->cfg.n_outs && r->cfg.pacing.pace != TL_REPLAY_LINE; i++) {
		*hists[i] = malloc(sizeof(**hists[i]));
		if (*hists[i] == NULL)
			return false;
		tl_hist_init(*hists[i]);
	}
	return true;
}

// True if frames are cut or fragmented, or exceed an mbuf.
static bool needs_scratch(const struct tl_replay_cfg *cfg)
{
	return cfg->mtu_action != TL_REPLAY_MTU_DROP || frame_limit(cfg) + TL_VLAN_LEN > room_bytes(cfg);
}

static int make_account(struct tl_replay *r, struct tl_err *err)
{
	r->reader.damages.list = calloc(TL_REPLAY_DAMAGES_MAX, sizeof(*r->reader.damages.list));
	if (needs_scratch(&r->cfg))
		r->reader.scratch = malloc(2 * REPLAY_SCRATCH);
	if (r->cfg.first_ns != NULL)
		r->reader.merge = replay_merge_create();
	r->reader.ahead = replay_ahead_create(&r->cfg);
	if (r->reader.damages.list == NULL || !make_hists(r) || (needs_scratch(&r->cfg) && r->reader.scratch == NULL) ||
		(r->cfg.first_ns != NULL && r->reader.merge == NULL))
		return tl_fail(err, -ENOMEM, "not enough memory");
	return 0;
}

static void fill_out(struct tl_replay *r, unsigned i)
{
	struct replay_out *out = &r->sender.outs[i];
	struct tl_shape *shape = r->cfg.outs[i].shape;

	out->txq = r->cfg.outs[i].txq;
	out->pass = &r->sender.pass_seen;
	out->stamp = r->cfg.outs[i].stamp;
	if (shape == NULL)
		return;
	tl_shape_service(shape, &out->shaper);
	tl_shape_set_leaving(shape, replay_leaving, out);
}

static void fill(struct tl_replay *r)
{
	r->reader.cfg = &r->cfg;
	r->reader.ring = r->ring;
	r->reader.pool = r->pool;
	r->reader.room_bytes = room_bytes(&r->cfg);
	r->reader.stop = &r->stop;
	tl_replay_schedule_init(&r->reader.schedule, &r->cfg.pacing);
	r->reader.edits = r->cfg.edit != NULL && tl_edit_is_set(r->cfg.edit);
	if (r->reader.edits)
		r->reader.edit = *r->cfg.edit;
	r->sender.ring = r->ring;
	r->sender.n_outs = r->cfg.n_outs;
	for (unsigned i = 0; i < r->cfg.n_outs; i++)
		fill_out(r, i);
	r->sender.stop = &r->stop;
	r->sender.read_all = &r->reader.read_all;
	r->sender.time = &r->time;
	r->sender.clock = r->cfg.clock;
	r->sender.late_ns = r->cfg.late_ns;
	r->sender.drain_ns = r->cfg.drain_ns;
	r->sender.gap_tsc = replay_tsc_of(r, TL_REPLAY_GAP_NS);
	r->sender.gated = r->cfg.gated;
	r->sender.shifts = r->cfg.underrun == TL_REPLAY_SHIFT && r->cfg.pacing.pace != TL_REPLAY_LINE;
	r->steps_before = r->steps_seen = r->cfg.clock->steps;
	r->clock = r->cfg.clock->wall.line;
	replay_nic_begin(r);
	replay_control_begin(r, replay_clock_ns(r) + 3600 * TL_NS_PER_S); // any time to come, until tl_replay_begin()
}

int tl_replay_create(const struct tl_replay_cfg *cfg, struct tl_replay **out, struct tl_err *err)
{
	struct tl_replay *r = aligned_alloc(_Alignof(struct tl_replay), sizeof(*r));

	if (r == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	*r = (struct tl_replay){.cfg = *cfg};
	int rc = make_ring(r, err);
	if (rc == 0)
		rc = make_account(r, err);
	if (rc == 0)
		rc = replay_split_init(&r->reader.split, &r->cfg, err);
	if (rc != 0) {
		tl_replay_destroy(r);
		return rc;
	}
	fill(r);
	*out = r;
	return 0;
}

void tl_replay_destroy(struct tl_replay *replay)
{
	if (replay == NULL)
		return;
	rte_ring_free(replay->ring);
	rte_mempool_free(replay->pool);
	free(replay->reader.damages.list);
	free(replay->reader.scratch);
	free(replay->reader.merge);
	tl_ahead_destroy(replay->reader.ahead);
	replay_split_fini(&replay->reader.split);
	for (unsigned i = 0; i < TL_REPLAY_PORTS; i++)
		free(replay->sender.outs[i].lateness);
	free(replay->sender.undisturbed);
	free(replay->lateness);
	free(replay);
}

// ---- the run

int tl_replay_start(struct tl_replay *replay, struct tl_err *err)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&replay->reader.thread, NULL, replay_reader_main, &replay->reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	replay->reader.started = rc == 0;
	return rc == 0 ? 0 : tl_fail(err, -rc, "cannot start the reader's thread: %s", strerror(rc));
}

bool tl_replay_is_ready(const struct tl_replay *replay)
{
	return atomic_load_explicit(&replay->reader.ready, memory_order_acquire);
}

bool tl_replay_has_frames(const struct tl_replay *replay)
{
	return !rte_ring_empty(replay->ring);
}

int tl_replay_send(void *replay)
{
	struct tl_replay *r = replay;

	tl_guard_thread(TL_GUARD_LCORE, NULL);
	replay_send(&r->sender);
	return 0;
}

void tl_replay_allow(struct tl_replay *replay, uint64_t n)
{
	atomic_fetch_add_explicit(&replay->sender.allowed_pkts, n, memory_order_relaxed);
}

void tl_replay_stop(struct tl_replay *replay)
{
	atomic_store_explicit(&replay->stop, true, memory_order_relaxed);
}

bool tl_replay_is_refused(const struct tl_replay *replay, unsigned out)
{
	return atomic_load_explicit(&replay->sender.outs[out].refused, memory_order_relaxed);
}

// ---- clock of the run

uint64_t replay_clock_ns(const struct tl_replay *r)
{
	return tl_clock_apply(&r->clock, rte_rdtsc());
}

uint64_t replay_sample_ns(const struct tl_replay *r)
{
	if (r->begin.mono_ns == 0)
		return r->tempo.clock_ns;
	return r->end.mono_ns != 0 ? r->end.clock_ns : replay_clock_ns(r);
}

int64_t replay_position(const struct tl_replay *r, uint64_t clock_ns)
{
	return replay_tempo_at(&r->tempo, clock_ns) - (int64_t)tl_count_read(&r->sender.shifted_ns);
}

// Return the narrowest of several readings.
static struct replay_pair read_pair(const struct tl_replay *r)
{
	struct replay_pair best = {.half_ns = UINT64_MAX};

	for (int i = 0; i < BRACKETS; i++) {
		uint64_t before_ns = tl_mono_ns();
		uint64_t clock_ns = replay_clock_ns(r);
		uint64_t half_ns = (tl_mono_ns() - before_ns + 1) / 2;
		if (half_ns < best.half_ns)
			best = (struct replay_pair){
				.clock_ns = clock_ns, .mono_ns = before_ns + half_ns, .half_ns = half_ns};
	}
	return best;
}

int tl_replay_begin(struct tl_replay *replay, uint64_t start_ns, struct tl_err *err)
{
	uint64_t now_ns = replay_clock_ns(replay);
	uint64_t anchor_ns = start_ns != 0 ? start_ns - (uint64_t)replay->shift_ns : now_ns + LEAD_NS;
	char text[32];

	if (anchor_ns < now_ns)
		return tl_fail(err, -ETIME,
			"nothing is sent: the time was %s ago when the first frames were ready; give a later one",
			tl_format_ns(now_ns - anchor_ns, text, sizeof(text)));
	replay->begin = read_pair(replay);
	replay_control_begin(replay, anchor_ns);
	return 0;
}

void replay_publish(struct tl_replay *r)
{
	tl_clock_swap_store(&r->time, replay_tempo_line(&r->tempo, &r->clock));
	replay_nic_publish(r);
}

void replay_follow(struct tl_clock_line *line, const struct tl_clock *clock, bool stepped, int64_t *shift_ns)
{
	if (stepped)
		*shift_ns += clock->last.offset_ns;
	*line = clock->wall.line;
	line->base_ns -= (uint64_t)*shift_ns;
}

void tl_replay_follow(struct tl_replay *replay)
{
	const struct tl_clock *clock = replay->cfg.clock;
	bool stepped = clock->steps != replay->steps_seen;

	replay->steps_seen = clock->steps;
	replay_follow(&replay->clock, clock, stepped, &replay->shift_ns);
	replay_publish(replay);
}

// ---- ledger

// Count the frames that the port refused, and those no longer offered to it.
static void count_left(struct tl_replay *r)
{
	struct replay_sender *s = &r->sender;
	struct rte_mbuf *m;

	for (unsigned i = 0; i < s->n_outs; i++) {
		r->refused_pkts[i] += s->outs[i].txq->n;
		tl_txq_drop_waiting(s->outs[i].txq);
	}
	for (; s->at < s->n; r->unsent_pkts++)
		rte_pktmbuf_free(s->next[s->at++]);
	for (; rte_ring_sc_dequeue(r->ring, (void **)&m) == 0; r->unsent_pkts++)
		rte_pktmbuf_free(m);
}

void tl_replay_finish(struct tl_replay *replay)
{
	tl_replay_stop(replay);
	if (replay->reader.started)
		pthread_join(replay->reader.thread, NULL);
	replay->reader.started = false;
	if (replay->begin.mono_ns != 0)
		replay->end = read_pair(replay);
	count_left(replay);
	for (unsigned i = 0; i < replay->cfg.n_outs && replay->lateness != NULL; i++)
		tl_hist_merge(replay->lateness, replay->sender.outs[i].lateness);
}

// Add the drops of a class tree.
static void sample_drops(const struct tl_shape *shape, struct tl_replay_ledger *out)
{
	_Static_assert(TL_TREE_DROPS == 0 TL_CLASS_DROPS(TL_REPLAY_ONE), "a row for each reason");
	struct tl_tree_stats tree;
	unsigned i = 0;

	tl_shape_sample(shape, 0, &tree);
#define ADD(name) out->name += tree.drop_pkts[i++];
	TL_CLASS_DROPS(ADD)
#undef ADD
}

// Return the frames that a port never takes, or did not take until the end.
static uint64_t refused_pkts(const struct tl_replay *r, unsigned i)
{
	return tl_count_read(&r->sender.outs[i].refused_pkts) + r->refused_pkts[i];
}

static void sample_ledger(const struct tl_replay *r, struct tl_replay_ledger *out)
{
	const struct tl_replay_ledger *read = &r->reader.ledger;

	*out = (struct tl_replay_ledger){// parts before their sum
		.unsent_pkts = tl_count_read(&read->unsent_pkts) + r->unsent_pkts,
		.filtered_pkts = tl_count_read(&read->filtered_pkts),
		.skipped_linktype_pkts = tl_count_read(&read->skipped_linktype_pkts),
		.skipped_truncated_pkts = tl_count_read(&read->skipped_truncated_pkts),
		.skipped_short_pkts = tl_count_read(&read->skipped_short_pkts),
		.skipped_long_pkts = tl_count_read(&read->skipped_long_pkts),
		.skipped_damaged_pkts = tl_count_read(&read->skipped_damaged_pkts),
		.skipped_seek_pkts = tl_count_read(&read->skipped_seek_pkts) + tl_count_read(&r->sender.passed_pkts)};
	for (unsigned i = 0; i < r->cfg.n_outs; i++) {
		out->sent_pkts += tl_count_read(&r->sender.outs[i].sent_pkts);
		out->refused_pkts += refused_pkts(r, i);
		if (r->cfg.outs[i].shape != NULL)
			sample_drops(r->cfg.outs[i].shape, out);
	}
	out->read_pkts = tl_count_read(&read->read_pkts);
	out->added_pkts = tl_count_read(&read->added_pkts);
}

static void sample_outs(const struct tl_replay *r, struct tl_replay_stats *out)
{
	for (unsigned i = 0; i < r->cfg.n_outs; i++) {
		const struct replay_out *from = &r->sender.outs[i];
		out->outs[i] = (struct tl_replay_out_stats){.sent_pkts = tl_count_read(&from->sent_pkts),
			.sent_bytes = tl_count_read(&from->txq->tx_bytes),
			.late_pkts = tl_count_read(&from->late_pkts),
			.timed_pkts = tl_count_read(&from->timed_pkts),
			.refused_pkts = refused_pkts(r, i)};
		out->sent_bytes += out->outs[i].sent_bytes;
		out->late_pkts += out->outs[i].late_pkts;
		out->timed_pkts += out->outs[i].timed_pkts;
	}
}

void tl_replay_sample(const struct tl_replay *replay, struct tl_replay_stats *out)
{
	const struct replay_sender *s = &replay->sender;
	const struct replay_reader *r = &replay->reader;

	*out = (struct tl_replay_stats){.reader_late_pkts = tl_count_read(&s->reader_late_pkts),
		.reader_late_times = tl_count_read(&s->reader_late_times),
		.interrupted_ns = tl_clock_span_ns(replay->cfg.clock, tl_count_read(&s->interrupted_tsc)),
		.shifted_ns = tl_count_read(&s->shifted_ns),
		.waited_files = tl_count_read(&r->waited_files),
		.cut_pkts = tl_count_read(&r->cut_pkts),
		.fragmented_pkts = tl_count_read(&r->fragmented_pkts),
		.edit_malformed_pkts = tl_count_read(&r->edit_malformed_pkts),
		.edit_unsummed_pkts = tl_count_read(&r->edit_unsummed_pkts),
		.undecided_pkts = tl_count_read(&r->split.undecided_pkts),
		.unknown_hosts = tl_count_read(&r->split.unknown_hosts),
		.backward_pkts = tl_count_read(&r->schedule.backward_pkts),
		.rebased_files = tl_count_read(&r->schedule.rebased_files),
		.shortened_gaps = tl_count_read(&r->schedule.shortened_gaps),
		.loops_read = tl_count_read(&r->loops_read),
		.files_read = tl_count_read(&r->files_read),
		.damages = tl_count_read(&r->damages.count),
		.drift_ns = (int64_t)((replay->end.clock_ns - replay->begin.clock_ns) -
				      (replay->end.mono_ns - replay->begin.mono_ns)),
		.drift_bound_ns = replay->begin.half_ns + replay->end.half_ns,
		.clock_steps = replay->cfg.clock->steps - replay->steps_before,
		.by_nic = replay->by_nic};
	replay_ahead_sample(r, out);
	replay_control_sample(replay, out);
	replay_left_sample(replay, out);
	sample_outs(replay, out);
	sample_ledger(replay, &out->ledger);
}

const struct tl_hist *tl_replay_lateness(const struct tl_replay *replay)
{
	return replay->lateness;
}

const struct tl_hist *tl_replay_out_lateness(const struct tl_replay *replay, unsigned out)
{
	return replay->sender.outs[out].lateness;
}

const struct tl_hist *tl_replay_undisturbed(const struct tl_replay *replay)
{
	return replay->sender.undisturbed;
}

size_t tl_replay_damages(const struct tl_replay *replay, const struct tl_replay_damage **out)
{
	*out = replay->reader.damages.list;
	return replay->reader.damages.n;
}
