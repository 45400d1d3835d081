// SPDX-License-Identifier: BSD-3-Clause
// Snapshot as text tables: numbers grouped and right-aligned, verdicts in words.

#include "report_priv.h"

#include <inttypes.h>
#include <string.h>

#include <tl_report_stages.h>
#include <tl_text.h>
#include <tl_units.h>

#define GROUPED TL_REPORT_GROUPED
#define grouped tl_report_grouped
#define MAX_COLUMNS 3

const char *tl_report_grouped(uint64_t value, char buf[TL_REPORT_GROUPED])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *to = buf;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

// Format a share: never 0 for a loss, never a division by zero: more can be lost than was seen when the account is
// wrong.
static const char *percent(uint64_t part, uint64_t whole, char buf[GROUPED])
{
	double share = whole != 0 ? 100.0 * (double)part / (double)whole : 100.0;

	if (part == 0)
		return "0 %";
	if (share < 0.0001)
		return "less than 0.0001 %";
	snprintf(buf, GROUPED, "%.4f %%", share);
	return buf;
}

static void print_line(FILE *out, const char *sign, const char *name, const uint64_t *values, unsigned columns)
{
	char number[GROUPED];

	fprintf(out, "  %s %-18s", sign, name);
	for (unsigned i = 0; i < columns; i++)
		fprintf(out, " %19s", grouped(values[i], number));
	fputc('\n', out);
}

// Print the counters of up to MAX_COLUMNS rows of one kind, side by side. The first part of an identity gets its "=".
static void print_counters(
	FILE *out, const struct tl_report_table *table, const void *const rows[MAX_COLUMNS], unsigned columns)
{
	bool first_part = true;

	for (size_t i = 0; i < table->n; i++) {
		const struct tl_report_counter *counter = &table->counters[i];
		uint64_t values[MAX_COLUMNS] = {0};
		const char *sign = " ";
		if (counter->role == TL_REPORT_PART) {
			sign = first_part ? "=" : "+";
			first_part = false;
		}
		for (unsigned c = 0; c < columns; c++)
			values[c] = tl_report_value(counter, rows[c]);
		print_line(out, sign, counter->name, values, columns);
	}
}

// Print the counts of a driver that was never verified, if they differ from the account.
static void print_mac(FILE *out, const struct tl_report_port *port, bool final)
{
	int64_t more = (int64_t)(port->mac_seen_pkts - port->hw_seen_pkts);
	char n[GROUPED], of[GROUPED];

	if (!port->has_mac || port->verified || !final || more == 0)
		return;
	if (port->rule_drops_unknown && more > 0)
		fprintf(out,
			"  the driver reports %s frames seen by the MAC: the %s more than are accounted for were dropped by "
			"rules, or lost\n",
			grouped(port->mac_seen_pkts, of), grouped(tl_magnitude(more), n));
	else
		fprintf(out,
			"  UNEXPLAINED: the driver reports %s frames seen by the MAC, %s %s than are accounted for\n",
			grouped(port->mac_seen_pkts, of), grouped(tl_magnitude(more), n), more > 0 ? "more" : "less");
}

static uint64_t lost_msgs(const struct tl_snapshot *snap)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < snap->n_echoes; i++)
		lost += tl_report_drops(&tl_report_echo_table, &snap->echoes[i]);
	return lost;
}

static const char *loss_of(const struct tl_snapshot *snap)
{
	if (!tl_report_lossless(snap))
		return "FRAMES WERE LOST";
	if (!tl_report_ledger_ok(snap))
		return "no loss was counted, but not everything is accounted for";
	if (!tl_report_drops_known(snap))
		return "no loss was counted, but not every port counts it";
	return lost_msgs(snap) == 0 ? "nothing was lost" : "no frame was lost, but messages were not echoed";
}

