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

#include <tl_json.h>

// Inside of <script> only '<' could end the JSON, or open an element that ends elsewhere; JSON has it in strings only.
static int write_escaped(const char *text, size_t size, void *ctx)
{
	FILE *out = ctx;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	}
	return 0;
}

int tl_latency_html(const json_t *json, FILE *out)
{
	static const char mark[] = "@REPORT@";
	const char *page = (const char *)tl_latency_page;
	const char *place = memmem(page, tl_latency_page_bytes, mark, strlen(mark));
	size_t before = (size_t)(place - page);
	int rc = tl_json_check(json);

	if (rc != 0)
		return rc;
	fwrite(page, 1, before, out);
	if (json_dump_callback(json, write_escaped, out, JSON_COMPACT | TL_LATENCY_DIGITS) != 0)
		return -EIO;
	fwrite(place + strlen(mark), 1, tl_latency_page_bytes - before - strlen(mark), out);
	return ferror(out) == 0 ? 0 : -EIO;
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
