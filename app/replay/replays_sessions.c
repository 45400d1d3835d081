// SPDX-License-Identifier: BSD-3-Clause
// Sessions of an appliance: a service on the lcore of their port, which reads the files of a followed recording, too.
// The run belongs to that lcore from start to end, and to main before and afterwards.

#include "replays_priv.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <tl_lcore.h>
#include <tl_log.h>

#define TICK_NS (5 * TL_NS_PER_MS)
#define REPORT_NS TL_NS_PER_MS
#define REPORT_TRIES 100 // the client of a status waits

struct replay_sessions {
	struct tl_sessions_run run;
	// Set by main:
	atomic_bool started, stop;
	atomic_bool asked; // for a report
	// Set by the lcore:
	atomic_bool ended;
	_Atomic(json_t *) report; // taken by main
	bool begun, has_more;
	uint64_t end_ns; // of the time for late frames; 0: sessions are played
};

// ---- set-up

int replays_sessions_create(struct replay *r, struct tl_port *port, struct tl_clock *clock, struct tl_err *err)
{
	struct replay_sessions *s = r->sessions = calloc(1, sizeof(*s));

	if (s == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	s->run.args = &r->args;
	s->run.name = r->name;
	s->run.port = port;
	s->run.clock = clock;
	s->run.follow.fd = -1;
	int rc = tl_sessions_read(&s->run, err);
	return rc == 0 ? 0 : tl_fail_at(err, rc, "replay %s", r->config->name);
}

int replays_sessions_join(struct replay *r, struct tl_err *err)
{
	int rc = tl_sessions_join(&r->sessions->run, err);

	return rc == 0 ? 0 : tl_fail_at(err, rc, "replay %s", r->config->name);
}

void replays_sessions_start(struct replay *r)
{
	atomic_store_explicit(&r->sessions->started, true, memory_order_release);
	r->phase = SENDING;
}

void replays_sessions_destroy(struct replay *r)
{
	if (r->sessions == NULL)
		return;
	json_decref(atomic_load(&r->sessions->report));
	tl_sessions_leave(&r->sessions->run);
	free(r->sessions);
	r->sessions = NULL;
}

// ---- the lcore

static bool owns(struct replay_sessions *s)
{
	return atomic_load_explicit(&s->started, memory_order_acquire) &&
	       !atomic_load_explicit(&s->ended, memory_order_relaxed);
}

static void on_rx(void *ctx, struct tl_burst *burst)
{
	struct replay_sessions *s = ctx;

	if (owns(s) && s->begun)
		tl_sessions_input(&s->run, burst);
}

// Read on. Return 1 if there is more to read at once.
static uint16_t on_poll(void *ctx, uint64_t mono_ns)
{
	struct replay_sessions *s = ctx;

	if (!owns(s) || s->end_ns != 0)
		return 0;
	if (!s->begun)
		tl_sessions_begin(&s->run, mono_ns);
	s->begun = true;
	s->has_more = tl_sessions_continue(&s->run, mono_ns);
	return s->run.follow.is_open;
}

static uint64_t on_next_ns(void *ctx)
{
	return UINT64_MAX; // the timers do
}

static void answer(struct replay_sessions *s)
{
	if (!atomic_exchange_explicit(&s->asked, false, memory_order_acquire))
		return;
	json_decref(atomic_exchange_explicit(&s->report, tl_sessions_json(&s->run), memory_order_acq_rel));
}

static void on_tick(void *ctx, uint64_t mono_ns)
{
	struct replay_sessions *s = ctx;

	if (!owns(s) || !s->begun)
		return;
	tl_player_tick(s->run.player, mono_ns);
	answer(s);
	if (s->end_ns != 0 && mono_ns >= s->end_ns) {
		atomic_store_explicit(&s->ended, true, memory_order_release);
		return;
	}
	if (s->end_ns == 0 && (!s->has_more || atomic_load_explicit(&s->stop, memory_order_relaxed))) {
		tl_sessions_finish(&s->run, mono_ns);
		s->end_ns = mono_ns + TL_SESSIONS_LINGER_NS;
	}
	tl_sessions_flush(&s->run);
}

void replays_sessions_service(struct replay *r, struct tl_service *out)
{
	*out = (struct tl_service){
		.ctx = r->sessions, .rx = on_rx, .poll = on_poll, .next_ns = on_next_ns, .tick = on_tick};
}

// ---- main, meanwhile

static bool has_ended(struct replay_sessions *s)
{
	return atomic_load_explicit(&s->ended, memory_order_acquire);
}

static void stop(struct replay_sessions *s)
{
	atomic_store_explicit(&s->stop, true, memory_order_relaxed);
}

static void check_port(struct replay *r)
{
	struct tl_err err;

	if (r->session.failed || !tl_port_ended(r->sessions->run.port, &err))
		return;
	tl_error("replay %s: %s", r->config->name, err.text);
	r->session.failed = true;
	stop(r->sessions);
}

void replays_sessions_work(struct replay *r)
{
	struct replay_sessions *s = r->sessions;

	if (r->phase != SENDING)
		return;
	check_port(r);
	if (!has_ended(s))
		return;
	tl_sessions_judge(&s->run);
	r->session.failed |= s->run.failed;
	tl_info("replay %s: ended%s", r->config->name, r->session.failed ? ", failed" : "");
	r->phase = ENDED;
}

bool replays_sessions_end(struct replay *r)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};

	stop(r->sessions);
	while (r->phase == SENDING) {
		replays_sessions_work(r);
		if (r->phase == SENDING)
			(void)nanosleep(&tick, NULL);
	}
	return r->phase == ENDED;
}

// ---- results

bool replays_sessions_ledger_ok(const struct replay *r)
{
	return r->phase != ENDED || tl_sessions_ledger_ok(&r->sessions->run);
}

// Have the lcore write a report. NULL: it does not in time.
static json_t *ask(struct replay_sessions *s)
{
	const struct timespec pause = {.tv_nsec = REPORT_NS};
	json_t *report = NULL;

	json_decref(atomic_exchange(&s->report, NULL));
	atomic_store_explicit(&s->asked, true, memory_order_release);
	for (int i = 0; i < REPORT_TRIES && report == NULL && !has_ended(s); i++) {
		(void)nanosleep(&pause, NULL);
		report = atomic_exchange_explicit(&s->report, NULL, memory_order_acquire);
	}
	return report;
}

json_t *replays_sessions_json(struct replay *r)
{
	static const char *const states[] = {[WAITING] = "waiting", [SENDING] = "playing", [ENDED] = "ended"};
	struct replay_sessions *s = r->sessions;
	json_t *row = json_pack(
		"{s:s, s:s, s:s}", "name", r->config->name, "port", r->config->port_name, "state", states[r->phase]);
	json_t *report = r->phase == SENDING && !has_ended(s) ? ask(s) : NULL;

	if (report == NULL && r->phase != WAITING && has_ended(s))
		report = tl_sessions_json(&s->run);
	if (report != NULL)
		json_object_update_missing(row, report);
	json_decref(report);
	if (r->phase != ENDED) // sessions are in progress
		json_object_set_new(row, "ledger_ok", json_null());
	return row;
}

void replays_sessions_print(const struct replay *r, FILE *out)
{
	if (r->phase == ENDED)
		tl_sessions_print(&r->sessions->run, out);
}
