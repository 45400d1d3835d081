// SPDX-License-Identifier: BSD-3-Clause
// Snapshot as JSON.

#include "report_priv.h"

#include <tl_json.h>
#include <tl_report_stages.h>

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void put_counters(json_t *object, const struct tl_report_table *table, const void *row)
{
	for (size_t i = 0; i < table->n; i++)
		put(object, table->counters[i].name, tl_json_number(tl_report_value(&table->counters[i], row)));
}

// Return the poll gap of its lcore: null if it is not watched.
static json_t *poll_gap_json(const struct tl_report_port_queue *queue)
{
	if (queue->poll_gap_above_ns == 0)
		return json_null();
	json_t *object = tl_report_hist_json(&queue->poll_gap);
	put(object, "above", tl_json_number(queue->poll_gap_above_ns));
	return object;
}

// Return the time in turns by their frames: 0, 1, 2, 4, ... 64 and more.
static json_t *turns_json(const struct tl_report_port_queue *queue)
{
	json_t *turns = json_array();

	for (unsigned i = 0; i < TL_REPORT_SIZES; i++)
		json_array_append_new(turns, tl_json_number(queue->turn_ns[i]));
	return turns;
}

// Return null if the fill of the ring is unknown.
static json_t *ring_json(const struct tl_report_port_queue *queue)
{
	if (queue->descriptors == 0)
		return json_null();
	json_t *object = json_object();
	put(object, "descriptors", tl_json_number(queue->descriptors));
	put(object, "used", tl_json_number(queue->ring_used));
	put(object, "used_max", tl_json_number(queue->ring_used_max));
	return object;
}

// Return the share of many flows that RSS gives to the queue; null if it is unknown.
static json_t *rss_share_json(const struct tl_report_port *port, const struct tl_report_port_queue *queue)
{
	return port->rss_size != 0 ? json_real((double)queue->rss_entries / (double)port->rss_size) : json_null();
}

static json_t *port_queues_json(const struct tl_report_port *port)
{
	json_t *queues = json_array();

	for (uint32_t q = 0; q < port->n_queues; q++) {
		const struct tl_report_port_queue *queue = &port->queues[q];
		json_t *row = json_object();
		put(row, "queue", tl_json_number(q));
		put(row, "role", tl_json_string(queue->role));
		put(row, "rx_pkts", tl_json_number(queue->rx_pkts));
		put(row, "rx_bytes", tl_json_number(queue->rx_bytes));
		put(row, "handoff_pkts", tl_json_number(queue->handoff_pkts));
		put(row, "drop_nic_pkts", tl_json_number_if(port->drops_by_queue, queue->drop_nic_pkts));
		put(row, "poll_gap_ns", poll_gap_json(queue));
		put(row, "rss_share", rss_share_json(port, queue));
		put(row, "turn_ns", turns_json(queue));
		put(row, "ring", ring_json(queue));
		json_array_append_new(queues, row);
	}
	return queues;
}

static json_t *stage_json(const struct tl_hist_summary *summary, const char *source)
{
	json_t *object = tl_report_hist_json(summary);

	put(object, "source", tl_json_string(source));
	return object;
}

// Return null if no reply is stamped.
static json_t *replies_json(const struct tl_report_ptp *ptp)
{
	if (ptp->trigger_source == NULL)
		return json_null();
	json_t *object = json_object();
	put_counters(object, &tl_report_reply_table, &ptp->replies);
	put(object, "trigger_source", tl_json_string(ptp->trigger_source));
	put(object, "latency_ns", stage_json(&ptp->reply, "nic-tx"));
	put(object, "tx_to_wire_ns", stage_json(&ptp->reply_tx_to_wire, "nic-tx"));
	return object;
}

static json_t *ptp_json(const struct tl_report_ptp *ptp)
{
	if (!ptp->on)
		return json_null();
	json_t *object = json_object();
	put_counters(object, &tl_report_probe_table, &ptp->probes);
	put_counters(object, &tl_report_ptp_table, &ptp->received);
	put(object, "stamps_sent", json_boolean(ptp->stamps_sent));
	put(object, "bound_ns", tl_json_number(ptp->bound_ns));
	put(object, "clock_steps", tl_json_number(ptp->clock_steps));
	put(object, "tx_to_wire_ns", stage_json(&ptp->tx_to_wire, "nic-tx"));
	put(object, "wire_to_poll_ns", stage_json(&ptp->wire_to_poll, "nic-ptp"));
	put(object, "replies", replies_json(ptp));
	return object;
}

