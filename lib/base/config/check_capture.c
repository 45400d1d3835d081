// SPDX-License-Identifier: BSD-3-Clause
// Checks across the keys of a recording: contradictions, and settings that would be silently ignored.

#include "config_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

// Return the key that causes rotation, or NULL.
static const char *rotation_key(const struct tl_config_capture *capture)
{
	if (capture->rotate_bytes != 0)
		return "rotate_bytes";
	if (capture->rotate_seconds != 0)
		return "rotate_seconds";
	return capture->rotate_packets != 0 ? "rotate_packets" : NULL;
}

// Return the key that causes removal of old files, or NULL.
static const char *limit_key(const struct tl_config_capture *capture)
{
	if (capture->keep_files != 0)
		return "keep_files";
	if (capture->keep_bytes != 0)
		return "keep_bytes";
	if (capture->min_free_bytes != 0)
		return "min_free_bytes";
	return capture->on_full == TL_WRITER_FULL_RECYCLE ? "on_full" : NULL;
}

static int check_store(struct tl_config_reader *r, const struct tl_config_capture *capture)
{
	if (capture->trigger.store != TL_CONFIG_STORE_FILES)
		return 0;
	tl_config_enter(r, "trigger");
	tl_config_enter(r, capture->trigger.pre_bytes != 0 ? "pre_bytes" : "store");
	if (capture->trigger.pre_bytes != 0)
		return tl_config_refuse(r, "is for \"store\": \"memory\"; the limits of a ring are its \"keep_*\"");
	if (rotation_key(capture) == NULL || limit_key(capture) == NULL)
		return tl_config_refuse(r,
			"the files that a trigger saves are those of a ring; give a \"rotate_*\", and a \"keep_*\", "
			"\"min_free_bytes\" or \"on_full\": \"recycle\"");
	tl_config_leave(r);
	tl_config_leave(r);
	return 0;
}

// Check keys that are valid only with, or only without, triggers.
static int check_mode(struct tl_config_reader *r, const struct tl_config_capture *capture, const json_t *value)
{
	bool waits = capture->mode == TL_CONFIG_MODE_TRIGGER;

	tl_config_enter(r, "mode");
	if (waits && strcmp(capture->path, "-") == 0)
		return tl_config_refuse(r, "stdout (\"path\": \"-\") cannot be restarted at each trigger");
	if (waits && strcmp(capture->path, "null:") == 0)
		return tl_config_refuse(r, "\"null:\" has no file that a trigger could begin");
	if (!waits && json_object_get(value, "trigger") != NULL)
		return tl_config_refuse(r, "must be \"trigger\" if a trigger is configured");
	tl_config_leave(r);
	return check_store(r, capture);
}

// Refuse a key for a feature that is not enabled.
static int check_idle_key(struct tl_config_reader *r, const json_t *value, const char *key, bool used, const char *only)
{
	if (used || json_object_get(value, key) == NULL)
		return 0;
	return tl_config_refuse_key(r, key, "applies only to a recording with %s", only);
}

static bool is_pcapng(const struct tl_config_capture *capture)
{
	return capture->format == TL_CONFIG_PCAPNG && capture->compress == TL_CONFIG_COMPRESS_NONE;
}

