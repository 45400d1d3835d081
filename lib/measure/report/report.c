// SPDX-License-Identifier: BSD-3-Clause
// Counters of a run, each named once, and the identities between them: the loss ledger.

#include "report_priv.h"

#include <string.h>

// A counter of the table's ROW, by its part in the identity.
#define COUNTER(field, part) {.name = #field, .offset = offsetof(ROW, field), .role = TL_REPORT_##part},
#define WHOLE(field) COUNTER(field, WHOLE)
#define PART(field) COUNTER(field, PART)
#define ASIDE(field) COUNTER(field, ASIDE)

#define ROW struct tl_report_port
static const struct tl_report_counter port_counters[] = {WHOLE(hw_seen_pkts) PART(rx_pkts) PART(copied_pkts)
		TL_PORT_PARTS(PART) ASIDE(rx_bytes) TL_TXQ_COUNTERS(ASIDE) TL_RXQ_COUNTERS(ASIDE) ASIDE(mbufs_in_use)};
const struct tl_report_table tl_report_port_table = {port_counters, TL_ARRAY_LEN(port_counters)};
#undef ROW

#define ROW struct tl_ledger_handoff
static const struct tl_report_counter handoff_counters[] = {
	WHOLE(handoff_pkts) PART(handoff_taken_pkts) PART(drop_handoff_pkts)};
const struct tl_report_table tl_report_handoff_table = {handoff_counters, TL_ARRAY_LEN(handoff_counters)};
#undef ROW

#define ROW struct tl_ledger_inner
static const struct tl_report_counter inner_counters[] = {
	WHOLE(inner_handoff_pkts) PART(inner_taken_pkts) PART(inner_kept_pkts)};
const struct tl_report_table tl_report_inner_table = {inner_counters, TL_ARRAY_LEN(inner_counters)};
#undef ROW

#define ROW struct tl_report_probes
static const struct tl_report_counter probe_counters[] = {
	WHOLE(probes_sent) TL_PROBE_PARTS(PART) ASIDE(probes_refused)};
const struct tl_report_table tl_report_probe_table = {probe_counters, TL_ARRAY_LEN(probe_counters)};
#undef ROW

#define ROW struct tl_report_ptp_received
static const struct tl_report_counter ptp_counters[] = {WHOLE(ptp_received_pkts) TL_PTP_PARTS(PART)};
const struct tl_report_table tl_report_ptp_table = {ptp_counters, TL_ARRAY_LEN(ptp_counters)};
#undef ROW

#define ROW struct tl_report_replies
static const struct tl_report_counter reply_counters[] = {WHOLE(replies_marked) TL_REPLY_PARTS(PART)};
const struct tl_report_table tl_report_reply_table = {reply_counters, TL_ARRAY_LEN(reply_counters)};
#undef ROW

#define ROW struct tl_ledger_flow
static const struct tl_report_counter flow_counters[] = {
	WHOLE(offered_pkts) TL_CAPTURE_PARTS(PART) TL_CAPTURE_COUNTERS(ASIDE)};
const struct tl_report_table tl_report_flow_table = {flow_counters, TL_ARRAY_LEN(flow_counters)};
#undef ROW

#define ROW struct tl_report_police
static const struct tl_report_counter police_counters[] = {
	WHOLE(matched_pkts) TL_POLICE_PARTS(PART) TL_POLICE_COUNTERS(ASIDE)};
const struct tl_report_table tl_report_police_table = {police_counters, TL_ARRAY_LEN(police_counters)};
#undef ROW

#define ROW struct tl_report_echo
static const struct tl_report_counter echo_counters[] = {
	WHOLE(received_msgs) TL_ECHO_PARTS(PART) PART(lost_unacked_msgs) TL_ECHO_COUNTERS(ASIDE)};
const struct tl_report_table tl_report_echo_table = {echo_counters, TL_ARRAY_LEN(echo_counters)};
#undef ROW

#define ROW struct tl_report_class
static const struct tl_report_counter class_counters[] = {WHOLE(in_pkts) TL_CLASS_PARTS(PART) TL_CLASS_COUNTERS(ASIDE)};
const struct tl_report_table tl_report_class_table = {class_counters, TL_ARRAY_LEN(class_counters)};
#undef ROW

// The unit is not part of these names: it is in the JSON key "residence_ns".
static const struct tl_report_counter hist_marks[] = {
	{"min", offsetof(struct tl_hist_summary, min_ns), TL_REPORT_ASIDE},
	{"p50", offsetof(struct tl_hist_summary, p50_ns), TL_REPORT_ASIDE},
	{"p90", offsetof(struct tl_hist_summary, p90_ns), TL_REPORT_ASIDE},
	{"p99", offsetof(struct tl_hist_summary, p99_ns), TL_REPORT_ASIDE},
	{"p999", offsetof(struct tl_hist_summary, p999_ns), TL_REPORT_ASIDE},
	{"max", offsetof(struct tl_hist_summary, max_ns), TL_REPORT_ASIDE},
};
const struct tl_report_table tl_report_hist_table = {hist_marks, TL_ARRAY_LEN(hist_marks)};

uint64_t tl_report_value(const struct tl_report_counter *counter, const void *row)
{
	uint64_t value;

	memcpy(&value, (const char *)row + counter->offset, sizeof(value));
	return value;
}

int64_t tl_report_unaccounted(const struct tl_report_table *table, const void *row)
{
	uint64_t difference = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct tl_report_counter *counter = &table->counters[i];
		if (counter->role == TL_REPORT_WHOLE)
			difference += tl_report_value(counter, row);
		else if (counter->role == TL_REPORT_PART)
			difference -= tl_report_value(counter, row);
	}
	return (int64_t)difference;
}

