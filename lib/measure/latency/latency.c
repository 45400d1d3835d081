// SPDX-License-Identifier: BSD-3-Clause
// Lifetime of a report, and functions that fill it.

#include "latency_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <tl_array.h>

struct tl_latency *tl_latency_create(void)
{
	struct tl_latency *report = calloc(1, sizeof(*report));

	if (report == NULL)
		return NULL;
	report->samples_max = UINT64_MAX;
	report->max_loss = -1;
	report->order.stride = 1;
	tl_hist_init(&report->latency);
	return report;
}

void tl_latency_destroy(struct tl_latency *report)
{
	if (report == NULL)
		return;
	for (size_t i = 0; i < report->n_stages; i++)
		free(report->stages[i]);
	for (size_t i = 0; i < report->n_clocks; i++)
		free(report->clocks[i].points);
	free(report->samples);
	free(report->order.bucket);
	free(report);
}

static void set_bound(struct tl_latency_source *source, uint64_t bound_ns)
{
	source->has_bound = bound_ns != TL_LATENCY_UNBOUNDED;
	source->bound_ns = source->has_bound ? bound_ns : 0;
}

void tl_latency_set_sources(struct tl_latency *report, const char *trigger, uint64_t trigger_bound_ns,
	const char *reply, uint64_t reply_bound_ns)
{
	snprintf(report->trigger.name, sizeof(report->trigger.name), "%s", trigger);
	snprintf(report->reply.name, sizeof(report->reply.name), "%s", reply);
	set_bound(&report->trigger, trigger_bound_ns);
	set_bound(&report->reply, reply_bound_ns);
}

void tl_latency_set_clocks(struct tl_latency *report, uint64_t trigger_unit_ns, const char *trigger_clock,
	uint64_t reply_unit_ns, const char *reply_clock)
{
	report->trigger.unit_ns = trigger_unit_ns;
	report->reply.unit_ns = reply_unit_ns;
	snprintf(report->trigger.clock, sizeof(report->trigger.clock), "%s", trigger_clock);
	snprintf(report->reply.clock, sizeof(report->reply.clock), "%s", reply_clock);
}

static int keep_sample(struct tl_latency *report, const struct tl_latency_sample *sample)
{
	if (report->n_samples >= report->samples_max)
		return 0;
	if (tl_array_reserve(&report->samples, report->n_samples, &report->samples_room, sizeof(*sample)) != 0)
		return -ENOMEM;
	report->samples[report->n_samples++] = *sample;
	return 0;
}

int tl_latency_add(struct tl_latency *report, const struct tl_latency_sample *sample)
{
	report->matched++;
	if (report->cold_count < tl_min_u64(report->cold_wanted, TL_LATENCY_COLD)) {
		report->cold_ns[report->cold_count++] = sample->latency_ns;
		return 0;
	}
	tl_hist_record(&report->latency, sample->latency_ns);
	tl_latency_bins_add(&report->bins, sample->time_ns);
	int rc = tl_latency_order_add(&report->order, sample->time_ns, sample->latency_ns);
	return rc == 0 ? keep_sample(report, sample) : rc;
}

int tl_latency_add_pair(
	struct tl_latency *report, uint64_t trigger_ns, uint64_t reply_ns, uint64_t packet_id, bool ambiguous)
{
	report->ambiguous += ambiguous;
	if (reply_ns < trigger_ns) {
		report->matched++;
		report->reply_first++;
		return 0;
	}
	return tl_latency_add(report, &(struct tl_latency_sample){.time_ns = trigger_ns,
					      .latency_ns = reply_ns - trigger_ns,
					      .packet_id = packet_id,
					      .ambiguous = ambiguous});
}

struct tl_latency_stage *tl_latency_stage(struct tl_latency *report, const char *name)
{
	for (size_t i = 0; i < report->n_stages; i++)
		if (strncmp(report->stages[i]->name, name, TL_LATENCY_NAME - 1) == 0)
			return report->stages[i];
	if (report->n_stages == TL_LATENCY_STAGES)
		return NULL;
	struct tl_latency_stage *stage = malloc(sizeof(*stage));
	if (stage == NULL)
		return NULL;
	snprintf(stage->name, sizeof(stage->name), "%s", name);
	tl_hist_init(&stage->hist);
	report->stages[report->n_stages++] = stage;
	return stage;
}

void tl_latency_add_invalid(struct tl_latency_reasons *invalid, const char *fmt, ...)
{
	va_list args;

	if (invalid->n == TL_LATENCY_REASONS)
		return;
	va_start(args, fmt);
	vsnprintf(invalid->text[invalid->n++], TL_LATENCY_TEXT, fmt, args);
	va_end(args);
}

void tl_latency_add_fact(struct tl_latency *report, const char *name, const char *fmt, ...)
{
	va_list args;

	if (report->n_facts == TL_LATENCY_FACTS)
		return;
	struct tl_latency_fact *fact = &report->facts[report->n_facts++];
	snprintf(fact->name, sizeof(fact->name), "%s", name);
	va_start(args, fmt);
	vsnprintf(fact->value, sizeof(fact->value), fmt, args);
	va_end(args);
}

void tl_latency_add_point(struct tl_latency *report, const struct tl_latency_point *point)
{
	if (report->n_points < TL_LATENCY_POINTS)
		report->points[report->n_points++] = *point;
	else
		tl_latency_add_invalid(
			&report->invalid, "a sweep has more than %d points: the others are missing", TL_LATENCY_POINTS);
}

void tl_latency_add_cost(struct tl_latency *report, const struct tl_latency_cost *cost)
{
	if (report->n_costs < TL_LATENCY_COSTS)
		report->costs[report->n_costs++] = *cost;
	else
		tl_latency_add_invalid(
			&report->invalid, "more than %d rows of costs: the others are missing", TL_LATENCY_COSTS);
}

// Keep outliers in order of arrival; a full list drops the smallest.
void tl_latency_add_outlier(struct tl_latency *report, const struct tl_latency_outlier *outlier)
{
	size_t least = 0;

	if (report->n_outliers < TL_LATENCY_OUTLIERS) {
		report->outliers[report->n_outliers++] = *outlier;
		return;
	}
	for (size_t i = 1; i < TL_LATENCY_OUTLIERS; i++)
		if (report->outliers[i].sample.latency_ns < report->outliers[least].sample.latency_ns)
			least = i;
	if (outlier->sample.latency_ns <= report->outliers[least].sample.latency_ns)
		return;
	memmove(&report->outliers[least], &report->outliers[least + 1],
		(TL_LATENCY_OUTLIERS - 1 - least) * sizeof(*outlier));
	report->outliers[TL_LATENCY_OUTLIERS - 1] = *outlier;
}
