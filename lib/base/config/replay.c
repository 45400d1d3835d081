// SPDX-License-Identifier: BSD-3-Clause
// Entries of "replay": recordings sent from a port. The values are those of the options of `tapline replay`, which
// app/replay/replays_values.c parses: here they are kept as text, with their lines.

#include "config_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_config_setting.h>
#include <tl_err.h>

#define VALUES_MAX 4096 // of a key that may be repeated

// ---- values

static int config_keep_setting(struct tl_config_reader *r, const char *key, uint32_t nth, char *text, void *section)
{
	struct tl_config_replay *replay = section;
	struct tl_config_setting *more =
		realloc(replay->settings, (replay->n_settings + 1) * sizeof(replay->settings[0]));

	if (more == NULL) {
		free(text);
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	}
	replay->settings = more;
	more[replay->n_settings++] =
		(struct tl_config_setting){.key = key, .nth = nth, .text = text, .line = tl_config_line(r)};
	return 0;
}

// Keep a switch that is on.
static int config_switch(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	if (!json_is_boolean(value))
		return tl_config_not(r, value, "true or false");
	return json_is_true(value) ? config_keep_setting(r, key->name, TL_CONFIG_NO_LIST, NULL, section) : 0;
}

// Keep a text or number of a list, or one without a list.
static int config_keep_value(
	struct tl_config_reader *r, const char *key, uint32_t nth, const json_t *value, void *section)
{
	const char *given = "";
	char *text;

	if (json_is_number(value)) {
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	} else {
		given = tl_config_string(r, value, "a text or a number");
		text = given != NULL ? strdup(given) : NULL;
	}
	if (text == NULL)
		return given == NULL ? -EINVAL : tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	return config_keep_setting(r, key, nth, text, section);
}

static int config_value(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	return config_keep_value(r, key->name, TL_CONFIG_NO_LIST, value, section);
}

static int config_values(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	size_t n = json_array_size(value);
	int rc = 0;

	if (!json_is_array(value) || n == 0)
		return tl_config_not(r, value, "an array with a text at least");
	if (n > VALUES_MAX)
		return tl_config_refuse(r, "the list has %zu entries, the most is %d", n, VALUES_MAX);
	for (size_t i = 0; i < n && rc == 0; i++) {
		tl_config_enter_index(r, i);
		rc = config_keep_value(r, key->name, (uint32_t)i, json_array_get(value, i), section);
		tl_config_leave(r);
	}
	return rc;
}

static int config_lcore(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_replay *replay = section;

	replay->lcore = TL_CONFIG_LCORE_AUTO;
	if (json_is_string(value) && strcmp(json_string_value(value), "auto") == 0)
		return 0;
	return json_is_integer(value) ? tl_config_number(r, key, value, section)
				      : tl_config_not(r, value, "\"auto\" or the number of an lcore");
}

// The keys below "lcore" are options of the command: app/replay/cmd_replay.c has their meaning.
static const struct tl_config_key replay_keys[] = {
	{KEY(tl_config_replay, name, tl_config_name), .max = TL_CONFIG_NAME_MAX - 1, .required = true},
	{"port", tl_config_text, FIELD(tl_config_replay, port_name), .max = 4095, .required = true},
	{"second_port", tl_config_text, FIELD(tl_config_replay, second_name), .max = 4095},
	{KEY(tl_config_replay, lcore, config_lcore), .max = TL_CONFIG_LCORE_MAX, .fallback = "\"auto\""},
	{"files", config_values, .required = true},
	{"filter", config_value},
	{"split", config_value},
	{"speed", config_value},
	{"rate", config_value},
	{"burst", config_value},
	{"line_rate", config_switch},
	{"loops", config_value},
	{"merge", config_switch},
	{"max_gap", config_value},
	{"start_at", config_value},
	{"max_late", config_value},
	{"wire_stamps", config_switch},
	{"timing", config_value},
	{"on_underrun", config_value},
	{"mtu_action", config_value},
	{"map", config_values},
	{"map_port", config_values},
	{"per_loop", config_values},
	{"src_mac", config_value},
	{"dst_mac", config_value},
	{"vlan", config_value},
	{"ttl", config_value},
	{"dscp", config_value},
	{"sessions", config_value},
	{"from", config_value},
	{"gateway", config_value},
	{"scale", config_value},
	{"wait", config_value},
	{"compare", config_value},
	{"timeout", config_value},
	{"at_a_time", config_value},
	{"udp", config_switch},
	{"any_vlan", config_switch},
	{"follow", config_switch},
	{"backlog", config_value},
	{"opaque", config_switch},
};
const struct tl_config_table tl_config_replay_table = {KEYS(replay_keys), .bytes = sizeof(struct tl_config_replay)};

void tl_config_free_replay(struct tl_config_replay *replay)
{
	for (uint32_t i = 0; i < replay->n_settings; i++)
		free(replay->settings[i].text);
	free(replay->settings);
	free(replay->name);
	free(replay->port_name);
	free(replay->second_name);
}

// ---- an entry, when the ports and echoes are known

#define refuse_replay(r, index, key, ...) tl_config_refuse_at(r, "replay", index, key, __VA_ARGS__)

