// SPDX-License-Identifier: BSD-3-Clause
// The section "replay" of an appliance.

#include "replays.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <tl_config_setting.h>
#include <tl_json.h>
#include <tl_lcore.h>
#include <tl_log.h>

#include "replay_control.h"
#include "replays_priv.h"
#include "shaping.h"

#define FILL_NS (2 * TL_NS_PER_S) // time limit for the reader to fill its ring
#define TICK_NS (5 * TL_NS_PER_MS)

struct tl_replays {
	struct tl_replays_cfg cfg;
	uint32_t n;
	struct replay list[];
};

// ---- set-up

// Free the values of an entry.
static void replay_free(struct replay *r)
{
	tl_replay_playlist_free(&r->session.files);
	free(r->words);
}

int tl_replays_check(const struct tl_config *config, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < config->n_replays && rc == 0; i++) {
		struct replay *r = calloc(1, sizeof(*r));
		rc = r != NULL ? replays_read(config, i, r, err) : tl_fail(err, -ENOMEM, "not enough memory");
		if (r != NULL)
			replay_free(r);
		free(r);
	}
	return rc;
}

static void add_port(const struct tl_replays_cfg *cfg, uint32_t index, struct tl_replay_session *s)
{
	struct tl_replay_port *port = &s->ports[s->n_ports];

	port->device = s->results.ports[s->n_ports].device = s->args->devices[s->n_ports];
	port->port = cfg->ports[index];
	port->cfg = *tl_port_config(port->port);
	s->results.n_ports = ++s->n_ports;
}

// Send through the class tree on the port, if there is one.
static void join_shape(const struct tl_replays_cfg *cfg, struct replay *r)
{
	struct tl_replay_port *port = &r->session.ports[0];

	for (uint32_t i = 0; i < cfg->config->n_shapes; i++)
		if (cfg->config->shapes[i].port == r->config->port)
			port->shape = tl_shaping_shape(cfg->shapes[i], &port->shape_pkts);
}

static int make_session(const struct tl_replays_cfg *cfg, uint32_t index, struct replay *r, struct tl_err *err)
{
	struct tl_replay_session *s = &r->session;

	int rc = replays_read(cfg->config, index, r, err);
	if (rc != 0)
		return rc;
	snprintf(r->name, sizeof(r->name), "replay%u", index);
	if (r->args.sessions.target != NULL)
		return replays_sessions_create(r, cfg->ports[r->config->port], cfg->clock, err);
	r->lcore = cfg->first_lcore + index;
	s->name = r->name;
	s->clock = cfg->clock;
	s->is_polled = true;
	add_port(cfg, r->config->port, s);
	if (r->config->second_name != NULL)
		add_port(cfg, r->config->second, s);
	join_shape(cfg, r);
	return tl_replay_make_filters(s, err);
}

