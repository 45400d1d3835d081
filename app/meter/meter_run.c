// SPDX-License-Identifier: BSD-3-Clause
// Read the files, or receive from the port, and offer each frame to each setting.

#include "meter_run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <tl_extract_source.h>
#include <tl_files.h>
#include <tl_json.h>
#include <tl_link.h>
#include <tl_log.h>
#include <tl_progress.h>

#include "app.h"
#include "manifest.h"
#include "results.h"

#define BIN_NS_MIN TL_NS_PER_US
#define DAMAGES_SHOWN 10
#define PROGRESS_FRAMES 4096 // frames between two looks at the clock

struct run {
	struct tl_meter_results results;
	FILE *csv; // NULL: none
	json_t *manifest;
	struct tl_progress progress; // over all files
};

// ---- settings: one of each combination of the values

// Take a value of an option: *index counts combinations, of which the option's values are the lowest digit.
static uint64_t pick(const struct tl_meter_values *values, size_t *index, uint64_t if_none)
{
	if (values->n == 0)
		return if_none;
	uint64_t value = values->value[*index % values->n];
	*index /= values->n;
	return value;
}

static size_t count_settings(const struct tl_meter_args *args)
{
	const struct tl_meter_values *const values[] = {
		&args->cir, &args->cbs, &args->ebs, &args->eir, &args->pir, &args->pbs, &args->limit};
	size_t n = 1;

	for (size_t i = 0; i < TL_ARRAY_LEN(values); i++)
		n *= values[i]->n != 0 ? values[i]->n : 1; // 16^7 at most
	return n;
}

