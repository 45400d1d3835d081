// SPDX-License-Identifier: BSD-3-Clause
// Set-up of classes.

#include "police_priv.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include <tl_err.h>
#include <tl_units.h>

int tl_police_check(const struct tl_police_class *cls, struct tl_err *err)
{
	struct tl_meter unused;
	int rc = cls->match != NULL ? tl_filter_check(cls->match, err) : 0;

	return rc == 0 ? tl_meter_init(&unused, &cls->meter, err) : rc;
}

static int police_make_table(
	struct police_class *c, const struct tl_police_class *cfg, int socket_id, struct tl_err *err)
{
	if (cfg->per == TL_POLICE_PER_CLASS)
		return 0;
	if (!rte_is_power_of_2(cfg->meters) || cfg->meters < POLICE_WAYS)
		return tl_fail(
			err, -EINVAL, "a table of %u meters: use a power of two from %u", cfg->meters, POLICE_WAYS);
	size_t bytes = (size_t)cfg->meters * sizeof(struct police_meter);
	c->table = rte_zmalloc_socket("tl_police", bytes, TL_CACHE_LINE, socket_id);
	if (c->table == NULL) {
		char size[32];
		return tl_fail(err, -ENOMEM,
			"no %s on NUMA node %d for a table of %u meters: fewer meters, or more memory or hugepages",
			tl_format_bytes(bytes, size, sizeof(size)), socket_id, cfg->meters);
	}
	c->group_mask = cfg->meters / POLICE_WAYS - 1;
	return 0;
}

static int police_make_class(
	struct police_class *c, const struct tl_police_class *cfg, int socket_id, struct tl_err *err)
{
	int rc = cfg->match != NULL ? tl_filter_create(cfg->match, &c->filter, err) : 0;

	if (rc == 0)
		rc = tl_meter_init(&c->meter, &cfg->meter, err);
	if (rc == 0)
		rc = police_make_table(c, cfg, socket_id, err);
	if (rc != 0)
		return tl_fail_at(err, rc, "class %s", cfg->name);
	c->shared = c->meter.state;
	c->reuse_ns = tl_meter_full_ns(&c->meter) + TL_POLICE_STEP_NS;
	c->per = cfg->per;
	c->aware = cfg->aware;
	c->snaplen = cfg->snaplen;
	return 0;
}

int tl_police_create(const struct tl_police_cfg *cfg, struct tl_police **out, struct tl_err *err)
{
	struct tl_police *p = rte_zmalloc_socket("tl_police", sizeof(*p), TL_CACHE_LINE, cfg->socket_id);
	int rc = 0;

	if (p == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the classes of a recording");
	tl_flow_hash_init(&p->hash, cfg->seed);
	p->inner = cfg->inner;
	p->n_classes = cfg->n_classes;
	for (uint32_t i = 0; i < cfg->n_classes && rc == 0; i++)
		rc = police_make_class(&p->classes[i], &cfg->classes[i], cfg->socket_id, err);
	if (rc != 0) {
		tl_police_destroy(p);
		return rc;
	}
	*out = p;
	return 0;
}

void tl_police_destroy(struct tl_police *p)
{
	if (p == NULL)
		return;
	for (uint32_t i = 0; i < p->n_classes; i++) {
		if (p->classes[i].filter != NULL)
			tl_filter_destroy(p->classes[i].filter);
		rte_free(p->classes[i].table);
	}
	rte_free(p);
}

void tl_police_sample(const struct tl_police *p, uint32_t cls, struct tl_police_stats *sum)
{
	const struct tl_police_stats *stats = &p->classes[cls].stats;

	sum->meters += tl_count_read(&stats->meters);
	sum->overflow_pkts += tl_count_read(&stats->overflow_pkts);
	for (int i = 0; i < TL_METER_COLOURS; i++) {
		sum->bytes[i] += tl_count_read(&stats->bytes[i]);
		sum->pkts[i] += tl_count_read(&stats->pkts[i]);
	}
	sum->matched_pkts += tl_count_read(&stats->matched_pkts);
}
