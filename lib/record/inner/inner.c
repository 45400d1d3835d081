// SPDX-License-Identifier: BSD-3-Clause
// Set-up of the lcores and their rings, and the end of the hand-off.

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_pause.h>
#include <rte_thash.h>

#include <tl_err.h>

#include "inner_priv.h"

static bool is_recorded(const struct tl_inner_cfg *cfg, uint16_t queue)
{
	return (cfg->skipped >> queue & 1) == 0;
}

static struct rte_ring *make_ring(const struct tl_inner_cfg *cfg)
{
	ssize_t bytes = rte_ring_get_memsize_elem(sizeof(struct tl_inner_frame), TL_INNER_RING);
	struct rte_ring *ring = rte_zmalloc_socket("tl_inner", (size_t)bytes, TL_CACHE_LINE, cfg->socket_id);

	if (ring == NULL || rte_ring_init(ring, "tl_inner", TL_INNER_RING, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0)
		return ring;
	rte_free(ring);
	return NULL;
}

// Create the rings to the other recorded queues. Return 0 or -ENOMEM.
static int join(struct tl_inner *inner, const struct tl_inner_cfg *cfg, uint16_t queue)
{
	struct tl_inner_side *side = &inner->sides[queue];

	for (uint16_t other = 0; other < cfg->queues; other++) {
		if (other == queue || !is_recorded(cfg, other) || !is_recorded(cfg, queue))
			continue;
		side->to[other] = make_ring(cfg);
		if (side->to[other] == NULL)
			return -ENOMEM;
		inner->sides[other].from[queue] = side->to[other];
	}
	return 0;
}

int tl_inner_create(const struct tl_inner_cfg *cfg, struct tl_inner **out, struct tl_err *err)
{
	struct tl_inner *inner = rte_zmalloc_socket("tl_inner", sizeof(*inner), TL_CACHE_LINE, cfg->socket_id);
	int rc = inner != NULL ? 0 : -ENOMEM;

	for (uint16_t q = 0; q < cfg->queues && rc == 0; q++) {
		inner->sides[q].inner = inner;
		inner->sides[q].queue = q;
		if (is_recorded(cfg, q))
			inner->recorded[inner->n_recorded++] = (uint8_t)q;
		rc = join(inner, cfg, q);
	}
	if (rc == 0 && inner->n_recorded < 2)
		rc = -EINVAL;
	if (rc != 0) {
		tl_inner_destroy(inner);
		return rc == -EINVAL
			       ? tl_fail(err, rc, "port %s: inner flows are those of two recorded queues at least",
					 cfg->name)
			       : tl_fail(err, rc,
					 "port %s: no memory for the rings of inner flows: raise eal.memory_mb",
					 cfg->name);
	}
	inner->queues = cfg->queues;
	inner->clock = cfg->clock;
	tl_flow_hash_init(&inner->hash, cfg->seed);
	*out = inner;
	return 0;
}

// The Toeplitz hash is linear, and with a key that repeats every 16 bits each word of the input has the same part in
// it: that of the xor of all words.
void tl_inner_follow(struct tl_inner *inner, const struct tl_port_rss *rss)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t high = byte << 24, low = byte << 16; // the first bits of the input
		inner->buckets[0][byte] = (uint16_t)(rte_softrss(&high, 1, rss->key) & (rss->reta_size - 1u));
		inner->buckets[1][byte] = (uint16_t)(rte_softrss(&low, 1, rss->key) & (rss->reta_size - 1u));
	}
	for (uint16_t i = 0; i < rss->reta_size; i++) {
		bool recorded = memchr(inner->recorded, rss->reta[i], inner->n_recorded) != NULL;
		inner->owners[i] = recorded ? (uint8_t)rss->reta[i] : inner->recorded[i % inner->n_recorded];
	}
	inner->follows = true;
}

void tl_inner_destroy(struct tl_inner *inner)
{
	struct tl_inner_frame frame;

	for (uint16_t q = 0; inner != NULL && q < TL_PORT_QUEUES_MAX; q++) {
		for (uint16_t other = 0; other < TL_PORT_QUEUES_MAX; other++) {
			struct rte_ring *ring = inner->sides[q].to[other];
			// Frames for lcores that did not finish.
			while (ring != NULL && rte_ring_sc_dequeue_elem(ring, &frame, sizeof(frame)) == 0)
				rte_pktmbuf_free(frame.m);
			rte_free(ring);
		}
	}
	rte_free(inner);
}

void tl_inner_end(struct tl_inner *inner, uint16_t queue)
{
	atomic_store_explicit(&inner->sides[queue].ended, true, memory_order_release);
}

static bool all_ended(const struct tl_inner_side *side)
{
	for (uint16_t q = 0; q < side->inner->queues; q++)
		if (side->from[q] != NULL && !atomic_load_explicit(&side->inner->sides[q].ended, memory_order_acquire))
			return false;
	return true;
}

// Hand over no more, and record the frames of the other lcores until they have ended.
static void finish(void *ctx)
{
	struct tl_inner_side *side = ctx;
	bool last;

	tl_inner_end(side->inner, side->queue);
	do {
		last = all_ended(side); // before the last poll
		while (tl_inner_poll(side, tl_clock_now_ns(side->inner->clock)) != 0)
			;
		rte_pause();
	} while (!last);
	for (uint32_t i = 0; i < side->n_services; i++)
		if (side->services[i].finish != NULL)
			side->services[i].finish(side->services[i].ctx);
}

void tl_inner_service(
	struct tl_inner *inner, uint16_t queue, const struct tl_service *services, uint32_t n, struct tl_service *out)
{
	struct tl_inner_side *side = &inner->sides[queue];

	*out = (struct tl_service){
		.ctx = side, .rx = tl_inner_rx, .poll = tl_inner_poll, .tick = tl_inner_tick, .finish = finish};
	memcpy(side->services, services, n * sizeof(services[0]));
	side->n_services = n;
	for (uint32_t i = 0; i < n; i++)
		if (services[i].sent != NULL)
			out->sent = tl_inner_sent;
}

void tl_inner_sample(const struct tl_inner *inner, struct tl_ledger_inner *out)
{
	*out = (struct tl_ledger_inner){0};
	for (uint16_t q = 0; q < inner->queues; q++) // parts before their whole
		out->inner_taken_pkts += tl_count_read(&inner->sides[q].stats.inner_taken_pkts);
	for (uint16_t q = 0; q < inner->queues; q++) {
		out->inner_kept_pkts += tl_count_read(&inner->sides[q].stats.inner_kept_pkts);
		out->inner_handoff_pkts += tl_count_read(&inner->sides[q].stats.inner_handoff_pkts);
	}
}
