// SPDX-License-Identifier: BSD-3-Clause
// Write the latency report of each echo, and of each port whose NIC stamps its sent frames.

#include "latency_files.h"

#include <errno.h>
#include <stdio.h>

#include <tl_echo_latency.h>
#include <tl_err.h>
#include <tl_probe_latency.h>

#include "manifest.h"

#define PATH 4096

struct paths {
	char json[PATH], csv[PATH], hgrm[PATH], html[PATH];
};

// Return file names that point into paths.
static struct tl_latency_files files_of(const char *dir, const char *name, const char *suffix, struct paths *paths)
{
	snprintf(paths->json, PATH, "%s/%s%s.json", dir, name, suffix);
	snprintf(paths->csv, PATH, "%s/%s%s.csv", dir, name, suffix);
	snprintf(paths->hgrm, PATH, "%s/%s%s.hgrm", dir, name, suffix);
	snprintf(paths->html, PATH, "%s/%s%s.html", dir, name, suffix);
	return (struct tl_latency_files){
		.json = paths->json, .csv = paths->csv, .hgrm = paths->hgrm, .html = paths->html};
}

static int check(const char *dir, const char *name, const char *suffix, struct tl_err *err)
{
	struct paths paths;
	struct tl_latency_files files = files_of(dir, name, suffix, &paths);

	return tl_latency_files_check(&files, err);
}

int tl_latency_files_may_write(const char *dir, const struct tl_config *config, struct tl_err *err)
{
	struct tl_err why;
	int rc = 0;

	for (uint32_t i = 0; i < config->n_echoes && rc == 0; i++)
		rc = check(dir, config->echoes[i].name, "", &why);
	for (uint32_t i = 0; i < config->n_ports && rc == 0; i++)
		if (config->ports[i].ptp && (rc = check(dir, config->ports[i].name, "-probes", &why)) == 0)
			rc = check(dir, config->ports[i].name, "-replies", &why);
	if (rc == 0)
		return 0;
	if (config->process.user == NULL)
		return tl_fail(err, rc, "--latency: %s: name another directory", why.text);
	return tl_fail(err, rc, "--latency: %s: give %s and its files to %s, or name a new directory", why.text, dir,
		config->process.user);
}

// Directory of the reports, and their common manifest.
struct target {
	const char *dir;
	json_t *manifest;
};

// Write a report, and take it over.
static int write_report(const struct target *target, const char *name, const char *suffix, struct tl_latency *report,
	struct tl_err *err)
{
	struct paths paths;
	struct tl_latency_files files = files_of(target->dir, name, suffix, &paths);

	if (report == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the latency report of %s", name);
	if (report->n_samples == 0)
		files.csv = NULL;
	tl_manifest_set_clocks(target->manifest, report);
	report->manifest = target->manifest;
	int rc = tl_latency_save(report, &files, err);
	tl_latency_destroy(report);
	return rc;
}

static int write_port(const struct target *target, const struct tl_timesync *sync, const char *name, struct tl_err *err)
{
	struct tl_timesync_replies replies;
	int rc = write_report(target, name, "-probes", tl_probe_latency(sync, name), err);

	if (rc == 0 && tl_timesync_replies(sync, &replies))
		rc = write_report(target, name, "-replies", tl_reply_latency(sync, name), err);
	return rc;
}

int tl_latency_files_write(const char *dir, json_t *manifest, const struct tl_metrics *metrics,
	const struct tl_snapshot *snapshot, struct tl_err *err)
{
	const struct target target = {dir, manifest};
	int rc = 0;

	for (uint32_t i = 0; i < metrics->n_echoes && rc == 0; i++)
		rc = write_report(&target, metrics->echoes[i].name, "",
			tl_echo_latency(&metrics->echoes[i], &snapshot->echoes[i]), err);
	for (uint32_t i = 0; i < metrics->n_ports && rc == 0; i++)
		if (metrics->syncs[i] != NULL)
			rc = write_port(&target, metrics->syncs[i], snapshot->ports[i].name, err);
	return rc;
}
