// SPDX-License-Identifier: BSD-3-Clause
// Writes the latency report of each echo, and of each port whose NIC stamps what it sends.

#include "latency_files.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_echo_latency.h>
#include <tl_err.h>
#include <tl_probe_latency.h>

#define PATH 4096

int tl_latency_files_prepare(const char *dir, const char *user, struct tl_err *err)
{
	const struct passwd *owner = user != NULL ? getpwnam(user) : NULL;
	struct stat what;

	if (mkdir(dir, 0750) != 0) {
		if (errno != EEXIST)
			return tl_fail(err, -errno, "--latency %s: cannot be made: %s", dir, strerror(errno));
	} else if (owner != NULL && chown(dir, owner->pw_uid, owner->pw_gid) != 0) {
		return tl_fail(err, -errno, "--latency %s: cannot be given to %s: %s", dir, user, strerror(errno));
	}
	if (stat(dir, &what) != 0 || !S_ISDIR(what.st_mode))
		return tl_fail(err, -ENOTDIR, "--latency %s: is no directory", dir);
	if (access(dir, W_OK | X_OK) != 0)
		return tl_fail(err, -errno, "--latency %s: no file can be made there: %s", dir, strerror(errno));
	return 0;
}

// Takes the report over.
static int write_report(
	const char *dir, const char *name, const char *suffix, struct tl_latency *report, struct tl_err *err)
{
	char json[PATH], csv[PATH], hgrm[PATH], html[PATH];

	if (report == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the latency report of %s", name);
	snprintf(json, sizeof(json), "%s/%s%s.json", dir, name, suffix);
	snprintf(csv, sizeof(csv), "%s/%s%s.csv", dir, name, suffix);
	snprintf(hgrm, sizeof(hgrm), "%s/%s%s.hgrm", dir, name, suffix);
	snprintf(html, sizeof(html), "%s/%s%s.html", dir, name, suffix);
	int rc = tl_latency_save(report,
		&(struct tl_latency_files){
			.json = json, .csv = report->n_samples != 0 ? csv : NULL, .hgrm = hgrm, .html = html},
		err);
	tl_latency_destroy(report);
	return rc;
}

static int write_port(const char *dir, const struct tl_timesync *sync, const char *name, struct tl_err *err)
{
	struct tl_timesync_replies replies;
	int rc = write_report(dir, name, "-probes", tl_probe_latency(sync, name), err);

	if (rc == 0 && tl_timesync_replies(sync, &replies))
		rc = write_report(dir, name, "-replies", tl_reply_latency(sync, name), err);
	return rc;
}

int tl_latency_files_write(
	const char *dir, const struct tl_metrics *metrics, const struct tl_snapshot *snapshot, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < metrics->n_echoes && rc == 0; i++)
		rc = write_report(dir, metrics->echoes[i].name, "",
			tl_echo_latency(&metrics->echoes[i], &snapshot->echoes[i]), err);
	for (uint32_t i = 0; i < metrics->n_ports && rc == 0; i++)
		if (metrics->syncs[i] != NULL)
			rc = write_port(dir, metrics->syncs[i], snapshot->ports[i].name, err);
	return rc;
}