static void print_port_verdict(FILE *out, const struct tl_report_port *port, bool final)
{
	int64_t unaccounted = tl_report_unaccounted(&tl_report_port_table, port);
	char n[GROUPED];

	grouped(tl_magnitude(unaccounted), n);
	if (!port->verified)
		fprintf(out,
			"  unverified: this port has no counter of its own; losses that it does not report are not visible here\n");
	if (port->drops_unknown)
		fprintf(out,
			"  drops unknown: neither the driver nor the kernel counts frames dropped at full queues\n");
	if (unaccounted < 0)
		fprintf(out, "  BROKEN: %s frames more are accounted for than the hardware saw\n", n);
	else if (unaccounted > 0 && final)
		fprintf(out, "  BROKEN: the hardware saw %s unaccounted frames\n", n);
	else if (unaccounted > 0)
		fprintf(out, "  ok so far: %s frames wait in the port's queues\n", n);
	else if (port->verified)
		fprintf(out, "  ok: every frame that the hardware saw is accounted for\n");
}

// Print the counters of frames that lcores pass to each other, and the verdict.
static void print_passed(
	FILE *out, const struct tl_report_table *table, const void *row, const char *frames, bool final)
{
	const void *const rows[MAX_COLUMNS] = {row};
	int64_t unaccounted = tl_report_unaccounted(table, row);
	char n[GROUPED];

	print_counters(out, table, rows, 1);
	if (unaccounted < 0 || (unaccounted > 0 && final))
		fprintf(out, "  BROKEN: %s %s were %s between lcores\n", grouped(tl_magnitude(unaccounted), n), frames,
			unaccounted > 0 ? "lost unseen" : "taken twice");
}

static void print_handoff(FILE *out, const struct tl_ledger_handoff *handoff, bool final)
{
	char n[GROUPED];

	if (handoff->handoff_pkts == 0)
		return;
	print_passed(out, &tl_report_handoff_table, handoff, "frames", final);
	if (handoff->drop_handoff_pkts != 0)
		fprintf(out, "  LOST: %s frames on another lcore than their echo's, which did not keep up\n",
			grouped(handoff->drop_handoff_pkts, n));
}

static void print_inner(FILE *out, const struct tl_ledger_inner *inner, bool final)
{
	if (inner->inner_handoff_pkts != 0)
		print_passed(out, &tl_report_inner_table, inner, "encapsulated frames", final);
}

// Print the share of the lcore's time with frames, and with at least half a burst of them, and the ring's highest fill.
static void print_load(FILE *out, const struct tl_report_port_queue *queue)
{
	uint64_t all = 0, high = queue->turn_ns[TL_REPORT_SIZES - 2] + queue->turn_ns[TL_REPORT_SIZES - 1];

	for (unsigned i = 0; i < TL_REPORT_SIZES; i++)
		all += queue->turn_ns[i];
	if (all != 0)
		fprintf(out, "  busy %.1f %%  bursts of 32 and more %.1f %%",
			100.0 * (double)(all - queue->turn_ns[0]) / (double)all, 100.0 * (double)high / (double)all);
	if (queue->descriptors != 0)
		fprintf(out, "  ring at most %" PRIu64 " of %" PRIu64, queue->ring_used_max, queue->descriptors);
}

static void print_unrecorded(FILE *out, const struct tl_report_port *port)
{
	char rx[GROUPED], tx[GROUPED];

	if (port->unrecorded_rx_pkts + port->unrecorded_tx_pkts != 0)
		fprintf(out, "  not recorded: %s frames received and %s sent by queues with the role \"echo\"\n",
			grouped(port->unrecorded_rx_pkts, rx), grouped(port->unrecorded_tx_pkts, tx));
}

