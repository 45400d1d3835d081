// SPDX-License-Identifier: BSD-3-Clause
// Set-up and end of a tree.

#include "tree_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

static uint32_t tree_flows(const struct tl_tree_class *c)
{
	return c->flows != 0 ? c->flows : 1;
}

static int tree_check_sizes(const struct tl_tree_cfg *cfg, struct tl_err *err)
{
	uint64_t queues = 0;

	for (uint32_t i = 0; i < cfg->n_classes; i++)
		queues += tree_flows(&cfg->classes[i]);
	const struct tree_range ranges[] = {{"classes", cfg->n_classes, 1, TL_TREE_CLASSES_MAX},
		{"mtu", cfg->mtu, 1, TL_TREE_MTU_MAX}, {"overhead", cfg->overhead_bytes, 0, cfg->mtu},
		{"frames", cfg->frames, 0, TL_TREE_FRAMES_MAX}, {"queues", queues, 1, TL_TREE_QUEUES_MAX}};

	return tree_check_ranges("class tree", ranges, TL_ARRAY_LEN(ranges), err);
}

static int tree_check_class(const struct tl_tree_cfg *cfg, uint32_t index, struct tl_err *err)
{
	const struct tl_tree_class *c = &cfg->classes[index];
	uint32_t depth = 1;

	if (index != 0 && c->parent >= index)
		return tl_fail(err, -EINVAL, "class %s: parent %" PRIu32 ": not an earlier class; give parents first",
			c->name, c->parent);
	for (uint32_t i = index; i != 0; i = cfg->classes[i].parent)
		depth++;
	if (depth > TL_TREE_DEPTH_MAX)
		return tl_fail(err, -EINVAL, "class %s: nested %" PRIu32 " deep; nest at most %d deep", c->name, depth,
			TL_TREE_DEPTH_MAX);
	if (c->flows > TL_TREE_FLOWS_MAX || (c->flows & (c->flows - 1)) != 0)
		return tl_fail(err, -EINVAL, "class %s: flows %" PRIu32 ": give a power of two up to %" PRIu32, c->name,
			c->flows, TL_TREE_FLOWS_MAX);
	if (c->limit_bytes != 0 && c->limit_bytes < cfg->mtu)
		return tl_fail(err, -EINVAL,
			"class %s: limit of %" PRIu64 " bytes: less than a frame; give %" PRIu32 " or more", c->name,
			c->limit_bytes, cfg->mtu);
	if (c->codel_target_ns != 0 &&
		(c->codel_interval_ns < c->codel_target_ns || c->codel_interval_ns > TL_TREE_INTERVAL_MAX))
		return tl_fail(err, -EINVAL,
			"class %s: interval of %" PRIu64 " ns: give one from the target, %" PRIu64 " ns, to %" PRIu64
			" ns",
			c->name, c->codel_interval_ns, c->codel_target_ns, TL_TREE_INTERVAL_MAX);
	return 0;
}

static int tree_check(const struct tl_tree_cfg *cfg, uint32_t *at, struct tl_err *err)
{
	int rc = tree_check_sizes(cfg, err);

	*at = 0;
	for (uint32_t i = 0; rc == 0 && i < cfg->n_classes; i++) {
		*at = i;
		rc = tree_check_class(cfg, i, err);
	}
	return rc;
}

int tl_tree_check(const struct tl_tree_cfg *cfg, uint32_t *at, struct tl_err *err)
{
	struct tl_tree_rates *rates = NULL;
	int rc = tree_check(cfg, at, err);

	if (rc == 0)
		rc = tree_rates_create(cfg->classes, cfg->n_classes, cfg->mtu, &rates, at, err);
	tl_tree_rates_destroy(rates);
	return rc;
}

// Memory of leaves.
struct tree_counts {
	uint32_t flows, sizes, codels;
};

