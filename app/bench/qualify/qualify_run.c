// SPDX-License-Identifier: BSD-3-Clause
// Run each stage with each size, and measure the rates.

#include "bench_qualify.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <tl_base.h>
#include <tl_config.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_units.h>

#include "bench_rig.h"
#include "qualify_priv.h"

#define LOOK_MS 10
#define DIR_CHARS 4096

// Trial: everything that the runs share.
struct trial {
	const struct tl_qualify_cfg *cfg;
	json_t *config;
	struct tl_bench_rig rig;
	struct tl_bench_process process;
	char frames[128];
	char *dirs[TL_CONFIG_CAPTURES_MAX]; // NULL: discarded
	uint64_t ring_bytes, buffer_bytes;  // of each recording; of all that are written
};

// ---- directories of the recordings

static void empty_dirs(const struct trial *t, bool with_dirs)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(t->dirs); i++)
		if (t->dirs[i] != NULL) {
			tl_bench_remove(t->dirs[i]);
			if (!with_dirs)
				(void)mkdir(t->dirs[i], 0700);
		}
}

// Create a directory beside the recording: the path up to its first conversion of strftime.
static int make_dir(const char *path, char **out, struct tl_err *err)
{
	char dir[DIR_CHARS];

	if (strcmp(path, "-") == 0 || strcmp(path, "null:") == 0)
		return 0;
	snprintf(dir, sizeof(dir) - 32, "%.*s", (int)strcspn(path, "%"), path);
	char *slash = strrchr(dir, '/');
	snprintf(slash != NULL ? slash : dir, 32, "%stapline-qualify-XXXXXX", slash != NULL ? "/" : "");
	if (mkdtemp(dir) == NULL)
		return tl_fail(err, -errno, "%.300s: cannot create a directory: %s", dir, strerror(errno));
	*out = strdup(dir);
	return *out == NULL ? tl_fail(err, -ENOMEM, "not enough memory") : 0;
}

// Bound a recording: an equal part of the limit, and of half of the free space of its file system.
static uint64_t ring_bytes(const struct trial *t, const char *dir, uint64_t recordings)
{
	struct statvfs fs;
	uint64_t bytes = t->cfg->disk_bytes / recordings;

	if (statvfs(dir, &fs) == 0)
		bytes = tl_min_u64(bytes, (uint64_t)fs.f_bavail * fs.f_frsize / 2 / recordings);
	return bytes;
}

static int make_dirs(struct trial *t, const struct tl_config *config, struct tl_err *err)
{
	int rc = 0;

	t->ring_bytes = UINT64_MAX;
	for (uint32_t i = 0; i < config->n_captures && rc == 0; i++) {
		const struct tl_config_capture *capture = &config->captures[i];
		rc = make_dir(capture->path, &t->dirs[i], err);
		if (rc != 0 || t->dirs[i] == NULL)
			continue;
		t->buffer_bytes += capture->buffer_bytes * config->ports[capture->port].rx_queues;
		t->ring_bytes = tl_min_u64(t->ring_bytes, ring_bytes(t, t->dirs[i], config->n_captures));
	}
	if (rc == 0 && t->ring_bytes < TL_QUALIFY_RING_MIN)
		return tl_fail(err, -EINVAL,
			"each recording needs 20 MiB of --disk, and of half of the free space: %u of them have %ju bytes each",
			config->n_captures, (uintmax_t)t->ring_bytes);
	return rc;
}

// ---- samples

static bool take_sample(const struct trial *t, struct tl_qualify_sample *out)
{
	json_t *status = tl_bench_status(&t->rig);

	if (status == NULL)
		return false;
	*out = tl_qualify_sample_of(status, tl_mono_ns());
	json_decref(status);
	return true;
}

static void show_progress(const struct tl_qualify_row *row, const struct tl_qualify_watch *watch)
{
	struct tl_qualify_row so_far = *row;

	if (tl_qualify_fill(&so_far, watch, 0))
		tl_info("%u bytes, %s: %u of %d quarters, %.3f Mpps", row->size_bytes,
			tl_qualify_stage_name(row->stage), watch->n - 1, TL_QUALIFY_QUARTERS,
			so_far.quarter_pps[watch->n - 2] / 1e6);
}

