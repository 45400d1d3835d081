// SPDX-License-Identifier: BSD-3-Clause
// Show the results of tapline meter: text, JSON, page.

#include "meter_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_json.h>
#include <tl_units.h>

static const char *const colour_names[] = {
	[TL_METER_GREEN] = "green", [TL_METER_YELLOW] = "yellow", [TL_METER_RED] = "red"};

static json_t *number_or_null(uint64_t value, bool known)
{
	return known ? tl_json_number(value) : json_null();
}

// ---- JSON

static void put_colours(json_t *json, const struct tl_meter_setting *s)
{
	char key[32];

	for (int i = 0; i < TL_METER_COLOURS; i++) {
		snprintf(key, sizeof(key), "%s_pkts", colour_names[i]);
		json_object_set_new(json, key, tl_json_number(s->pkts[i]));
	}
	for (int i = 0; i < TL_METER_COLOURS; i++) {
		snprintf(key, sizeof(key), "%s_bytes", colour_names[i]);
		json_object_set_new(json, key, tl_json_number(s->bytes[i]));
	}
}

static const char *kind_of(const struct tl_meter_setting *s)
{
	static const char *const kinds[] = {
		[TL_METER_SRTCM] = "srtcm", [TL_METER_TRTCM] = "trtcm", [TL_METER_RFC4115] = "rfc4115"};

	return s->shape ? "shaper" : kinds[s->cfg.kind];
}

static void put_contract(json_t *json, const struct tl_meter_setting *s)
{
	bool peak = s->cfg.kind == TL_METER_TRTCM;

	json_object_set_new(json, "kind", json_string(kind_of(s)));
	json_object_set_new(json, "cir_bps", tl_json_number(s->cfg.cir));
	json_object_set_new(json, "cbs_bytes", tl_json_number(s->cfg.cbs));
	json_object_set_new(json, "ebs_bytes", number_or_null(s->cfg.ebs, !peak && !s->shape));
	json_object_set_new(json, "eir_bps", number_or_null(s->cfg.eir, s->cfg.kind == TL_METER_RFC4115));
	json_object_set_new(json, "pir_bps", number_or_null(s->cfg.pir, peak));
	json_object_set_new(json, "pbs_bytes", number_or_null(s->cfg.pbs, peak));
	json_object_set_new(json, "limit_bytes", number_or_null(s->limit_bytes, s->limit_bytes != UINT64_MAX));
}

static json_t *delay_json(const struct tl_meter_delays *delays)
{
	struct tl_hist_summary s;

	if (delays == NULL || delays->ns.count == 0)
		return json_null();
	tl_meter_delays_summarize(delays, &s);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o}", "min", tl_json_number(s.min_ns), "p50",
		tl_json_number(s.p50_ns), "p90", tl_json_number(s.p90_ns), "p99", tl_json_number(s.p99_ns), "p999",
		tl_json_number(s.p999_ns), "max", tl_json_number(s.max_ns), "mean", s.mean_ns, "count",
		tl_json_number(s.count));
}

static void put_queue(json_t *json, const struct tl_meter_setting *s)
{
	json_object_set_new(json, "queue_max_pkts", number_or_null(s->queue_max_pkts, s->shape));
	json_object_set_new(json, "queue_max_bytes", number_or_null(s->queue_max_bytes, s->shape));
	json_object_set_new(json, "last_departure_ns", number_or_null(s->last_departure_ns, s->last_departure_ns != 0));
	json_object_set_new(json, "delay_ns", delay_json(s->delays));
}

static json_t *series_json(const struct tl_meter_setting *s, size_t bins)
{
	json_t *colour[TL_METER_COLOURS], *tokens = json_array(), *level = json_array(), *queue = json_array(),
					  *delay = json_array();

	for (int c = 0; c < TL_METER_COLOURS; c++)
		colour[c] = json_array();
	for (size_t i = 0; i < bins; i++) {
		const struct tl_meter_bin *b = &s->bin[i];
		for (int c = 0; c < TL_METER_COLOURS; c++)
			json_array_append_new(colour[c], tl_json_number(b->bytes[c]));
		json_array_append_new(tokens, number_or_null(b->tokens_min_bytes, b->pkts != 0));
		json_array_append_new(level, number_or_null(b->level_max_bytes, b->pkts != 0));
		json_array_append_new(queue, number_or_null(b->queue_max_bytes, s->shape && b->pkts != 0));
		json_array_append_new(delay, number_or_null(b->delay_max_ns, s->shape && b->pkts != 0));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "green_bytes", colour[TL_METER_GREEN], "yellow_bytes",
		colour[TL_METER_YELLOW], "red_bytes", colour[TL_METER_RED], "tokens_min_bytes", tokens,
		"level_max_bytes", level, "queue_max_bytes", queue, "delay_max_ns", delay);
}

static size_t bins_of(const struct tl_meter_results *r)
{
	return r->pkts != 0 ? (size_t)((r->last_ns - r->first_ns) / r->bin_ns) + 1 : 0;
}

static json_t *setting_json(const struct tl_meter_results *r, const struct tl_meter_setting *s)
{
	json_t *json = json_object();

	put_contract(json, s);
	put_colours(json, s);
	json_object_set_new(json, "burst_needed_bytes", tl_json_number(tl_envelope_burst(&s->envelope)));
	json_object_set_new(json, "tokens_min_bytes", tl_json_number(s->tokens_min_bytes));
	put_queue(json, s);
	json_object_set_new(json, "series", series_json(s, bins_of(r)));
	return json;
}

static json_t *port_json(const struct tl_meter_results *r)
{
	const struct tl_meter_live *live = &r->live;

	if (live->device == NULL)
		return json_null();
	return json_pack("{s:s, s:s, s:o}", "device", live->device, "timestamps", live->timestamps, "drop_pkts",
		number_or_null(live->drop_pkts, !live->drops_unknown));
}

