// SPDX-License-Identifier: BSD-3-Clause
// Allocation of the slabs of a ring and of its queues.

#include "slab_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memzone.h>

#include <tl_err.h>
#include <tl_units.h>

#define NAME_MAX_CHARS 20
#define SLAB_BYTES_MIN (64u << 10)
#define SLAB_BYTES_MAX (4u << 20)
#define SLABS_MAX 65536u
#define PAGE_BYTES 4096u // smallest page size: larger pages are touched more than once

static int check(const struct tl_slab_cfg *cfg, struct tl_err *err)
{
	if (cfg->name[0] == '\0' || strlen(cfg->name) > NAME_MAX_CHARS)
		return tl_fail(
			err, -EINVAL, "slab ring '%s': a name has 1 to %d characters", cfg->name, NAME_MAX_CHARS);
	if (!rte_is_power_of_2(cfg->slab_bytes) || cfg->slab_bytes < SLAB_BYTES_MIN || cfg->slab_bytes > SLAB_BYTES_MAX)
		return tl_fail(err, -EINVAL, "slab ring %s: slabs of %u bytes: use a power of two from 64 KiB to 4 MiB",
			cfg->name, cfg->slab_bytes);
	if (cfg->slabs < 2 || cfg->slabs > SLABS_MAX)
		return tl_fail(err, -EINVAL, "slab ring %s: %u slabs: use 2 to %u", cfg->name, cfg->slabs, SLABS_MAX);
	return 0;
}

static int fail_memory(const struct tl_slab_cfg *cfg, struct tl_err *err)
{
	char size[32];

	return tl_fail(err, -ENOMEM,
		"slab ring %s: DPDK has no %s in one piece on NUMA node %d: take a smaller \"buffer_bytes\", or give it more "
		"memory (\"eal.memory_mb\", hugepages)",
		cfg->name, tl_format_bytes((uint64_t)cfg->slabs * cfg->slab_bytes, size, sizeof(size)), cfg->socket_id);
}

// Reserve one memzone for all slabs and touch each page, so that the lcore takes no page faults.
static int reserve_memory(struct tl_slab_ring *ring, const struct tl_slab_cfg *cfg, struct tl_err *err)
{
	char name[RTE_MEMZONE_NAMESIZE];
	size_t bytes = (size_t)cfg->slabs * cfg->slab_bytes;

	snprintf(name, sizeof(name), "tl_slab_%s", cfg->name);
	const struct rte_memzone *zone = rte_memzone_reserve_aligned(name, bytes, cfg->socket_id, 0, PAGE_BYTES);
	if (zone == NULL && rte_errno == EEXIST)
		return tl_fail(err, -EEXIST, "slab ring %s: there is one of this name already", cfg->name);
	if (zone == NULL)
		return fail_memory(cfg, err);
	ring->memory = zone;
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		((volatile uint8_t *)zone->addr)[at] = 0;
	for (uint32_t i = 0; i < cfg->slabs; i++)
		ring->slabs[i].data = (uint8_t *)zone->addr + (size_t)i * cfg->slab_bytes;
	return 0;
}

static int create_queue(struct slab_queue *queue, const struct tl_slab_cfg *cfg, struct tl_err *err)
{
	uint32_t cells = rte_align32pow2(cfg->slabs);

	queue->cells = rte_zmalloc_socket("tl_slab", cells * sizeof(*queue->cells), TL_CACHE_LINE, cfg->socket_id);
	queue->mask = cells - 1;
	return queue->cells == NULL ? fail_memory(cfg, err) : 0;
}

static int allocate(struct tl_slab_ring *ring, const struct tl_slab_cfg *cfg, struct tl_err *err)
{
	int rc = create_queue(&ring->sealed, cfg, err);

	if (rc == 0)
		rc = create_queue(&ring->free, cfg, err);
	if (rc != 0)
		return rc;
	ring->slabs = rte_zmalloc_socket("tl_slab", cfg->slabs * sizeof(*ring->slabs), TL_CACHE_LINE, cfg->socket_id);
	ring->spare = rte_zmalloc_socket("tl_slab", cfg->slabs * sizeof(*ring->spare), TL_CACHE_LINE, cfg->socket_id);
	if (ring->slabs == NULL || ring->spare == NULL)
		return fail_memory(cfg, err);
	return reserve_memory(ring, cfg, err);
}

int tl_slab_create(const struct tl_slab_cfg *cfg, struct tl_slab_ring **out, struct tl_err *err)
{
	int rc = check(cfg, err);

	if (rc != 0)
		return rc;
	struct tl_slab_ring *ring = rte_zmalloc_socket("tl_slab", sizeof(*ring), TL_CACHE_LINE, cfg->socket_id);
	if (ring == NULL)
		return fail_memory(cfg, err);
	ring->slab_bytes = cfg->slab_bytes;
	ring->n_slabs = cfg->slabs;
	ring->ring_index = cfg->ring_index;
	ring->run_id = cfg->run_id;
	rc = allocate(ring, cfg, err);
	if (rc != 0) {
		tl_slab_destroy(ring);
		return rc;
	}
	for (uint32_t i = 0; i < cfg->slabs; i++)
		ring->spare[ring->spares++] = &ring->slabs[i];
	*out = ring;
	return 0;
}

uint32_t tl_slab_count(const struct tl_slab_ring *ring)
{
	return ring->n_slabs;
}

void tl_slab_destroy(struct tl_slab_ring *ring)
{
	if (ring == NULL)
		return;
	rte_memzone_free(ring->memory);
	rte_free(ring->slabs);
	rte_free(ring->spare);
	rte_free(ring->free.cells);
	rte_free(ring->sealed.cells);
	rte_free(ring);
}

uint32_t tl_slab_used(const struct tl_slab_ring *ring)
{
	// free first: every slab in it was sealed before
	uint32_t back = __atomic_load_n(&ring->free.pushed, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&ring->sealed.pushed, __ATOMIC_ACQUIRE) - back;
}

uint32_t tl_slab_sealed(const struct tl_slab_ring *ring)
{
	return __atomic_load_n(&ring->sealed.pushed, __ATOMIC_ACQUIRE);
}

uint64_t tl_slab_memory(const struct tl_slab_ring *ring, uint8_t **out)
{
	*out = ring->memory->addr;
	return ring->memory->len;
}