// Check that nothing else sends from the port: its send queue has one owner. A class tree ("shape") is no sender.
static int config_check_replay_port(
	struct tl_config_reader *r, const struct tl_config *config, uint32_t index, const char *key, uint32_t port)
{
	const char *name = config->ports[port].name;

	if (strncmp(config->ports[port].device, "pcap:", 5) == 0)
		return refuse_replay(r, index, key, "the port \"%s\" is a file: it cannot send", name);
	for (uint32_t i = 0; i < config->n_echoes; i++)
		if (config->echoes[i].port == port)
			return refuse_replay(r, index, key,
				"the echo \"%s\" sends from this port: a replay needs a port without echoes",
				config->echoes[i].name);
	for (uint32_t i = 0; i < index; i++)
		if (tl_config_sends(&config->replays[i], port))
			return refuse_replay(r, index, key, "the replay \"%s\" sends from this port already",
				config->replays[i].name);
	return 0;
}

const struct tl_config_replay *tl_config_replay_from(const struct tl_config *config, uint32_t port)
{
	for (uint32_t i = 0; i < config->n_replays; i++)
		if (tl_config_sends(&config->replays[i], port))
			return &config->replays[i];
	return NULL;
}

const char *tl_config_setting(const struct tl_config_replay *replay, const char *key)
{
	for (uint32_t i = 0; i < replay->n_settings; i++)
		if (strcmp(replay->settings[i].key, key) == 0)
			return replay->settings[i].text != NULL ? replay->settings[i].text : "";
	return NULL;
}

// Return the shape on a port; NULL: none.
static const struct tl_config_shape *config_shape_on(const struct tl_config *config, const char *port_name)
{
	for (uint32_t i = 0; port_name != NULL && i < config->n_shapes; i++)
		if (strcmp(config->shapes[i].port_name, port_name) == 0)
			return &config->shapes[i];
	return NULL;
}

// Frames of two ports leave from one lcore, which serves no class tree.
static int config_check_unshaped(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_replay *replay = &config->replays[index];
	const struct tl_config_shape *shape = config_shape_on(config, replay->port_name);

	if (shape == NULL)
		shape = config_shape_on(config, replay->second_name);
	if (shape == NULL)
		return 0;
	return refuse_replay(r, index, "second_port",
		"the shape \"%s\" is on a port of this replay, which has two: omit the shape, or the second port",
		shape->name);
}

static int config_check_stamps(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_replay *replay = &config->replays[index];
	const struct tl_config_shape *shape = config_shape_on(config, replay->port_name);

	if (shape == NULL || tl_config_setting(replay, "wire_stamps") == NULL)
		return 0;
	return refuse_replay(r, index, "wire_stamps",
		"the shape \"%s\" is on the port of this replay: stamped frames must not be delayed", shape->name);
}

static int config_check_second(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_replay *replay = &config->replays[index];
	bool has_split = tl_config_setting(replay, "split") != NULL;

	if (replay->second_name == NULL)
		return has_split ? refuse_replay(r, index, "split", "needs a \"second_port\", for the other frames")
				 : 0;
	tl_config_point_at(r, "replay", index, "second_port");
	int rc = tl_config_resolve_port(r, config, replay->second_name, &replay->second);
	if (rc != 0)
		return rc;
	if (!has_split)
		return refuse_replay(
			r, index, "second_port", "needs a \"split\": the rule that chooses the port of a frame");
	if (replay->second == replay->port)
		return refuse_replay(r, index, "second_port", "this is the \"port\" of the replay: give another");
	rc = config_check_unshaped(r, config, index);
	return rc == 0 ? config_check_replay_port(r, config, index, "second_port", replay->second) : rc;
}

// Check that the lcore of the port has nothing but the sessions to send.
static int config_check_sessions(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_replay *replay = &config->replays[index];

	if (!tl_config_has_sessions(replay))
		return 0;
	if (config->ports[replay->port].rx_queues != 1)
		return refuse_replay(r, index, "sessions", "the port \"%s\" has %u RX queues: sessions need one",
			replay->port_name, config->ports[replay->port].rx_queues);
	if (replay->lcore != TL_CONFIG_LCORE_AUTO)
		return refuse_replay(r, index, "lcore",
			"sessions are played by the lcore of their port: give \"lcores\" of the port instead");
	const struct tl_config_shape *shape = config_shape_on(config, replay->port_name);
	return shape == NULL ? 0
			     : refuse_replay(r, index, "sessions", "the shape \"%s\" is on the port of these sessions",
				       shape->name);
}

int tl_config_check_replay(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_replay *replay = &config->replays[index];

	for (uint32_t i = 0; i < index; i++)
		if (strcmp(config->replays[i].name, replay->name) == 0)
			return refuse_replay(
				r, index, "name", "$.replay[%u] is called \"%s\" already", i, replay->name);
	tl_config_point_at(r, "replay", index, "port");
	int rc = tl_config_resolve_port(r, config, replay->port_name, &replay->port);
	if (rc == 0)
		rc = config_check_replay_port(r, config, index, "port", replay->port);
	if (rc == 0)
		rc = config_check_sessions(r, config, index);
	if (rc == 0)
		rc = config_check_stamps(r, config, index);
	return rc == 0 ? config_check_second(r, config, index) : rc;
}
