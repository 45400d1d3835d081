// SPDX-License-Identifier: BSD-3-Clause
// Pause, speed and seek while the lcore sends.

#include "replay_priv.h"

#include <errno.h>

// ---- time in which frames were due

static uint64_t sent_pkts(const struct tl_replay *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->cfg.n_outs; i++)
		sum += tl_count_read(&r->sender.outs[i].sent_pkts);
	return sum;
}

// Return the time up to a position after the last change; 0 before the start, and while the run's time stands.
static uint64_t played_since(const struct tl_replay *r, int64_t pos_ns)
{
	if (r->tempo.speed == 0 || pos_ns <= r->played.pos_ns)
		return 0;
	return (uint64_t)((__int128)(pos_ns - r->played.pos_ns) * (__int128)r->tempo.of / (__int128)r->tempo.speed);
}

// Return the time up to the last frame.
static uint64_t elapsed_ns(const struct tl_replay *r)
{
	if (sent_pkts(r) == r->played.sent_pkts)
		return r->played.elapsed_ns;
	return r->played.ns + played_since(r, (int64_t)tl_count_read(&r->sender.last_ns));
}

// Change the run's time at a time of the clock.
static void change(struct tl_replay *r, uint64_t now_ns, uint64_t speed)
{
	struct replay_played played = {.ns = r->played.ns + played_since(r, replay_position(r, now_ns)),
		.sent_pkts = sent_pkts(r),
		.elapsed_ns = elapsed_ns(r)};

	replay_tempo_change(&r->tempo, now_ns, speed);
	r->played = played;
	r->played.pos_ns = replay_position(r, r->tempo.clock_ns);
}

// ---- pause, speed

// Let the run's time stand in a pause or seek, or go at the speed. The lcore is held before the time stands, and
// released after the time goes. With a NIC the change is as far ahead as frames are handed over: those leave before.
static void update(struct tl_replay *r)
{
	uint64_t now_ns = replay_clock_ns(r) + (r->by_nic ? TL_REPLAY_AHEAD_NS : 0);
	bool held = r->paused || r->seeking, before = atomic_load_explicit(&r->sender.held, memory_order_relaxed);

	if (held && !before)
		r->held_since_ns = now_ns;
	if (!held && before)
		r->paused_ns += now_ns - r->held_since_ns;
	if (held)
		atomic_store_explicit(&r->sender.held, true, memory_order_release);
	change(r, now_ns, held ? 0 : r->speed);
	atomic_store_explicit(&r->sender.late_scale, (r->tempo.of << TL_CLOCK_SHIFT) / r->speed, memory_order_relaxed);
	replay_publish(r);
	if (!held)
		atomic_store_explicit(&r->sender.held, false, memory_order_release);
}

void replay_control_begin(struct tl_replay *r, uint64_t anchor_ns)
{
	r->speed = r->cfg.pacing.pace == TL_REPLAY_RECORDED ? r->cfg.pacing.speed : TL_REPLAY_MILLION;
	r->tempo = (struct replay_tempo){.clock_ns = anchor_ns, .speed = r->speed, .of = r->speed};
	r->played = (struct replay_played){0};
	update(r);
}

void tl_replay_pause(struct tl_replay *replay, bool pause)
{
	replay->paused = pause;
	update(replay);
}

int tl_replay_set_speed(struct tl_replay *replay, uint64_t speed, struct tl_err *err)
{
	if (replay->cfg.pacing.pace != TL_REPLAY_RECORDED)
		return tl_fail(err, -EINVAL, "only frames sent at their recorded times have a speed");
	if (speed < TL_REPLAY_SPEED_MIN || speed > TL_REPLAY_SPEED_MAX)
		return tl_fail(err, -EINVAL, "a speed is 0.01 to 100");
	replay->speed = speed;
	update(replay);
	return 0;
}

// ---- seek

