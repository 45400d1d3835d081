// SPDX-License-Identifier: BSD-3-Clause
// The configuration of each stage: ports on a source in memory, recordings with the components of the stage.

#include "bench_qualify.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include <tl_base.h>
#include <tl_config.h>
#include <tl_log.h>

#define FILES_OF_RING 4 // and the next one, which exists before the oldest is dropped

static const char *const port_keys[] = {"name", "rx_queues", "lcores", "idle"};
static const char *const eal_keys[] = {"huge", "memory_mb", "main_lcore"};

// Keys of a recording, by the stage from which on they apply.
static const struct {
	const char *key;
	enum tl_qualify_stage from;
} capture_keys[] = {
	{"port", TL_QUALIFY_SOURCE},
	{"buffer_bytes", TL_QUALIFY_RINGS},
	{"filter", TL_QUALIFY_PARSER},
	{"inner", TL_QUALIFY_PARSER},
	{"snaplen", TL_QUALIFY_PARSER},
	{"cutoff_bytes", TL_QUALIFY_PARSER},
	{"cutoff_flows", TL_QUALIFY_PARSER},
	{"classes", TL_QUALIFY_PARSER},
	{"io", TL_QUALIFY_DISK},
	{"fsync", TL_QUALIFY_DISK},
	{"digest", TL_QUALIFY_WHOLE},
	{"compress", TL_QUALIFY_WHOLE},
	{"compress_level", TL_QUALIFY_WHOLE},
	{"compress_threads", TL_QUALIFY_WHOLE},
	{"order", TL_QUALIFY_WHOLE},
	{"order_window_ms", TL_QUALIFY_WHOLE},
	{"format", TL_QUALIFY_WHOLE},
};

// Keys that change what is recorded, or where, and that no stage has.
static const char *const port_ignored[] = {"roles", "rss", "rss_queues", "flow_rules", "isolate", "timestamps"};
static const char *const capture_ignored[] = {"marks", "share", "tier", "weight", "floor", "mode", "trigger"};

static void warn_of(const json_t *config, const char *section, const char *const keys[], size_t n)
{
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(config, section), i, one)
		for (size_t k = 0; k < n; k++)
			if (json_object_get(one, keys[k]) != NULL)
				tl_warn("$.%s[%zu].%s has no effect here: the verdict is of a configuration without it",
					section, i, keys[k]);
}

void tl_qualify_warn(const json_t *config)
{
	warn_of(config, "ports", port_ignored, TL_ARRAY_LEN(port_ignored));
	warn_of(config, "capture", capture_ignored, TL_ARRAY_LEN(capture_ignored));
}

static void copy_key(const json_t *from, const char *key, json_t *to)
{
	json_t *value = json_object_get(from, key);

	if (value != NULL)
		json_object_set(to, key, value);
}

static json_t *port_config(const json_t *port, size_t i, const char *frames)
{
	char device[PATH_MAX];
	size_t queues = (size_t)tl_max_u64((uint64_t)json_integer_value(json_object_get(port, "rx_queues")), 1);
	int at = snprintf(device, sizeof(device), "vdev:net_pcap%zu", i);

	for (size_t q = 0; q < queues && at < (int)sizeof(device); q++)
		at += snprintf(device + at, sizeof(device) - (size_t)at, ",rx_pcap=%s", frames);
	if (at < (int)sizeof(device))
		snprintf(device + at, sizeof(device) - (size_t)at, ",infinite_rx=1");
	json_t *out = json_pack("{s:s}", "device", device);
	for (size_t k = 0; k < TL_ARRAY_LEN(port_keys); k++)
		copy_key(port, port_keys[k], out);
	return out;
}

// Write to a ring of files, so that a run of any length occupies ring_bytes at most.
static void put_ring(json_t *out, const char *dir, uint64_t ring_bytes)
{
	uint64_t file_bytes = ring_bytes / (FILES_OF_RING + 1);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/recording.pcapng", dir);
	json_object_set_new(out, "path", json_string(path));
	json_object_set_new(out, "rotate_bytes", json_integer((json_int_t)file_bytes));
	json_object_set_new(out, "keep_bytes", json_integer((json_int_t)(FILES_OF_RING * file_bytes)));
}

// Write to a device that completes each write at once, and keeps nothing. Two recordings may not have one path, so the
// i-th has i slashes more.
static void put_dummy_disk(json_t *out, size_t i)
{
	char path[TL_CONFIG_CAPTURES_MAX + 16] = "/dev/";

	memset(path + strlen(path), '/', i);
	strcat(path, "null");
	json_object_set_new(out, "path", json_string(path));
}

// Check whether the recording has an index as configured: by default one of several files has.
static bool has_index(const json_t *capture)
{
	const json_t *index = json_object_get(capture, "index");

	return index != NULL ? json_is_true(index)
			     : json_object_get(capture, "rotate_bytes") != NULL ||
				       json_object_get(capture, "rotate_seconds") != NULL ||
				       json_object_get(capture, "rotate_packets") != NULL;
}

// The configuration of the i-th recording; dir: of its files, NULL: discard them.
static json_t *capture_config(
	const json_t *capture, size_t i, enum tl_qualify_stage stage, const char *dir, uint64_t ring_bytes)
{
	json_t *out = json_pack("{s:s}", "path", "null:");

	for (size_t k = 0; k < TL_ARRAY_LEN(capture_keys); k++)
		if (stage >= capture_keys[k].from)
			copy_key(capture, capture_keys[k].key, out);
	if (stage == TL_QUALIFY_SOURCE)
		json_object_set_new(out, "direction", json_string("tx")); // the source sends nothing: record none
	if (stage == TL_QUALIFY_WRITER && dir != NULL)
		put_dummy_disk(out, i);
	if (stage < TL_QUALIFY_DISK || dir == NULL)
		return out;
	put_ring(out, dir, ring_bytes);
	json_object_set_new(out, "index", json_boolean(stage >= TL_QUALIFY_INDEX && has_index(capture)));
	return out;
}

json_t *tl_qualify_config(const json_t *config, enum tl_qualify_stage stage, const char *frames,
	const char *const dirs[], uint64_t ring_bytes)
{
	json_t *ports = json_array(), *captures = json_array(), *eal = json_object();
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(config, "ports"), i, one)
		json_array_append_new(ports, port_config(one, i, frames));
	json_array_foreach (json_object_get(config, "capture"), i, one)
		json_array_append_new(captures, capture_config(one, i, stage, dirs[i], ring_bytes));
	for (size_t k = 0; k < TL_ARRAY_LEN(eal_keys); k++)
		copy_key(json_object_get(config, "eal"), eal_keys[k], eal);
	return json_pack("{s:o, s:o, s:o}", "eal", eal, "ports", ports, "capture", captures);
}
