// SPDX-License-Identifier: BSD-3-Clause
// Set-up of the flow table.

#include "flow_priv.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include <tl_encap.h>
#include <tl_err.h>
#include <tl_random.h>
#include <tl_units.h>

static int check(const struct tl_flow_cfg *cfg, struct tl_err *err)
{
	if (!rte_is_power_of_2(cfg->entries) || cfg->entries < TL_FLOW_ENTRIES_MIN ||
		cfg->entries > TL_FLOW_ENTRIES_MAX)
		return tl_fail(err, -EINVAL, "a table of %u flows: use a power of two from %u to %u", cfg->entries,
			TL_FLOW_ENTRIES_MIN, TL_FLOW_ENTRIES_MAX);
	if (cfg->cutoff_bytes < TL_FLOW_CUTOFF_MIN || cfg->cutoff_bytes > TL_FLOW_CUTOFF_MAX)
		return tl_fail(err, -EINVAL, "a cut-off after %u bytes of a flow: use %u to %u", cfg->cutoff_bytes,
			TL_FLOW_CUTOFF_MIN, TL_FLOW_CUTOFF_MAX);
	return 0;
}

void tl_flow_hash_init(struct tl_flow_hash *hash, uint64_t seed)
{
	for (unsigned i = 0; i < TL_FLOW_KEYS; i++)
		hash->key[i] = tl_random_next(&seed);
}

int tl_flow_create(const struct tl_flow_cfg *cfg, struct tl_flow_table **out, struct tl_err *err)
{
	int rc = check(cfg, err);

	if (rc != 0)
		return rc;
	size_t bytes = (size_t)cfg->entries * sizeof(struct tl_flow_entry);
	struct tl_flow_table *t = rte_zmalloc_socket("tl_flow", sizeof(*t), TL_CACHE_LINE, cfg->socket_id);
	if (t != NULL)
		t->buckets = rte_zmalloc_socket("tl_flow", bytes, TL_CACHE_LINE, cfg->socket_id);
	if (t == NULL || t->buckets == NULL) {
		char size[32];
		tl_flow_destroy(t);
		return tl_fail(err, -ENOMEM,
			"no %s on NUMA node %d for a table of %u flows: fewer flows, or more memory or hugepages",
			tl_format_bytes(bytes, size, sizeof(size)), cfg->socket_id, cfg->entries);
	}
	tl_flow_hash_init(&t->hash, cfg->seed);
	t->bucket_mask = cfg->entries / TL_FLOW_WAYS - 1;
	t->tunnels = cfg->inner ? TL_ENCAP_UDP_PORTS : 0;
	t->cutoff_bytes = cfg->cutoff_bytes;
	t->idle_ticks = (int32_t)tl_min_u64(cfg->idle_ns >> TL_FLOW_TICK_SHIFT, INT32_MAX);
	*out = t;
	return 0;
}

void tl_flow_destroy(struct tl_flow_table *table)
{
	if (table == NULL)
		return;
	rte_free(table->buckets);
	rte_free(table);
}

const struct tl_flow_stats *tl_flow_counters(const struct tl_flow_table *table)
{
	return &table->stats;
}
