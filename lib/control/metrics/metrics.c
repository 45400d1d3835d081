// SPDX-License-Identifier: BSD-3-Clause
// Snapshot of the counters of ports, recordings and echoes.

#include <tl_metrics.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_stamps(const struct tl_port *port, struct tl_report_stamps *out)
{
	struct tl_port_stamps stamps;
	struct tl_port_gate_stats gate;

	tl_port_stamps(port, &stamps);
	*out = (struct tl_report_stamps){.source = tl_ts_source_name(stamps.source),
		.unit_ns = stamps.unit_ns,
		.bounded = stamps.has_bound,
		.bound_ns = stamps.bound_ns};
	if (!stamps.has_nic_clock)
		return;
	if (tl_port_gate(port, &gate)) {
		out->gate = tl_gate_state_name(gate.state);
		out->gate_closures = gate.closures;
		out->refused_pkts = gate.refused_pkts;
	}
	if (gate.state == TL_GATE_SHUT) {
		out->source = tl_ts_source_name(TL_TS_TSC);
		out->unit_ns = 1;
		out->bound_ns = tl_clock_bound_ns(tl_port_config(port)->clock);
	}
	out->nic_clock = tl_clock_scale_name(stamps.nic_clock.scale);
	out->nic_offset_ns = stamps.nic_clock.offset_ns;
	out->nic_rate_hz = stamps.nic_clock.rate_hz;
	out->nic_steps = stamps.nic_clock.steps;
	out->nic_set_aside = stamps.nic_clock.set_aside;
	out->nic_failed_reads = stamps.nic_clock.failed_reads;
}

static void read_port(struct tl_port *port, struct tl_report_port *out)
{
	const struct tl_port_cfg *cfg = tl_port_config(port);
	const struct tl_rxq *copies = tl_port_copies(port);
	struct tl_port_stats stats;
	struct tl_port_link link;

	snprintf(out->name, sizeof(out->name), "%s", cfg->name);
	snprintf(out->device, sizeof(out->device), "%.*s", (int)sizeof(out->device) - 1, cfg->spec.text);
	out->n_queues = cfg->rx_queues;
	for (uint16_t q = 0; q < cfg->rx_queues; q++) {
		const struct tl_rxq_stats *rx = &tl_port_rxq(port, q)->stats;
#define ADD_RX(name) out->name += tl_count_read(&rx->name);
		TL_RXQ_COUNTERS(ADD_RX)
		struct tl_report_port_queue *row = &out->queues[q];
		row->rx_pkts = tl_count_read(&rx->rx_pkts);
		row->rx_bytes = tl_count_read(&rx->rx_bytes);
		out->rx_pkts += row->rx_pkts;
		out->rx_bytes += row->rx_bytes;
	}
	out->copied_pkts = copies != NULL ? tl_count_read(&copies->stats.rx_pkts) : 0;
	for (uint16_t q = 0; q < cfg->tx_queues; q++) {
		const struct tl_txq *tx = tl_port_txq(port, q);
#define ADD_TX(name) out->name += tl_count_read(&tx->name);
		TL_TXQ_COUNTERS(ADD_TX)
	}
	read_stamps(port, &out->stamps);
	tl_port_link(port, &link);
	out->link = (struct tl_report_link){.known = link.known, .up = link.up, .downs = link.downs};
	tl_port_sample(port, &stats);
	out->hw_seen_pkts = stats.hw_seen_pkts;
#define COPY_DROP(name) out->name = stats.name;
	TL_PORT_PARTS(COPY_DROP)
	out->rule_drops_unknown = stats.rule_drops_unknown;
	out->verified = stats.verified;
	out->drops_unknown = stats.drops_unknown;
	out->has_mac = stats.has_mac;
	out->mac_seen_pkts = stats.mac_seen_pkts;
	out->drops_by_queue = stats.drops_by_queue;
	for (uint16_t q = 0; q < cfg->rx_queues; q++)
		out->queues[q].drop_nic_pkts = stats.queue_drop_nic_pkts[q];
	out->mbufs_in_use = tl_port_mbufs_in_use(port);
}