// A frame dropped by a rule of the user is not lost.
static bool is_loss(const char *name)
{
	return (strncmp(name, "drop_", 5) == 0 && strcmp(name, "drop_rule_pkts") != 0) ||
	       strncmp(name, "lost_", 5) == 0;
}

uint64_t tl_report_drops(const struct tl_report_table *table, const void *row)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->n; i++)
		if (is_loss(table->counters[i].name))
			sum += tl_report_value(&table->counters[i], row);
	return sum;
}

struct tl_ledger_flow tl_report_total(const struct tl_report_capture *capture)
{
	struct tl_ledger_flow total = {0};

	for (size_t i = 0; i < tl_report_flow_table.n; i++) {
		const struct tl_report_counter *counter = &tl_report_flow_table.counters[i];
		uint64_t sum = 0;
		for (int dir = 0; dir < TL_DIRS; dir++)
			sum += tl_report_value(counter, &capture->flow[dir]);
		memcpy((char *)&total + counter->offset, &sum, sizeof(sum));
	}
	return total;
}

// While running a probe and a received frame may be in flight.
bool tl_report_ptp_ok(const struct tl_report_ptp *ptp, bool final)
{
	int64_t probes = tl_report_unaccounted(&tl_report_probe_table, &ptp->probes);
	int64_t received = tl_report_unaccounted(&tl_report_ptp_table, &ptp->received);
	int64_t replies = tl_report_unaccounted(&tl_report_reply_table, &ptp->replies);

	return replies == 0 && ((probes == 0 && received == 0) || (!final && probes >= 0 && received >= 0));
}

// Check a port. Frames seen but not yet passed on wait in its queues or between its lcores, so while running hw_seen
// may be ahead, never behind.
bool tl_report_port_ok(const struct tl_report_port *port, bool final)
{
	int64_t waiting = tl_report_unaccounted(&tl_report_port_table, port);
	int64_t handed = tl_report_unaccounted(&tl_report_handoff_table, &port->handoff);
	int64_t inner = tl_report_unaccounted(&tl_report_inner_table, &port->inner);

	return ((waiting == 0 && handed == 0 && inner == 0) || (!final && waiting >= 0 && handed >= 0 && inner >= 0)) &&
	       tl_report_ptp_ok(&port->ptp, final);
}

// Add the shortfall of the directions to *open. False: frames were counted twice.
static bool add_open(const struct tl_ledger_flow flow[TL_DIRS], uint64_t *open)
{
	for (int dir = 0; dir < TL_DIRS; dir++) {
		int64_t unaccounted = tl_report_unaccounted(&tl_report_flow_table, &flow[dir]);
		if (unaccounted < 0)
			return false;
		*open += (uint64_t)unaccounted;
	}
	return true;
}

bool tl_report_capture_ok(const struct tl_report_capture *capture, bool final)
{
	uint64_t open = 0, open_in_queues = 0;
	bool ok = add_open(capture->flow, &open);

	for (uint32_t q = 0; q < capture->n_queues; q++)
		ok = ok && add_open(capture->queues[q].flow, &open_in_queues);
	if (!ok || (capture->n_queues != 0 && open_in_queues != open))
		return false;
	if (!tl_report_police_ok(capture, final))
		return false;
	return final ? open == 0 && capture->in_flight_pkts == 0 : open <= capture->in_flight_pkts;
}

bool tl_report_echo_ok(const struct tl_report_echo *echo, bool final)
{
	int64_t waiting = tl_report_unaccounted(&tl_report_echo_table, echo);
	uint64_t coloured = echo->green_msgs + echo->yellow_msgs + echo->red_msgs;

	if (final && coloured != (echo->is_policed ? echo->received_msgs : 0))
		return false;
	return waiting == 0 || (!final && waiting > 0);
}

bool tl_report_ledger_ok(const struct tl_snapshot *snap)
{
	bool ok = true;

	for (uint32_t i = 0; i < snap->n_ports; i++)
		ok = ok && tl_report_port_ok(&snap->ports[i], snap->final);
	for (uint32_t i = 0; i < snap->n_captures; i++)
		ok = ok && tl_report_capture_ok(&snap->captures[i], snap->final);
	for (uint32_t i = 0; i < snap->n_echoes; i++)
		ok = ok && tl_report_echo_ok(&snap->echoes[i], snap->final);
	for (uint32_t i = 0; i < snap->n_shapes; i++)
		ok = ok && tl_report_shape_ok(&snap->shapes[i], snap->final);
	return ok;
}

bool tl_report_rule_holds(const struct tl_report_rule *rule)
{
	return strcmp(rule->outcome, "planned") == 0 || strcmp(rule->outcome, "installed") == 0;
}

// True if the MAC saw more frames than are accounted for, by a driver's count that was never verified.
static bool lacks_frames(const struct tl_report_port *port)
{
	return port->has_mac && !port->verified && port->mac_seen_pkts > port->hw_seen_pkts;
}

bool tl_report_drops_known(const struct tl_snapshot *snap)
{
	for (uint32_t i = 0; i < snap->n_ports; i++)
		if (snap->ports[i].drops_unknown || (snap->final && lacks_frames(&snap->ports[i])))
			return false;
	return true;
}

bool tl_report_lossless(const struct tl_snapshot *snap)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < snap->n_ports; i++)
		lost |= tl_report_drops(&tl_report_port_table, &snap->ports[i]) |
			tl_report_drops(&tl_report_handoff_table, &snap->ports[i].handoff);
	for (uint32_t i = 0; i < snap->n_captures; i++) {
		for (int dir = 0; dir < TL_DIRS; dir++)
			lost |= tl_report_drops(&tl_report_flow_table, &snap->captures[i].flow[dir]);
	}
	return lost == 0;
}