json_t *tl_meter_json(const struct tl_meter_results *results)
{
	const struct tl_meter_results *r = results;
	json_t *json = json_object(), *settings = json_array();

	json_object_set_new(json, "pkts", tl_json_number(r->pkts));
	json_object_set_new(json, "bytes", tl_json_number(r->bytes));
	put_colours(json, &r->setting[0]);
	json_object_set_new(json, "aware", json_boolean(r->args->aware));
	json_object_set_new(json, "overhead_bytes", tl_json_number(r->args->overhead_bytes));
	json_object_set_new(json, "first_ns", number_or_null(r->first_ns, r->pkts != 0));
	json_object_set_new(json, "last_ns", number_or_null(r->last_ns, r->pkts != 0));
	json_object_set_new(json, "duration_ns", tl_json_number(r->last_ns - r->first_ns));
	json_object_set_new(json, "backward_pkts", tl_json_number(r->backward_pkts));
	json_object_set_new(json, "damages", tl_json_number(r->damages));
	json_object_set_new(json, "bin_ns", tl_json_number(r->bin_ns));
	json_object_set_new(json, "port", port_json(r));
	for (size_t i = 0; i < r->n_settings; i++)
		json_array_append_new(settings, setting_json(r, &r->setting[i]));
	json_object_set_new(json, "settings", settings);
	return json;
}

// ---- text

static void print_contract(const struct tl_meter_setting *s, FILE *out)
{
	fprintf(out, "\n%s: cir %" PRIu64 " bit/s, cbs %" PRIu64 " bytes", kind_of(s), s->cfg.cir, s->cfg.cbs);
	if (s->cfg.kind == TL_METER_TRTCM)
		fprintf(out, ", pir %" PRIu64 " bit/s, pbs %" PRIu64 " bytes", s->cfg.pir, s->cfg.pbs);
	if (s->cfg.kind == TL_METER_RFC4115)
		fprintf(out, ", eir %" PRIu64 " bit/s", s->cfg.eir);
	if (s->cfg.kind != TL_METER_TRTCM && !s->shape)
		fprintf(out, ", ebs %" PRIu64 " bytes", s->cfg.ebs);
	if (s->limit_bytes != UINT64_MAX)
		fprintf(out, ", limit %" PRIu64 " bytes", s->limit_bytes);
	fputc('\n', out);
}

static void print_delay(const struct tl_meter_setting *s, FILE *out)
{
	struct tl_hist_summary d;
	char p50[32], p99[32], max[32];

	if (!s->shape)
		return;
	tl_meter_delays_summarize(s->delays, &d);
	fprintf(out, "  delay: p50 %s, p99 %s, max %s; queue: at most %" PRIu64 " pkts, %" PRIu64 " bytes\n",
		tl_format_ns(d.p50_ns, p50, sizeof(p50)), tl_format_ns(d.p99_ns, p99, sizeof(p99)),
		tl_format_ns(d.max_ns, max, sizeof(max)), s->queue_max_pkts, s->queue_max_bytes);
}

static void print_setting(const struct tl_meter_results *r, const struct tl_meter_setting *s, FILE *out)
{
	static const char *const policed[] = {"", "", ""}, *const shaped[] = {"  left at once", "  waited", "  lost"};

	print_contract(s, out);
	for (int i = 0; i < TL_METER_COLOURS; i++)
		fprintf(out, "  %-7s %12" PRIu64 " pkts %16" PRIu64 " bytes %8.3f %%%s\n", colour_names[i], s->pkts[i],
			s->bytes[i], 100.0 * (double)s->bytes[i] / (double)tl_max_u64(r->bytes, 1),
			(s->shape ? shaped : policed)[i]);
	print_delay(s, out);
	fprintf(out, "  cbs that holds all at cir: %" PRIu64 "; fewest tokens left: %" PRIu64 "\n",
		tl_envelope_burst(&s->envelope), s->tokens_min_bytes);
}

void tl_meter_print(const struct tl_meter_results *results, FILE *out)
{
	const struct tl_meter_results *r = results;
	uint64_t ns = r->last_ns - r->first_ns;
	char time[32];

	fprintf(out, "%" PRIu64 " frames, %" PRIu64 " bytes in %s", r->pkts, r->bytes,
		tl_format_ns(ns, time, sizeof(time)));
	if (ns != 0)
		fprintf(out, ": %.6g bit/s", (double)r->bytes * 8e9 / (double)ns);
	if (r->backward_pkts != 0)
		fprintf(out, "; %" PRIu64 " earlier than a frame before them", r->backward_pkts);
	fputc('\n', out);
	if (r->live.device != NULL)
		fprintf(out, "received by %s, stamped by %s, %" PRIu64 " dropped before they could be metered%s\n",
			r->live.device, r->live.timestamps, r->live.drop_pkts,
			r->live.drops_unknown ? " (the port does not count all)" : "");
	for (size_t i = 0; i < r->n_settings; i++)
		print_setting(r, &r->setting[i], out);
	fputc('\n', out);
}

// ---- page

int tl_meter_save_page(const json_t *json, const char *path, struct tl_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0640);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (out == NULL) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return tl_fail(err, rc, "%s: cannot be written: %s", path, strerror(-rc));
	}
	int rc = tl_json_page((const char *)tl_meter_page, tl_meter_page_bytes, json, JSON_REAL_PRECISION(12), out);
	if (fclose(out) != 0 && rc == 0)
		rc = -errno;
	return rc == 0 ? 0 : tl_fail(err, rc, "%s: cannot be written: %s", path, strerror(-rc));
}
