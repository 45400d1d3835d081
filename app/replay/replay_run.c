// SPDX-License-Identifier: BSD-3-Clause
// Run a replay: the reader and the lcore, main meanwhile, and the results.

#include "replay_session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include <tl_log.h>
#include <tl_units.h>

#include "app.h"
#include "manifest.h"
#include "replay_control.h"
#include "replay_keys.h"
#include "results.h"
#include "stop.h"

#define FILL_NS (2 * TL_NS_PER_S) // time limit for the reader to fill its ring
#define TICK_NS (20 * TL_NS_PER_MS)

// ---- the run

static void sleep_a_tick(void)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};

	(void)nanosleep(&tick, NULL); // a signal ends it early
}

static uint64_t now_ns(const struct tl_replay_session *s)
{
	return tl_clock_mono_ns(s->clock, rte_rdtsc());
}

// State of the checks by main while the lcore sends.
struct watch {
	uint64_t next_look_ns;
	uint64_t sent_pkts;    // at the last look
	uint64_t allowed_pkts; // one by one: lines of standard input
	bool input_ended;
	struct tl_replay_keys keys;
	struct tl_hist *copy; // of the lcore's; NULL: no memory
};

// Print the lateness so far, of two ports the longer one.
static const char *lateness_text(const struct tl_replay_session *s, const struct watch *w, char *text, size_t size)
{
	uint64_t p99_ns = 0, max_ns = 0;
	char texts[2][32];

	text[0] = '\0';
	for (unsigned i = 0; i < s->n_ports; i++) {
		const struct tl_hist *hist = tl_replay_out_lateness(s->replay, i);
		if (hist == NULL || w->copy == NULL)
			return text;
		tl_hist_copy(w->copy, hist);
		p99_ns = tl_max_u64(p99_ns, tl_hist_permille(w->copy, 990));
		max_ns = tl_max_u64(max_ns, w->copy->count != 0 ? w->copy->max_ns : 0);
	}
	snprintf(text, size, ", lateness p99 %s, max %s", tl_format_ns(p99_ns, texts[0], sizeof(texts[0])),
		tl_format_ns(max_ns, texts[1], sizeof(texts[1])));
	return text;
}

// Once a second: check clock and link, print progress.
static void look(struct tl_replay_session *s, struct watch *w)
{
	struct tl_replay_stats stats;
	char lateness[96];

	w->next_look_ns += TL_NS_PER_S;
	tl_clock_discipline(s->clock);
	tl_replay_follow_nics(s);
	tl_replay_sample_stamps(s);
	tl_replay_follow(s->replay);
	for (unsigned i = 0; i < s->n_ports; i++)
		(void)tl_port_watch(s->ports[i].port);
	tl_replay_sample(s->replay, &stats);
	tl_replay_show_progress(
		&stats, stats.ledger.sent_pkts - w->sent_pkts, lateness_text(s, w, lateness, sizeof(lateness)));
	w->sent_pkts = stats.ledger.sent_pkts;
}

// Permit a frame for each line of standard input.
static void read_input(struct tl_replay_session *s, struct watch *w)
{
	char text[256];
	uint64_t lines = 0;
	ssize_t n = read(STDIN_FILENO, text, sizeof(text));

	w->input_ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	w->allowed_pkts += lines;
	tl_replay_allow(s->replay, lines);
}

// Wait for a tick, a line of standard input with --one-by-one or a key without it, or a client of the control socket.
static void await_step(struct tl_replay_session *s, struct watch *w)
{
	struct pollfd events[] = {{.fd = s->args->one_by_one && !w->input_ended ? STDIN_FILENO : -1, .events = POLLIN},
		{.fd = tl_replay_control_fd(s), .events = POLLIN},
		{.fd = tl_replay_keys_fd(&w->keys), .events = POLLIN}};

	if (poll(events, TL_ARRAY_LEN(events), TICK_NS / TL_NS_PER_MS) <= 0) // a signal ends it early
		return;
	if (events[0].revents != 0)
		read_input(s, w);
	if (events[1].revents != 0)
		tl_replay_control_serve(s);
	if (events[2].revents != 0 && tl_replay_keys_read(&w->keys, s))
		tl_stop_request();
}

// End the run when all permitted frames are sent and standard input has ended.
static void check_input(struct tl_replay_session *s, const struct watch *w)
{
	struct tl_replay_stats stats;

	if (!w->input_ended)
		return;
	tl_replay_sample(s->replay, &stats);
	if (stats.ledger.sent_pkts + stats.ledger.refused_pkts + tl_replay_dropped(&stats.ledger) >= w->allowed_pkts)
		tl_replay_stop(s->replay);
}