// Return null if the NIC's own clock is not used.
static json_t *nic_clock_json(const struct tl_report_stamps *stamps)
{
	if (stamps->nic_clock == NULL)
		return json_null();
	json_t *object = json_object();
	put(object, "timescale", tl_json_string(stamps->nic_clock));
	put(object, "offset_ns", json_integer(stamps->nic_offset_ns));
	put(object, "rate_hz", json_real(stamps->nic_rate_hz));
	put(object, "steps", tl_json_number(stamps->nic_steps));
	put(object, "set_aside", tl_json_number(stamps->nic_set_aside));
	put(object, "failed_reads", tl_json_number(stamps->nic_failed_reads));
	return object;
}

static json_t *gate_json(const struct tl_report_stamps *stamps)
{
	if (stamps->gate == NULL)
		return json_null();
	json_t *object = json_object();
	put(object, "state", tl_json_string(stamps->gate));
	put(object, "closures", tl_json_number(stamps->gate_closures));
	put(object, "refused_pkts", tl_json_number(stamps->refused_pkts));
	return object;
}

static json_t *stamps_json(const struct tl_report_stamps *stamps)
{
	json_t *object = json_object();

	put(object, "source", tl_json_string(stamps->source));
	put(object, "unit_ns", tl_json_number_if(stamps->unit_ns != 0, stamps->unit_ns));
	put(object, "bound_ns", tl_json_number_if(stamps->bounded, stamps->bound_ns));
	put(object, "bound_clock", stamps->bounded ? tl_json_string("REALTIME") : json_null());
	put(object, "nic_clock", nic_clock_json(stamps));
	put(object, "gate", gate_json(stamps));
	return object;
}

// Return the clock: every time is CLOCK_REALTIME's, that is UTC.
static json_t *clock_json(const struct tl_snapshot *snap)
{
	json_t *object = json_object();

	put(object, "timescale", tl_json_string("REALTIME"));
	put(object, "tai_offset_s", snap->tai_offset_s != 0 ? json_integer(snap->tai_offset_s) : json_null());
	put(object, "steps", tl_json_number(snap->wall_steps));
	return object;
}

json_t *tl_report_rule_json(const struct tl_report_rule *rule)
{
	json_t *object = json_object();

	put(object, "matches", tl_json_string(rule->matches));
	put(object, "queue", tl_json_number_if(!rule->drops, rule->queue));
	put(object, "drop", json_boolean(rule->drops));
	put(object, "mark", tl_json_number_if(rule->mark != 0, rule->mark));
	put(object, "derived", tl_json_string(rule->derived));
	put(object, "outcome", tl_json_string(rule->outcome));
	put(object, "by", tl_json_string(rule->by));
	put(object, "filters_used", tl_json_number_if(rule->by != NULL, rule->used));
	put(object, "filters", tl_json_number_if(rule->by != NULL, rule->most));
	put(object, "refused_item", tl_json_string(rule->item));
	put(object, "why", tl_json_string(rule->why));
	put(object, "instead", tl_json_string(tl_report_rule_holds(rule) ? NULL : rule->instead));
	put(object, "hits_pkts", tl_json_number_if(rule->counted, rule->hits_pkts));
	put(object, "marked_pkts", tl_json_number_if(rule->marked, rule->marked_pkts));
	return object;
}

static json_t *rules_json(const struct tl_report_port *port)
{
	json_t *rules = json_array();

	for (uint32_t i = 0; i < port->n_rules; i++)
		json_array_append_new(rules, tl_report_rule_json(&port->rules[i]));
	return rules;
}

static json_t *inner_json(const struct tl_report_port *port)
{
	bool nic = port->rss_outer_why == NULL;

	if (!port->rss_inner)
		return json_null();
	return json_pack("{s:s, s:o}", "by", nic ? "nic" : "handoff", "why",
		nic ? json_null() : tl_json_string(port->rss_outer_why));
}

static json_t *port_json(const struct tl_report_port *port, bool final)
{
	json_t *object = json_object();

	put(object, "name", tl_json_string(port->name));
	put(object, "device", tl_json_string(port->device));
	put_counters(object, &tl_report_port_table, port);
	if (port->rule_drops_unknown)
		put(object, "drop_rule_pkts", json_null());
	put_counters(object, &tl_report_handoff_table, &port->handoff);
	put_counters(object, &tl_report_inner_table, &port->inner);
	put(object, "unaccounted_pkts", json_integer(tl_report_unaccounted(&tl_report_port_table, port)));
	put(object, "link", port->link.known ? tl_json_string(port->link.up ? "up" : "down") : json_null());
	put(object, "link_downs", tl_json_number(port->link.downs));
	put(object, "timestamps", stamps_json(&port->stamps));
	put(object, "queues", port_queues_json(port));
	put(object, "unrecorded_rx_pkts", tl_json_number(port->unrecorded_rx_pkts));
	put(object, "unrecorded_tx_pkts", tl_json_number(port->unrecorded_tx_pkts));
	put(object, "rss_symmetric", port->rss_size != 0 ? json_boolean(port->rss_symmetric) : json_null());
	put(object, "rss_inner", inner_json(port));
	put(object, "flow_rules", rules_json(port));
	put(object, "ptp", ptp_json(&port->ptp));
	put(object, "verified", json_boolean(port->verified));
	put(object, "drops_known", json_boolean(!port->drops_unknown));
	put(object, "mac_seen_pkts", tl_json_number_if(port->has_mac, port->mac_seen_pkts));
	put(object, "ledger_ok", json_boolean(tl_report_port_ok(port, final)));
	return object;
}

