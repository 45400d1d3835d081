// SPDX-License-Identifier: BSD-3-Clause
// Handle the control socket and the signals of an appliance.

#include "appliance_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include <tl_json.h>
#include <tl_log.h>
#include <tl_report.h>
#include <tl_units.h>

// A verb acts on recordings, "shape" on a shape, "speed" and "seek" on a replay, "pause" and "resume" on both. refuse()
// returns the reason why a recording does not support the verb, as the end of a sentence that begins with the
// recording's path.
struct verb {
	const char *name;
	void (*act)(struct tl_capture *capture);		 // NULL: the verb is not for recordings
	const char *(*refuse)(const struct tl_capture *capture); // NULL: every recording supports it
};

static void trigger(struct tl_capture *capture)
{
	tl_capture_trigger(capture, TL_TRIGGER_CONTROL);
}

static const char *refuse_trigger(const struct tl_capture *capture)
{
	return tl_capture_has_triggers(capture) ? NULL
						: "records continuously; only \"mode\": \"trigger\" has triggers";
}

static void pause_recording(struct tl_capture *capture)
{
	tl_capture_pause(capture, true);
}

static void resume_recording(struct tl_capture *capture)
{
	tl_capture_pause(capture, false);
}

static const struct verb verbs[] = {
	{"trigger", trigger, refuse_trigger},
	{"pause", pause_recording, NULL},
	{"resume", resume_recording, NULL},
	{"rotate", tl_capture_rotate, NULL},
	{"shape", NULL, NULL},
	{"speed", NULL, NULL},
	{"seek", NULL, NULL},
};

static json_t *refusal(const char *subject, const char *reason)
{
	return json_pack("{s:b, s:o}", "ok", 0, "error", json_sprintf("%s %s", subject, reason));
}

// Check whether the name denotes this recording: its index in the configuration, or its path there.
static bool is_called(const struct tl_appliance *a, uint32_t index, const char *name)
{
	uint64_t number;

	return strcmp(name, a->config->captures[index].path) == 0 ||
	       (tl_parse_u64(name, 0, TL_CONFIG_CAPTURES_MAX - 1, &number) == 0 && number == index);
}

// Apply a verb to the named recording; name NULL: to every recording that supports it.
static json_t *act(struct tl_appliance *a, const struct verb *verb, const char *name)
{
	json_t *done = json_array();
	const char *reason = NULL;

	for (uint32_t i = 0; i < a->config->n_captures; i++) {
		if (name != NULL && !is_called(a, i, name))
			continue;
		reason = verb->refuse != NULL ? verb->refuse(a->captures[i]) : NULL;
		if (reason != NULL)
			continue;
		verb->act(a->captures[i]);
		json_array_append_new(done, json_integer(i));
	}
	if (json_array_size(done) != 0)
		return json_pack("{s:b, s:o}", "ok", 1, "recordings", done);
	json_decref(done);
	if (reason != NULL)
		return refusal(name != NULL ? name : "every recording", reason);
	return name != NULL
		       ? refusal(name, "is not a recording; give its path, or its index in the configuration from 0")
		       : refusal("nothing", "is recorded here");
}

static const struct tl_config_shape *find_shape(const struct tl_appliance *a, const char *name, size_t len)
{
	for (uint32_t i = 0; i < a->config->n_shapes; i++)
		if (strlen(a->config->shapes[i].name) == len && memcmp(a->config->shapes[i].name, name, len) == 0)
			return &a->config->shapes[i];
	return NULL;
}

// Change the rates or the classes of a shape: "NAME ENTRY", the latter in JSON.
static json_t *shape(struct tl_appliance *a, const char *text)
{
	size_t len = text != NULL ? strcspn(text, " ") : 0;
	const struct tl_config_shape *found = find_shape(a, text != NULL ? text : "", len);
	struct tl_err err = {""};

	if (found == NULL)
		return json_pack("{s:b, s:o}", "ok", 0, "error",
			json_sprintf("unknown shape \"%.*s\"; see \"shape\" in the configuration", (int)len,
				text != NULL ? text : ""));
	uint32_t index = (uint32_t)(found - a->config->shapes);
	json_t *entry = json_loads(text + len, JSON_REJECT_DUPLICATES, NULL);
	int rc = entry != NULL
			 ? tl_shaping_change(a->config, index, a->shapes[index], entry, &a->metrics.shapes[index], &err)
			 : -EINVAL;
	json_decref(entry);
	if (rc != 0)
		return json_pack("{s:b, s:o}", "ok", 0, "error",
			json_sprintf("shape %s not changed: %s", found->name,
				err.text[0] != '\0' ? err.text : "the entry is not JSON"));
	return json_pack("{s:b, s:s}", "ok", 1, "shape", found->name);
}

static json_t *status(struct tl_appliance *a)
{
	tl_metrics_snapshot(&a->metrics, false, &a->snapshot);
	tl_appliance_describe(a, &a->snapshot);
	return tl_appliance_json(a, &a->snapshot);
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

// Execute a verb if its sender has permission, and log request and result.
static json_t *operate(struct tl_appliance *a, const struct verb *verb, const struct tl_ctl_request *request)
{
	json_t *answer = NULL;

	if (!request->may_operate)
		answer = refusal(verb->name,
			"permission denied: verbs require root, the appliance's user, or membership in the group of control.operators");
	else if (strcmp(verb->name, "shape") == 0)
		answer = shape(a, request->name);
	else if (strcmp(verb->name, "trigger") != 0 && strcmp(verb->name, "rotate") != 0)
		answer = tl_replays_operate(a->replays, verb->name, request->name);
	if (answer == NULL && verb->act != NULL)
		answer = act(a, verb, request->name);
	if (answer == NULL)
		answer = refusal(verb->name, "requires the name of a replay, and a value");

	tl_info("control: %s by user %u, process %d: %s", verb->name, (unsigned)request->uid, (int)request->pid,
		json_is_true(json_object_get(answer, "ok")) ? "done" : "refused");
	return answer;
}

char *tl_appliance_answer(void *appliance, const struct tl_ctl_request *request)
{
	struct tl_appliance *a = appliance;
	const struct verb *verb = find_verb(request->verb);
	json_t *json;

	if (verb != NULL)
		json = operate(a, verb, request);
	else if (strcmp(request->verb, "status") == 0 && request->name == NULL)
		json = status(a);
	else if (strcmp(request->verb, "share") == 0)
		json = tl_disk_shares_read(a->disk_shares, request->name, request->pid, tl_clock_now_ns(a->clock));
	else
		json = refusal("unknown", "command");
	char *text = tl_json_text(json, JSON_INDENT(2));
	json_decref(json);
	return text;
}

void tl_appliance_signals(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGTERM);
	sigaddset(out, SIGHUP);
	sigaddset(out, SIGUSR1);
}

void tl_appliance_block_signals(void)
{
	sigset_t set;

	tl_appliance_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); // a log at its size limit must not end the process
}

bool tl_appliance_signal(struct tl_appliance *a, int number)
{
	if (number == SIGINT || number == SIGTERM)
		return true;
	for (uint32_t i = 0; i < a->config->n_captures; i++)
		if (number == SIGHUP)
			tl_capture_rotate(a->captures[i]);
		else
			tl_capture_trigger(a->captures[i], TL_TRIGGER_SIGNAL);
	return false;
}