static void print_port_queues(FILE *out, const struct tl_report_port *port)
{
	char pkts[GROUPED], bytes[GROUPED], drops[GROUPED];

	for (uint32_t q = 0; port->n_queues > 1 && q < port->n_queues; q++) {
		const struct tl_report_port_queue *queue = &port->queues[q];
		fprintf(out, "  queue %-2" PRIu32 "  rx_pkts %s  rx_bytes %s", q, grouped(queue->rx_pkts, pkts),
			grouped(queue->rx_bytes, bytes));
		if (queue->role != NULL)
			fprintf(out, "  role %s", queue->role);
		if (port->drops_by_queue)
			fprintf(out, "  drop_nic_pkts %s", grouped(queue->drop_nic_pkts, drops));
		if (port->rss_size != 0 && port->rx_pkts != 0)
			fprintf(out, "  %.1f %% of frames, %.1f %% of flows by RSS",
				100.0 * (double)queue->rx_pkts / (double)port->rx_pkts,
				100.0 * (double)queue->rss_entries / (double)port->rss_size);
		print_load(out, queue);
		fputc('\n', out);
	}
}

void tl_report_rule_text(FILE *out, const struct tl_report_rule *rule)
{
	char n[GROUPED];

	fprintf(out, "%s -> ", rule->matches);
	if (rule->drops)
		fprintf(out, "drop");
	else
		fprintf(out, "queue %" PRIu32, rule->queue);
	if (rule->mark != 0)
		fprintf(out, ", mark %" PRIu32, rule->mark);
	fprintf(out, ": %s", rule->outcome);
	if (rule->derived != NULL)
		fprintf(out, ", derived: %s", rule->derived);
	if (rule->by != NULL)
		fprintf(out, ", %s %" PRIu32 " of %" PRIu32, rule->by, rule->used, rule->most);
	if (rule->item != NULL)
		fprintf(out, ", refused for \"%s\"", rule->item);
	if (rule->why != NULL)
		fprintf(out, ": %s", rule->why);
	if (!tl_report_rule_holds(rule))
		fprintf(out, "; %s", rule->instead);
	if (rule->counted)
		fprintf(out, "; %s frames", grouped(rule->hits_pkts, n));
	if (rule->marked)
		fprintf(out, "; %s marked", grouped(rule->marked_pkts, n));
	fputc('\n', out);
}

static void print_rules(FILE *out, const struct tl_report_port *port)
{
	for (uint32_t i = 0; i < port->n_rules; i++) {
		fprintf(out, "  rule %-3" PRIu32 "  ", i);
		tl_report_rule_text(out, &port->rules[i]);
	}
	if (port->rule_drops_unknown)
		fprintf(out, "  drop_rule_pkts: not counted by this NIC\n");
}

static void print_replies(FILE *out, const struct tl_report_ptp *ptp)
{
	const void *const rows[MAX_COLUMNS] = {&ptp->replies};

	if (ptp->trigger_source == NULL)
		return;
	print_counters(out, &tl_report_reply_table, rows, 1);
	tl_report_hist_text(out, "replies", &ptp->reply);
	tl_report_hist_text(out, "tx to wire", &ptp->reply_tx_to_wire);
	fprintf(out, "  from stamps of triggers, %s, to stamps of replies, nic-tx\n", ptp->trigger_source);
}

static void print_ptp(FILE *out, const struct tl_report_ptp *ptp, bool final)
{
	const void *const probes[MAX_COLUMNS] = {&ptp->probes};
	const void *const received[MAX_COLUMNS] = {&ptp->received};
	char bound[GROUPED];

	if (!ptp->on)
		return;
	print_counters(out, &tl_report_probe_table, probes, 1);
	print_counters(out, &tl_report_ptp_table, received, 1);
	if (!tl_report_ptp_ok(ptp, final))
		fprintf(out, "  BROKEN: PTP frames unaccounted for, or accounted for twice\n");
	tl_report_hist_text(out, "tx to wire", &ptp->tx_to_wire);
	tl_report_hist_text(out, "wire to rx", &ptp->wire_to_poll);
	print_replies(out, ptp);
	fprintf(out, "  stamps of the NIC, within %s ns\n", grouped(ptp->bound_ns, bound));
	if (!ptp->stamps_sent)
		fprintf(out, "  UNSTAMPED: the NIC stamps no sent frames (see docs/time.md)\n");
}