static void tree_set_leaf(struct tl_tree *t, uint32_t index, const struct tl_tree_class *c, struct tree_counts *used)
{
	struct tree_leaf *leaf = t->nodes[index].leaf;
	uint32_t flows = tree_flows(c);

	leaf->flows = &t->flows[used->flows];
	leaf->sizes = flows > 1 ? &t->sizes[used->sizes++] : NULL;
	leaf->codel = c->codel_target_ns != 0 ? &t->codels[used->codels] : NULL;
	leaf->is_plain = leaf->sizes == NULL && leaf->codel == NULL;
	leaf->target_ns = c->codel_target_ns;
	leaf->interval_ns = c->codel_interval_ns;
	leaf->mask = flows - 1;
	leaf->limit_pkts = c->limit_pkts != 0 ? c->limit_pkts : UINT32_MAX;
	leaf->limit_bytes = c->limit_bytes != 0 ? c->limit_bytes : UINT64_MAX;
	leaf->limit_ns = c->limit_ns != 0 ? c->limit_ns : UINT64_MAX;
	for (uint32_t i = 0; i < flows; i++)
		leaf->flows[i].quantum = t->mtu;
	if (leaf->sizes != NULL)
		leaf->sizes->used[0] = 0; // no page fault on the lcore
	used->flows += flows;
	used->codels += leaf->codel != NULL ? flows : 0;
}

static void tree_set_node(struct tl_tree *t, uint32_t index, struct tree_node *parent, uint64_t now_ns)
{
	const struct tree_rate *rate = &t->rates->of[index];
	struct tree_node *n = &t->nodes[index];

	*n = (struct tree_node){.tokens = rate->burst,
		.ctokens = rate->cburst,
		.tokens_ns = now_ns,
		.ctokens_ns = now_ns,
		.rate = rate,
		.work = TREE_IS_IDLE | (rate->ceil != 0 ? TREE_PAYS_CEIL : 0),
		.wait = {.slot = TL_WHEEL_OUT},
		.leaf = n->leaf,
		.parent = parent};
	n->turns[TREE_GREEN].list = n->turns[TREE_EXCESS].list = TREE_LISTS;
}

static void tree_set_nodes(struct tl_tree *t, const struct tl_tree_cfg *cfg)
{
	struct tree_counts used = {0};

	for (uint32_t i = 0; i < cfg->n_classes; i++) {
		tree_set_node(t, i, i != 0 ? &t->nodes[cfg->classes[i].parent] : NULL, cfg->now_ns);
		if (t->nodes[i].leaf != NULL)
			tree_set_leaf(t, i, &cfg->classes[i], &used);
	}
}

static void tree_set_frames(struct tl_tree *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		t->frames[i].next = i + 1 < n ? &t->frames[i + 1] : NULL;
	t->free = t->frames;
}

// Allocate each leaf by itself: a tree takes over those of another. Classes with children are marked, until set-up
// ends, in "used".
static bool tree_allocate_leaves(struct tl_tree *t, const struct tl_tree_cfg *cfg)
{
	memset(t->nodes, 0, cfg->n_classes * sizeof(t->nodes[0]));
	for (uint32_t i = 1; i < cfg->n_classes; i++)
		t->nodes[cfg->classes[i].parent].used = 1;
	for (uint32_t i = 0; i < cfg->n_classes; i++) {
		if (t->nodes[i].used != 0)
			continue;
		t->nodes[i].leaf = calloc(1, sizeof(*t->nodes[i].leaf));
		if (t->nodes[i].leaf == NULL)
			return false;
	}
	return true;
}

static int tree_allocate(struct tl_tree *t, const struct tl_tree_cfg *cfg, struct tl_err *err)
{
	struct tree_counts most = {0};

	for (uint32_t i = 0; i < cfg->n_classes; i++) {
		most.flows += tree_flows(&cfg->classes[i]);
		most.sizes += cfg->classes[i].flows > 1;
		most.codels += cfg->classes[i].codel_target_ns != 0 ? tree_flows(&cfg->classes[i]) : 0;
	}
	t->nodes = aligned_alloc(TL_CACHE_LINE, cfg->n_classes * sizeof(t->nodes[0]));
	t->flows = calloc(most.flows, sizeof(t->flows[0]));
	t->sizes = calloc(most.sizes + 1, sizeof(t->sizes[0]));
	t->codels = calloc(most.codels + 1, sizeof(t->codels[0]));
	t->gone = calloc(cfg->n_classes, sizeof(t->gone[0]));
	t->frames = cfg->frames != 0 ? calloc(cfg->frames, sizeof(t->frames[0])) : NULL;
	if (t->nodes == NULL || !tree_allocate_leaves(t, cfg) || t->flows == NULL || t->sizes == NULL ||
		t->codels == NULL || t->gone == NULL || (t->frames == NULL && cfg->frames != 0))
		return tl_fail(err, -ENOMEM,
			"no memory for %" PRIu32 " classes, %" PRIu32 " queues and %" PRIu32 " frames; give fewer",
			cfg->n_classes, most.flows, cfg->frames);
	return 0;
}

