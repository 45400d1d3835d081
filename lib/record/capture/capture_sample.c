// SPDX-License-Identifier: BSD-3-Clause
// Sampling of the counters of a running recording.

#include "capture_priv.h"

static void add_flow(struct tl_ledger_flow *sum, const struct tl_ledger_flow *flow)
{
#define ADD(name) sum->name += flow->name;
	ADD(offered_pkts)
	TL_CAPTURE_PARTS(ADD)
	TL_CAPTURE_COUNTERS(ADD)
}

// Read the writer first, and offered_pkts last: a running sample then never shows more written than offered.
static void sample_queue(const struct tl_capture *c, uint16_t queue, struct tl_capture_queue *out)
{
	struct tl_writer_flow written;

	tl_writer_flow(c->writer, queue, &written);
	for (int dir = 0; dir < TL_DIRS; dir++) {
		const struct tl_tap_flow *tap = &c->taps[queue].flow[dir];
		struct tl_ledger_flow *flow = &out->flow[dir];
		*flow = (struct tl_ledger_flow){.written_pkts = written.written_pkts[dir],
			.drop_disk_pkts = written.drop_disk_pkts[dir],
			.expired_pkts = written.expired_pkts[dir]};
#define READ(name) flow->name += tl_count_read(&tap->name);
		TL_TAP_PARTS(READ)
#define READ_POLICED(name) flow->name += tl_count_read(&c->taps[queue].policed[dir].name);
		TL_POLICED_PARTS(READ_POLICED)
		TL_CAPTURE_COUNTERS(READ_POLICED)
		READ(offered_pkts)
	}
	out->slabs_used = tl_slab_used(c->rings[queue]);
}

static void add_flows(struct tl_capture_stats *sum, const struct tl_flow_table *table)
{
	const struct tl_flow_stats *stats = tl_flow_counters(table);

	sum->flows += tl_count_read(&stats->flows);
	sum->flows_evicted += tl_count_read(&stats->flows_evicted);
}

static void sample_classes(const struct tl_capture *c, struct tl_capture_stats *out)
{
	struct tl_police_stats unmatched = {0};

	out->n_classes = c->cfg.n_classes;
	for (uint32_t i = 0; i < out->n_classes; i++)
		out->classes[i] = (struct tl_capture_class){
			.name = c->classes[i].name, .is_default = c->classes[i].match == NULL};
	for (uint16_t q = 0; q < c->n_queues; q++) {
		const struct tl_police *police = c->taps[q].police;
		for (uint32_t i = 0; police != NULL && i < out->n_classes; i++)
			tl_police_sample(police, i, &out->classes[i].stats);
		if (police != NULL)
			tl_police_sample(police, out->n_classes, &unmatched);
	}
	out->unmatched_pkts = unmatched.matched_pkts;
}

// Classes are read before the frames offered to them.
void tl_capture_sample(struct tl_capture *c, struct tl_capture_stats *out)
{
	struct tl_writer_stats written;

	tl_writer_stats(c->writer, &written);
	*out = (struct tl_capture_stats){.written_bytes = written.written_bytes,
		.recycled_files = written.recycled_files,
		.recycled_bytes = written.recycled_bytes,
		.free_bytes = written.free_bytes,
		.limit_bytes = tl_writer_limit(c->writer),
		.late_pkts = c->recode != NULL ? tl_recode_late_pkts(c->recode) : 0,
		.n_queues = c->n_queues,
		.slabs = tl_slab_count(c->rings[__builtin_ctz(~c->cfg.skipped)])};
	sample_classes(c, out);
	for (uint16_t q = 0; q < c->n_queues; q++) {
		sample_queue(c, q, &out->queues[q]);
		for (int dir = 0; dir < TL_DIRS; dir++)
			add_flow(&out->flow[dir], &out->queues[q].flow[dir]);
	}
	for (uint16_t q = 0; q < c->n_queues; q++)
		if (c->taps[q].flows != NULL)
			add_flows(out, c->taps[q].flows);
	tl_capture_sample_triggers(c, out);
	tl_capture_sample_clocks(c, out);
}

void tl_capture_set_limit(struct tl_capture *c, uint64_t bytes_per_s)
{
	tl_writer_set_limit(c->writer, bytes_per_s);
}

void tl_capture_load(const struct tl_capture *c, struct tl_writer_load *out)
{
	tl_writer_load(c->writer, out);
}
