// SPDX-License-Identifier: BSD-3-Clause
// Build a manifest, and write it beside files that cannot contain it.

#include "manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tl_digest.h>
#include <tl_err.h>
#include <tl_json.h>
#include <tl_log.h>

#include "manifest_host.h"

// Return the arguments as given, from the kernel; getopt sorts those of main().
static json_t *argv_json(const struct tl_tree *tree)
{
	json_t *argv = json_array();
	char *bytes = malloc(TL_TREE_FILE_MAX);
	ssize_t n = bytes != NULL ? tl_tree_bytes(tree, bytes, TL_TREE_FILE_MAX, "/proc/self/cmdline") : 0;

	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(bytes + i) + 1)
		json_array_append_new(argv, tl_json_string(bytes + i));
	free(bytes);
	return argv;
}

// Return the time as "2026-11-22T15:04:05Z".
static json_t *now_json(void)
{
	time_t now = time(NULL);
	struct tm utc;
	char text[32];

	strftime(text, sizeof(text), "%FT%TZ", gmtime_r(&now, &utc));
	return json_string(text);
}

json_t *tl_manifest_create(const char *root)
{
	struct tl_tree tree;
	json_t *manifest = json_object();

	if (manifest == NULL || tl_tree_open(root, &tree) != 0) {
		json_decref(manifest);
		return NULL;
	}
	json_object_set_new(manifest, "version", json_string(TL_VERSION));
	json_object_set_new(manifest, "argv", argv_json(&tree));
	json_object_set_new(manifest, "time", now_json());
	json_object_set_new(manifest, "host", tl_manifest_host(&tree));
	json_object_set_new(manifest, "seeds", json_object());
	json_object_set_new(manifest, "inputs", json_array());
	json_object_set_new(manifest, "match", json_null());
	json_object_set_new(manifest, "clocks", json_null());
	tl_tree_close(&tree);
	return manifest;
}

// ---- inputs

static json_t *digest_json(const struct tl_digest *digest)
{
	char text[2 * TL_DIGEST_BYTES + 1];

	for (size_t i = 0; i < TL_DIGEST_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", digest->byte[i]);
	return json_string(text);
}

static json_t *file_json(const char *path)
{
	struct tl_digest digest;
	uint64_t bytes;
	int rc = tl_digest_file(path, &digest, &bytes);
	bool known = rc == 0;
	json_t *file = json_object();

	if (rc != 0 && rc != -EINVAL) // not a pipe
		tl_warn("%.300s: cannot be read again for its SHA-256, which the report lacks (%s)", path,
			strerror(-rc));

	json_object_set_new(file, "path", tl_json_string(path));
	json_object_set_new(file, "bytes", known ? json_integer((json_int_t)bytes) : json_null());
	json_object_set_new(file, "sha256", known ? digest_json(&digest) : json_null());
	return file;
}

void tl_manifest_add_input(json_t *manifest, const char *path)
{
	json_array_append_new(json_object_get(manifest, "inputs"), file_json(path));
}

// Store a seed as text: not every JSON reader preserves 64-bit numbers.
void tl_manifest_add_seed(json_t *manifest, const char *name, uint64_t seed)
{
	json_object_set_new(json_object_get(manifest, "seeds"), name, json_sprintf("0x%016" PRIx64, seed));
}

void tl_manifest_set_match(json_t *manifest, json_t *match)
{
	json_object_set_new(manifest, "match", match);
}

static json_t *source_json(const struct tl_latency_source *source)
{
	bool has_clock = source->has_bound && source->clock[0] != '\0';

	return json_pack("{s:o, s:o, s:o, s:o}", "source", tl_json_string(source->name), "unit_ns",
		source->unit_ns != 0 ? json_integer((json_int_t)source->unit_ns) : json_null(), "bound_ns",
		source->has_bound ? json_integer((json_int_t)source->bound_ns) : json_null(), "bound_clock",
		has_clock ? tl_json_string(source->clock) : json_null());
}

void tl_manifest_set_clocks(json_t *manifest, const struct tl_latency *report)
{
	json_object_set_new(manifest, "clocks",
		json_pack("{s:o, s:o, s:o}", "triggers", source_json(&report->trigger), "replies",
			source_json(&report->reply), "shown", tl_json_string(report->clocks_shown)));
}

void tl_manifest_put(const json_t *manifest, const char *schema, json_t *report)
{
	json_object_set_new(report, "schema", json_string(schema));
	json_object_set(report, "manifest", (json_t *)(uintptr_t)manifest);
}

// ---- manifest files

static int write_beside(const json_t *manifest, const char *path, const char *beside, struct tl_err *err)
{
	json_t *json = json_object();

	tl_manifest_put(manifest, TL_SCHEMA_MANIFEST, json);
	json_object_set_new(json, "file", file_json(path));
	char *text = tl_json_text(json, JSON_INDENT(2));
	int fd = text != NULL ? open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0640) : -1;
	int rc = text == NULL ? -ENOMEM : fd < 0 || dprintf(fd, "%s\n", text) < 0 ? -errno : 0;

	if (fd >= 0 && close(fd) != 0 && rc == 0)
		rc = -errno;
	free(text);
	json_decref(json);
	return rc == 0 ? 0 : tl_fail(err, rc, "%.300s: cannot be written: %s", beside, strerror(-rc));
}

static int save_beside(const json_t *manifest, const char *path, struct tl_err *err)
{
	char beside[PATH_MAX];
	struct stat status;

	if (path == NULL || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return 0;
	if (snprintf(beside, sizeof(beside), "%s.manifest.json", path) >= (int)sizeof(beside))
		return tl_fail(err, -ENAMETOOLONG, "%.300s.manifest.json: %s", path, strerror(ENAMETOOLONG));
	return write_beside(manifest, path, beside, err);
}

int tl_manifest_save_beside(const json_t *manifest, const struct tl_latency_files *files, struct tl_err *err)
{
	int rc = save_beside(manifest, files->csv, err);

	return rc == 0 ? save_beside(manifest, files->hgrm, err) : rc;
}