// Check the form: slabs from lcores can be held for triggers, and indexed; converted ones cannot.
static int check_form(struct tl_config_reader *r, const struct tl_config_capture *capture, const json_t *value)
{
	bool sorted = capture->order == TL_CONFIG_ORDER_TIME, packed = capture->compress == TL_CONFIG_COMPRESS_ZSTD;

	int rc = check_idle_key(r, value, "order_window_ms", sorted, "\"order\": \"time\"");
	if (rc == 0)
		rc = check_idle_key(r, value, "compress_level", packed, "\"compress\": \"zstd\"");
	if (rc == 0)
		rc = check_idle_key(r, value, "compress_threads", packed, "\"compress\": \"zstd\"");
	if (rc != 0)
		return rc;
	if (packed && capture->format != TL_CONFIG_PCAPNG)
		return tl_config_refuse_key(r, "compress", "only pcapng is compressed");
	if (capture->mode == TL_CONFIG_MODE_TRIGGER && (sorted || !is_pcapng(capture)))
		return tl_config_refuse_key(r, "mode",
			"a recording that waits for triggers is pcapng, not compressed, in the order of arrival");
	if (json_object_get(value, "index") != NULL && capture->index && !is_pcapng(capture))
		return tl_config_refuse_key(r, "index", "only pcapng, not compressed, is indexed while it is recorded");
	bool is_file = strcmp(capture->path, "-") != 0 && strcmp(capture->path, "null:") != 0;
	if (capture->digest != TL_DIGEST_NONE && (!is_pcapng(capture) || !is_file))
		return tl_config_refuse_key(r, "digest", "only files of pcapng, not compressed, have digests");
	return 0;
}

static int check_files(struct tl_config_reader *r, struct tl_config_capture *capture, const json_t *value)
{
	const char *rotation = rotation_key(capture), *limit = limit_key(capture);

	// A single file is usually read whole; many files are searched.
	if (json_object_get(value, "index") == NULL)
		capture->index = is_pcapng(capture) && (rotation != NULL || capture->mode == TL_CONFIG_MODE_TRIGGER);
	if (capture->index && json_object_get(value, "index") != NULL && strcmp(capture->path, "-") == 0)
		return tl_config_refuse_key(r, "index", "stdout (\"path\": \"-\") has no file beside it");
	if (rotation != NULL && strcmp(capture->path, "-") == 0)
		return tl_config_refuse_key(r, rotation, "stdout (\"path\": \"-\") cannot be rotated");
	if (rotation != NULL && strcmp(capture->path, "null:") == 0)
		return tl_config_refuse_key(r, rotation, "\"null:\" is not a file and cannot be rotated");
	if (rotation == NULL && limit != NULL && capture->mode != TL_CONFIG_MODE_TRIGGER)
		return tl_config_refuse_key(r, limit,
			"only a recording with rotation has old files to remove; give \"rotate_bytes\", "
			"\"rotate_seconds\" or \"rotate_packets\"");
	if (capture->keep_bytes != 0 && capture->keep_bytes / 2 < capture->rotate_bytes)
		return tl_config_refuse_key(r, "keep_bytes", "is less than two files of \"rotate_bytes\"");
	return 0;
}

// Let the filter speak of the innermost packets, if all does.
static int check_inner(struct tl_config_reader *r, struct tl_config_capture *capture, const json_t *value)
{
	bool used = capture->filter != NULL || capture->cutoff_bytes != 0 || capture->index || capture->n_classes != 0;
	char *text;

	int rc = check_idle_key(r, value, "inner", used, "a \"filter\", a \"cutoff_bytes\", \"classes\" or an index");
	if (rc != 0 || !capture->inner || capture->filter == NULL)
		return rc;
	if (asprintf(&text, "inner(%s)", capture->filter) < 0)
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	free(capture->filter);
	capture->filter = text;
	return 0;
}

int tl_config_check_capture(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_capture *capture = section;
	int rc = check_files(r, capture, value);

	if (rc == 0)
		rc = check_idle_key(r, value, "cutoff_flows", capture->cutoff_bytes != 0, "\"cutoff_bytes\"");
	if (rc == 0)
		rc = check_inner(r, capture, value);
	if (rc == 0)
		rc = tl_config_check_marked(r, capture, value);
	if (rc == 0)
		rc = tl_config_check_classes(r, capture);
	if (rc == 0)
		rc = check_form(r, capture, value);
	if (rc == 0)
		rc = tl_config_check_recorded(r, capture, value);
	return rc != 0 ? rc : check_mode(r, capture, value);
}
