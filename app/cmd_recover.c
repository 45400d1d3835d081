// SPDX-License-Identifier: BSD-3-Clause
// tapline recover: turn the files left by a crash into valid recordings, and rename them.

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_progress.h>
#include <tl_remedy.h>
#include <tl_writer.h>

#include "app.h"
#include "recover_report.h"
#include "results.h"

#define HIDDEN_SUFFIX ".next"

struct options {
	bool dry_run, json;
};

static const struct tl_option options[] = {
	{"dry-run", 0, NULL, "only print what would be done", TL_INTO(FLAG, struct options, dry_run)},
	{"json", 0, NULL, "print the results as one JSON object", TL_INTO(FLAG, struct options, json)},
	TL_OPTION_HELP,
};

const struct tl_command tl_recover_command = {
	.name = "recover",
	.summary = "repair recordings after a crash",
	.usage = "recover PATH... [--dry-run] [--json]",
	.about =
		"Repairs recordings after a crash, in place. PATH is a file, or a directory: all incomplete files in it, NAME.part\n"
		"and the hidden .NAME.next. NAME.part then becomes NAME, or the next free number. Files being written are left alone.",
	.words = TL_CHOICES_FILE,
	TL_OPTIONS(options),
};

struct work {
	struct options options;
	json_t *files;
	unsigned counts[TL_OUTCOMES];
	bool failed;
	const char *path; // file being read
	struct tl_progress progress;
};

// ---- names