static void print_unit(FILE *out, uint64_t unit_ns)
{
	char n[GROUPED];

	fprintf(out, ", unit %s%s", unit_ns != 0 ? grouped(unit_ns, n) : "unknown", unit_ns != 0 ? " ns" : "");
}

static void print_stamps(FILE *out, const struct tl_report_port *port)
{
	const struct tl_report_stamps *stamps = &port->stamps;
	char n[GROUPED];

	if (stamps->source == NULL)
		return;
	fprintf(out, "  timestamps: %s", stamps->source);
	print_unit(out, stamps->unit_ns);
	if (stamps->bounded)
		fprintf(out, ", within %s ns of CLOCK_REALTIME", grouped(stamps->bound_ns, n));
	else
		fprintf(out, ", bound unknown");
	if (port->unstamped_pkts != 0)
		fprintf(out, "; %s frames without one have the poll's", grouped(port->unstamped_pkts, n));
	fputc('\n', out);
	if (stamps->gate_closures != 0)
		fprintf(out, "  STAMPS REFUSED: of %s frames, as implausible; the gate is %s\n",
			grouped(stamps->refused_pkts, n), stamps->gate);
}

static void print_link(FILE *out, const struct tl_report_link *link)
{
	char n[GROUPED];

	if (link->known && (!link->up || link->downs != 0))
		fprintf(out, "  link: %s; went down %s time%s\n", link->up ? "up" : "DOWN", grouped(link->downs, n),
			link->downs == 1 ? "" : "s");
}

static void print_poll_gaps(FILE *out, const struct tl_report_port *port)
{
	char label[16] = "poll gap";

	for (uint32_t q = 0; q < port->n_queues; q++) {
		if (port->n_queues > 1)
			snprintf(label, sizeof(label), "gap q%" PRIu32, q);
		if (port->queues[q].poll_gap.count != 0)
			tl_report_hist_text(out, label, &port->queues[q].poll_gap);
	}
}

static void print_port(FILE *out, const struct tl_report_port *port, bool final)
{
	const void *const rows[MAX_COLUMNS] = {port};
	uint64_t lost = tl_report_drops(&tl_report_port_table, port) - port->drop_tx_pkts - port->drop_shaped_pkts;
	char n[GROUPED], of[GROUPED], share[GROUPED];

	fprintf(out, "port %s (%s)\n", TL_PRINTABLE(port->name), TL_PRINTABLE(port->device));
	print_counters(out, &tl_report_port_table, rows, 1);
	print_stamps(out, port);
	print_link(out, &port->link);
	print_port_queues(out, port);
	print_unrecorded(out, port);
	print_rules(out, port);
	print_poll_gaps(out, port);
	print_port_verdict(out, port, final);
	print_mac(out, port, final);
	print_handoff(out, &port->handoff, final);
	print_inner(out, &port->inner, final);
	print_ptp(out, &port->ptp, final);
	if (lost != 0)
		fprintf(out, "  LOST: %s of %s frames that arrived, %s\n", grouped(lost, n),
			grouped(port->hw_seen_pkts, of), percent(lost, port->hw_seen_pkts, share));
	if (port->altered_pkts != 0)
		fprintf(out,
			"  ALTERED: %s frames differ from the wire: the kernel merged segments or fragments, or had not\n"
			"  segmented them yet (disable its offloads; see docs/ports.md)\n",
			grouped(port->altered_pkts, n));
	if (port->drop_tx_pkts != 0)
		fprintf(out, "  LOST: %s frames that the port refused to send\n", grouped(port->drop_tx_pkts, n));
	if (port->drop_shaped_pkts != 0)
		fprintf(out, "  LOST: %s frames dropped by class trees before sending\n",
			grouped(port->drop_shaped_pkts, n));
	fputc('\n', out);
}