// End the reader's pass, and begin one that skips the frames before a due time or a file.
static int begin_pass(struct tl_replay *r, uint64_t seek_ns, uint64_t seek_file, struct tl_err *err)
{
	struct replay_reader *reader = &r->reader;
	struct tl_replay_schedule before;

	r->seeking = true;
	r->landing = false;
	update(r);
	atomic_store_explicit(&reader->interrupted, true, memory_order_relaxed);
	if (reader->started)
		pthread_join(reader->thread, NULL);
	reader->started = false;
	atomic_store(&reader->interrupted, false);
	atomic_store(&reader->read_all, false);
	atomic_store(&reader->ready, false);
	atomic_store(&reader->landed, false);
	before = reader->schedule;
	tl_replay_schedule_init(&reader->schedule, &r->cfg.pacing);
	reader->schedule.backward_pkts = before.backward_pkts;
	reader->schedule.rebased_files = before.rebased_files;
	reader->schedule.shortened_gaps = before.shortened_gaps;
	reader->seek_ns = seek_ns;
	reader->seek_file = seek_file;
	reader->read_bytes = reader->done_bytes = reader->last_due_ns = reader->loop_due_ns = 0;
	reader->pass++;
	r->seeks++;
	atomic_store_explicit(&r->sender.pass, reader->pass, memory_order_release); // all frames before are in the ring
	int rc = tl_replay_start(r, err);
	if (rc != 0)
		tl_replay_stop(r);
	return rc;
}

int tl_replay_seek(struct tl_replay *replay, uint64_t position_ns, struct tl_err *err)
{
	unsigned __int128 due_ns = (unsigned __int128)position_ns * TL_REPLAY_MILLION / replay->tempo.of;

	if (replay->cfg.pacing.pace == TL_REPLAY_LINE)
		return tl_fail(err, -EINVAL, "frames without due times have no positions: seek to a file");
	return begin_pass(replay, due_ns < TL_REPLAY_DUE_MAX ? (uint64_t)due_ns : TL_REPLAY_DUE_MAX, 0, err);
}

int tl_replay_seek_file(struct tl_replay *replay, size_t file, struct tl_err *err)
{
	if (replay->reader.merge != NULL)
		return tl_fail(err, -EINVAL, "files in the order of time have no places: seek to a time");
	if (file >= replay->cfg.n_paths)
		return tl_fail(err, -EINVAL, "there are only %zu files", replay->cfg.n_paths);
	return begin_pass(replay, 0, file, err);
}

bool tl_replay_land(struct tl_replay *replay)
{
	struct tl_replay *r = replay;
	bool dropped = atomic_load_explicit(&r->sender.pass_seen, memory_order_acquire) == r->reader.pass;

	if (!r->seeking || !dropped || !atomic_load_explicit(&r->reader.landed, memory_order_acquire))
		return r->seeking;
	if (!r->landing && !tl_replay_is_ready(r)) { // let the ring fill until the next call
		r->landing = true;
		return true;
	}
	r->seeking = r->landing = false;
	r->tempo.clock_ns = replay_clock_ns(r); // also before the start
	r->tempo.pos_ns = (int64_t)((r->reader.seek_file != 0 ? r->reader.landed_ns : r->reader.seek_ns) +
				    tl_count_read(&r->sender.shifted_ns));
	update(r);
	return false;
}

// ---- account

// Return the position in recorded time, or in the run's; while a seek to a time is under way, its target.
static uint64_t position(const struct tl_replay *r, uint64_t now_ns)
{
	bool targeted = r->seeking && r->reader.seek_file == 0;
	int64_t pos_ns = targeted ? (int64_t)r->reader.seek_ns : replay_position(r, now_ns);
	uint64_t begun_ns = pos_ns > 0 ? (uint64_t)pos_ns : 0;

	if (r->cfg.pacing.pace != TL_REPLAY_RECORDED)
		return begun_ns;
	return (uint64_t)((unsigned __int128)begun_ns * r->tempo.of / TL_REPLAY_MILLION);
}

void replay_control_sample(const struct tl_replay *r, struct tl_replay_stats *out)
{
	uint64_t now_ns = replay_sample_ns(r);

	out->state = r->seeking ? TL_REPLAY_SEEKING : r->paused ? TL_REPLAY_PAUSED : TL_REPLAY_PLAYING;
	out->paused = r->paused;
	out->speed = r->speed;
	out->position_ns = position(r, now_ns);
	out->elapsed_ns = elapsed_ns(r);
	out->paused_ns = r->paused_ns;
	if ((r->paused || r->seeking) && now_ns > r->held_since_ns)
		out->paused_ns += now_ns - r->held_since_ns;
	out->seeks = r->seeks;
}