// Watch a run to its end. Return 0, or -EINTR.
static int watch_run(const struct trial *t, const struct tl_qualify_row *row, struct tl_qualify_watch *watch)
{
	struct tl_qualify_sample now;

	while (watch->n <= TL_QUALIFY_QUARTERS) {
		if (atomic_load_explicit(t->cfg->stop, memory_order_relaxed))
			return -EINTR;
		if (!take_sample(t, &now) && !take_sample(t, &now)) // once more: it answers one client at a time
			return -EPIPE;
		if (tl_qualify_take(watch, t->cfg, row->stage, &now))
			show_progress(row, watch);
		(void)poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

// ---- runs

// Check whether the stage has the configuration of the previous one: there is nothing to measure.
static bool is_empty(const struct trial *t, enum tl_qualify_stage stage)
{
	const char *const *dirs = (const char *const *)t->dirs;

	if (stage == TL_QUALIFY_SOURCE || stage == TL_QUALIFY_RINGS)
		return false;
	json_t *this = tl_qualify_config(t->config, stage, "", dirs, t->ring_bytes);
	json_t *before = tl_qualify_config(t->config, stage - 1, "", dirs, t->ring_bytes);
	bool empty = json_equal(this, before) == 1;
	json_decref(this);
	json_decref(before);
	return empty;
}

// Run a stage. Return 0, -EINTR or another -errno with a message; *measured: the row has figures, also if interrupted.
static int run_stage(struct trial *t, struct tl_qualify_row *row, bool *measured, struct tl_err *err)
{
	struct tl_qualify_watch watch = {.n = 0};
	json_t *config =
		tl_qualify_config(t->config, row->stage, t->frames, (const char *const *)t->dirs, t->ring_bytes);
	int rc = tl_bench_appliance(&t->rig, t->rig.app_ns, config, &t->process, err);

	if (rc == 0 && (rc = watch_run(t, row, &watch)) == -EPIPE)
		(void)tl_fail(err, rc, "%u bytes, %s: the run ended early; run the configuration by hand",
			row->size_bytes, tl_qualify_stage_name(row->stage));
	*measured = tl_qualify_fill(row, &watch, t->buffer_bytes);
	(void)tl_bench_stop(&t->rig, &t->process, SIGTERM, NULL);
	empty_dirs(t, false);
	return rc;
}

static int run_size(struct trial *t, uint32_t size, struct tl_qualify_result *result, struct tl_err *err)
{
	unsigned first = result->n_rows;
	double kept = 1; // of the frames, up to the parser
	int rc = qualify_write_frames(t->frames, size, err);

	for (enum tl_qualify_stage stage = 0; stage < TL_QUALIFY_STAGES && rc == 0; stage++) {
		struct tl_qualify_row row = {.stage = stage,
			.size_bytes = size,
			.unfed = stage > TL_QUALIFY_PARSER && kept < TL_QUALIFY_FEEDS};
		row.skipped = row.unfed || is_empty(t, stage);
		bool measured = row.skipped;
		if (!row.skipped) {
			tl_info("%u bytes, %s: %g s", size, tl_qualify_stage_name(stage), t->cfg->seconds);
			rc = run_stage(t, &row, &measured, err);
			kept = row.kept;
		}
		if (measured)
			result->rows[result->n_rows++] = row;
	}
	if (rc == 0)
		result->verdicts[result->n_verdicts++] = tl_qualify_judge(&result->rows[first], result->n_rows - first);
	return rc;
}

static int run_sizes(struct trial *t, struct tl_qualify_result *result, struct tl_err *err)
{
	int rc = tl_bench_rig_begin(&t->rig, t->cfg->stop, err);

	snprintf(t->frames, sizeof(t->frames), "%s/frames.pcap", t->rig.dir);
	for (unsigned i = 0; i < t->cfg->n_sizes && rc == 0; i++)
		rc = run_size(t, t->cfg->sizes[i], result, err);
	tl_bench_rig_end(&t->rig);
	result->interrupted = rc == -EINTR;
	return result->interrupted ? 0 : rc;
}

int tl_qualify(const struct tl_qualify_cfg *cfg, struct tl_qualify_result *result, struct tl_err *err)
{
	struct trial t = {.cfg = cfg};
	struct tl_config *config;
	int rc = tl_config_load(cfg->config, &config, err);

	*result = (struct tl_qualify_result){.n_rows = 0};
	if (rc != 0)
		return -EINVAL;
	if (config->n_captures == 0)
		rc = tl_fail(err, -EINVAL, "%s: no recording to qualify: give $.capture", cfg->config);
	for (uint32_t i = 0; i < config->n_ports; i++)
		result->lcores += config->ports[i].rx_queues;
	if (rc == 0 && (t.config = json_load_file(cfg->config, 0, NULL)) == NULL)
		rc = tl_fail(err, -ENOMEM, "not enough memory");
	if (rc == 0)
		rc = make_dirs(&t, config, err);
	if (rc == 0)
		tl_qualify_warn(t.config);
	if (rc == 0)
		rc = run_sizes(&t, result, err);
	empty_dirs(&t, true);
	for (size_t i = 0; i < TL_ARRAY_LEN(t.dirs); i++)
		free(t.dirs[i]);
	json_decref(t.config);
	tl_config_free(config);
	return rc;
}