int tl_replays_create(const struct tl_replays_cfg *cfg, struct tl_replays **out, struct tl_err *err)
{
	uint32_t n = cfg->config->n_replays;
	struct tl_replays *replays = calloc(1, sizeof(*replays) + n * sizeof(replays->list[0]));
	int rc = 0;

	if (replays == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	replays->cfg = *cfg;
	replays->n = n;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = make_session(cfg, i, &replays->list[i], err);
	*out = replays;
	return rc;
}

bool tl_replays_wire_stamps(const struct tl_config *config, uint32_t port)
{
	const struct tl_config_replay *replay = tl_config_replay_from(config, port);

	return replay != NULL && tl_config_setting(replay, "wire_stamps") != NULL;
}

bool tl_replays_send_at(const struct tl_config *config, uint32_t port)
{
	const struct tl_config_replay *replay = tl_config_replay_from(config, port);
	const char *timing = replay != NULL ? tl_config_setting(replay, "timing") : NULL;

	return timing != NULL && strcmp(timing, "tsc") != 0;
}

void tl_replays_destroy(struct tl_replays *replays)
{
	if (replays == NULL)
		return;
	for (uint32_t i = 0; i < replays->n; i++) {
		struct tl_replay_session *s = &replays->list[i].session;
		tl_replay_destroy(s->replay);
		tl_filter_destroy(s->filter);
		tl_filter_destroy(s->split_filter);
		replay_free(&replays->list[i]);
		for (unsigned k = 0; k < TL_REPLAY_PORTS; k++)
			free(replays->list[i].lateness[k]);
		free(replays->list[i].all);
		free(replays->list[i].undisturbed);
	}
	free(replays);
}

size_t tl_replays_paths(const struct tl_replays *replays, const char **paths)
{
	size_t n = 0;

	for (uint32_t i = 0; i < replays->n; i++) {
		const struct replay *r = &replays->list[i];
		for (size_t k = 0; k < r->session.files.n; k++, n++)
			if (paths != NULL)
				paths[n] = r->session.files.paths[k];
		if (r->args.sessions.follow && paths != NULL)
			paths[n] = r->words[0];
		n += r->args.sessions.follow;
	}
	return n;
}

bool tl_replays_service(struct tl_replays *replays, uint32_t port, struct tl_service *out)
{
	for (uint32_t i = 0; i < replays->n; i++) {
		if (replays->list[i].sessions == NULL || replays->list[i].config->port != port)
			continue;
		replays_sessions_service(&replays->list[i], out);
		return true;
	}
	return false;
}

int tl_replays_join(struct tl_replays *replays, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < replays->n && rc == 0; i++)
		if (replays->list[i].sessions != NULL)
			rc = replays_sessions_join(&replays->list[i], err);
		else
			tl_replay_open_stamps(&replays->list[i].session);
	return rc;
}

void tl_replays_leave(struct tl_replays *replays)
{
	for (uint32_t i = 0; replays != NULL && i < replays->n; i++) {
		replays_sessions_destroy(&replays->list[i]);
		tl_replay_close_stamps(&replays->list[i].session);
	}
}

// ---- run

static uint64_t now_ns(const struct replay *r)
{
	return tl_clock_mono_ns(r->session.clock, rte_rdtsc());
}

static void enter(struct replay *r, enum phase phase)
{
	r->phase = phase;
	r->since_ns = now_ns(r);
}

// Make room for copies of the lateness, if frames have due times.
static int make_lateness(struct replay *r, struct tl_err *err)
{
	bool ok = true;

	if (tl_replay_out_lateness(r->session.replay, 0) == NULL)
		return 0;
	for (unsigned i = 0; i < r->session.n_ports; i++)
		ok = (r->lateness[i] = malloc(sizeof(*r->lateness[i]))) != NULL && ok;
	r->undisturbed = malloc(sizeof(*r->undisturbed));
	r->all = ok && r->undisturbed != NULL ? malloc(sizeof(*r->all)) : NULL;
	return r->all != NULL ? 0 : tl_fail(err, -ENOMEM, "not enough memory");
}

static int start(struct replay *r, struct tl_err *err)
{
	struct tl_replay_session *s = &r->session;

	for (unsigned i = 0; i < s->n_ports; i++)
		tl_replay_note_port(&s->ports[i], &s->results.ports[i]);
	int rc = tl_replay_choose_timing(s, err);
	if (rc == 0)
		rc = tl_replay_make(s, err);
	if (rc == 0)
		rc = make_lateness(r, err);
	if (rc == 0)
		rc = tl_replay_start(s->replay, err);
	enter(r, WAITING);
	return rc;
}

int tl_replays_start(struct tl_replays *replays, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < replays->n && rc == 0; i++) {
		if (replays->list[i].sessions != NULL) {
			replays_sessions_start(&replays->list[i]);
			continue;
		}
		rc = start(&replays->list[i], err);
		if (rc != 0)
			tl_fail_at(err, rc, "replay %s", replays->list[i].config->name);
	}
	return rc;
}

// Close the ledger when the lcore has returned.
static void finish(struct replay *r)
{
	struct tl_replay_session *s = &r->session;

	if (r->phase == SENDING)
		(void)rte_eal_wait_lcore(r->lcore);
	tl_replay_finish(s->replay);
	tl_replay_sample(s->replay, &s->results.stats);
	const struct tl_replay_ledger *ledger = &s->results.stats.ledger;
	s->results.stopped = ledger->unsent_pkts != 0 || ledger->refused_pkts != 0 || ledger->drop_end_pkts != 0;
	enter(r, LEAVING);
}