// Write the outcomes and counts of a port's flow rules into their rows.
static void read_rules(const struct tl_port *port, struct tl_report_rule *rows, uint32_t n, struct tl_report_port *out)
{
	const char *refusal = tl_port_rules_refusal(port);

	for (uint32_t i = 0; i < n; i++) {
		struct tl_port_rule state;
		if (rows[i].by == NULL)
			continue;
		tl_port_rule(port, i, &state);
		rows[i].outcome = state.installed ? "installed" : refusal != NULL ? "refused" : "planned";
		rows[i].why = refusal;
		rows[i].counted = state.counted;
		rows[i].hits_pkts = state.hits_pkts;
		rows[i].marked = state.marked;
		rows[i].marked_pkts = state.marked_pkts;
	}
	out->rules = rows;
	out->n_rules = n;
}

// The whole is read last, after its parts.
static void read_steer(struct tl_steer *steer, struct tl_report_port *out)
{
	struct tl_ledger_handoff stats[TL_REPORT_QUEUES];

	for (uint32_t q = 0; q < out->n_queues; q++) {
		tl_steer_sample(tl_steer_side(steer, (uint16_t)q), &stats[q]);
		out->handoff.handoff_taken_pkts += stats[q].handoff_taken_pkts;
	}
	for (uint32_t q = 0; q < out->n_queues; q++) {
		tl_steer_sample(tl_steer_side(steer, (uint16_t)q), &stats[q]);
		out->handoff.drop_handoff_pkts += stats[q].drop_handoff_pkts;
		out->handoff.handoff_pkts += stats[q].handoff_pkts;
		out->queues[q].handoff_pkts = stats[q].handoff_pkts;
	}
}

static void read_sync(const struct tl_timesync *sync, struct tl_report_ptp *out)
{
	struct tl_timesync_stats s;
	struct tl_timesync_replies replies;

	tl_timesync_read(sync, &s);
#define COPY(name) .name = s.name,
	*out = (struct tl_report_ptp){.on = true,
		.stamps_sent = !s.unstamped,
		.bound_ns = s.bound_ns,
		.clock_steps = s.clock_steps,
		.probes = {COPY(probes_sent) TL_PROBE_PARTS(COPY) COPY(probes_refused)},
		.received = {COPY(ptp_received_pkts) TL_PTP_PARTS(COPY)},
		.replies = {COPY(replies_marked) TL_REPLY_PARTS(COPY)}};
	tl_hist_summarize(tl_timesync_tx_to_wire(sync), &out->tx_to_wire);
	tl_hist_summarize(tl_timesync_wire_to_poll(sync), &out->wire_to_poll);
	if (!tl_timesync_replies(sync, &replies))
		return;
	out->trigger_source = tl_ts_source_name(replies.trigger_source);
	tl_hist_summarize(replies.latency, &out->reply);
	tl_hist_summarize(replies.tx_to_wire, &out->reply_tx_to_wire);
}

// Sum the stacks of a port.
static uint32_t read_net(const struct tl_echo_host *const *hosts, uint32_t n_hosts, struct tl_counter *out)
{
	struct tl_counter more[TL_REPORT_COUNTERS];
	uint32_t n = 0;

	for (uint32_t q = 0; q < n_hosts; q++) {
		bool is_first = n == 0;
		if (hosts[q] == NULL)
			continue;
		n = tl_net_counters(tl_echo_net(hosts[q]), is_first ? out : more, TL_REPORT_COUNTERS);
		for (uint32_t i = 0; i < n && !is_first; i++)
			out[i].value += more[i].value;
	}
	return n;
}

static void read_capture_queues(const struct tl_capture_stats *stats, struct tl_report_capture *out)
{
	out->slabs = stats->slabs;
	out->n_queues = stats->n_queues;
	for (uint32_t q = 0; q < stats->n_queues; q++) {
		out->queues[q].slabs_used = stats->queues[q].slabs_used;
		memcpy(out->queues[q].flow, stats->queues[q].flow, sizeof(out->queues[q].flow));
	}
}

