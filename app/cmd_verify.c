// SPDX-License-Identifier: BSD-3-Clause
// tapline verify: check recordings against their digests.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include <tl_digest.h>
#include <tl_err.h>
#include <tl_index.h>
#include <tl_json.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_progress.h>
#include <tl_remedy.h>
#include <tl_text.h>
#include <tl_units.h>
#include <tl_verify.h>

#include "app.h"
#include "results.h"

struct work {
	bool as_json;
	json_t *files;
	bool failed;	   // a file could not be read, or is not good
	uint64_t reported; // files with a result
	const char *path;  // file being read
	struct tl_progress progress;
};

static const struct tl_option options[] = {
	{"json", 0, NULL, "print the results as one JSON object", TL_INTO(FLAG, struct work, as_json)},
	TL_OPTION_HELP,
};

const struct tl_command tl_verify_command = {
	.name = "verify",
	.summary = "check recordings against their digests",
	.usage = "verify PATH... [--json]",
	.about = "Reads recordings made with --digest, and prints the byte ranges that differ from what was written.\n"
		 " PATH is a file, or a directory of recordings. Nothing is written.",
	.words = TL_CHOICES_FILE,
	TL_OPTIONS(options),
};

// ---- results

static const char *why(const struct tl_verify_report *report)
{
	static const char *const sentences[TL_VERIFY_OUTCOMES] = {[TL_VERIFY_GOOD] = "every byte is as it was written",
		[TL_VERIFY_INCOMPLETE] = "was not closed: the data present is intact",
		[TL_VERIFY_RECOVERED] = "was recovered after a crash: its chain ends early",
		[TL_VERIFY_NO_DIGESTS] = "has no digests: record with --digest",
		[TL_VERIFY_BLANK] = "is empty, or begins with zeros: if it was a recording, the disk has lost it",
		[TL_VERIFY_FOREIGN] = "not a recording of tapline"};

	if (report->outcome != TL_VERIFY_DAMAGED)
		return sentences[report->outcome];
	return report->ranges == 0 ? "slabs are not those that the file was closed with" : "is not as it was written";
}

static void print_report(const char *path, const struct tl_verify_report *report)
{
	char good[32];

	printf("%s: %s: %s\n", TL_PRINTABLE(path), tl_verify_outcome_name(report->outcome), why(report));
	for (uint32_t i = 0; i < report->ranges && i < TL_VERIFY_RANGES; i++)
		printf("    damaged: bytes %" PRIu64 " to %" PRIu64 "\n", report->range[i].from,
			report->range[i].to - 1);
	if (report->ranges > TL_VERIFY_RANGES)
		printf("    and %" PRIu32 " ranges more\n", report->ranges - TL_VERIFY_RANGES);
	if (report->units == 0)
		return;
	printf("    %s: %" PRIu64 " records in %" PRIu64 " slabs, %s\n", tl_digest_name(report->kind), report->records,
		report->slabs, tl_format_bytes(report->good_bytes, good, sizeof(good)));
	if (!report->closed || report->covered_bytes != 0)
		printf("    the chain holds up to byte %" PRIu64 "\n", report->chain_end_bytes);
}

// Return the row of a file; a path that is not UTF-8 becomes null.
static json_t *row_of(const char *path)
{
	json_t *name = json_string(path);

	return json_pack("{s:o}", "path", name != NULL ? name : json_null());
}

static void add_json(struct work *work, const char *path, const struct tl_verify_report *report)
{
	const struct tl_counter numbers[] = {{"size_bytes", report->size_bytes}, {"good_bytes", report->good_bytes},
		{"damaged_bytes", report->damaged_bytes}, {"covered_bytes", report->covered_bytes},
		{"chain_end_bytes", report->chain_end_bytes}, {"slabs", report->slabs}, {"records", report->records},
		{"damaged_ranges", report->ranges}};
	json_t *row = row_of(path), *damaged = json_array();

	json_object_set_new(row, "outcome", json_string(tl_verify_outcome_name(report->outcome)));
	json_object_set_new(row, "digest", json_string(tl_digest_name(report->kind)));
	json_object_set_new(row, "closed", json_boolean(report->closed));
	tl_json_put_counters(row, numbers, TL_ARRAY_LEN(numbers));
	for (uint32_t i = 0; i < report->ranges && i < TL_VERIFY_RANGES; i++)
		json_array_append_new(damaged, json_pack("{s:I, s:I}", "from", (json_int_t)report->range[i].from, "to",
						       (json_int_t)report->range[i].to));
	json_object_set_new(row, "damaged", damaged);
	json_array_append_new(work->files, row);
}