static void watch_run(struct tl_replay_session *s)
{
	struct watch w = {.next_look_ns = now_ns(s) + TL_NS_PER_S, .copy = malloc(sizeof(*w.copy))};
	bool ending = false;

	if (!s->args->one_by_one)
		tl_replay_keys_open(&w.keys);
	while (rte_eal_get_lcore_state(TL_REPLAY_LCORE) == RUNNING) {
		if (now_ns(s) >= w.next_look_ns)
			look(s, &w);
		if (tl_stop_requested())
			tl_replay_stop(s->replay);
		if (!tl_stop_requested())
			tl_replay_check_ports(s);
		ending |= s->failed || tl_stop_requested();
		check_input(s, &w);
		tl_replay_poll_stamps(s);
		tl_replay_read_stamps(s);
		(void)tl_replay_land(s->replay);
		await_step(s, &w);
	}
	tl_replay_keys_close(&w.keys);
	free(w.copy);
	s->results.stopped = ending;
}

// Wait for the frames taken by the drivers to leave, before their ports are stopped.
static void await_wire(struct tl_replay_session *s)
{
	uint64_t until_ns = now_ns(s) + TL_REPLAY_WIRE_NS;

	while (!tl_replay_is_on_wire(s) && now_ns(s) < until_ns)
		sleep_a_tick();
}

// Wait for the ring to fill; with few and distant frames, for the first only.
static void await_frames(const struct tl_replay_session *s)
{
	uint64_t until_ns = now_ns(s) + FILL_NS;

	while (!tl_replay_is_ready(s->replay) && !tl_stop_requested()) {
		if (now_ns(s) >= until_ns && tl_replay_has_frames(s->replay))
			return;
		sleep_a_tick();
	}
}

static int run(struct tl_replay_session *s, struct tl_err *err)
{
	int rc = tl_replay_start(s->replay, err);

	if (rc == 0)
		await_frames(s);
	if (rc == 0 && !tl_stop_requested()) {
		rc = tl_replay_begin(s->replay, s->args->start_ns, err);
		if (rc != 0)
			tl_fail_at(err, rc, "--start-at");
	}
	if (rc == 0 && !tl_stop_requested())
		rc = tl_replay_control_open(s, err);
	if (rc == 0 && !tl_stop_requested()) {
		rc = rte_eal_remote_launch(tl_replay_send, s->replay, TL_REPLAY_LCORE);
		if (rc != 0)
			tl_fail(err, rc, "the sending lcore did not start (%s)", strerror(-rc));
	}
	if (rc == 0) {
		watch_run(s);
		(void)rte_eal_wait_lcore(TL_REPLAY_LCORE);
	}
	tl_replay_control_close(s);
	s->results.stopped |= tl_stop_requested();
	tl_replay_finish(s->replay);
	tl_replay_sample(s->replay, &s->results.stats);
	s->results.stopped |= s->results.stats.ledger.unsent_pkts != 0; // standard input ended before the frames
	await_wire(s);
	tl_replay_end_stamps(s);
	return rc;
}

// ---- results

static int show_json(const struct tl_replay_session *s)
{
	json_t *json = tl_replay_json(&s->results);

	json_object_set_new(json, "shapes", tl_replay_shapes_json(s, true));
	for (size_t i = 0; i < s->files.n; i++)
		tl_manifest_add_input(s->manifest, s->files.paths[i]);
	tl_manifest_put(s->manifest, TL_SCHEMA_REPLAY, json);
	return tl_results_json(json, stdout);
}

static int show(struct tl_replay_session *s)
{
	struct tl_replay_results *r = &s->results;

	r->lateness = tl_replay_lateness(s->replay);
	r->undisturbed = tl_replay_undisturbed(s->replay);
	for (unsigned i = 0; i < r->n_ports; i++)
		r->ports[i].lateness = tl_replay_out_lateness(s->replay, i);
	tl_replay_count_faults(s);
	tl_replay_judge(s);
	if (s->args->json)
		return show_json(s);
	tl_replay_print(r, stdout);
	tl_replay_print_shape(s, stdout);
	return tl_results_flush(stdout);
}

int tl_replay_run(const struct tl_replay_args *args)
{
	struct tl_replay_session s = {.args = args, .results.args = args};
	struct tl_err err;
	int status = TL_EXIT_FAILED;

	tl_stop_on_signals();
	int rc = tl_replay_open(&s, &err);
	bool prepared = rc == 0;
	if (rc == 0)
		rc = run(&s, &err);
	if (rc != 0)
		tl_error("%s", err.text);
	if (!prepared)
		status = rc == -ENOMEM || rc == -ENETDOWN ? TL_EXIT_FAILED : TL_EXIT_USAGE;
	else if (rc == 0 && show(&s) == 0 && !s.failed)
		status = TL_EXIT_OK;
	tl_replay_close(&s);
	return status;
}