static void read_capture_classes(const struct tl_capture_stats *stats, struct tl_report_capture *out)
{
	_Static_assert(TL_REPORT_POLICE == TL_POLICE_CLASSES_MAX, "each class is shown");
	out->n_classes = stats->n_classes;
	out->unmatched_pkts = stats->unmatched_pkts;
	for (uint32_t i = 0; i < stats->n_classes; i++) {
		const struct tl_capture_class *cls = &stats->classes[i];
		out->classes[i] = (struct tl_report_police){.name = cls->name,
			.is_default = cls->is_default,
			.matched_pkts = cls->stats.matched_pkts,
			.green_pkts = cls->stats.pkts[TL_METER_GREEN],
			.yellow_pkts = cls->stats.pkts[TL_METER_YELLOW],
			.red_pkts = cls->stats.pkts[TL_METER_RED],
			.green_bytes = cls->stats.bytes[TL_METER_GREEN],
			.yellow_bytes = cls->stats.bytes[TL_METER_YELLOW],
			.red_bytes = cls->stats.bytes[TL_METER_RED],
			.meters = cls->stats.meters,
			.overflow_pkts = cls->stats.overflow_pkts};
	}
}

static void read_capture_clocks(const struct tl_capture_stats *stats, struct tl_report_capture *out)
{
	static const char *const clocks[] = {[TL_PCAPNG_CLOCK_WALL] = "REALTIME", [TL_PCAPNG_CLOCK_NIC] = "NIC"};

	out->n_stamps = stats->n_stamps;
	for (uint32_t i = 0; i < stats->n_stamps; i++)
		out->stamps[i] = (struct tl_report_capture_stamps){.source = tl_ts_source_name(stats->stamps[i].source),
			.unit_ns = stats->stamps[i].unit_ns,
			.bound_max_ns = stats->stamps[i].bound_max_ns};
	out->n_steps = stats->n_steps;
	_Static_assert(TL_REPORT_STEPS == TL_CAPTURE_STEPS, "as many are shown as are kept");
	for (uint32_t i = 0; i < tl_min_u64(stats->n_steps, TL_REPORT_STEPS); i++)
		out->step[i] = (struct tl_report_step){.clock = clocks[stats->step[i].clock],
			.time_ns = stats->step[i].time_ns,
			.offset_ns = stats->step[i].offset_ns};
}

static void read_capture(struct tl_capture *capture, const char *port, struct tl_report_capture *out)
{
	struct tl_capture_stats stats;

	tl_capture_sample(capture, &stats);
	*out = (struct tl_report_capture){0};
	snprintf(out->port, sizeof(out->port), "%s", port);
	memcpy(out->flow, stats.flow, sizeof(out->flow));
	for (int dir = 0; dir < TL_DIRS; dir++) {
		const struct tl_ledger_flow *f = &out->flow[dir];
#define MINUS(name) -f->name
		out->in_flight_pkts += f->offered_pkts TL_CAPTURE_PARTS(MINUS);
	}
	read_capture_queues(&stats, out);
	read_capture_classes(&stats, out);
	read_capture_clocks(&stats, out);
	out->written_bytes = stats.written_bytes;
	out->flows = stats.flows;
	out->flows_evicted = stats.flows_evicted;
	out->late_pkts = stats.late_pkts;
	out->recycled_files = stats.recycled_files;
	out->recycled_bytes = stats.recycled_bytes;
	out->disk_free_bytes = stats.free_bytes;
	out->limit_bps = stats.limit_bytes == TL_WRITER_NO_LIMIT ? UINT64_MAX : stats.limit_bytes * 8;
	out->state = stats.state;
	out->triggers = stats.triggers;
	out->last_trigger = stats.last_trigger;
	memcpy(out->last_trigger_time, stats.last_trigger_time, sizeof(out->last_trigger_time));
	out->files = tl_capture_files(capture, &out->n_files);
	out->error = tl_capture_error(capture);
	out->filter_engine = tl_capture_filter_engine(capture);
}

