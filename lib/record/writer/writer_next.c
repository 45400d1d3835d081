// SPDX-License-Identifier: BSD-3-Clause
// Transition of the recording to the next file: on request, by the clock, or after removal of the current file.

#include "writer_priv.h"

#include <time.h>

#include <tl_log.h>

void tl_writer_leave_file(struct tl_writer *writer)
{
	struct tl_writer_file *file = writer->file;

	writer->file = NULL;
	file->left = true;
	if (file->in_flight == 0)
		tl_writer_cached_release(writer, file);
}

bool tl_writer_go_on(struct tl_writer *writer, uint64_t patience_ns)
{
	struct tl_writer_file *last = writer->file;
	bool known_late = last->overdue && patience_ns != TL_WRITER_STUCK_PATIENCE_NS;
	struct tl_writer_file *next =
		tl_writer_helper_next(writer, known_late ? 0 : patience_ns, TL_WRITER_STUCK_PATIENCE_NS);

	if (next == NULL) {
		last->overdue |= patience_ns != 0;
		return false;
	}
	tl_writer_leave_file(writer);
	writer->file = next;
	tl_count(&writer->stats.files, 1);
	return true;
}

bool tl_writer_leave_removed(struct tl_writer *writer)
{
	bool left = tl_writer_go_on(writer, TL_WRITER_STUCK_PATIENCE_NS);

	atomic_store_explicit(&writer->rotate_asked, !left, memory_order_relaxed);
	if (left)
		tl_warn("%.300s: was removed while it was written: the recording continues in a new file",
			writer->cfg.path);
	return left;
}

void tl_writer_set_rotation_time(struct tl_writer *writer, uint64_t now_s)
{
	uint64_t period_s = writer->cfg.policy.rotate_seconds;

	writer->rotate_at_s = period_s == 0 ? 0 : (now_s / period_s + 1) * period_s;
}

void tl_writer_rotate_if_due(struct tl_writer *writer)
{
	struct timespec now;

	if (writer->rotate_at_s != 0) {
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		uint64_t now_s = (uint64_t)now.tv_sec;
		bool stepped_back = now_s + writer->cfg.policy.rotate_seconds < writer->rotate_at_s;
		if (now_s >= writer->rotate_at_s)
			tl_writer_rotate(writer);
		if (now_s >= writer->rotate_at_s || stepped_back)
			tl_writer_set_rotation_time(writer, now_s);
	}
	if (!atomic_load_explicit(&writer->rotate_asked, memory_order_relaxed))
		return;
	if (writer->file == NULL || writer->file->stream || tl_writer_go_on(writer, 0))
		atomic_store_explicit(&writer->rotate_asked, false, memory_order_relaxed);
}