static void fail(struct work *work, const char *path, const char *outcome, const char *text)
{
	work->failed |= strcmp(outcome, "busy") != 0;
	work->reported++;
	if (!work->as_json) {
		printf("%s: %s\n", TL_PRINTABLE(path), TL_PRINTABLE(text));
		return;
	}
	json_t *row = row_of(path);
	json_object_set_new(row, "outcome", json_string(outcome));
	json_object_set_new(row, "why", json_string(text));
	json_array_append_new(work->files, row);
}

// ---- files

static void print_progress(void *ctx, uint64_t done_bytes, uint64_t size_bytes)
{
	struct work *work = ctx;

	tl_progress_log(&work->progress, work->path, done_bytes, size_bytes);
}

// Check whether a writer holds the lock of the file.
static bool is_being_written(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) != 0)
		return errno == EWOULDBLOCK;
	(void)flock(fd, LOCK_UN);
	return false;
}

static void verify_open(struct work *work, const char *path, int fd, bool named)
{
	struct tl_verify_opts opts = {.progress = print_progress, .ctx = work};
	struct tl_verify_report report;
	struct tl_err err;

	work->path = path;
	work->progress = (struct tl_progress){0};
	if (!named && is_being_written(fd)) {
		fail(work, path, "busy", "is being written, and left alone");
		return;
	}
	if (tl_verify_fd(fd, &opts, &report, &err) != 0) {
		fail(work, path, "failed", err.text);
		return;
	}
	if (!named && report.outcome == TL_VERIFY_FOREIGN) {
		tl_info("%s: not a recording of tapline, left out", path);
		return;
	}
	work->failed |= report.outcome != TL_VERIFY_GOOD;
	work->reported++;
	if (work->as_json)
		add_json(work, path, &report);
	else
		print_report(path, &report);
}

// Verify a file. named: given by the user, not found in a directory.
static void verify_file(struct work *work, const char *path, bool named)
{
	struct stat status;
	struct tl_err err;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && !named) // removed by the ring since the directory was read
		return;
	if (fd < 0) {
		tl_fail(&err, -errno, "cannot be opened: %s%s", strerror(errno), tl_remedy(-errno));
		fail(work, path, "failed", err.text);
		return;
	}
	if (fstat(fd, &status) != 0) {
		tl_fail(&err, -errno, "cannot be read: %s%s", strerror(errno), tl_remedy(-errno));
		fail(work, path, "failed", err.text);
	} else if (S_ISREG(status.st_mode)) {
		verify_open(work, path, fd, named);
	} else if (named) {
		fail(work, path, "failed", "is not a regular file");
	}
	close(fd);
}

static int may_be_recording(const struct dirent *item)
{
	size_t chars = strlen(item->d_name), end = strlen(TL_INDEX_SUFFIX);
	bool index = chars > end && strcmp(item->d_name + chars - end, TL_INDEX_SUFFIX) == 0;

	return item->d_name[0] != '.' && !index;
}

static void verify_directory(struct work *work, const char *dir)
{
	struct dirent **items;
	uint64_t before = work->reported;
	int n = scandir(dir, &items, may_be_recording, versionsort);

	if (n < 0) {
		struct tl_err err;
		tl_fail(&err, -errno, "cannot be read: %s%s", strerror(errno), tl_remedy(-errno));
		fail(work, dir, "failed", err.text);
		return;
	}
	for (int i = 0; i < n; i++) {
		char *path = NULL;
		if (asprintf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", items[i]->d_name) >= 0)
			verify_file(work, path, false);
		else
			fail(work, dir, "failed", "a file in it is not verified: out of memory");
		free(path);
		free(items[i]);
	}
	free(items);
	if (work->reported == before)
		fail(work, dir, "failed", "has no recording of tapline: name the directory that recordings are in");
}

static void verify_path(struct work *work, const char *path)
{
	struct stat status;

	if (path[0] != '\0' && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		verify_directory(work, path);
	else
		verify_file(work, path, true);
}

int tl_cmd_verify(int argc, char **argv)
{
	struct work work = {0};
	int status = tl_set_options(&tl_verify_command, argc, argv, NULL, &work);

	if (status >= 0)
		return status;
	if (optind == argc)
		return tl_misuse(&tl_verify_command, "which file or directory?", NULL);
	tl_digest_prepare();
	work.files = json_array();
	for (int i = optind; i < argc; i++)
		verify_path(&work, argv[i]);
	json_t *results = work.as_json ? json_pack("{s:b, s:O}", "good", !work.failed, "files", work.files) : NULL;
	int rc = work.as_json ? tl_results_json(results, stdout) : tl_results_flush(stdout);
	json_decref(work.files);
	return work.failed || rc != 0 ? TL_EXIT_FAILED : TL_EXIT_OK;
}
