// SPDX-License-Identifier: BSD-3-Clause
// Joins the lcore's outliers with kernel counters.

#include <tl_outliers.h>

#include <stdlib.h>

#define LOOK_NS TL_NS_PER_S // interval without outliers

// By number: outliers new at one look share a reading.
struct noise_of {
	uint64_t number;
	uint64_t over_ns;
	struct tl_noise noise;
};

struct tl_outliers {
	struct tl_outliers_cfg cfg;
	uint64_t seen; // outliers that have a reading
	uint64_t looked_ns;
	struct tl_noise base; // latest reading
	uint32_t keep;
	struct noise_of *noises; // keep
	struct tl_report_outlier *rows;
};

struct tl_outliers *tl_outliers_create(const struct tl_outliers_cfg *cfg)
{
	struct tl_outliers *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->cfg = *cfg;
	o->keep = tl_tail_kept_frames(cfg->tail);
	o->noises = calloc(o->keep, sizeof(o->noises[0]));
	o->rows = calloc(o->keep, sizeof(o->rows[0]));
	if (o->noises != NULL && o->rows != NULL)
		return o;
	tl_outliers_destroy(o);
	return NULL;
}

void tl_outliers_destroy(struct tl_outliers *o)
{
	if (o == NULL)
		return;
	free(o->noises);
	free(o->rows);
	free(o);
}

void tl_outliers_look(struct tl_outliers *o)
{
	uint64_t count = tl_tail_count(o->cfg.tail), at_ns = tl_clock_now_ns(o->cfg.clock);
	struct tl_noise noise;

	if (count == o->seen && at_ns - o->looked_ns < LOOK_NS)
		return;
	tl_noise_read("/proc", o->cfg.cpu, tl_lcore_tid(o->cfg.lcore), &noise);
	struct noise_of since = {
		.over_ns = o->looked_ns != 0 ? at_ns - o->looked_ns : 0, .noise = tl_noise_between(&o->base, &noise)};
	uint64_t first = tl_max_u64(o->seen, count - tl_min_u64(count, o->keep));
	for (since.number = first; since.number < count; since.number++)
		o->noises[since.number % o->keep] = since;
	o->seen = count;
	o->looked_ns = at_ns;
	o->base = noise;
}

void tl_outliers_list(struct tl_outliers *o, struct tl_report_stages *out)
{
	tl_outliers_look(o);
	out->outliers = o->seen;
	out->list = o->rows;
	for (uint64_t i = o->seen - tl_min_u64(o->seen, o->keep); i < o->seen; i++) {
		const struct noise_of *noise = &o->noises[i % o->keep];
		struct tl_report_outlier *row = &o->rows[out->n_list];
		if (!tl_tail_read(o->cfg.tail, i, &row->seen))
			continue; // overwritten meanwhile
		row->noise_ns = noise->over_ns;
		row->noise = noise->noise;
		out->n_list++;
	}
}