static void put_flow(json_t *object, const struct tl_ledger_flow *flow)
{
	put_counters(object, &tl_report_flow_table, flow);
	put(object, "unaccounted_pkts", json_integer(tl_report_unaccounted(&tl_report_flow_table, flow)));
}

// Return null before the first trigger.
static json_t *trigger_json(const struct tl_report_capture *capture)
{
	if (capture->last_trigger == NULL)
		return json_null();
	json_t *object = json_object();
	put(object, "reason", tl_json_string(capture->last_trigger));
	put(object, "time", tl_json_string(capture->last_trigger_time));
	return object;
}

static void put_directions(json_t *object, const struct tl_ledger_flow flows[TL_DIRS])
{
	static const char *const directions[TL_DIRS] = {[TL_DIR_RX] = "rx", [TL_DIR_TX] = "tx"};

	for (int dir = 0; dir < TL_DIRS; dir++) {
		json_t *flow = json_object();
		put_flow(flow, &flows[dir]);
		put(object, directions[dir], flow);
	}
}

static json_t *capture_queues_json(const struct tl_report_capture *capture)
{
	json_t *queues = json_array();

	for (uint32_t q = 0; q < capture->n_queues; q++) {
		json_t *row = json_object();
		put(row, "queue", tl_json_number(q));
		put(row, "slabs_used", tl_json_number(capture->queues[q].slabs_used));
		put_directions(row, capture->queues[q].flow);
		json_array_append_new(queues, row);
	}
	return queues;
}

