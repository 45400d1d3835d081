// SPDX-License-Identifier: BSD-3-Clause
// First error of a writer, and one log line each at the begin and end of a fault.

#include "writer_priv.h"

#include <string.h>

#include <tl_log.h>

const char *tl_writer_advice(int code)
{
	static const struct {
		int code;
		const char *text;
	} table[] = {
		{ENOSPC, "free some space, or record to another disk"},
		{EDQUOT, "raise the quota, or record to another disk"},
		{EFBIG, "raise the file size limit (ulimit -f), or rotate at a smaller size"},
		{EIO, "look for disk errors in the kernel log (dmesg)"},
		{EROFS, "remount it writable, or record elsewhere"},
		{EACCES, "name a place that this user may write to"},
		{EPERM, "name a place that this user may write to"},
		{ENOENT, "create its directory"},
		{ENOTDIR, "correct the path"},
		{EISDIR, "name a file in it"},
		{EBUSY, "another recording is writing it: name another file"},
		{ENOMEM, "leave it more memory, or compress at a lower level"},
		{EMFILE, "raise the limit of open files (ulimit -n)"},
		{ENOBUFS, "record fewer queues: what opens and closes a file does not fit 64 KiB"},
		{EPIPE, "its reader went away"},
		{ETIMEDOUT, "its reader stopped reading"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++)
		if (table[i].code == -code)
			return table[i].text;
	return "record to another file";
}

void tl_writer_trouble_begin(struct tl_writer *writer, struct tl_writer_trouble *trouble, const char *path, int code)
{
	struct tl_err now;

	if (trouble->on || (code == -EPIPE && writer->cfg.reader_may_leave))
		return;
	trouble->on = true;
	tl_fail(&now, code, "%.300s: %s: %s; %s", path, trouble->what, strerror(-code), tl_writer_advice(code));
	tl_error("%s", now.text);
	if (atomic_flag_test_and_set(&writer->error_claimed))
		return;
	writer->error = now;
	atomic_store_explicit(&writer->first_error, code, memory_order_release);
}

void tl_writer_trouble_end(struct tl_writer *writer, struct tl_writer_trouble *trouble, const char *path)
{
	if (!trouble->on)
		return;
	trouble->on = false;
	tl_info("%.300s: %s", path, trouble->over);
}

void tl_writer_warn_buffered(struct tl_writer *writer, const struct tl_writer_file *file)
{
	if (file->stream || file->direct ||
		atomic_exchange_explicit(&writer->direct_refused, true, memory_order_relaxed))
		return;
	tl_warn("%.300s: this file system refuses O_DIRECT or ignores it: writing through the page cache, which is slower",
		file->label);
}