// Messages with a longer poll gap, by whole buckets above the value's.
static uint64_t count_above(const struct tl_hist *hist, uint64_t value_ns)
{
	uint64_t n = 0;

	for (size_t i = tl_hist_index(value_ns) + 1; i < TL_HIST_BUCKETS; i++)
		n += hist->bucket[i];
	return n;
}

static void read_stages(struct tl_metrics_echo *echo, struct tl_hist *scratch, struct tl_report_echo *out)
{
	struct tl_report_stages *stages = &echo->stages;
	const struct tl_stamp_cost *cost = tl_echo_stamp_cost(echo->host);

	if (!tl_echo_has_stage(echo->host, echo->index, TL_STAGE_PARSE))
		return;
	*stages = (struct tl_report_stages){
		.rdtsc_ns = cost->rdtsc_ns, .stamp_ns = cost->stamp_ns, .outlier_ns = echo->outlier_ns};
	out->stages = stages;
	for (int i = 0; i < TL_STAGES; i++) {
		stages->has[i] = tl_echo_has_stage(echo->host, echo->index, i);
		if (!stages->has[i])
			continue;
		tl_echo_stage(echo->host, echo->index, i, scratch);
		tl_hist_summarize(scratch, &stages->stage[i]);
	}
	stages->unstamped_pkts = tl_echo_unstamped_pkts(echo->host, echo->index);
	stages->after_poll_pkts = tl_echo_after_poll_pkts(echo->host, echo->index);
	tl_echo_poll_gap(echo->host, echo->index, scratch);
	tl_hist_summarize(scratch, &stages->poll_gap);
	stages->gap_above_p50_msgs = count_above(scratch, out->residence.p50_ns);
	if (echo->outliers != NULL)
		tl_outliers_list(echo->outliers, stages);
}

static void read_echo(struct tl_metrics_echo *echo, struct tl_hist *scratch, struct tl_report_echo *out)
{
	struct tl_echo_stats s;

	tl_echo_sample(echo->host, echo->index, &s);
	*out = (struct tl_report_echo){0};
	snprintf(out->name, sizeof(out->name), "%s", echo->name);
	out->mode = echo->mode;
	out->queue = echo->queue;
	out->pace_bps = echo->pace_bps;
	out->is_policed = echo->is_policed;
	out->state = tl_echo_state(echo->host, echo->index);
#define COPY_MSGS(name) out->name = s.name;
	COPY_MSGS(received_msgs)
	COPY_MSGS(lost_unacked_msgs)
	TL_ECHO_PARTS(COPY_MSGS)
	TL_ECHO_COUNTERS(COPY_MSGS)
	if (scratch == NULL)
		return;
	tl_echo_residence(echo->host, echo->index, scratch);
	tl_hist_summarize(scratch, &out->residence);
	tl_echo_tx_call(echo->host, echo->index, scratch);
	tl_hist_summarize(scratch, &out->tx_call);
	out->is_delayed = tl_echo_lateness(echo->host, echo->index, scratch);
	if (out->is_delayed)
		tl_hist_summarize(scratch, &out->lateness);
	read_stages(echo, scratch, out);
}

static bool is_recorded(const char *role)
{
	return role != NULL && (strcmp(role, "both") == 0 || strcmp(role, "record") == 0);
}

// Write the roles of the queues, and on a port with recordings the frames of queues that are not recorded.
static void read_roles(struct tl_port *port, const char *const *roles, struct tl_report_port *out)
{
	uint64_t rx = 0, tx = 0;
	bool has_recording = false;

	for (uint32_t q = 0; q < out->n_queues; q++) {
		out->queues[q].role = roles[q];
		has_recording |= is_recorded(roles[q]);
		if (is_recorded(roles[q]))
			continue;
		rx += out->queues[q].rx_pkts;
		if (q < tl_port_config(port)->tx_queues)
			tx += tl_count_read(&tl_port_txq(port, (uint16_t)q)->tx_pkts);
	}
	out->unrecorded_rx_pkts = has_recording ? rx : 0;
	out->unrecorded_tx_pkts = has_recording ? tx : 0;
}