static bool ends_with(const char *text, const char *end)
{
	size_t chars = strlen(text), end_chars = strlen(end);

	return chars > end_chars && strcmp(text + chars - end_chars, end) == 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool is_hidden(const char *path)
{
	const char *base = base_of(path);

	return base[0] == '.' && strlen(base) > strlen("." HIDDEN_SUFFIX) && ends_with(base, HIDDEN_SUFFIX);
}

static bool is_left_behind(const char *path)
{
	return is_hidden(path) || ends_with(base_of(path), TL_RECOVER_PART);
}

// Count the characters of NAME in .NAME.next and .NAME~1.next.
static int hidden_chars(const char *base)
{
	size_t chars = strlen(base) - strlen("." HIDDEN_SUFFIX), digits = 0;

	while (digits < chars && base[chars - digits] >= '0' && base[chars - digits] <= '9')
		digits++;
	return (int)(digits != 0 && digits + 1 < chars && base[chars - digits] == '~' ? chars - digits - 1 : chars);
}

// Return the final name of the file; NULL: the name stays.
static char *final_name(const char *path, time_t written)
{
	const char *base = base_of(path);
	char *pattern = NULL;

	if (!is_hidden(path))
		return ends_with(base, TL_RECOVER_PART) ? strndup(path, strlen(path) - strlen(TL_RECOVER_PART)) : NULL;
	if (asprintf(&pattern, "%.*s%.*s", (int)(base - path), path, hidden_chars(base), base + 1) < 0)
		return NULL;
	char *name = tl_writer_name_at(pattern, written);
	free(pattern);
	return name;
}

// Return the length of the suffix behind the number that is added to a name in use.
static size_t suffix_chars(const char *name)
{
	const char *dot = strrchr(base_of(name), '.');

	return dot != NULL && dot != base_of(name) ? strlen(dot) : 0;
}

// ---- one file

static int print_progress(void *ctx, uint64_t done_bytes, uint64_t size_bytes)
{
	struct work *work = ctx;

	tl_progress_log(&work->progress, work->path, done_bytes, size_bytes);
	return 0;
}

static void add(struct work *work, const struct tl_recovered *file)
{
	work->counts[file->outcome]++;
	if (work->options.json)
		json_array_append_new(work->files, tl_recovered_json(file));
	else
		tl_recovered_print(file);
}

static enum tl_outcome outcome_of(int code)
{
	bool foreign = code == -EMEDIUMTYPE || code == -ENOMSG;

	return code == -EBUSY ? TL_OUTCOME_BUSY : foreign ? TL_OUTCOME_FOREIGN : TL_OUTCOME_FAILED;
}

// Rename the file to its final name. Return -errno with a message in *err.
static int finish(
	const struct work *work, struct tl_recovered *file, time_t written, char **out_name, struct tl_err *err)
{
	char *name = is_left_behind(file->path) ? final_name(file->path, written) : NULL;
	int rc = 0;

	if (name == NULL && is_left_behind(file->path))
		return tl_fail(err, -ENOMEM, "is whole, but cannot be renamed: out of memory");
	file->outcome = file->report->changed || name != NULL ? TL_OUTCOME_RECOVERED : TL_OUTCOME_WHOLE;
	if (name != NULL && !work->options.dry_run)
		rc = tl_recover_publish(file->path, name, suffix_chars(name), out_name);
	if (rc != 0)
		tl_fail(err, rc, "is whole, but cannot be called %.300s: %s", name, strerror(-rc));
	file->name = *out_name;
	free(name);
	return rc;
}

static int remove_blank(const struct work *work, struct tl_recovered *file, struct tl_err *err)
{
	file->outcome = TL_OUTCOME_REMOVED;
	if (!work->options.dry_run && unlink(file->path) != 0)
		return tl_fail(err, -errno, "cannot be removed: %s%s", strerror(errno), tl_remedy(-errno));
	return 0;
}

// Check whether a recording left the file empty: hidden, or with its mark only. A started file .part has at least its
// mark.
static bool is_blank(int fd, const char *path)
{
	bool opened;

	if (!tl_recover_is_ours(fd))
		return false;
	return is_hidden(path) ? tl_recover_is_blank(fd, &opened)
			       : is_left_behind(path) && tl_recover_is_only_marked(fd);
}

static int recover_open(struct work *work, int fd, struct tl_recovered *file, struct tl_recover_report *report,
	char **out_name, struct tl_err *err)
{
	struct tl_recover_opts opts = {.dry_run = work->options.dry_run, .progress = print_progress, .ctx = work};
	struct stat status;

	if (fstat(fd, &status) != 0)
		return tl_fail(err, -errno, "its status cannot be read: %s", strerror(errno));
	work->path = file->path;
	work->progress = (struct tl_progress){0};
	file->report = report;
	if (is_blank(fd, file->path))
		return remove_blank(work, file, err);
	int rc = tl_recover_fd(fd, &opts, report, err);
	return rc != 0 ? rc : finish(work, file, status.st_mtim.tv_sec, out_name, err);
}

// Recover a file. named: given by the user, not found in a directory.
static void recover_file(struct work *work, const char *path, bool named)
{
	struct tl_recovered file = {.path = path, .dry_run = work->options.dry_run};
	struct tl_recover_report report = {0};
	char *name = NULL;
	struct tl_err err;

	int fd = tl_recover_open(path, work->options.dry_run, &err);
	if (fd == -ENOENT && !named) // completed since the directory was read
		return;
	int rc = fd < 0 ? fd : recover_open(work, fd, &file, &report, &name, &err);
	if (rc != 0) {
		file.outcome = outcome_of(rc);
		file.why = err.text;
		file.report = NULL;
		work->failed |= named || file.outcome == TL_OUTCOME_FAILED;
	}
	add(work, &file);
	if (fd >= 0)
		close(fd);
	tl_recover_report_fini(&report);
	free(name);
}

// ---- directories

static int may_be_left_behind(const struct dirent *item)
{
	return is_left_behind(item->d_name);
}

// Sort hidden files last: the others determine their names.
static int by_name(const struct dirent **a, const struct dirent **b)
{
	int hidden = ((*a)->d_name[0] == '.') - ((*b)->d_name[0] == '.');

	return hidden != 0 ? hidden : strcmp((*a)->d_name, (*b)->d_name);
}

static void recover_directory(struct work *work, const char *dir)
{
	struct dirent **items;
	bool slash = dir[strlen(dir) - 1] == '/';
	int n = scandir(dir, &items, may_be_left_behind, by_name);

	if (n < 0) {
		tl_error("%s: cannot be read: %s%s", dir, strerror(errno), tl_remedy(-errno));
		work->failed = true;
		return;
	}
	for (int i = 0; i < n; i++) {
		char *path = NULL;
		if (asprintf(&path, "%s%s%s", dir, slash ? "" : "/", items[i]->d_name) >= 0) {
			recover_file(work, path, false);
			free(path);
		} else {
			tl_error("%s: %s: out of memory", dir, items[i]->d_name);
			work->failed = true;
		}
		free(items[i]);
	}
	free(items);
	if (n == 0)
		tl_info("%s: no incomplete recording", dir);
}

static void recover_path(struct work *work, const char *path)
{
	struct stat status;

	if (path[0] != '\0' && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		recover_directory(work, path);
	else
		recover_file(work, path, true);
}

int tl_cmd_recover(int argc, char **argv)
{
	struct work work = {0};
	int status = tl_set_options(&tl_recover_command, argc, argv, NULL, &work.options);

	if (status >= 0)
		return status;
	if (optind == argc)
		return tl_misuse(&tl_recover_command, "which file or directory?", NULL);
	work.files = json_array();
	for (int i = optind; i < argc; i++)
		recover_path(&work, argv[i]);
	int rc = work.options.json ? tl_results_json(tl_recovered_summary(work.files, work.counts), stdout)
				   : tl_results_flush(stdout);
	if (!work.options.json)
		json_decref(work.files);
	return work.failed || rc != 0 ? TL_EXIT_FAILED : TL_EXIT_OK;
}