static void print_flow_verdict(FILE *out, const char *direction, const struct tl_ledger_flow *flow, bool final)
{
	int64_t unaccounted = tl_report_unaccounted(&tl_report_flow_table, flow);
	char n[GROUPED];

	grouped(tl_magnitude(unaccounted), n);
	if (unaccounted < 0)
		fprintf(out, "  BROKEN (%s): %s frames more are accounted for than were offered\n", direction, n);
	else if (unaccounted > 0 && final)
		fprintf(out, "  BROKEN (%s): %s offered frames are unaccounted for\n", direction, n);
}

static void print_capture_verdict(FILE *out, const struct tl_report_capture *capture, bool final)
{
	struct tl_ledger_flow total = tl_report_total(capture);
	int64_t open = tl_report_unaccounted(&tl_report_flow_table, &total);
	struct tl_report_capture whole = *capture; // without its queues
	char n[GROUPED], of[GROUPED];

	print_flow_verdict(out, "rx", &capture->flow[TL_DIR_RX], final);
	print_flow_verdict(out, "tx", &capture->flow[TL_DIR_TX], final);
	if (final && open == 0 && capture->in_flight_pkts != 0)
		fprintf(out, "  BROKEN: %s frames were still in memory at the end\n",
			grouped(capture->in_flight_pkts, n));
	else if (!final && open > 0 && (uint64_t)open > capture->in_flight_pkts)
		fprintf(out, "  BROKEN: %s frames are unaccounted for, only %s of them are on their way to the disk\n",
			grouped((uint64_t)open, n), grouped(capture->in_flight_pkts, of));
	else if (tl_report_capture_ok(capture, final))
		fprintf(out, "  ok: every frame offered is accounted for\n");
	whole.n_queues = 0;
	if (tl_report_capture_ok(&whole, final) && !tl_report_capture_ok(capture, final))
		fprintf(out, "  BROKEN: the sums are right, but a queue's are not: see its row\n");
}

static void print_files(FILE *out, const struct tl_report_capture *capture)
{
	char bytes[GROUPED], n[GROUPED], evicted[GROUPED];

	fprintf(out, "  %s bytes (%s) in %" PRIu32 " file%s\n", grouped(capture->written_bytes, n),
		tl_format_bytes(capture->written_bytes, bytes, sizeof(bytes)), capture->n_files,
		capture->n_files == 1 ? "" : "s");
	for (uint32_t i = 0; i < capture->n_files; i++)
		fprintf(out, "      %s\n", TL_PRINTABLE(capture->files[i]));
	if (capture->flows != 0)
		fprintf(out, "  cut-off: %s flows begun, %s evicted by others\n", grouped(capture->flows, n),
			grouped(capture->flows_evicted, evicted));
	if (capture->recycled_files != 0)
		fprintf(out, "  removed from the ring: %s file%s of %s\n", grouped(capture->recycled_files, n),
			capture->recycled_files == 1 ? "" : "s",
			tl_format_bytes(capture->recycled_bytes, bytes, sizeof(bytes)));
}

// Print " queue 0 rx offered_pkts 1,100 = written_pkts 1,000 + drop_ring_pkts 100": the parts that are not 0.
static void print_queue_flow(FILE *out, uint32_t queue, const char *direction, const struct tl_ledger_flow *flow)
{
	const struct tl_report_table *table = &tl_report_flow_table;
	bool any = false;
	char n[GROUPED];

	fprintf(out, "  queue %-2" PRIu32 "  %s  offered_pkts %s", queue, direction, grouped(flow->offered_pkts, n));
	for (size_t i = 0; i < table->n; i++) {
		uint64_t value = tl_report_value(&table->counters[i], flow);
		if (table->counters[i].role != TL_REPORT_PART || value == 0)
			continue;
		fprintf(out, " %s %s %s", any ? "+" : "=", table->counters[i].name, grouped(value, n));
		any = true;
	}
	int64_t unaccounted = tl_report_unaccounted(table, flow);
	if (unaccounted != 0)
		fprintf(out, " (%s %s)",
			unaccounted > 0 ? "missing" : "too many:", grouped(tl_magnitude(unaccounted), n));
	fputc('\n', out);
}

