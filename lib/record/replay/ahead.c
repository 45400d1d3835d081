// SPDX-License-Identifier: BSD-3-Clause
// Memory and ring for the files read ahead: shared by as many files as are open at a time.

#include "replay_priv.h"

#include <string.h>
#include <unistd.h>

#include <tl_ahead.h>
#include <tl_log.h>

#define SLABS 16u
#define SLAB_BYTES_MIN (32u << 10)
#define SLAB_BYTES_MAX (256u << 10)
#define ALL_BYTES (32u << 20)	// limit for the slabs of all files
#define CACHED_BYTES (8u << 20) // shorter files are read through the page cache: O_DIRECT would not pay
#define MEMORY_SHARE 2		// of the host's memory: files that are played again, and fit in it, stay in the cache

static uint64_t host_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

// Without O_DIRECT the files of the next loop are in the page cache. Those of unknown length, which are compressed,
// fit.
static bool stays_cached(const struct tl_replay_cfg *cfg)
{
	return cfg->loops > 1 && cfg->bytes <= host_bytes() / MEMORY_SHARE;
}

struct tl_ahead *replay_ahead_create(const struct tl_replay_cfg *cfg)
{
	struct tl_ahead_cfg ahead = {
		.files = cfg->first_ns != NULL ? (uint32_t)RTE_MIN(cfg->n_paths, TL_REPLAY_MERGE_MAX) : 1,
		.slabs = SLABS,
		.slab_bytes = SLAB_BYTES_MAX,
		.direct_bytes = stays_cached(cfg) ? UINT64_MAX : CACHED_BYTES};
	struct tl_ahead *out = NULL;

	while (ahead.slab_bytes > SLAB_BYTES_MIN && ahead.files * SLABS * ahead.slab_bytes > ALL_BYTES)
		ahead.slab_bytes /= 2;
	int rc = tl_ahead_create(&ahead, &out);
	if (rc != 0)
		tl_info("io_uring is not available here (%s): reading with pread", strerror(-rc));
	return out;
}

void replay_ahead_sample(const struct replay_reader *r, struct tl_replay_stats *out)
{
	struct tl_ahead_stats stats = {0};

	if (r->ahead != NULL)
		tl_ahead_sample(r->ahead, &stats);
	out->by_uring = r->ahead != NULL;
	out->read_direct_bytes = stats.direct_bytes;
	out->read_cached_bytes = stats.cached_bytes;
	out->read_waits = stats.waits;
}
