// SPDX-License-Identifier: BSD-3-Clause
// Conversion of slabs, one by one, on several threads; the order of the slabs is kept.

#include "recode_priv.h"

#include <tl_guard.h>

// Take the next sealed slab of the rings in turn, with the lock held; NULL: none.
static struct tl_slab *take(struct tl_convert *c, uint32_t *out_ring)
{
	for (uint32_t i = 0; i < c->n_rings; i++) {
		*out_ring = c->next_ring;
		c->next_ring = (c->next_ring + 1) % c->n_rings;
		struct tl_slab *slab = tl_slab_take(c->rings[*out_ring]);
		if (slab != NULL)
			return slab;
	}
	return NULL;
}

static void convert(const struct tl_convert *c, uint32_t thread, const struct tl_slab *from, struct tl_slab *to)
{
	int64_t bytes = c->form == TL_RECODE_PCAP ? tl_recode_pcap(from, to->data)
						  : tl_zslab_pack(c->packers[thread], from->data, from->sealed_bytes,
							    to->data, tl_zslab_bound(from->sealed_bytes));

	to->used_bytes = bytes > 0 ? (uint32_t)bytes : 0; // 0: zstd is out of memory; the writer drops the slab
	to->sealed_bytes = to->used_bytes;
	to->head_bytes = 0;
	to->sequence = from->sequence;
	to->opened_ns = from->opened_ns;
	for (int dir = 0; dir < TL_DIRS; dir++)
		to->records[dir] = from->records[dir];
}

// Copy the origins of a merged slab, or set its ring.
static void note_origins(const struct tl_convert *c, uint32_t ring, const struct tl_slab *from, struct tl_slab *to)
{
	struct tl_slab_origin *origins = c->origins + (size_t)tl_slab_number(c->out, to) * c->n_origins;

	origins[0] =
		(struct tl_slab_origin){.ring = ring, .records = {from->records[TL_DIR_RX], from->records[TL_DIR_TX]}};
	for (uint32_t i = 0; i < from->n_origins; i++)
		origins[i] = from->origins[i];
	to->origins = origins;
	to->n_origins = from->n_origins != 0 ? from->n_origins : 1;
}

// Convert one slab. The lock is held at call and return, and released during the work.
static void convert_one(struct tl_convert *c, uint32_t thread, uint32_t ring, struct tl_slab *from, struct tl_slab *to)
{
	uint64_t ticket = c->taken++;

	pthread_mutex_unlock(&c->lock);
	convert(c, thread, from, to);
	note_origins(c, ring, from, to);
	pthread_mutex_lock(&c->lock);
	while (c->submitted != ticket)
		pthread_cond_wait(&c->handed_over, &c->lock);
	tl_slab_submit(c->out, to);
	tl_slab_give_back(c->rings[ring], from);
	c->submitted++;
	pthread_cond_broadcast(&c->handed_over);
}

// Index of the calling thread in the stage.
static uint32_t number_of(struct tl_convert *c)
{
	uint32_t number = 0;

	while (!pthread_equal(c->threads[number], pthread_self()))
		number++;
	return number;
}

static void *convert_main(void *arg)
{
	struct tl_convert *c = arg;
	struct tl_slab *to = NULL; // free slab for the next result
	unsigned idle = 0;
	uint32_t ring;

	tl_guard_thread(TL_GUARD_COMPUTE, "tl-convert");
	pthread_mutex_lock(&c->lock);
	uint32_t thread = number_of(c);
	for (;;) {
		bool stopping = atomic_load_explicit(c->stop, memory_order_acquire);
		if (to == NULL)
			to = tl_slab_alloc(c->out);
		struct tl_slab *from = to != NULL ? take(c, &ring) : NULL;
		if (from != NULL) {
			convert_one(c, thread, ring, from, to);
			to = NULL;
			idle = 0;
			continue;
		}
		if (stopping && to != NULL) // all slabs are converted
			break;
		pthread_mutex_unlock(&c->lock);
		tl_recode_idle(idle++);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	atomic_fetch_add_explicit(&c->n_ended, 1, memory_order_release);
	return NULL;
}

int tl_convert_start(struct tl_convert *c)
{
	int rc = 0;

	pthread_mutex_lock(&c->lock); // until all indexes are set
	while (rc == 0 && c->n_started < c->n_threads) {
		rc = -pthread_create(&c->threads[c->n_started], NULL, convert_main, c);
		c->n_started += rc == 0;
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void tl_convert_join(struct tl_convert *c)
{
	for (uint32_t i = 0; i < c->n_started; i++)
		pthread_join(c->threads[i], NULL);
	c->n_started = 0;
	atomic_store_explicit(&c->n_ended, 0, memory_order_relaxed);
}
