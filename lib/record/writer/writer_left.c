// SPDX-License-Identifier: BSD-3-Clause
// Recovers the .part files of a killed run, and gives them their final names.

#include "writer_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_log.h>
#include <tl_recover.h>

// Claim the next such file as being written, so that the ring does not remove it meanwhile.
static bool claim(struct tl_writer_ring *ring, struct tl_writer_file *file)
{
	bool found = false;

	pthread_mutex_lock(&ring->lock);
	for (uint32_t i = 0; ring->n_left != 0 && i < ring->n && !found; i++) {
		struct tl_writer_entry *entry = &ring->entries[i];
		found = entry->left && entry->file == NULL;
		if (!found)
			continue;
		entry->file = file;
		file->at = strdup(entry->path);
		file->end_bytes = entry->bytes;
	}
	pthread_mutex_unlock(&ring->lock);
	return found;
}

static void log_recovery(const char *path, const struct tl_recover_report *report)
{
	uint64_t missing = 0;

	for (uint32_t i = 0; i < report->n_rings; i++)
		missing += tl_recover_missing(&report->rings[i]);
	tl_info("%.300s: left by an earlier run: recovered %llu records in %llu slabs; %llu slabs are missing, %llu bytes "
		"were cut off",
		path, (unsigned long long)report->records_kept, (unsigned long long)report->slabs_kept,
		(unsigned long long)missing, (unsigned long long)report->cut_bytes);
	if (report->doubtful_records != 0)
		tl_warn("%.300s: the record at byte %llu was cut off: it may be torn", path,
			(unsigned long long)report->doubtful_at);
}

// Recover the file at file->at, and rename it.
static int recover(struct tl_writer *writer, struct tl_writer_file *file, int fd, const struct tl_recover_opts *opts,
	struct tl_err *err)
{
	size_t chars = strlen(file->at) - strlen(TL_WRITER_PART);
	struct tl_recover_report report;
	char *got = NULL;

	int rc = tl_recover_fd(fd, opts, &report, err);
	if (rc == 0) {
		file->name = strndup(file->at, chars);
		rc = file->name == NULL
			     ? -ENOMEM
			     : tl_recover_publish(file->at, file->name, strlen(writer->pattern.suffix), &got);
		if (rc != 0)
			tl_fail(err, rc, "is whole, but cannot be renamed: %s", strerror(-rc));
	}
	if (rc == 0) {
		free(file->at);
		file->at = got;
		file->end_bytes = report.end_bytes;
		tl_writer_ring_move(&writer->ring, file);
		log_recovery(got, &report);
	}
	tl_recover_report_fini(&report);
	return rc;
}

bool tl_writer_recover_left(struct tl_writer *writer, int (*tend)(void *ctx, uint64_t done_bytes, uint64_t size_bytes))
{
	struct tl_recover_opts opts = {.progress = tend, .ctx = writer};
	struct tl_writer_file file = {.fd = -1};
	struct tl_err err;

	if (!claim(&writer->ring, &file))
		return false;
	int fd = file.at == NULL ? -ENOMEM : tl_recover_open(file.at, false, &err);
	int rc = fd < 0 ? fd : recover(writer, &file, fd, &opts, &err);
	if (fd >= 0)
		close(fd);
	if (rc != 0 && file.at != NULL && rc != -ECANCELED)
		tl_warn("%.300s: left by an earlier run, and not recovered: %s", file.at, err.text);
	bool others = rc == -ENOMSG || rc == -EMEDIUMTYPE;
	tl_writer_ring_end(&writer->ring, &file, !others);
	free(file.name);
	free(file.at);
	return true;
}
