// SPDX-License-Identifier: BSD-3-Clause
// Fills, seals, hands over and takes back slabs.

#include "slab_priv.h"

static void open_next(struct tl_slab_ring *ring, uint64_t mono_ns)
{
	struct tl_slab *slab = slab_queue_pop(&ring->free);

	if (slab == NULL)
		return;
	ring->open = slab;
	ring->opened_ns = mono_ns;
	ring->at = slab->data + TL_PCAPNG_HEAD_BYTES;
	// The last bytes stay free: a slab of 4 or 8 bytes less than its size would leave no room for its PAD.
	ring->room_bytes = ring->slab_bytes - TL_PCAPNG_HEAD_BYTES - TL_PCAPNG_PAD_MIN;
}

void *tl_slab_reserve(struct tl_slab_ring *ring, uint32_t len_bytes, uint64_t mono_ns)
{
	if (TL_LIKELY(len_bytes <= ring->room_bytes))
		return ring->at;
	tl_slab_seal(ring);
	if (ring->open == NULL)
		open_next(ring, mono_ns);
	return len_bytes <= ring->room_bytes ? ring->at : NULL;
}

void tl_slab_commit(struct tl_slab_ring *ring, uint32_t len_bytes, enum tl_dir dir)
{
	ring->at += len_bytes;
	ring->room_bytes -= len_bytes;
	ring->records[dir]++;
}

void tl_slab_seal(struct tl_slab_ring *ring)
{
	struct tl_slab *slab = ring->open;
	uint32_t records = ring->records[TL_DIR_RX] + ring->records[TL_DIR_TX];

	if (records == 0)
		return;
	slab->used_bytes = (uint32_t)(ring->at - slab->data);
	slab->sequence = ring->sequence++;
	for (uint32_t dir = 0; dir < TL_DIRS; dir++) {
		slab->records[dir] = ring->records[dir];
		ring->records[dir] = 0;
	}
	tl_pcapng_put_head(slab->data, &(struct tl_pcapng_head){
					       .run_id = ring->run_id,
					       .sequence = slab->sequence,
					       .ring = ring->ring_index,
					       .used_bytes = slab->used_bytes,
					       .records = records,
				       });
	uint32_t pad_bytes = tl_pcapng_pad_bytes(slab->used_bytes, TL_PCAPNG_ALIGN);
	if (pad_bytes != 0)
		tl_pcapng_put_pad(ring->at, pad_bytes);
	slab->sealed_bytes = slab->used_bytes + pad_bytes;

	ring->open = NULL;
	ring->room_bytes = 0;
	slab_queue_push(&ring->sealed, slab);
}

void tl_slab_seal_if_older(struct tl_slab_ring *ring, uint64_t mono_ns, uint64_t max_age_ns)
{
	if (ring->open != NULL && mono_ns - ring->opened_ns > max_age_ns)
		tl_slab_seal(ring);
}

struct tl_slab *tl_slab_take(struct tl_slab_ring *ring)
{
	return slab_queue_pop(&ring->sealed);
}

void tl_slab_give_back(struct tl_slab_ring *ring, struct tl_slab *slab)
{
	slab_queue_push(&ring->free, slab);
}
