// SPDX-License-Identifier: BSD-3-Clause
// Log lines about a file that is being read, not more often than a user can read them.

#include <tl_progress.h>

#include <tl_log.h>
#include <tl_units.h>

#define INTERVAL_NS (2 * TL_NS_PER_S)

bool tl_progress_is_due(struct tl_progress *progress, uint64_t now_ns)
{
	bool first = progress->next_ns == 0;

	if (!first && now_ns < progress->next_ns)
		return false;
	progress->next_ns = now_ns + INTERVAL_NS;
	return !first;
}

void tl_progress_log(struct tl_progress *progress, const char *path, uint64_t done_bytes, uint64_t size_bytes)
{
	char done[32], size[32];

	if (!tl_progress_is_due(progress, tl_mono_ns()))
		return;
	tl_format_bytes(done_bytes, done, sizeof(done));
	tl_format_bytes(size_bytes, size, sizeof(size));
	tl_info("%s: read %s%s%s", path, done, size_bytes != 0 ? " of " : "", size_bytes != 0 ? size : "");
}
