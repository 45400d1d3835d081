// SPDX-License-Identifier: BSD-3-Clause
// HTML page, and the files that a report is saved to.

#include "latency_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_files.h>
#include <tl_json.h>

int tl_latency_html(const json_t *json, FILE *out)
{
	return tl_json_page((const char *)tl_latency_page, tl_latency_page_bytes, json, TL_LATENCY_DIGITS, out);
}

static int write_json(const struct tl_latency *report, FILE *out)
{
	json_t *json = tl_latency_json(report);
	int rc = tl_latency_json_print(json, out);

	json_decref(json);
	return rc;
}

static int write_hgrm(const struct tl_latency *report, FILE *out)
{
	return tl_latency_hgrm(&report->latency, out);
}

static int write_html(const struct tl_latency *report, FILE *out)
{
	json_t *json = tl_latency_json(report), *also = json_array();

	for (const struct tl_latency *view = report->also; view != NULL; view = view->also)
		json_array_append_new(also, tl_latency_json(view));
	if (json_array_size(also) != 0)
		json_object_set(json, "also", also);
	json_decref(also);
	int rc = tl_latency_html(json, out);

	json_decref(json);
	return rc;
}

static int save(const struct tl_latency *report, const char *path, int (*write)(const struct tl_latency *, FILE *),
	struct tl_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0640);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (out == NULL) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return tl_fail(err, rc, "%s: cannot be written: %s", path, strerror(-rc));
	}
	int rc = write(report, out);
	if (fclose(out) != 0 && rc == 0)
		rc = -errno;
	return rc == 0 ? 0 : tl_fail(err, rc, "%s: cannot be written: %s", path, strerror(-rc));
}

static int check_path(const char *path, struct tl_err *err)
{
	char dir[PATH_MAX];
	struct stat status;
	int rc = 0;

	if (stat(path, &status) == 0) {
		rc = S_ISDIR(status.st_mode) ? -EISDIR : access(path, W_OK) != 0 ? -errno : 0;
	} else if (*path == '\0' || path[strlen(path) - 1] == '/') {
		rc = -ENOENT; // no file has this name
	} else {
		snprintf(dir, sizeof(dir), "%s", path);
		rc = access(dirname(dir), W_OK | X_OK) != 0 ? -errno : 0;
	}
	return rc == 0 ? 0 : tl_fail(err, rc, "%s: cannot be written: %s", path, strerror(-rc));
}

int tl_latency_files_check(const struct tl_latency_files *files, struct tl_err *err)
{
	const char *const paths[] = {files->json, files->csv, files->hgrm, files->html};
	int rc = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(paths) && rc == 0; i++)
		if (paths[i] != NULL)
			rc = check_path(paths[i], err);
	for (size_t i = 0; i < TL_ARRAY_LEN(paths) && rc == 0; i++)
		for (size_t k = 0; k < i && paths[i] != NULL && rc == 0; k++)
			if (paths[k] != NULL && tl_is_same_target(paths[i], paths[k]))
				rc = tl_fail(err, -EINVAL, "%s: two outputs cannot be one file; name another file",
					paths[i]);
	return rc;
}

int tl_latency_save(const struct tl_latency *report, const struct tl_latency_files *files, struct tl_err *err)
{
	int rc = 0;

	if (files->json != NULL)
		rc = save(report, files->json, write_json, err);
	if (rc == 0 && files->csv != NULL)
		rc = save(report, files->csv, tl_latency_csv, err);
	if (rc == 0 && files->hgrm != NULL)
		rc = save(report, files->hgrm, write_hgrm, err);
	if (rc == 0 && files->html != NULL)
		rc = save(report, files->html, write_html, err);
	return rc;
}
