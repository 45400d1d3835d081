// SPDX-License-Identifier: BSD-3-Clause
// Limit of the bytes that a writer takes from its rings, and its load. The credit is in bytes, so that a new limit
// applies at once, also to a writer that waits.

#include "writer_priv.h"

#include <tl_units.h>

#define CREDIT_PARTS 32 // of a second: largest credit beside a slab, earned while the thread was late or idle

static uint64_t slab_bytes(const struct tl_slab_ring *ring)
{
	uint8_t *memory;

	return tl_slab_memory(ring, &memory) / tl_slab_count(ring);
}

// Earn the credit of the time since the last call.
static void earn(struct tl_writer *writer, uint64_t limit_bytes)
{
	struct tl_writer_share *share = &writer->share;
	uint64_t now_ns = tl_mono_ns();
	int64_t room = (int64_t)(limit_bytes / CREDIT_PARTS + slab_bytes(writer->cfg.rings[0])) - share->credit_bytes;
	unsigned __int128 earned = (unsigned __int128)limit_bytes * (now_ns - share->earned_ns) / TL_NS_PER_S;

	if (earned == 0 && limit_bytes != 0)
		return; // too little time to be counted
	share->earned_ns = now_ns;
	share->credit_bytes += room < 0 || earned > (uint64_t)room ? room : (int64_t)earned;
}

bool tl_writer_may_take(struct tl_writer *writer)
{
	uint64_t limit_bytes = atomic_load_explicit(&writer->share.limit_bytes, memory_order_relaxed);

	if (limit_bytes == TL_WRITER_NO_LIMIT || atomic_load_explicit(&writer->stop, memory_order_relaxed))
		return true;
	earn(writer, limit_bytes);
	return writer->share.credit_bytes > 0;
}

void tl_writer_count_taken(struct tl_writer *writer, const struct tl_slab *slab)
{
	struct tl_writer_share *share = &writer->share;

	if (atomic_load_explicit(&share->limit_bytes, memory_order_relaxed) != TL_WRITER_NO_LIMIT)
		share->credit_bytes -= slab->sealed_bytes;
	tl_count(&share->taken_bytes, slab->sealed_bytes);
	tl_count(&share->taken_slabs, 1);
}

void tl_writer_count_done(struct tl_writer *writer, const struct tl_writer_write *write)
{
	tl_count(&writer->share.done_bytes, write->len_bytes);
}

void tl_writer_busy_begin(struct tl_writer *writer)
{
	atomic_store_explicit(&writer->share.busy_since_ns, tl_mono_ns(), memory_order_relaxed);
}

void tl_writer_busy_end(struct tl_writer *writer)
{
	struct tl_writer_share *share = &writer->share;
	uint64_t since_ns = atomic_load_explicit(&share->busy_since_ns, memory_order_relaxed);

	atomic_store_explicit(&share->busy_since_ns, 0, memory_order_relaxed);
	tl_count(&share->busy_ns, tl_mono_ns() - since_ns);
}

void tl_writer_set_limit(struct tl_writer *writer, uint64_t bytes_per_s)
{
	atomic_store_explicit(&writer->share.limit_bytes, bytes_per_s, memory_order_relaxed);
}

uint64_t tl_writer_limit(const struct tl_writer *writer)
{
	return atomic_load_explicit(&writer->share.limit_bytes, memory_order_relaxed);
}

void tl_writer_load(const struct tl_writer *writer, struct tl_writer_load *out)
{
	const struct tl_writer_share *share = &writer->share;
	uint64_t done_bytes = tl_count_read(&share->done_bytes), busy_ns = tl_count_read(&share->busy_ns);
	uint64_t since_ns = atomic_load_explicit(&share->busy_since_ns, memory_order_relaxed);
	uint64_t taken_bytes = tl_count_read(&share->taken_bytes);
	// Read before those sealed, which include them.
	uint32_t waiting = 0 - (uint32_t)tl_count_read(&share->taken_slabs);

	for (uint32_t i = 0; i < writer->cfg.n_rings; i++)
		waiting += tl_slab_sealed(writer->cfg.rings[i]);
	out->backlog_bytes = waiting * slab_bytes(writer->cfg.rings[0]);
	out->in_bytes = taken_bytes + out->backlog_bytes;
	out->done_bytes = done_bytes;
	out->busy_ns = busy_ns + (since_ns != 0 ? tl_mono_ns() - since_ns : 0);
}
