// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a shaper, its service, and changes of its rates.

#include "shape_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <tl_err.h>
#include <tl_secret.h>

#define SHAPE_BYPASS "(" TL_SHAPE_CONTROL ") or (vlan and (" TL_SHAPE_CONTROL "))"

#define SHAPE_AWAIT_STEP_NS 100000 // within the 200 ms of a client of the control socket
#define SHAPE_AWAIT_STEPS 1500

_Static_assert(TL_TREE_COLOURS == TL_METER_COLOURS, "a class counts each colour");

static int shape_add_policers(struct shape_set *s, const struct tl_shape_cfg *cfg, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < cfg->n_classes && rc == 0; i++) {
		const struct tl_shape_class *c = &cfg->classes[i];
		if (c->police == NULL)
			continue;
		if (s->policers == NULL)
			s->policers = calloc(cfg->n_classes, sizeof(s->policers[0]));
		if (s->policers == NULL)
			return tl_fail(err, -ENOMEM, "no memory for %u policers", cfg->n_classes);
		rc = tl_policer_init(&s->policers[i], c->police, err);
		if (rc != 0)
			return tl_fail_at(err, rc, "class %s: police", c->tree.name);
		s->work[i] |= SHAPE_POLICED;
	}
	return rc;
}

static int shape_add_rules(struct shape_set *s, const struct tl_shape_cfg *cfg, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < cfg->n_classes && rc == 0; i++) {
		const struct tl_shape_class *c = &cfg->classes[i];
		s->work[i] = (uint8_t)c->fair;
		if (c->match == NULL)
			continue;
		rc = tl_filter_create(c->match, &s->rules[s->n_rules].filter, err);
		if (rc != 0)
			return tl_fail_at(err, rc, "class %s: match", c->tree.name);
		s->rules[s->n_rules++].leaf = i;
	}
	return rc;
}

static int shape_plant(struct shape_set *s, struct tl_shape *shape, const struct tl_shape_cfg *cfg, struct tl_err *err)
{
	struct tl_tree_class *classes = calloc(cfg->n_classes, sizeof(*classes));
	struct tl_tree_cfg tree = {.classes = classes,
		.n_classes = cfg->n_classes,
		.mtu = cfg->mtu,
		.overhead_bytes = cfg->overhead_bytes,
		.frames = cfg->frames,
		.now_ns = cfg->now_ns,
		.drop = shape_drop,
		.drop_ctx = shape};

	if (classes == NULL)
		return tl_fail(err, -ENOMEM, "no memory for %u classes", cfg->n_classes);
	for (uint32_t i = 0; i < cfg->n_classes; i++)
		classes[i] = cfg->classes[i].tree;
	int rc = tl_tree_create(&tree, &s->tree, err);
	free(classes);
	return rc;
}

// Make the classes of a description. shape_free_set() frees what is made, after an error too.
static int shape_make_set(struct shape_set *set, struct tl_shape *s, const struct tl_shape_cfg *cfg, struct tl_err *err)
{
	set->fallback = cfg->fallback;
	set->n_classes = cfg->n_classes;
	set->rules = calloc(cfg->n_classes, sizeof(set->rules[0]));
	set->work = calloc(cfg->n_classes, sizeof(set->work[0]));
	if (set->rules == NULL || set->work == NULL)
		return tl_fail(err, -ENOMEM, "no memory for %u classes", cfg->n_classes);
	int rc = shape_plant(set, s, cfg, err);
	if (rc == 0)
		rc = shape_add_rules(set, cfg, err);
	if (rc == 0)
		rc = shape_add_indexes(set, cfg, err);
	if (rc == 0)
		rc = shape_add_weights(set, cfg, err);
	return rc == 0 ? shape_add_policers(set, cfg, err) : rc;
}

static void shape_free_set(struct shape_set *set)
{
	tl_tree_destroy(set->tree);
	for (uint32_t i = 0; i < set->n_rules; i++) {
		tl_filter_destroy(set->rules[i].filter);
		free(set->rules[i].index);
	}
	free(set->rules);
	free(set->work);
	free(set->policers);
	shape_free_weights(set);
}

static int shape_init(struct tl_shape *s, const struct tl_shape_cfg *cfg, struct tl_err *err)
{
	s->txq = cfg->txq;
	s->clock = cfg->clock;
	int rc = tl_secret_fill(s->keys, sizeof(s->keys));
	if (rc != 0)
		return tl_fail(err, rc, "no random bytes for the hash of a class tree");
	rc = tl_filter_create(SHAPE_BYPASS, &s->bypass, err);
	return rc == 0 ? shape_make_set(&s->set, s, cfg, err) : rc;
}