static void read_class(const struct tl_shape *shape, uint32_t cls, struct tl_report_class *out)
{
	struct tl_tree_stats s;

	tl_shape_sample(shape, cls, &s);
	out->in_pkts = s.in_pkts;
	out->in_bytes = s.in_bytes;
	out->sent_pkts = s.sent_pkts;
	out->sent_bytes = s.sent_bytes;
	out->queued_pkts = s.backlog_pkts;
	out->queued_bytes = s.backlog_bytes;
	out->drop_police_pkts = s.drop_pkts[TL_TREE_DROP_POLICE];
	out->drop_long_pkts = s.drop_pkts[TL_TREE_DROP_LONG];
	out->drop_limit_pkts = s.drop_pkts[TL_TREE_DROP_LIMIT];
	out->drop_late_pkts = s.drop_pkts[TL_TREE_DROP_LATE];
	out->drop_codel_pkts = s.drop_pkts[TL_TREE_DROP_CODEL];
	out->drop_memory_pkts = s.drop_pkts[TL_TREE_DROP_MEMORY];
	out->drop_end_pkts = s.drop_pkts[TL_TREE_DROP_END];
	out->borrowed_bytes = s.borrowed_bytes;
	out->green_pkts = s.colour_pkts[TL_METER_GREEN];
	out->yellow_pkts = s.colour_pkts[TL_METER_YELLOW];
	out->red_pkts = s.colour_pkts[TL_METER_RED];
	out->green_bytes = s.colour_bytes[TL_METER_GREEN];
	out->yellow_bytes = s.colour_bytes[TL_METER_YELLOW];
	out->red_bytes = s.colour_bytes[TL_METER_RED];
	out->delay_mean_ns = s.delay_mean_ns;
	out->delay_p99_ns = s.delay_p99_ns;
	out->delay_max_ns = s.delay_max_ns;
}

void tl_metrics_read_shape(const struct tl_metrics_shape *shape, struct tl_report_shape *out)
{
	out->name = shape->name;
	out->port = shape->port;
	out->queue = shape->queue;
	out->tx_pkts = tl_count_read(&shape->txq->tx_pkts); // before the counters of the tree
	out->drop_tx_pkts = tl_count_read(&shape->txq->drop_tx_pkts);
	out->drop_shaped_pkts = tl_count_read(&shape->txq->drop_shaped_pkts);
	for (uint32_t i = 0; i < shape->n; i++)
		read_class(shape->shape, i, &shape->rows[i]);
	out->bypass_pkts = tl_shape_bypassed(shape->shape);
	out->classes = shape->rows;
	out->n_classes = shape->n;
}

static void read_shares(const struct tl_port *port, struct tl_report_port *out)
{
	struct tl_port_shares shares;

	out->rss_inner = tl_port_hashes_inner(port, &out->rss_outer_why) || out->rss_outer_why != NULL;
	if (!tl_port_shares(port, &shares))
		return;
	out->rss_size = shares.size;
	out->rss_symmetric = shares.symmetric;
	for (uint32_t q = 0; q < out->n_queues; q++)
		out->queues[q].rss_entries = shares.entries[q];
}

static void read_load(const struct tl_lcore *const *lcores, struct tl_port *port, struct tl_report_port *out)
{
	_Static_assert(TL_REPORT_SIZES == TL_LCORE_SIZES, "the same sizes");
	for (uint32_t q = 0; q < out->n_queues; q++) {
		struct tl_report_port_queue *row = &out->queues[q];
		struct tl_lcore_load load;
		if (lcores[q] == NULL)
			continue;
		tl_lcore_load(lcores[q], &load);
		memcpy(row->turn_ns, load.turn_ns, sizeof(row->turn_ns));
		if (load.ring_samples == 0)
			continue;
		row->descriptors = tl_port_rxq(port, (uint16_t)q)->descriptors;
		row->ring_used = load.ring_used;
		row->ring_used_max = load.ring_used_max;
	}
}