static int make_settings(struct tl_meter_results *r, struct tl_err *err)
{
	const struct tl_meter_args *args = r->args;
	size_t n = count_settings(args);

	if (n > TL_METER_SETTINGS_MAX)
		return tl_fail(err, -EINVAL,
			"%zu combinations of values: more than %d; give fewer values, or call again", n,
			TL_METER_SETTINGS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct tl_meter_setting *s = &r->setting[r->n_settings];
		size_t index = i;
		*s = (struct tl_meter_setting){.shape = args->shape};
		s->cfg.kind = args->pir.n != 0 ? TL_METER_TRTCM : args->eir.n != 0 ? TL_METER_RFC4115 : TL_METER_SRTCM;
		s->cfg.overhead_bytes = (uint32_t)args->overhead_bytes;
		s->limit_bytes = pick(&args->limit, &index, UINT64_MAX);
		s->cfg.pbs = pick(&args->pbs, &index, 0);
		s->cfg.ebs = pick(&args->ebs, &index, 0);
		s->cfg.cbs = pick(&args->cbs, &index, 0);
		s->cfg.pir = pick(&args->pir, &index, 0);
		s->cfg.eir = pick(&args->eir, &index, 0);
		s->cfg.cir = pick(&args->cir, &index, 0);
		r->n_settings++;
		int rc = tl_meter_setting_init(s, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

// ---- frames

static size_t bin_of(struct tl_meter_results *r, uint64_t now_ns)
{
	while ((now_ns - r->first_ns) / r->bin_ns >= TL_METER_BINS) {
		r->bin_ns *= 2;
		for (size_t i = 0; i < r->n_settings; i++)
			tl_meter_setting_fold(&r->setting[i]);
	}
	return (size_t)((now_ns - r->first_ns) / r->bin_ns);
}

static void write_row(const struct run *run, size_t setting, uint64_t now_ns, uint32_t bytes,
	enum tl_meter_colour colour, uint64_t departure_ns)
{
	static const char *const names[] = {
		[TL_METER_GREEN] = "green", [TL_METER_YELLOW] = "yellow", [TL_METER_RED] = "red"};

	fprintf(run->csv, "%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%zu,%s,", run->results.pkts, now_ns, bytes, setting + 1,
		names[colour]);
	if (departure_ns != TL_SHAPER_NEVER)
		fprintf(run->csv, "%" PRIu64, departure_ns);
	fputc('\n', run->csv);
}

// Meter a frame of which len bytes are there.
static int take(
	struct run *run, uint64_t ts_ns, uint32_t wire_bytes, enum tl_link link, const uint8_t *frame, uint32_t len)
{
	struct tl_meter_results *r = &run->results;
	uint32_t counted_bytes = wire_bytes + (uint32_t)r->args->overhead_bytes;

	if (r->pkts == 0)
		r->first_ns = r->last_ns = ts_ns;
	r->backward_pkts += ts_ns < r->last_ns;
	r->last_ns = tl_max_u64(r->last_ns, ts_ns);
	r->pkts++;
	r->bytes += counted_bytes;
	size_t bin = bin_of(r, r->last_ns);
	int dscp = r->args->aware ? tl_link_dscp(link, frame, len) : -1;
	for (size_t i = 0; i < r->n_settings; i++) {
		enum tl_meter_colour colour = tl_meter_colour_of_dscp(dscp);
		uint64_t departure_ns;
		int rc = tl_meter_setting_offer(&r->setting[i], r->last_ns, wire_bytes, bin, &colour, &departure_ns);
		if (rc != 0)
			return rc;
		if (run->csv != NULL)
			write_row(run, i, r->last_ns, counted_bytes, colour, departure_ns);
	}
	return 0;
}

static bool is_plausible(const struct tl_meter_results *r, uint32_t wire_bytes)
{
	return wire_bytes <= TL_METER_FRAME_MAX - r->args->overhead_bytes;
}

static int fail_take(int rc, struct tl_err *err)
{
	return tl_fail(err, rc, "no memory for the queue of the shaper; give --limit");
}

static void note_damage(struct run *run, const struct tl_err *err)
{
	if (run->results.damages++ < DAMAGES_SHOWN)
		tl_error("%s", err->text);
}

// Read the frames up to the end of the file or a damaged record. Return 0, -EINVAL: damage, or -ENOMEM, with a message.
static int read_frames(struct run *run, struct tl_extract_source *source, struct tl_err *err)
{
	struct tl_pcap_frame frame;
	int rc;

	while ((rc = tl_extract_source_next(source, &frame, err)) == 1) {
		if (run->results.pkts % PROGRESS_FRAMES == 0)
			tl_progress_log(&run->progress, source->path, tl_extract_source_offset(source),
				tl_extract_source_bytes(source));
		if (!is_plausible(&run->results, frame.wire_bytes)) {
			tl_fail(err, 0, "%s: a frame of %" PRIu32 " bytes: damaged, skipped", source->path,
				frame.wire_bytes);
			note_damage(run, err);
			continue;
		}
		rc = take(run, frame.ts_ns, frame.wire_bytes, tl_link_of(frame.linktype), frame.data, frame.cap_bytes);
		if (rc != 0)
			return fail_take(rc, err);
	}
	return rc == 0 ? 0 : -EINVAL;
}

// Read a file as far as it can be read. Return 0, or -ENOMEM with a message.
static int read_file(struct run *run, const char *path, struct tl_err *err)
{
	struct tl_extract_source source;
	int rc = tl_extract_source_open(&source, path, err);

	if (rc != 0) { // it has gone since it was checked
		note_damage(run, err);
		return 0;
	}
	while ((rc = read_frames(run, &source, err)) == -EINVAL) {
		note_damage(run, err);
		if (!tl_extract_source_skip(&source))
			break;
	}
	tl_extract_source_close(&source);
	return rc == -ENOMEM ? rc : 0;
}

static int read_files(struct run *run, struct tl_err *err)
{
	const struct tl_meter_args *args = run->results.args;
	int rc = 0;

	for (size_t i = 0; i < args->n_paths && rc == 0; i++)
		rc = read_file(run, args->paths[i], err);
	if (rc == 0 && run->results.damages > DAMAGES_SHOWN)
		tl_error("and %" PRIu64 " more damaged places", run->results.damages - DAMAGES_SHOWN);
	return rc;
}

// Check that all files are captures, before any is read.
static int check_files(const struct tl_meter_args *args, struct tl_err *err)
{
	for (size_t i = 0; i < args->n_paths; i++) {
		struct tl_extract_source source;
		int rc = tl_extract_source_open(&source, args->paths[i], err);
		if (rc != 0)
			return rc;
		tl_extract_source_close(&source);
	}
	return 0;
}

// ---- port

static int take_live(void *ctx, uint64_t ts_ns, uint32_t wire_bytes, const uint8_t *frame, uint32_t len)
{
	return take(ctx, ts_ns, wire_bytes, TL_LINK_ETHERNET, frame, len);
}

static void warn_of_loss(struct run *run)
{
	const struct tl_meter_live *live = &run->results.live;

	if (live->drop_pkts == 0)
		return;
	run->results.damages++;
	tl_error("%s dropped %" PRIu64 " frames before they could be metered: the figures lack them", live->device,
		live->drop_pkts);
}

// Meter until the end. A port that fails ends it: there are results up to there. Return 0, or -errno with a message.
static int receive_frames(struct run *run, struct tl_err *err)
{
	int rc = tl_meter_live_run(&run->results.live, err);

	if (rc == -ENOMEM && run->results.live.timestamps != NULL)
		return fail_take(rc, err);
	if (rc != 0 && run->results.live.timestamps != NULL) {
		note_damage(run, err);
		rc = 0;
	}
	warn_of_loss(run);
	return rc;
}

// ---- results

static int spare_input(const struct tl_meter_args *args, const char *input, struct tl_err *err)
{
	const char *const outputs[] = {args->csv, args->html};

	for (size_t i = 0; i < TL_ARRAY_LEN(outputs) && input != NULL; i++)
		if (outputs[i] != NULL && tl_is_same_target(outputs[i], input))
			return tl_fail(err, -EINVAL, "%s: is an input file, and cannot be written; name another file",
				outputs[i]);
	return 0;
}

// Check that the outputs are writable and not inputs, before an input is overwritten.
static int check_outputs(const struct run *run, struct tl_err *err)
{
	const struct tl_meter_args *args = run->results.args;
	const struct tl_latency_files files = {.csv = args->csv, .html = args->html};
	int rc = spare_input(args, tl_meter_live_file(&run->results.live), err);

	for (size_t i = 0; i < args->n_paths && rc == 0; i++)
		rc = spare_input(args, args->paths[i], err);
	return rc == 0 ? tl_latency_files_check(&files, err) : rc;
}

static int open_csv(struct run *run, struct tl_err *err)
{
	const char *path = run->results.args->csv;

	if (path == NULL)
		return 0;
	run->csv = fopen(path, "we");
	if (run->csv == NULL)
		return tl_fail(err, -errno, "%s: cannot be written: %s", path, strerror(errno));
	fputs("frame,time_ns,bytes,setting,colour,departure_ns\n", run->csv);
	return 0;
}

static int close_csv(struct run *run, struct tl_err *err)
{
	const struct tl_latency_files beside = {.csv = run->results.args->csv};
	FILE *csv = run->csv;

	if (csv == NULL)
		return 0;
	run->csv = NULL;
	bool bad = ferror(csv) != 0;
	if (fclose(csv) != 0 || bad)
		return tl_fail(err, -EIO, "%s: cannot be written: %s", beside.csv, strerror(errno));
	return tl_manifest_save_beside(run->manifest, &beside, err);
}

static int show(struct run *run, struct tl_err *err)
{
	const struct tl_meter_args *args = run->results.args;
	json_t *json;
	int rc = 0;

	for (size_t i = 0; i < args->n_paths; i++)
		tl_manifest_add_input(run->manifest, args->paths[i]);
	json = tl_meter_json(&run->results);
	tl_manifest_put(run->manifest, TL_SCHEMA_METER, json);
	if (args->json) {
		rc = tl_results_json(json_incref(json), stdout);
	} else {
		tl_meter_print(&run->results, stdout);
		rc = tl_manifest_print(run->manifest, stdout);
		rc = rc == 0 ? tl_results_flush(stdout) : rc;
	}
	if (rc != 0)
		tl_fail(err, rc, "cannot print the results");
	else if (args->html != NULL)
		rc = tl_meter_save_page(json, args->html, err);
	json_decref(json);
	return rc == 0 ? close_csv(run, err) : rc;
}

// Set up everything that depends on the call. Return 0, or -errno with a message.
static int prepare(struct run *run, struct tl_err *err)
{
	int rc = run->manifest != NULL ? make_settings(&run->results, err)
				       : tl_fail(err, -ENOMEM, "no memory for the report");

	if (rc == 0 && run->results.args->device != NULL)
		rc = tl_meter_live_check(&run->results.live, err);
	if (rc == 0)
		rc = check_files(run->results.args, err);
	if (rc == 0)
		rc = check_outputs(run, err);
	return rc == 0 ? open_csv(run, err) : rc;
}

static int work(struct run *run, struct tl_err *err)
{
	int rc = run->results.args->device != NULL ? receive_frames(run, err) : read_files(run, err);

	if (rc == 0)
		rc = show(run, err);
	if (rc == 0 && run->results.pkts == 0)
		rc = tl_fail(err, -ENODATA, "no frame was %s: there is nothing to meter",
			run->results.args->device != NULL ? "received" : "read");
	return rc;
}

int tl_meter_run(const struct tl_meter_args *args)
{
	struct run run = {.results = {.args = args, .bin_ns = BIN_NS_MIN}, .manifest = tl_manifest_create("")};
	struct tl_err err;
	int status = TL_EXIT_FAILED;

	run.results.live = (struct tl_meter_live){.device = args->device,
		.duration_ns = args->duration_ns,
		.count = args->count,
		.take = args->take,
		.on_frame = take_live,
		.ctx = &run};
	int rc = prepare(&run, &err);

	if (rc != 0)
		status = rc == -ENOMEM ? TL_EXIT_FAILED : TL_EXIT_USAGE;
	else if ((rc = work(&run, &err)) == 0 && run.results.damages == 0)
		status = TL_EXIT_OK;
	if (rc != 0)
		tl_error("%s", err.text);
	if (run.csv != NULL)
		fclose(run.csv);
	for (size_t i = 0; i < run.results.n_settings; i++)
		tl_meter_setting_fini(&run.results.setting[i]);
	json_decref(run.manifest);
	return status;
}
