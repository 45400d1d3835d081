// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_files: the directory of `run --latency`: for each echo NAME.json, NAME.html, NAME.hgrm and, with "samples",
// NAME.csv.

#include <jansson.h>

#include <tl_config.h>
#include <tl_metrics.h>
#include <tl_report.h>

struct tl_err;

// Makes the directory, if it is not there, and gives it to user (NULL: to nobody else). Returns 0 or -errno and a
// sentence.
int tl_latency_files_prepare(const char *dir, const char *user, struct tl_err *err);

// Check that the reports of this configuration can be written. After the process has become its user. Returns 0 or
// -errno and a sentence.
int tl_latency_files_may_write(const char *dir, const struct tl_config *config, struct tl_err *err);

// After the end: the snapshot is the last of these metrics. manifest: of the run; the stamps of each report are put
// into it in turn.
int tl_latency_files_write(const char *dir, json_t *manifest, const struct tl_metrics *metrics,
	const struct tl_snapshot *snapshot, struct tl_err *err);