int tl_shape_create(const struct tl_shape_cfg *cfg, struct tl_shape **out, struct tl_err *err)
{
	struct tl_shape *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return tl_fail(err, -ENOMEM, "no memory for a class tree");
	int rc = shape_init(s, cfg, err);
	if (rc != 0) {
		tl_shape_destroy(s);
		return rc;
	}
	s->flush = cfg->txq->flush_fn;
	cfg->txq->shaper = s;
	cfg->txq->flush_fn = shape_flush;
	*out = s;
	return 0;
}

void tl_shape_set_leaving(struct tl_shape *s, void (*leaving)(void *ctx, const struct tl_txq *queue), void *ctx)
{
	s->leaving = leaving;
	s->leaving_ctx = ctx;
}

static void shape_give_back(struct tl_shape *s)
{
	if (s->txq->flush_fn != shape_flush)
		return;
	s->txq->flush_fn = s->flush;
	s->txq->shaper = NULL;
}

void tl_shape_destroy(struct tl_shape *s)
{
	if (s == NULL)
		return;
	shape_give_back(s);
	shape_free_set(&s->set);
	tl_tree_rates_destroy(s->rates);
	tl_tree_rates_destroy(s->old_rates);
	tl_filter_destroy(s->bypass);
	free(s);
}

static bool shape_is_empty(void *shape)
{
	const struct tl_shape *s = shape;

	return s->backlog == 0 && s->waiting == 0;
}

static void shape_finish(void *shape)
{
	struct tl_shape *s = shape;

	tl_tree_end(s->set.tree);
	shape_give_back(s);
}

void tl_shape_service(struct tl_shape *s, struct tl_service *out)
{
	*out = (struct tl_service){.ctx = s,
		.poll = shape_poll,
		.next_ns = shape_next_ns,
		.closed = shape_is_empty,
		.finish = shape_finish};
}

void tl_shape_sample(const struct tl_shape *s, uint32_t cls, struct tl_tree_stats *out)
{
	tl_tree_sample(s->set.tree, cls, out);
}

void tl_shape_load(const struct tl_shape *s, struct tl_tree_load *out)
{
	tl_tree_load(s->set.tree, out);
}

uint64_t tl_shape_busy_ns(const struct tl_shape *s)
{
	return tl_count_read(&s->busy_ns);
}

uint64_t tl_shape_bypassed(const struct tl_shape *s)
{
	return tl_count_read(&s->bypass_pkts);
}

int tl_shape_set_rates(struct tl_shape *s, const struct tl_tree_class *classes, struct tl_err *err)
{
	struct tl_tree_rates *rates;

	if (s->rates != NULL && tl_tree_rates_in_use(s->set.tree) != s->rates)
		return tl_fail(err, -EBUSY, "the previous change is not complete; try again");
	int rc = tl_tree_rates_create(s->set.tree, classes, &rates, err);
	if (rc != 0)
		return rc;
	tl_tree_rates_destroy(s->old_rates);
	s->old_rates = s->rates;
	s->rates = rates;
	tl_tree_offer_rates(s->set.tree, rates);
	return 0;
}

// Wait until the lcore has taken other classes. Return false if it has not in time, and never will.
static bool shape_await(struct tl_shape *s, struct shape_change *change)
{
	const struct timespec step = {.tv_nsec = SHAPE_AWAIT_STEP_NS};
	struct shape_change *offered = change;

	for (unsigned i = 0; i < SHAPE_AWAIT_STEPS; i++) {
		if (atomic_load_explicit(&change->done, memory_order_acquire))
			return true;
		nanosleep(&step, NULL);
	}
	if (atomic_compare_exchange_strong(&s->offered, &offered, NULL))
		return false;
	while (!atomic_load_explicit(&change->done, memory_order_acquire)) // it is at it
		nanosleep(&step, NULL);
	return true;
}

int tl_shape_set_classes(struct tl_shape *s, const struct tl_shape_cfg *cfg, const uint32_t *to, struct tl_err *err)
{
	struct shape_change change = {.to = to};
	struct tl_shape_cfg successor = *cfg;

	if (s->rates != NULL && tl_tree_rates_in_use(s->set.tree) != s->rates)
		return tl_fail(err, -EBUSY, "the previous change is not complete; try again");
	successor.frames = 0;
	int rc = shape_make_set(&change.set, s, &successor, err);
	if (rc == 0) {
		atomic_store_explicit(&s->offered, &change, memory_order_release);
		if (!shape_await(s, &change))
			rc = tl_fail(err, -EAGAIN,
				"the lcore of its queue did not take it within 150 ms: try again, or restart");
	}
	shape_free_set(&change.set); // after the change, those that were in force
	if (rc != 0)
		return rc;
	tl_tree_rates_destroy(s->rates);
	tl_tree_rates_destroy(s->old_rates);
	s->rates = s->old_rates = NULL;
	return 0;
}
