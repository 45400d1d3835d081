// SPDX-License-Identifier: BSD-3-Clause
// Check a replay while the lcore sends, and judge it at the end.

#include "replay_session.h"

#include <inttypes.h>

#include <rte_cycles.h>

#include <tl_log.h>
#include <tl_units.h>

#define STALL_NS (10 * TL_NS_PER_S)

static uint64_t now_ns(const struct tl_replay_session *s)
{
	return tl_clock_mono_ns(s->clock, rte_rdtsc());
}

static void fail(struct tl_replay_session *s, const char *text)
{
	tl_error("%s", text);
	s->failed = true;
	tl_replay_stop(s->replay);
}

// Check whether the port has link up; a removed interface has link down.
static bool has_link(const struct tl_replay_port *p)
{
	struct tl_port_link link;

	tl_port_link(p->port, &link);
	return !p->link_known || (link.known && link.up);
}

static void check_port(struct tl_replay_session *s, unsigned i)
{
	struct tl_replay_port *p = &s->ports[i];
	struct tl_replay_stats stats;
	struct tl_err err;

	if (tl_port_ended(p->port, &err)) {
		fail(s, err.text);
		return;
	}
	if (!has_link(p)) {
		tl_fail(&err, 0, "%s lost its link or was removed: frames accepted by its driver since then are lost",
			p->device);
		fail(s, err.text);
		return;
	}
	tl_replay_sample(s->replay, &stats);
	if (stats.outs[i].sent_pkts != p->moved_pkts || !tl_replay_is_refused(s->replay, i) || p->moved_ns == 0) {
		p->moved_pkts = stats.outs[i].sent_pkts;
		p->moved_ns = now_ns(s);
	} else if (now_ns(s) - p->moved_ns > STALL_NS) {
		tl_fail(&err, 0, "%s has accepted no frame for 10 s: check its link and the other side", p->device);
		fail(s, err.text);
	}
}

void tl_replay_check_ports(struct tl_replay_session *s)
{
	for (unsigned i = 0; i < s->n_ports && !s->failed; i++)
		check_port(s, i);
}

bool tl_replay_is_on_wire(struct tl_replay_session *s)
{
	uint64_t now_pkts;
	bool sent = true;

	for (unsigned i = 0; i < s->n_ports; i++) {
		const struct tl_replay_port *p = &s->ports[i];
		struct tl_replay_port_results *r = &s->results.ports[i];
		r->hw_known = r->hw_known && tl_port_sent(p->port, &now_pkts);
		r->hw_sent_pkts = r->hw_known ? now_pkts - p->hw_before : 0;
		sent = sent && (!r->hw_known || r->hw_sent_pkts >= s->results.stats.outs[i].sent_pkts);
	}
	return sent;
}

// ---- verdict

// Return whether the port sent what it took.
static bool judge_port(const struct tl_replay_port_results *port, const struct tl_replay_out_stats *stats)
{
	bool lost = port->hw_known && port->hw_sent_pkts < stats->sent_pkts;

	if (stats->refused_pkts != 0)
		tl_error("%s did not accept %" PRIu64 " frames", port->device, stats->refused_pkts);
	if (lost)
		tl_error("%s has sent %" PRIu64 " frames by its own count, and accepted %" PRIu64
			 ": the others were lost in its driver or queue",
			port->device, port->hw_sent_pkts, stats->sent_pkts);
	return stats->refused_pkts == 0 && !lost;
}

// Return whether each frame was within --max-late: one that the NIC sent at another time has no known lateness.
static bool judge_lateness(const struct tl_replay_session *s)
{
	const struct tl_replay_results *r = &s->results;
	bool limited = s->args->max_late_ns != UINT64_MAX, faulty = false;
	char limit[32];

	for (unsigned i = 0; i < r->n_ports; i++) {
		const struct tl_replay_port_results *port = &r->ports[i];
		if (port->nic_faults == 0)
			continue;
		faulty = true;
		tl_warn("%s counted %" PRIu64
			" faults of scheduled sending (%s): frames left at other times, or may have",
			port->device, port->nic_faults, port->nic_fault);
	}
	if (limited && r->stats.late_pkts != 0)
		tl_error("%" PRIu64 " frames were later than %s", r->stats.late_pkts,
			tl_format_ns(s->args->max_late_ns, limit, sizeof(limit)));
	return !limited || (r->stats.late_pkts == 0 && !faulty);
}

void tl_replay_judge(struct tl_replay_session *s)
{
	struct tl_replay_results *r = &s->results;
	const struct tl_replay_ledger *ledger = &r->stats.ledger;

	r->n_damages = tl_replay_damages(s->replay, &r->damages);
	for (size_t i = 0; i < r->n_damages; i++)
		tl_error("%s", r->damages[i].text);
	if (r->stats.damages > r->n_damages)
		tl_error("and %" PRIu64 " more damaged places", r->stats.damages - r->n_damages);
	if (!tl_replay_ledger_ok(ledger) || !tl_replay_shape_ok(s))
		tl_error("the ledger does not add up: this is a defect, report it");
	for (unsigned i = 0; i < r->n_ports; i++)
		s->failed |= !judge_port(&r->ports[i], &r->stats.outs[i]);
	s->failed |= !judge_lateness(s);
	s->failed |= r->stats.damages != 0 || !tl_replay_ledger_ok(ledger) || !tl_replay_shape_ok(s);
}
