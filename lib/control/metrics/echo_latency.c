// SPDX-License-Identifier: BSD-3-Clause
// Latency report of an echo: residence time, stages, samples, outliers.

#include <tl_echo_latency.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "metrics_priv.h"

#define STAMP_BOUND_NS 1 // error of the difference of two readings of one counter
#define GAPS_MAX_PERCENT 1

// Messages of a burst have equal residence times.
int metrics_add_samples(struct tl_latency *report, const struct tl_tail_samples *samples)
{
	uint64_t id = 0;

	report->samples_are_last = true;
	for (uint32_t i = 0; samples != NULL && i < tl_tail_samples_kept(samples); i++) {
		const struct tl_tail_sample *s = tl_tail_samples_at(samples, i);
		for (uint64_t m = 0; m < s->msgs; m++)
			if (tl_latency_add(report, &(struct tl_latency_sample){s->time_ns, s->residence_ns, id++}) != 0)
				return -ENOMEM;
	}
	return 0;
}

static int add_stages(struct tl_latency *report, const struct tl_metrics_echo *echo)
{
	for (int i = 0; i < TL_STAGES; i++) {
		if (!tl_echo_has_stage(echo->host, echo->index, i))
			continue;
		struct tl_latency_stage *stage = tl_latency_stage(report, tl_stage_name(i));
		if (stage == NULL)
			return -ENOMEM;
		tl_echo_stage(echo->host, echo->index, i, &stage->hist);
	}
	return 0;
}

static void add_outlier(struct tl_latency *report, const struct tl_report_outlier *outlier)
{
	const struct tl_tail_outlier *seen = &outlier->seen;
	struct tl_latency_outlier out = {.sample = {seen->burst.time_ns, seen->residence_ns, seen->number},
		.poll_gap_ns = seen->burst.poll_gap_ns,
		.interrupts = outlier->noise_ns != 0 ? outlier->noise.interrupts : UINT64_MAX,
		.steal_ns = outlier->noise_ns != 0 ? outlier->noise.steal_ns : UINT64_MAX};
	uint64_t lost = outlier->noise_ns != 0 ? outlier->noise.involuntary_switches : TL_NOISE_UNKNOWN;
	int used = snprintf(out.note, sizeof(out.note),
		"messages %" PRIu64 ", frames %u, bytes %" PRIu32 "; frames in the burst before %u, after %u",
		seen->msgs, seen->burst.frames, seen->burst.bytes, seen->before.frames, seen->after.frames);

	if (lost != TL_NOISE_UNKNOWN && used > 0 && (size_t)used < sizeof(out.note))
		snprintf(out.note + used, sizeof(out.note) - (size_t)used, "; CPU lost %" PRIu64 " times", lost);
	tl_latency_add_outlier(report, &out);
}

// The first stage begins at another timestamp source than the others.
static void add_wire(
	struct tl_latency *report, const struct tl_metrics_echo *echo, const struct tl_report_stages *stages)
{
	struct tl_port_stamps stamps;

	if (!stages->has[TL_STAGE_WIRE])
		return;
	tl_port_stamps(echo->port, &stamps);
	tl_latency_add_fact(report, "wire_source", "%s", tl_ts_source_name(stamps.source));
	if (stamps.unit_ns != 0)
		tl_latency_add_fact(report, "wire_unit_ns", "%" PRIu32, stamps.unit_ns);
	if (stamps.has_bound)
		tl_latency_add_fact(report, "wire_bound_ns", "%" PRIu64, stamps.bound_ns);
	else
		tl_latency_add_fact(report, "wire_bound_ns", "unknown");
	report->unstamped = stages->unstamped_pkts;
	if (stages->after_poll_pkts != 0)
		tl_latency_add_invalid(&report->invalid,
			"%" PRIu64 " of %" PRIu64 " frames are stamped later than their poll: %s excludes them",
			stages->after_poll_pkts, stages->after_poll_pkts + stages->stage[TL_STAGE_WIRE].count,
			tl_stage_name(TL_STAGE_WIRE));
}

static void judge(struct tl_latency *report, const struct tl_report_stages *stages)
{
	if (stages->gap_above_p50_msgs * 100 > stages->poll_gap.count * GAPS_MAX_PERCENT)
		tl_latency_add_invalid(&report->invalid,
			"%" PRIu64 " of %" PRIu64
			" messages arrived after a poll gap longer than the median: their wait is not in these times",
			stages->gap_above_p50_msgs, stages->poll_gap.count);
}

struct tl_latency *tl_echo_latency(const struct tl_metrics_echo *echo, const struct tl_report_echo *row)
{
	const struct tl_report_stages *stages = row->stages;
	struct tl_latency *report = tl_latency_create();

	if (report == NULL)
		return NULL;
	if (metrics_add_samples(report, tl_echo_samples(echo->host, echo->index)) != 0 ||
		add_stages(report, echo) != 0) {
		tl_latency_destroy(report);
		return NULL;
	}
	snprintf(report->name, sizeof(report->name), "%s", echo->name);
	snprintf(report->method, sizeof(report->method), "software");
	tl_latency_set_sources(report, "tsc", STAMP_BOUND_NS, "tsc", STAMP_BOUND_NS);
	tl_latency_set_clocks(report, 1, "TSC", 1, "TSC");
	tl_echo_residence(echo->host, echo->index, &report->latency); // all messages, sampled or not
	report->matched = report->latency.count;
	report->unmatched_triggers = row->received_msgs - tl_min_u64(row->received_msgs, report->matched);
	snprintf(report->clocks_shown, sizeof(report->clocks_shown), "one, the TSC of the host");
	tl_latency_check_loss(report, TL_LATENCY_MAX_LOSS);
	tl_latency_add_fact(report, "echo", "%s, queue %" PRIu32, echo->mode, echo->queue);
	tl_latency_add_fact(report, "time", "from the return of the poll to the call of tx_burst");
	if (stages == NULL)
		return report;
	tl_latency_add_fact(report, "stamp_cost_ns", "%.1f", stages->stamp_ns);
	tl_latency_add_fact(report, "rdtsc_ns", "%.1f", stages->rdtsc_ns);
	add_wire(report, echo, stages);
	for (uint32_t i = 0; i < stages->n_list; i++)
		add_outlier(report, &stages->list[i]);
	judge(report, stages);
	return report;
}