static void tree_free(struct tl_tree *t)
{
	for (uint32_t i = 0; t->nodes != NULL && i < t->n_nodes; i++)
		free(t->nodes[i].leaf);
	for (uint32_t i = 0; t->gone != NULL && i < t->n_nodes; i++)
		free(t->gone[i]);
	free(t->nodes);
	free(t->flows);
	free(t->sizes);
	free(t->codels);
	free(t->frames);
	free(t->gone);
	tl_tree_rates_destroy(t->own_rates);
	free(t);
}

static void tree_set(struct tl_tree *t, const struct tl_tree_cfg *cfg)
{
	t->now_ns = cfg->now_ns;
	t->mtu = cfg->mtu;
	t->mtu_cost = cfg->mtu * TL_BUCKET_BYTE_COST;
	t->overhead_bytes = cfg->overhead_bytes;
	t->adopted = t->n_nodes;
	t->drop = cfg->drop;
	t->drop_ctx = cfg->drop_ctx;
	tl_wheel_init(&t->wheel, cfg->now_ns);
	t->rates = t->in_use = t->own_rates;
	atomic_init(&t->offered, t->own_rates);
	tree_set_nodes(t, cfg);
	tree_set_frames(t, cfg->frames);
}

int tl_tree_create(const struct tl_tree_cfg *cfg, struct tl_tree **out, struct tl_err *err)
{
	uint32_t at;
	int rc = tree_check(cfg, &at, err);

	if (rc != 0)
		return rc;
	struct tl_tree *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return tl_fail(err, -ENOMEM, "no memory for a class tree");
	t->n_nodes = cfg->n_classes;
	rc = tree_rates_create(cfg->classes, cfg->n_classes, cfg->mtu, &t->own_rates, &at, err);
	if (rc == 0)
		rc = tree_allocate(t, cfg, err);
	if (rc != 0) {
		tree_free(t);
		return rc;
	}
	tree_set(t, cfg);
	*out = t;
	return 0;
}

void tl_tree_end(struct tl_tree *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].leaf != NULL)
			tree_drop_all(t, t->nodes[i].leaf);
}

void tl_tree_destroy(struct tl_tree *t)
{
	if (t == NULL)
		return;
	tl_tree_end(t);
	tree_free(t);
}

int tl_tree_rates_create(
	const struct tl_tree *t, const struct tl_tree_class *classes, struct tl_tree_rates **out, struct tl_err *err)
{
	struct tl_tree_class *placed = calloc(t->n_nodes, sizeof(*placed));
	uint32_t at;

	if (placed == NULL)
		return tl_fail(err, -ENOMEM, "no memory for %" PRIu32 " classes", t->n_nodes);
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		placed[i] = classes[i];
		placed[i].parent = i != 0 ? (uint32_t)(t->nodes[i].parent - t->nodes) : 0;
	}
	int rc = tree_rates_create(placed, t->n_nodes, t->mtu, out, &at, err);
	free(placed);
	return rc;
}

void tl_tree_offer_rates(struct tl_tree *t, const struct tl_tree_rates *rates)
{
	atomic_store_explicit(&t->offered, rates, memory_order_release);
}

const struct tl_tree_rates *tl_tree_rates_in_use(const struct tl_tree *t)
{
	return __atomic_load_n(&t->in_use, __ATOMIC_ACQUIRE);
}