// Begin when the ring is full; with few and distant frames, with the first.
static void try_begin(struct replay *r)
{
	struct tl_replay_session *s = &r->session;
	bool filled = tl_replay_is_ready(s->replay) ||
		      (tl_replay_has_frames(s->replay) && now_ns(r) - r->since_ns >= FILL_NS);
	struct tl_err err;

	if (!filled)
		return;
	int rc = tl_replay_begin(s->replay, r->args.start_ns, &err);
	if (rc != 0)
		tl_fail_at(&err, rc, "start_at");
	else if ((rc = rte_eal_remote_launch(tl_replay_send, s->replay, r->lcore)) != 0)
		tl_fail(&err, rc, "the sending lcore did not start (%s)", strerror(-rc));
	if (rc == 0) {
		enter(r, SENDING);
		return;
	}
	tl_error("replay %s: %s", r->config->name, err.text);
	s->failed = true;
	finish(r);
}

// Wait for the frames taken by the driver to leave; then judge.
static void leave(struct replay *r)
{
	if (!tl_replay_is_on_wire(&r->session) && now_ns(r) - r->since_ns < TL_REPLAY_WIRE_NS)
		return;
	tl_replay_end_stamps(&r->session);
	tl_replay_count_faults(&r->session);
	tl_replay_judge(&r->session);
	tl_info("replay %s: ended%s", r->config->name, r->session.failed ? ", failed" : "");
	enter(r, ENDED);
}

static void work(struct replay *r)
{
	if (r->sessions != NULL) {
		replays_sessions_work(r);
		return;
	}
	if (r->phase == WAITING)
		try_begin(r);
	if (r->phase == SENDING) {
		tl_replay_check_ports(&r->session);
		tl_replay_read_stamps(&r->session);
		(void)tl_replay_land(r->session.replay);
		if (rte_eal_get_lcore_state(r->lcore) != RUNNING)
			finish(r);
	}
	if (r->phase == LEAVING)
		leave(r);
}

void tl_replays_work(struct tl_replays *replays)
{
	for (uint32_t i = 0; i < replays->n; i++)
		work(&replays->list[i]);
}

void tl_replays_follow(struct tl_replays *replays)
{
	for (uint32_t i = 0; i < replays->n; i++) {
		if (replays->list[i].session.replay == NULL)
			continue;
		tl_replay_sample_stamps(&replays->list[i].session);
		tl_replay_follow(replays->list[i].session.replay);
	}
}

bool tl_replays_ended(const struct tl_replays *replays)
{
	for (uint32_t i = 0; i < replays->n; i++)
		if (replays->list[i].phase != ENDED)
			return false;
	return true;
}

// Stop a replay. Return whether it was created.
static bool stop(struct replay *r)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};

	if (r->sessions != NULL)
		return replays_sessions_end(r);
	if (r->session.replay == NULL)
		return false;
	tl_replay_stop(r->session.replay);
	if (r->phase < LEAVING)
		finish(r);
	while (r->phase == LEAVING) {
		leave(r);
		if (r->phase == LEAVING)
			(void)nanosleep(&tick, NULL);
	}
	return true;
}

bool tl_replays_end(struct tl_replays *replays)
{
	bool ok = true;

	for (uint32_t i = 0; i < replays->n; i++) // all at once
		if (replays->list[i].session.replay != NULL)
			tl_replay_stop(replays->list[i].session.replay);
	for (uint32_t i = 0; i < replays->n; i++)
		ok = stop(&replays->list[i]) && !replays->list[i].session.failed && ok;
	return ok;
}

// ---- control

static struct replay *find(struct tl_replays *replays, const char *name, size_t len)
{
	for (uint32_t i = 0; i < replays->n; i++)
		if (strlen(replays->list[i].config->name) == len &&
			memcmp(replays->list[i].config->name, name, len) == 0)
			return &replays->list[i];
	return NULL;
}

