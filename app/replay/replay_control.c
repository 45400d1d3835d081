// SPDX-License-Identifier: BSD-3-Clause
// The control socket of a replay.

#include "replay_control.h"

#include <errno.h>
#include <string.h>

#include <tl_ctl.h>
#include <tl_json.h>
#include <tl_log.h>

int tl_replay_control_fd(const struct tl_replay_session *s)
{
	return s->ctl != NULL ? tl_ctl_fd(s->ctl) : -1;
}

void tl_replay_control_serve(struct tl_replay_session *s)
{
	tl_ctl_serve(s->ctl);
}

void tl_replay_control_close(struct tl_replay_session *s)
{
	tl_ctl_close(s->ctl);
	s->ctl = NULL;
}

// ---- verbs: return 0, or -errno with a message

static int pause_run(struct tl_replay_session *s, const char *value, struct tl_err *err)
{
	if (value != NULL)
		return tl_fail(err, -EINVAL, "takes nothing");
	tl_replay_pause(s->replay, true);
	return 0;
}

static int resume_run(struct tl_replay_session *s, const char *value, struct tl_err *err)
{
	if (value != NULL)
		return tl_fail(err, -EINVAL, "takes nothing");
	tl_replay_pause(s->replay, false);
	return 0;
}

static int set_speed(struct tl_replay_session *s, const char *value, struct tl_err *err)
{
	uint64_t speed;

	if (value == NULL || tl_replay_parse_speed(value, &speed) != 0)
		return tl_fail(err, -EINVAL, "takes 0.01 to 100");
	return tl_replay_set_speed(s->replay, speed, err);
}

// Seek to the first file of this path, or of this name in any directory.
static int seek_file(struct tl_replay_session *s, const char *name, struct tl_err *err)
{
	for (size_t i = 0; i < s->files.n; i++) {
		const char *path = s->files.paths[i], *slash = strrchr(path, '/');
		if (strcmp(path, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0))
			return tl_replay_seek_file(s->replay, i, err);
	}
	return tl_fail(err, -ENOENT, "%.300s: no file of this run", name);
}

// Seek to a time after the first frame; with a sign, after or before the current position.
static int seek(struct tl_replay_session *s, const char *value, struct tl_err *err)
{
	static const char file[] = "file:";
	struct tl_replay_stats stats;
	uint64_t ns;

	if (value != NULL && strncmp(value, file, sizeof(file) - 1) == 0)
		return seek_file(s, value + sizeof(file) - 1, err);
	char sign = value != NULL ? *value : '\0';
	if (value == NULL || tl_replay_parse_ns(value + (sign == '+' || sign == '-'), &ns) != 0)
		return tl_fail(err, -EINVAL, "takes a position such as 90s, +10s, -500ms or file:NAME");
	tl_replay_sample(s->replay, &stats);
	if (sign == '+')
		ns = stats.position_ns + ns < ns ? UINT64_MAX : stats.position_ns + ns;
	else if (sign == '-')
		ns = stats.position_ns > ns ? stats.position_ns - ns : 0;
	return tl_replay_seek(s->replay, ns, err);
}

static const struct verb {
	const char *name;
	int (*act)(struct tl_replay_session *s, const char *value, struct tl_err *err);
} verbs[] = {{"pause", pause_run}, {"resume", resume_run}, {"speed", set_speed}, {"seek", seek}};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

int tl_replay_operate(struct tl_replay_session *s, const char *verb, const char *value, struct tl_err *err)
{
	const struct verb *found = find_verb(verb);

	if (found == NULL)
		return tl_fail(err, -ENOSYS, "%s: no verb of replays", verb);
	int rc = found->act(s, value, err);
	if (rc != 0)
		tl_fail_at(err, rc, "%s", verb);
	if (rc == -EAGAIN) { // the run is stopped
		tl_error("%s", err->text);
		s->failed = true;
	}
	return rc;
}

// ---- answers

static json_t *refusal(const char *text)
{
	return json_pack("{s:b, s:o}", "ok", 0, "error", tl_json_string(text));
}

// Execute a verb if its sender has permission.
static json_t *act(struct tl_replay_session *s, const struct verb *verb, const struct tl_ctl_request *request)
{
	struct tl_err err;

	if (!request->may_operate) {
		tl_fail(&err, -EPERM, "%s needs more rights than status: be root or the user of the replay",
			verb->name);
		return refusal(err.text);
	}
	int rc = tl_replay_operate(s, verb->name, request->name, &err);
	return rc == 0 ? json_pack("{s:b}", "ok", 1) : refusal(err.text);
}

// Execute a verb, and log request and result.
static json_t *operate(struct tl_replay_session *s, const struct verb *verb, const struct tl_ctl_request *request)
{
	json_t *answer = act(s, verb, request);

	tl_info("control: %s by user %u, process %d: %s", verb->name, (unsigned)request->uid, (int)request->pid,
		json_is_true(json_object_get(answer, "ok")) ? "done" : "refused");
	return answer;
}

static json_t *status(struct tl_replay_session *s)
{
	tl_replay_sample(s->replay, &s->results.stats);
	json_t *json = tl_replay_status_json(&s->results);
	json_object_set_new(json, "shapes", tl_replay_shapes_json(s, false));
	return json;
}

static json_t *answer(struct tl_replay_session *s, const struct tl_ctl_request *request)
{
	const struct verb *verb = find_verb(request->verb);

	if (verb != NULL)
		return operate(s, verb, request);
	if (strcmp(request->verb, "status") == 0 && request->name == NULL)
		return status(s);
	return refusal("unknown command: a replay knows pause, resume, speed, seek and status");
}

static char *answer_text(void *session, const struct tl_ctl_request *request)
{
	json_t *json = answer(session, request);
	char *text = tl_json_text(json, JSON_INDENT(2));

	json_decref(json);
	return text;
}

int tl_replay_control_open(struct tl_replay_session *s, struct tl_err *err)
{
	const struct tl_ctl_cfg cfg = {
		.path = s->args->control, .operators = TL_CTL_NO_GROUP, .answer = answer_text, .ctx = s};

	return cfg.path != NULL ? tl_ctl_open(&cfg, &s->ctl, err) : 0;
}
