// SPDX-License-Identifier: BSD-3-Clause
// Values of an entry of "replay": options of the command, files and filter.

#include "replays_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_config_setting.h>

// Copy an error text with "max_gap" for --max-gap.
static void name_keys(const char *text, char *out, size_t size)
{
	size_t n = 0;

	while (*text != '\0' && n + 3 < size) {
		if (strncmp(text, "--", 2) != 0 || !islower((unsigned char)text[2])) {
			out[n++] = *text++;
			continue;
		}
		out[n++] = '"';
		for (text += 2; (islower((unsigned char)*text) || *text == '-') && n + 2 < size; text++)
			out[n++] = *text == '-' ? '_' : *text;
		out[n++] = '"';
	}
	out[n] = '\0';
}

// Point an error to a value.
static int fail_at(const struct tl_config *config, const struct replay *r, const struct tl_config_setting *at, int rc,
	const char *text, struct tl_err *err)
{
	uint32_t index = (uint32_t)(r->config - config->replays);
	char sentence[sizeof(err->text)], nth[16] = "";

	name_keys(text, sentence, sizeof(sentence));
	if (at->nth != TL_CONFIG_NO_LIST)
		snprintf(nth, sizeof(nth), "[%u]", at->nth);
	return tl_fail(err, rc, "%s:%u: $.replay[%u].%s%s: %s", config->file, at->line, index, at->key, nth, sentence);
}

static int set_filter(struct tl_replay_args *args, const char *text, struct tl_err *err)
{
	if (strlen(text) >= sizeof(args->filter))
		return tl_fail(err, -EINVAL, "the filter is too long");
	memcpy(args->filter, text, strlen(text) + 1);
	return *text != '\0' ? tl_filter_check(text, err) : 0;
}

// Take a value. Return 0, or -errno with a message.
static int set_value(struct replay *r, const struct tl_config_setting *value, struct tl_err *err)
{
	struct tl_replay_args *args = &r->args;

	if (strcmp(value->key, "files") == 0) {
		r->words[args->n_words++] = value->text;
		return tl_config_setting(r->config, "follow") != NULL
			       ? 0
			       : tl_replay_playlist_add(&r->session.files, value->text, err);
	}
	if (strcmp(value->key, "filter") == 0)
		return set_filter(args, value->text, err);
	const char *wrong = tl_replay_set_key(args, value->key, value->text);
	if (wrong == NULL && args->paces_differ)
		wrong = "--speed, --rate, --burst and --line-rate exclude each other";
	if (wrong == NULL && strcmp(value->key, "split") == 0 && args->split.filter != NULL)
		return tl_filter_check(args->split.filter, err);
	return wrong == NULL ? 0 : tl_fail(err, -EINVAL, "%s", wrong);
}

// Return the value that a text begins with: "--max-gap is ..."; else the last one.
static const struct tl_config_setting *find_value(const struct tl_config_replay *entry, const char *text)
{
	char sentence[64];

	name_keys(text, sentence, sizeof(sentence));
	for (uint32_t i = 0; i < entry->n_settings; i++)
		if (strncmp(sentence + 1, entry->settings[i].key, strcspn(sentence + 1, "\"")) == 0)
			return &entry->settings[i];
	return &entry->settings[entry->n_settings - 1];
}

int replays_read(const struct tl_config *config, uint32_t index, struct replay *r, struct tl_err *err)
{
	const struct tl_config_replay *entry = r->config = &config->replays[index];
	struct tl_err why;

	tl_replay_args_init(&r->args);
	r->args.words = r->words = calloc(entry->n_settings, sizeof(*r->words));
	if (r->words == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	r->args.devices[0] = config->ports[entry->port].device;
	r->args.devices[1] = entry->second_name != NULL ? config->ports[entry->second].device : NULL;
	r->session.args = r->session.results.args = &r->args;
	for (uint32_t i = 0; i < entry->n_settings; i++) {
		int rc = set_value(r, &entry->settings[i], &why);
		if (rc != 0)
			return fail_at(config, r, &entry->settings[i], rc, why.text, err);
	}
	const char *wrong = tl_replay_check(&r->args);
	if (wrong == NULL)
		wrong = tl_replay_check_timing(&r->args);
	if (wrong == NULL)
		wrong = tl_sessions_check(&r->args);
	if (wrong != NULL)
		return fail_at(config, r, find_value(entry, wrong), -EINVAL, wrong, err);
	int rc = tl_replay_playlist_finish(&r->session.files, r->args.merge, &why);
	return rc == 0 ? 0 : fail_at(config, r, find_value(entry, "--files"), rc, why.text, err);
}