static void read_gaps(const struct tl_lcore *const *lcores, struct tl_hist *scratch, struct tl_report_port *out)
{
	for (uint32_t q = 0; q < out->n_queues && scratch != NULL; q++) {
		if (lcores[q] == NULL)
			continue;
		tl_lcore_gaps(lcores[q], scratch);
		tl_hist_summarize(scratch, &out->queues[q].poll_gap);
		out->queues[q].poll_gap_above_ns = TL_LCORE_GAP_NS;
	}
}

int tl_metrics_init(struct tl_metrics *m)
{
	m->captures = calloc(m->n_captures + 1, sizeof(*m->captures)); // never of 0 bytes
	m->capture_rows = calloc(m->n_captures + 1, sizeof(*m->capture_rows));
	m->echoes = calloc(m->n_echoes + 1, sizeof(*m->echoes));
	m->echo_rows = calloc(m->n_echoes + 1, sizeof(*m->echo_rows));
	return m->captures != NULL && m->capture_rows != NULL && m->echoes != NULL && m->echo_rows != NULL ? 0
													   : -ENOMEM;
}

void tl_metrics_fini(struct tl_metrics *m)
{
	free(m->captures);
	free(m->capture_rows);
	free(m->echoes);
	free(m->echo_rows);
}

// scratch NULL: without the distributions.
static void snapshot(struct tl_metrics *m, bool final, struct tl_hist *scratch, struct tl_snapshot *out)
{
	memset(out, 0, sizeof(*out));
	out->final = final;
	out->uptime_ns = tl_clock_now_ns(m->clock) - m->start_ns;
	out->tai_offset_s = tl_clock_tai_offset_s();
	out->wall_steps = m->clock->steps;
	out->n_ports = m->n_ports;
	out->n_captures = m->n_captures;
	out->n_echoes = m->n_echoes;
	out->n_shapes = m->n_shapes;
	out->captures = m->capture_rows;
	out->echoes = m->echo_rows;
	for (uint32_t i = 0; i < m->n_captures; i++)
		read_capture(m->captures[i].capture, m->captures[i].port, &out->captures[i]);
	for (uint32_t i = 0; i < m->n_echoes; i++)
		read_echo(&m->echoes[i], scratch, &out->echoes[i]);
	for (uint32_t i = 0; i < m->n_shapes; i++)
		tl_metrics_read_shape(&m->shapes[i], &out->shapes[i]);
	for (uint32_t i = 0; i < m->n_ports; i++) {
		read_port(m->ports[i], &out->ports[i]);
		read_gaps(m->lcores[i], scratch, &out->ports[i]);
		read_roles(m->ports[i], m->roles[i], &out->ports[i]);
		read_shares(m->ports[i], &out->ports[i]);
		read_load(m->lcores[i], m->ports[i], &out->ports[i]);
		read_rules(m->ports[i], m->rules[i], m->n_rules[i], &out->ports[i]);
		if (m->steers[i] != NULL)
			read_steer(m->steers[i], &out->ports[i]);
		if (m->inners[i] != NULL)
			tl_inner_sample(m->inners[i], &out->ports[i].inner);
		if (m->syncs[i] != NULL)
			read_sync(m->syncs[i], &out->ports[i].ptp);
		out->n_net[i] = read_net(m->hosts[i], out->ports[i].n_queues, out->net[i]);
	}
}

void tl_metrics_snapshot(struct tl_metrics *m, bool final, struct tl_snapshot *out)
{
	struct tl_hist *scratch = malloc(sizeof(*scratch)); // on failure the snapshot only lacks the distributions

	snapshot(m, final, scratch, out);
	free(scratch);
}

void tl_metrics_count(struct tl_metrics *m, struct tl_snapshot *out)
{
	snapshot(m, false, NULL, out);
}
