// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_files: the directory of `run --latency`: for each echo NAME.json, NAME.html, NAME.hgrm and, with "samples",
// NAME.csv.

#include <jansson.h>

#include <tl_config.h>
#include <tl_metrics.h>
#include <tl_report.h>

struct tl_err;

// Check that the reports of this configuration can be written. Call after the process has changed to its user. Return
// 0, or -errno with a message in *err.
int tl_latency_files_may_write(const char *dir, const struct tl_config *config, struct tl_err *err);

// Write the reports at the end: the snapshot is the last of these metrics. manifest: that of the run; the stamps of
// each report are stored in it in turn.
int tl_latency_files_write(const char *dir, json_t *manifest, const struct tl_metrics *metrics,
	const struct tl_snapshot *snapshot, struct tl_err *err);
