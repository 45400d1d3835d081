// SPDX-License-Identifier: BSD-3-Clause
// Hot calls: fill, seal, hand over and take back slabs.

#include "slab_priv.h"

struct tl_slab *tl_slab_alloc(struct tl_slab_ring *ring)
{
	struct tl_slab *slab;

	while ((slab = slab_queue_pop(&ring->free)) != NULL)
		ring->spare[ring->spares++] = slab;
	return ring->spares != 0 ? ring->spare[--ring->spares] : NULL;
}

static void open_next(struct tl_slab_ring *ring, uint64_t mono_ns)
{
	struct tl_slab *slab = tl_slab_alloc(ring);

	if (slab == NULL)
		return;
	ring->open = slab;
	ring->opened_ns = mono_ns;
	ring->cursor.at = slab->data + TL_PCAPNG_HEAD_BYTES;
	// Keep the last bytes free: a slab 4 or 8 bytes short of its size would leave no room for its PAD.
	ring->cursor.room_bytes = ring->slab_bytes - TL_PCAPNG_HEAD_BYTES - TL_PCAPNG_PAD_MIN;
}

void *tl_slab_reserve_next(struct tl_slab_ring *ring, uint32_t len_bytes, uint64_t mono_ns)
{
	tl_slab_seal(ring);
	if (ring->open == NULL)
		open_next(ring, mono_ns);
	return len_bytes <= ring->cursor.room_bytes ? ring->cursor.at : NULL;
}

void tl_slab_seal(struct tl_slab_ring *ring)
{
	struct tl_slab *slab = ring->open;
	uint32_t records = ring->cursor.records[TL_DIR_RX] + ring->cursor.records[TL_DIR_TX];

	if (records == 0)
		return;
	slab->used_bytes = (uint32_t)(ring->cursor.at - slab->data);
	slab->head_bytes = TL_PCAPNG_HEAD_BYTES;
	slab->sequence = ring->sequence++;
	slab->opened_ns = ring->opened_ns;
	for (uint32_t dir = 0; dir < TL_DIRS; dir++) {
		slab->records[dir] = ring->cursor.records[dir];
		ring->cursor.records[dir] = 0;
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
		tl_pcapng_put_pad(ring->cursor.at, pad_bytes);
	slab->sealed_bytes = slab->used_bytes + pad_bytes;

	ring->open = NULL;
	ring->cursor.room_bytes = 0;
	slab_queue_push(&ring->sealed, slab);
}

void tl_slab_seal_if_older(struct tl_slab_ring *ring, uint64_t mono_ns, uint64_t max_age_ns)
{
	if (ring->open != NULL && mono_ns - ring->opened_ns > max_age_ns)
		tl_slab_seal(ring);
}

struct tl_slab *tl_slab_opened(struct tl_slab_ring *ring)
{
	return ring->open;
}

uint32_t tl_slab_number(const struct tl_slab_ring *ring, const struct tl_slab *slab)
{
	return (uint32_t)(slab - ring->slabs);
}

void tl_slab_submit(struct tl_slab_ring *ring, struct tl_slab *slab)
{
	slab_queue_push(&ring->sealed, slab);
}

struct tl_slab *tl_slab_take(struct tl_slab_ring *ring)
{
	return slab_queue_pop(&ring->sealed);
}

void tl_slab_give_back(struct tl_slab_ring *ring, struct tl_slab *slab)
{
	slab_queue_push(&ring->free, slab);
}
