// SPDX-License-Identifier: BSD-3-Clause
// Set-up of owner table and rings, and the choice of local ports per lcore.

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include <tl_err.h>
#include <tl_ip6_book.h>
#include <tl_lcore.h>

#include "steer_priv.h"

#define DYNAMIC_FIRST 49152 // RFC 6335, section 6

static void join_sides(struct tl_steer *steer, uint32_t without_stack)
{
	for (uint16_t q = 0; q < steer->queues; q++) {
		struct tl_steer_side *side = &steer->sides[q];
		side->steer = steer;
		side->queue = q;
		bool has_stack = (without_stack >> q & 1) == 0;
		if (has_stack)
			steer->stacks[steer->n_stacks++] = (uint8_t)q;
		for (uint16_t other = 0; other < steer->queues; other++) {
			struct tl_steer_ring *ring = &steer->rings[other * steer->queues + q];
			if (other == q || !has_stack)
				continue;
			side->from[other] = ring;
			steer->sides[other].to[q] = ring;
		}
	}
}

int tl_steer_create(const struct tl_steer_cfg *cfg, struct tl_steer **out, struct tl_err *err)
{
	size_t rings = (size_t)cfg->queues * cfg->queues;

	if (cfg->queues < 2 || cfg->queues > TL_PORT_QUEUES_MAX)
		return tl_fail(err, -EINVAL, "frames are steered between 2 to %u lcores, not %u", TL_PORT_QUEUES_MAX,
			cfg->queues);
	if ((~cfg->without_stack & ((1u << cfg->queues) - 1)) == 0)
		return tl_fail(err, -EINVAL, "no lcore of the port has a stack");
	size_t bytes = sizeof(struct tl_steer) + rings * sizeof(struct tl_steer_ring);
	struct tl_steer *steer = rte_zmalloc_socket("tl_steer", bytes, TL_CACHE_LINE, cfg->socket_id);
	if (steer == NULL)
		return tl_fail(err, -ENOMEM,
			"no memory for the rings between %u lcores (%zu bytes): raise eal.memory_mb", cfg->queues,
			bytes);
	steer->ip_be = cfg->ip_be;
	memcpy(steer->mac, cfg->mac, sizeof(steer->mac));
	steer->queues = cfg->queues;
	memset(steer->tcp, TL_STEER_HERE, sizeof(steer->tcp));
	memset(steer->udp, TL_STEER_HERE, sizeof(steer->udp));
	join_sides(steer, cfg->without_stack);
	for (uint32_t port = DYNAMIC_FIRST; port <= UINT16_MAX; port++)
		steer->tcp[tl_be16((uint16_t)port)] = steer->stacks[port % steer->n_stacks];
	*out = steer;
	return 0;
}

void tl_steer_destroy(struct tl_steer *steer)
{
	if (steer == NULL)
		return;
	// Free frames in the rings, for lcores that did not finish.
	for (uint16_t q = 0; q < steer->queues; q++) {
		const struct tl_burst *burst;
		while ((burst = tl_steer_take(&steer->sides[q], 0)) != NULL)
			rte_pktmbuf_free_bulk((struct rte_mbuf **)burst->pkts, burst->n);
	}
	rte_free(steer);
}

struct tl_steer_side *tl_steer_side(struct tl_steer *steer, uint16_t queue)
{
	return &steer->sides[queue];
}

uint16_t tl_steer_stacks(const struct tl_steer_side *side)
{
	return side->steer->n_stacks;
}

static void end_side(void *side)
{
	tl_steer_end(side);
}

void tl_steer_service(struct tl_steer_side *side, struct tl_service *out)
{
	*out = (struct tl_service){.ctx = side, .rx = tl_steer_rx, .finish = end_side};
}

void tl_steer_own_tcp(struct tl_steer_side *side, uint16_t port_be)
{
	side->steer->tcp[port_be] = (uint8_t)side->queue;
}

void tl_steer_own_udp(struct tl_steer_side *side, uint16_t port_be)
{
	side->steer->udp[port_be] = (uint8_t)side->queue;
}

int tl_steer_own_group6(struct tl_steer_side *side, const struct tl_ip6 *group)
{
	struct tl_steer *steer = side->steer;
	struct tl_steer_group *slot = &steer->groups[tl_steer_group_slot(steer, group)];
	bool is_new = !tl_ip6_is_set(&slot->group);

	if (is_new && steer->n_groups == TL_STEER_GROUPS_MAX)
		return -ENOSPC;
	if (!is_new && slot->owner != side->queue)
		return -EEXIST;
	steer->n_groups += is_new;
	*slot = (struct tl_steer_group){.group = *group, .owner = (uint8_t)side->queue};
	return 0;
}

int tl_steer_own_group(struct tl_steer_side *side, uint32_t group_be)
{
	struct tl_ip6 group = tl_steer_mapped(group_be);

	return tl_steer_own_group6(side, &group);
}

static bool reaches(const struct tl_port_rss *rss, uint16_t queue)
{
	for (uint16_t i = 0; i < rss->reta_size; i++)
		if (rss->reta[i] == queue)
			return true;
	return false;
}

void tl_steer_set_rss(struct tl_steer *steer, const struct tl_port_rss *rss)
{
	steer->rss = *rss;
	for (uint16_t q = 0; q < steer->queues; q++)
		steer->sides[q].has_rss = reaches(rss, q);
}

bool tl_steer_may_connect(void *ctx, uint32_t peer_be, uint16_t peer_port_be, uint16_t port_be)
{
	const struct tl_steer_side *side = ctx;
	const struct tl_steer *steer = side->steer;

	if (steer->tcp[port_be] != side->queue)
		return false;
	return !side->has_rss || tl_ip_is6(peer_be) ||
	       tl_rss_queue(&steer->rss, peer_be, steer->ip_be, peer_port_be, port_be) == side->queue;
}

void tl_steer_end(struct tl_steer_side *side)
{
	for (uint16_t q = 0; q < side->steer->queues; q++)
		if (side->to[q] != NULL)
			__atomic_store_n(&side->to[q]->ended, true, __ATOMIC_RELEASE);
}

bool tl_steer_all_ended(const struct tl_steer_side *side)
{
	for (uint16_t q = 0; q < side->steer->queues; q++)
		if (side->from[q] != NULL && !__atomic_load_n(&side->from[q]->ended, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

void tl_steer_sample(const struct tl_steer_side *side, struct tl_ledger_handoff *out)
{
	out->handoff_taken_pkts = tl_count_read(&side->stats.handoff_taken_pkts);
	out->drop_handoff_pkts = tl_count_read(&side->stats.drop_handoff_pkts);
	out->handoff_pkts = tl_count_read(&side->stats.handoff_pkts);
}