static void print_capture_queues(FILE *out, const struct tl_report_capture *capture)
{
	for (uint32_t q = 0; capture->n_queues > 1 && q < capture->n_queues; q++) {
		const struct tl_ledger_flow *flow = capture->queues[q].flow;
		print_queue_flow(out, q, "rx", &flow[TL_DIR_RX]);
		if (flow[TL_DIR_TX].offered_pkts != 0)
			print_queue_flow(out, q, "tx", &flow[TL_DIR_TX]);
	}
}

// Print the largest error of the stamps, and each clock step.
static void print_capture_clocks(FILE *out, const struct tl_report_capture *capture)
{
	char n[GROUPED];

	for (uint32_t i = 0; i < capture->n_stamps; i++) {
		fprintf(out, "  timestamps: %s", capture->stamps[i].source);
		print_unit(out, capture->stamps[i].unit_ns);
		if (capture->stamps[i].bound_max_ns == UINT64_MAX)
			fprintf(out, ", bound unknown\n");
		else
			fprintf(out, ", always within %s ns of CLOCK_REALTIME\n",
				grouped(capture->stamps[i].bound_max_ns, n));
	}
	for (uint32_t i = 0; i < tl_min_u64(capture->n_steps, TL_REPORT_STEPS); i++) {
		const struct tl_report_step *step = &capture->step[i];
		fprintf(out, "  CLOCK STEP: %s by %s%s ns, seen at %" PRIu64 ".%09" PRIu64 "\n", step->clock,
			step->offset_ns < 0 ? "-" : "+", grouped(tl_magnitude(step->offset_ns), n),
			step->time_ns / TL_NS_PER_S, step->time_ns % TL_NS_PER_S);
	}
	if (capture->n_steps > TL_REPORT_STEPS)
		fprintf(out, "  CLOCK STEPS: %" PRIu32 " in all\n", capture->n_steps);
}

static void print_capture(FILE *out, const struct tl_report_capture *capture, bool final)
{
	struct tl_ledger_flow total = tl_report_total(capture);
	const void *const rows[MAX_COLUMNS] = {&capture->flow[TL_DIR_RX], &capture->flow[TL_DIR_TX], &total};
	const uint64_t in_flight[MAX_COLUMNS] = {capture->in_flight_pkts};
	uint64_t lost = tl_report_drops(&tl_report_flow_table, &total);
	char n[GROUPED], of[GROUPED], share[GROUPED];

	fprintf(out, "recording of %s\n%22s %19s %19s %19s\n", TL_PRINTABLE(capture->port), "", "rx", "tx", "total");
	print_counters(out, &tl_report_flow_table, rows, 3);
	if (in_flight[0] != 0)
		fprintf(out, "  + %-18s %19s %19s %19s\n", "in_flight_pkts", "", "", grouped(in_flight[0], n));
	print_capture_queues(out, capture);
	tl_report_police_text(out, capture, final);
	print_files(out, capture);
	print_capture_clocks(out, capture);
	if (capture->last_trigger != NULL)
		fprintf(out, "  %s trigger%s, the last: %s at %s\n", grouped(capture->triggers, n),
			capture->triggers == 1 ? "" : "s", capture->last_trigger, capture->last_trigger_time);
	print_capture_verdict(out, capture, final);
	if (lost != 0)
		fprintf(out, "  LOST: %s of %s frames offered, %s\n", grouped(lost, n), grouped(total.offered_pkts, of),
			percent(lost, total.offered_pkts, share));
	if (capture->error != NULL)
		fprintf(out, "  WRITING FAILED: %s\n", TL_PRINTABLE(capture->error));
	fputc('\n', out);
}

