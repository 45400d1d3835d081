// SPDX-License-Identifier: BSD-3-Clause
// Figures of a run from samples of its counters.

#include "bench_qualify.h"

#include <string.h>

#include <tl_base.h>

// ---- samples

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static uint64_t dropped(const json_t *capture)
{
	return number(capture, "drop_ring_pkts") + number(capture, "drop_disk_pkts");
}

// Add a port as its slowest recording handles it, if it has one.
static void add_port(const json_t *port, const json_t *captures, struct tl_qualify_sample *out)
{
	const char *name = json_string_value(json_object_get(port, "name"));
	uint64_t handled = UINT64_MAX;
	const json_t *one;
	size_t i;

	json_array_foreach (captures, i, one)
		if (strcmp(json_string_value(json_object_get(one, "port")), name) == 0)
			handled = tl_min_u64(handled, number(one, "offered_pkts") - dropped(one));
	if (handled == UINT64_MAX)
		return;
	out->polled_pkts += number(port, "rx_pkts");
	out->handled_pkts += handled;
}

struct tl_qualify_sample tl_qualify_sample_of(const json_t *status, uint64_t now_ns)
{
	const json_t *captures = json_object_get(status, "captures"), *one;
	struct tl_qualify_sample out = {.ns = now_ns};
	size_t i;

	json_array_foreach (json_object_get(status, "ports"), i, one)
		add_port(one, captures, &out);
	json_array_foreach (captures, i, one) {
		uint64_t offered = number(one, "offered_pkts");
		out.offered_pkts += offered;
		out.kept_pkts +=
			offered - number(one, "filtered_pkts") - number(one, "cut_pkts") - number(one, "policed_pkts");
		out.dropped_pkts += dropped(one);
		out.written_bytes += number(one, "written_bytes");
	}
	return out;
}

// ---- figures

static double rate(
	uint64_t from, uint64_t to, const struct tl_qualify_sample *begin, const struct tl_qualify_sample *end)
{
	return end->ns <= begin->ns ? 0 : (double)(to - from) * 1e9 / (double)(end->ns - begin->ns);
}

static double frame_rate(
	enum tl_qualify_stage stage, const struct tl_qualify_sample *begin, const struct tl_qualify_sample *end)
{
	return stage == TL_QUALIFY_SOURCE ? rate(begin->polled_pkts, end->polled_pkts, begin, end)
					  : rate(begin->handled_pkts, end->handled_pkts, begin, end);
}

// Return the part of the run that is over, by time and, if the cache of the drive is known, by bytes.
static double progress(
	const struct tl_qualify_watch *watch, const struct tl_qualify_cfg *cfg, enum tl_qualify_stage stage)
{
	double by_time = (double)(watch->last.ns - watch->at[0].ns) / (cfg->seconds * 1e9);

	if (stage < TL_QUALIFY_DISK || cfg->cache_bytes == 0)
		return by_time;
	double by_bytes = (double)watch->last.written_bytes / (2 * (double)cfg->cache_bytes);
	return by_bytes < by_time ? by_bytes : by_time;
}

bool tl_qualify_take(struct tl_qualify_watch *watch, const struct tl_qualify_cfg *cfg, enum tl_qualify_stage stage,
	const struct tl_qualify_sample *now)
{
	if (watch->n == 0)
		watch->moved_ns = now->ns;
	watch->stall_ns = tl_max_u64(watch->stall_ns, now->ns - watch->moved_ns);
	if (now->written_bytes != watch->last.written_bytes)
		watch->moved_ns = now->ns;
	watch->last = *now;
	if (watch->n > 0 && progress(watch, cfg, stage) * TL_QUALIFY_QUARTERS < watch->n)
		return false;
	watch->at[watch->n++] = *now;
	return true;
}

bool tl_qualify_fill(struct tl_qualify_row *row, const struct tl_qualify_watch *watch, uint64_t buffer_bytes)
{
	const struct tl_qualify_sample *at = watch->at, *last = &watch->last;
	double *quarters = row->quarter_pps;
	bool writes = row->stage >= TL_QUALIFY_DISK; // a recording to null: has some bytes, too

	if (watch->n < 2)
		return false;
	for (unsigned i = 0; i < TL_QUALIFY_QUARTERS; i++)
		quarters[i] = i + 1 < watch->n ? frame_rate(row->stage, &at[i], &at[i + 1]) : TL_QUALIFY_UNKNOWN;
	row->seconds = (double)(last->ns - at[0].ns) / 1e9;
	row->pps = frame_rate(row->stage, &at[1], last);
	row->slowdown = quarters[3] >= 0 && quarters[1] > 0 ? quarters[3] / quarters[1] : TL_QUALIFY_UNKNOWN;
	row->kept = last->offered_pkts > 0 ? (double)last->kept_pkts / (double)last->offered_pkts : 1;
	row->dropped_pkts = last->dropped_pkts;
	row->written_bytes = last->written_bytes;
	row->written_bps = writes ? rate(at[1].written_bytes, last->written_bytes, &at[1], last) : 0;
	row->stall_ns = writes ? watch->stall_ns : 0;
	row->buffer_ns = row->written_bps > 0 ? (uint64_t)((double)buffer_bytes * 1e9 / row->written_bps) : 0;
	return true;
}
