// SPDX-License-Identifier: BSD-3-Clause
// Writes the latency report of each echo.

#include "latency_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_echo_latency.h>
#include <tl_err.h>

#define PATH 4096

int tl_latency_files_prepare(const char *dir, struct tl_err *err)
{
	struct stat what;

	if (mkdir(dir, 0750) != 0 && errno != EEXIST)
		return tl_fail(err, -errno, "--latency %s: cannot be made: %s", dir, strerror(errno));
	if (stat(dir, &what) != 0 || !S_ISDIR(what.st_mode))
		return tl_fail(err, -ENOTDIR, "--latency %s: is no directory", dir);
	if (access(dir, W_OK | X_OK) != 0)
		return tl_fail(err, -errno, "--latency %s: no file can be made there: %s", dir, strerror(errno));
	return 0;
}

static int write_json(const struct tl_latency *report, const char *path, struct tl_err *err)
{
	json_t *json = tl_latency_json(report);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0640);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	int rc = out == NULL ? -errno : json == NULL ? -ENOMEM : tl_latency_json_print(json, out);

	if (out == NULL && fd >= 0)
		close(fd);
	if (out != NULL && fclose(out) != 0 && rc == 0)
		rc = -errno;
	json_decref(json);
	return rc == 0 ? 0 : tl_fail(err, rc, "%s: cannot be written: %s", path, strerror(-rc));
}

static int write_echo(
	const char *dir, const struct tl_metrics_echo *echo, const struct tl_report_echo *row, struct tl_err *err)
{
	struct tl_latency *report = tl_echo_latency(echo, row);
	char json[PATH], csv[PATH], hgrm[PATH], html[PATH];

	if (report == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the latency report of the echo %s", echo->name);
	snprintf(json, sizeof(json), "%s/%s.json", dir, echo->name);
	snprintf(csv, sizeof(csv), "%s/%s.csv", dir, echo->name);
	snprintf(hgrm, sizeof(hgrm), "%s/%s.hgrm", dir, echo->name);
	snprintf(html, sizeof(html), "%s/%s.html", dir, echo->name);
	int rc = write_json(report, json, err);
	if (rc == 0)
		rc = tl_latency_save(report,
			&(struct tl_latency_files){
				.csv = report->n_samples != 0 ? csv : NULL, .hgrm = hgrm, .html = html},
			err);
	tl_latency_destroy(report);
	return rc;
}

int tl_latency_files_write(
	const char *dir, const struct tl_metrics *metrics, const struct tl_snapshot *snapshot, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < metrics->n_echoes && rc == 0; i++)
		rc = write_echo(dir, &metrics->echoes[i], &snapshot->echoes[i], err);
	return rc;
}