json_t *tl_replays_operate(struct tl_replays *replays, const char *verb, const char *text)
{
	size_t len = text != NULL ? strcspn(text, " ") : 0;
	struct replay *r = len != 0 ? find(replays, text, len) : NULL;
	struct tl_err err;
	int rc;

	if (r == NULL)
		return NULL;
	if (r->sessions != NULL)
		rc = tl_fail(&err, -EINVAL, "it plays sessions: only frames are paused, or sought");
	else if (r->phase == SENDING)
		rc = tl_replay_operate(&r->session, verb, text[len] == ' ' ? text + len + 1 : NULL, &err);
	else
		rc = tl_fail(&err, -EBUSY, "%s",
			r->phase == WAITING ? "it reads its first frames: try again" : "it has ended");
	if (rc == 0)
		return json_pack("{s:b, s:s}", "ok", 1, "replay", r->config->name);
	tl_fail_at(&err, rc, "replay %s", r->config->name);
	return json_pack("{s:b, s:o}", "ok", 0, "error", tl_json_string(err.text));
}

// ---- results

bool tl_replays_ledger_ok(const struct tl_replays *replays)
{
	bool ok = true;

	for (uint32_t i = 0; i < replays->n; i++) {
		const struct replay *r = &replays->list[i];
		if (r->sessions != NULL)
			ok = replays_sessions_ledger_ok(r) && ok;
		else if (r->phase >= LEAVING)
			ok = tl_replay_ledger_ok(&r->session.results.stats.ledger) && ok;
	}
	return ok;
}

// Read the counters and the lateness so far.
static void sample(struct replay *r)
{
	struct tl_replay_session *s = &r->session;

	tl_replay_sample(s->replay, &s->results.stats);
	tl_replay_sum_stamps(s);
	if (r->all == NULL)
		return;
	tl_hist_copy(r->undisturbed, tl_replay_undisturbed(s->replay)); // part of the others: before them
	tl_hist_init(r->all);
	for (unsigned i = 0; i < s->n_ports; i++) {
		tl_hist_copy(r->lateness[i], tl_replay_out_lateness(s->replay, i));
		tl_hist_merge(r->all, r->lateness[i]);
		s->results.ports[i].lateness = r->lateness[i];
	}
	s->results.lateness = r->all;
	s->results.undisturbed = r->undisturbed;
}

static json_t *replay_json(struct replay *r)
{
	static const char *const states[] = {
		[TL_REPLAY_PLAYING] = "playing", [TL_REPLAY_PAUSED] = "paused", [TL_REPLAY_SEEKING] = "seeking"};
	const struct tl_replay_stats *stats = &r->session.results.stats;

	sample(r);
	const char *state = r->phase == WAITING ? "waiting" : r->phase == SENDING ? states[stats->state] : "ended";
	json_t *row = json_pack("{s:s, s:s, s:s, s:o}", "name", r->config->name, "port", r->config->port_name, "state",
		state, "position_ns", tl_json_number(stats->position_ns));
	json_t *report = tl_replay_json(&r->session.results);
	json_object_update(row, report);
	json_decref(report);
	if (r->phase < LEAVING) // frames are on their way
		json_object_set_new(row, "ledger_ok", json_null());
	return row;
}

json_t *tl_replays_json(struct tl_replays *replays)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < replays->n; i++)
		if (replays->list[i].sessions != NULL)
			json_array_append_new(list, replays_sessions_json(&replays->list[i]));
		else if (replays->list[i].session.replay != NULL)
			json_array_append_new(list, replay_json(&replays->list[i]));
	return list;
}

void tl_replays_print(struct tl_replays *replays, FILE *out)
{
	for (uint32_t i = 0; i < replays->n; i++) {
		struct replay *r = &replays->list[i];
		if (r->sessions == NULL && r->session.replay == NULL)
			continue;
		fprintf(out, "\nreplay %s on port %s", r->config->name, r->config->port_name);
		if (r->config->second_name != NULL)
			fprintf(out, " and port %s", r->config->second_name);
		fputc('\n', out);
		if (r->sessions != NULL) {
			replays_sessions_print(r, out);
			continue;
		}
		sample(r);
		tl_replay_print(&r->session.results, out);
	}
}