void tl_report_ledger_text(FILE *out, const struct tl_snapshot *snap)
{
	bool verified = true;

	for (uint32_t i = 0; i < snap->n_ports; i++) {
		print_port(out, &snap->ports[i], snap->final);
		verified = verified && snap->ports[i].verified;
	}
	for (uint32_t i = 0; i < snap->n_shapes; i++)
		tl_report_shape_text(out, &snap->shapes[i], snap->final);
	for (uint32_t i = 0; i < snap->n_captures; i++)
		print_capture(out, &snap->captures[i], snap->final);
	fprintf(out, "ledger: %s%s; %s\n", tl_report_ledger_ok(snap) ? "ok" : "BROKEN",
		verified ? "" : " (not every port verified)", loss_of(snap));
}

static void print_echo_verdict(FILE *out, const struct tl_report_echo *echo, bool final)
{
	int64_t unaccounted = tl_report_unaccounted(&tl_report_echo_table, echo);
	char n[GROUPED];

	grouped(tl_magnitude(unaccounted), n);
	if (unaccounted < 0)
		fprintf(out, "  BROKEN: %s messages more are accounted for than were received\n", n);
	else if (unaccounted > 0 && final)
		fprintf(out, "  BROKEN: %s received messages are unaccounted for\n", n);
	else if (unaccounted > 0)
		fprintf(out, "  ok so far: %s messages are being echoed\n", n);
	else
		fprintf(out, "  ok: every message received is accounted for\n");
}

void tl_report_echo_text(FILE *out, const struct tl_snapshot *snap)
{
	for (uint32_t i = 0; i < snap->n_echoes; i++) {
		const struct tl_report_echo *echo = &snap->echoes[i];
		const void *const rows[MAX_COLUMNS] = {echo};
		uint64_t lost = tl_report_drops(&tl_report_echo_table, echo);
		char n[GROUPED], of[GROUPED], share[GROUPED];

		fprintf(out, "echo %s (%s, %s)\n", TL_PRINTABLE(echo->name), echo->mode, echo->state);
		print_counters(out, &tl_report_echo_table, rows, 1);
		print_echo_verdict(out, echo, snap->final);
		if (lost != 0)
			fprintf(out, "  NOT ECHOED: %s of %s messages, %s\n", grouped(lost, n),
				grouped(echo->received_msgs, of), percent(lost, echo->received_msgs, share));
		if (echo->pace_bps != 0)
			fprintf(out, "  pace        %s bit/s for each connection\n", grouped(echo->pace_bps, n));
		tl_report_hist_text(out, "residence", &echo->residence);
		tl_report_hist_text(out, "tx call", &echo->tx_call);
		if (echo->is_delayed)
			tl_report_hist_text(out, "lateness", &echo->lateness);
		tl_report_stages_text(out, echo->stages);
		fputc('\n', out);
	}
}

void tl_report_hist_text(FILE *out, const char *label, const struct tl_hist_summary *summary)
{
	const struct tl_report_table *table = &tl_report_hist_table;
	char text[GROUPED];

	fprintf(out, "  %-10s", label);
	if (summary->count == 0) {
		fprintf(out, "  no samples\n");
		return;
	}
	for (size_t i = 0; i < table->n; i++)
		fprintf(out, "  %s %10s", table->counters[i].name,
			tl_format_ns(tl_report_value(&table->counters[i], summary), text, sizeof(text)));
	fprintf(out, "  mean %10s", tl_format_ns((uint64_t)(summary->mean_ns + 0.5), text, sizeof(text)));
	fprintf(out, "  (%s samples)\n", grouped(summary->count, text));
}