// Return the largest error of the recording's stamps so far; null if unknown.
static json_t *capture_stamps_json(const struct tl_report_capture *capture)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < capture->n_stamps; i++) {
		const struct tl_report_capture_stamps *stamps = &capture->stamps[i];
		bool known = stamps->bound_max_ns != UINT64_MAX;
		json_t *row = json_object();
		put(row, "source", tl_json_string(stamps->source));
		put(row, "unit_ns", tl_json_number_if(stamps->unit_ns != 0, stamps->unit_ns));
		put(row, "bound_max_ns", tl_json_number_if(known, stamps->bound_max_ns));
		put(row, "bound_clock", known ? tl_json_string("REALTIME") : json_null());
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *steps_json(const struct tl_report_capture *capture)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < tl_min_u64(capture->n_steps, TL_REPORT_STEPS); i++) {
		json_t *row = json_object();
		put(row, "clock", tl_json_string(capture->step[i].clock));
		put(row, "time_ns", tl_json_number(capture->step[i].time_ns));
		put(row, "offset_ns", json_integer(capture->step[i].offset_ns));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *capture_json(const struct tl_report_capture *capture, bool final)
{
	json_t *object = json_object(), *files = json_array();
	struct tl_ledger_flow total = tl_report_total(capture);

	put(object, "port", tl_json_string(capture->port));
	put(object, "state", tl_json_string(capture->state));
	put_flow(object, &total);
	put(object, "in_flight_pkts", tl_json_number(capture->in_flight_pkts));
	put(object, "written_bytes", tl_json_number(capture->written_bytes));
	put(object, "flows", tl_json_number(capture->flows));
	put(object, "flows_evicted", tl_json_number(capture->flows_evicted));
	put(object, "late_pkts", tl_json_number(capture->late_pkts));
	put(object, "recycled_files", tl_json_number(capture->recycled_files));
	put(object, "recycled_bytes", tl_json_number(capture->recycled_bytes));
	put(object, "triggers", tl_json_number(capture->triggers));
	put(object, "last_trigger", trigger_json(capture));
	put(object, "disk_free_bytes",
		tl_json_number_if(capture->disk_free_bytes != UINT64_MAX, capture->disk_free_bytes));
	put(object, "limit_bps", tl_json_number_if(capture->limit_bps != UINT64_MAX, capture->limit_bps));
	put(object, "slabs", tl_json_number(capture->slabs));
	put_directions(object, capture->flow);
	put(object, "queues", capture_queues_json(capture));
	put(object, "classes", tl_report_police_json(capture));
	put(object, "unmatched_pkts", tl_json_number(capture->unmatched_pkts));
	put(object, "stamps", capture_stamps_json(capture));
	put(object, "clock_steps", tl_json_number(capture->n_steps));
	put(object, "clock_step_list", steps_json(capture));
	for (uint32_t i = 0; i < capture->n_files; i++)
		json_array_append_new(files, tl_json_string(capture->files[i]));
	put(object, "files", files);
	put(object, "filter_engine", tl_json_string(capture->filter_engine));
	put(object, "error", tl_json_string(capture->error));
	put(object, "ledger_ok", json_boolean(tl_report_capture_ok(capture, final)));
	return object;
}

// Return null without a measurement: 0 would be a latency.
json_t *tl_report_hist_json(const struct tl_hist_summary *summary)
{
	const struct tl_report_table *table = &tl_report_hist_table;
	bool measured = summary->count != 0;
	json_t *object = json_object();

	for (size_t i = 0; i < table->n; i++) {
		uint64_t value = tl_report_value(&table->counters[i], summary);
		put(object, table->counters[i].name, tl_json_number_if(measured, value));
	}
	put(object, "mean", measured ? json_real(summary->mean_ns) : json_null());
	put(object, "count", tl_json_number(summary->count));
	return object;
}

static json_t *echo_json(const struct tl_report_echo *echo, bool final)
{
	json_t *object = json_object();

	put(object, "name", tl_json_string(echo->name));
	put(object, "mode", tl_json_string(echo->mode));
	put(object, "queue", tl_json_number(echo->queue));
	put(object, "state", tl_json_string(echo->state));
	put_counters(object, &tl_report_echo_table, echo);
	put(object, "unaccounted_msgs", json_integer(tl_report_unaccounted(&tl_report_echo_table, echo)));
	if (echo->pace_bps != 0)
		put(object, "pace_bps", tl_json_number(echo->pace_bps));
	put(object, "policed", json_boolean(echo->is_policed));
	put(object, "residence_ns", stage_json(&echo->residence, "tsc"));
	put(object, "tx_call_ns", stage_json(&echo->tx_call, "tsc"));
	if (echo->is_delayed)
		put(object, "lateness_ns", stage_json(&echo->lateness, "tsc"));
	tl_report_put_stages(object, echo->stages);
	put(object, "ledger_ok", json_boolean(tl_report_echo_ok(echo, final)));
	return object;
}

static json_t *net_json(const struct tl_snapshot *snap, uint32_t port)
{
	json_t *object = json_object();

	put(object, "port", tl_json_string(snap->ports[port].name));
	tl_json_put_counters(object, snap->net[port], snap->n_net[port]);
	return object;
}

// Add a list, and for the common case of one entry the entry itself, so that a script needs no index.
static void put_list(json_t *object, const char *plural, const char *singular, json_t *list)
{
	if (json_array_size(list) == 1)
		json_object_set(object, singular, json_array_get(list, 0));
	put(object, plural, list);
}

static json_t *process_json(const struct tl_report_process *p)
{
	return json_pack("{s:b, s:s, s:s, s:b, s:i, s:b}", "sandbox", p->sandbox, "user", p->user, "capabilities",
		p->capabilities, "no_new_privs", p->no_new_privs, "landlock", p->landlock, "seccomp", p->seccomp);
}

json_t *tl_report_json(const struct tl_snapshot *snap)
{
	json_t *object = json_object(), *ports = json_array(), *captures = json_array();
	json_t *echoes = json_array(), *nets = json_array(), *shapes = json_array();

	for (uint32_t i = 0; i < snap->n_ports; i++) {
		json_array_append_new(ports, port_json(&snap->ports[i], snap->final));
		if (snap->n_net[i] != 0)
			json_array_append_new(nets, net_json(snap, i));
	}
	for (uint32_t i = 0; i < snap->n_captures; i++)
		json_array_append_new(captures, capture_json(&snap->captures[i], snap->final));
	for (uint32_t i = 0; i < snap->n_echoes; i++)
		json_array_append_new(echoes, echo_json(&snap->echoes[i], snap->final));
	for (uint32_t i = 0; i < snap->n_shapes; i++)
		json_array_append_new(shapes, tl_report_shape_json(&snap->shapes[i], snap->final));
	put(object, "uptime_ns", tl_json_number(snap->uptime_ns));
	put(object, "clock", clock_json(snap));
	put(object, "final", json_boolean(snap->final));
	put(object, "process", process_json(&snap->process));
	put_list(object, "ports", "port", ports);
	put(object, "captures", captures);
	put_list(object, "echoes", "echo", echoes);
	put(object, "shapes", shapes);
	put(object, "net", nets);
	put(object, "ledger_ok", json_boolean(tl_report_ledger_ok(snap)));
	bool unknown = tl_report_lossless(snap) && !(tl_report_drops_known(snap) && tl_report_ledger_ok(snap));
	put(object, "lossless", unknown ? json_null() : json_boolean(tl_report_lossless(snap)));
	return object;
}
