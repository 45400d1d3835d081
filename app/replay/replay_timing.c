// SPDX-License-Identifier: BSD-3-Clause
// Timing of a replay: the NICs send frames at their due times, or the lcore waits for these.

#include "replay_session.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include <tl_log.h>

#define CONFIRM_NS TL_NS_PER_S // time limit for the first received frame
#define PAUSE_NS TL_NS_PER_MS
#define POLLS 64 // bursts per tick

const char *tl_replay_check_timing(struct tl_replay_args *args)
{
	static const char *const names[] = {
		[TL_REPLAY_TIMING_TSC] = "tsc", [TL_REPLAY_TIMING_NIC] = "nic", [TL_REPLAY_TIMING_AUTO] = "auto"};
	size_t i = 0;

	if (args->timing_text == NULL)
		return NULL;
	while (i < TL_ARRAY_LEN(names) && strcmp(args->timing_text, names[i]) != 0)
		i++;
	if (i == TL_ARRAY_LEN(names))
		return "--timing takes tsc, nic or auto";
	args->timing = (enum tl_replay_timing)i;
	return args->timing == TL_REPLAY_TIMING_NIC && args->pacing.pace == TL_REPLAY_LINE
		       ? "--timing nic needs due times: frames that are sent at once have none"
		       : NULL;
}

// ---- the stamps of received frames

static void poll_port(struct tl_replay_session *s, struct tl_port *port)
{
	struct tl_rxq *rxq = tl_port_rxq(port, 0);
	uint16_t n = !s->is_polled;

	for (unsigned i = 0; i < POLLS && n != 0; i++) {
		n = rxq->burst(rxq, &s->burst);
		rte_pktmbuf_free_bulk(s->burst.pkts, n);
	}
}

void tl_replay_poll_stamps(struct tl_replay_session *s)
{
	for (unsigned i = 0; i < s->n_ports && s->by_nic; i++)
		poll_port(s, s->ports[i].port);
}

// Wait for a received frame whose stamp is right, or wrong.
static void await_stamp(struct tl_replay_session *s, struct tl_port *port)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until_ns = tl_clock_mono_ns(s->clock, rte_rdtsc()) + CONFIRM_NS;

	do {
		poll_port(s, port);
		if (tl_port_may_send_at(port) || !tl_port_sends_at(port))
			return;
		(void)nanosleep(&pause, NULL);
	} while (tl_clock_mono_ns(s->clock, rte_rdtsc()) < until_ns);
}

// ---- the choice

// Return whether the port's NIC sends frames at their times, with the clock that is read; else give the reason.
static bool can_time(struct tl_replay_session *s, struct tl_replay_port *p, struct tl_err *reason)
{
	struct tl_port_gate_stats gate;

	if (tl_port_sends_at(p->port))
		await_stamp(s, p->port);
	if (tl_port_may_send_at(p->port))
		return true;
	if (tl_port_sends_at(p->port))
		tl_fail(reason, 0,
			"%s received no frame within 1 s, whose stamp would show that its driver reads the right clock",
			p->device);
	else if (tl_port_gate(p->port, &gate) && gate.state == TL_GATE_SHUT)
		tl_fail(reason, 0, "%s stamps received frames by another clock than its driver reads", p->device);
	else
		tl_fail(reason, 0, "%s has no scheduled sending (a ConnectX-6 Dx has it with PORT,tx_pp=500)",
			p->device);
	return false;
}

static uint64_t clock_steps(const struct tl_port *port)
{
	struct tl_port_stamps stamps;

	tl_port_stamps(port, &stamps);
	return stamps.nic_clock.steps;
}

static bool line_of(void *ctx, uint64_t near_ns, struct tl_clock_line *out)
{
	const struct tl_replay_port *p = ctx;

	if (!tl_port_sends_at(p->port) || clock_steps(p->port) != p->nic_steps)
		return false;
	*out = tl_port_send_line(p->port, near_ns);
	return true;
}

static void use_nic(struct tl_replay_port *p)
{
	struct tl_port_send_field field = tl_port_send_field(p->port);

	p->nic = (struct tl_replay_nic){.offset = field.offset, .flag = field.flag, .line = line_of, .ctx = p};
	p->nic_steps = clock_steps(p->port);
	tl_port_send_faults(p->port, p->nic_faults);
}

// Return whether to send by the NICs. Without any received frame the user's word counts.
static bool choose(struct tl_replay_session *s)
{
	struct tl_err *reason = &s->results.timing_reason;

	if (s->args->pacing.pace == TL_REPLAY_LINE)
		tl_fail(reason, 0, "frames that are sent at once have no due times");
	if (s->ports[0].shape != NULL)
		tl_fail(reason, 0, "through a class tree frames leave at the rates of their classes");
	for (unsigned i = 0; i < s->n_ports && reason->text[0] == '\0'; i++) {
		struct tl_port *port = s->ports[i].port;
		if (can_time(s, &s->ports[i], reason) || s->args->timing != TL_REPLAY_TIMING_NIC ||
			!tl_port_sends_at(port))
			continue;
		tl_warn("--timing nic: %s", reason->text);
		reason->text[0] = '\0';
	}
	return reason->text[0] == '\0';
}

int tl_replay_choose_timing(struct tl_replay_session *s, struct tl_err *err)
{
	const char *reason = s->results.timing_reason.text;

	if (s->args->timing == TL_REPLAY_TIMING_TSC)
		return 0;
	s->by_nic = choose(s);
	for (unsigned i = 0; i < s->n_ports && s->by_nic; i++)
		use_nic(&s->ports[i]);
	if (s->by_nic)
		return 0;
	if (s->args->timing == TL_REPLAY_TIMING_NIC)
		return tl_fail(err, -EINVAL, "--timing nic: %s", reason);
	tl_info("the lcore waits for due times, as with --timing tsc: %s", reason);
	return 0;
}

// ---- the run

void tl_replay_follow_nics(struct tl_replay_session *s)
{
	for (unsigned i = 0; i < s->n_ports && s->by_nic; i++)
		tl_port_discipline(s->ports[i].port);
}

void tl_replay_count_faults(struct tl_replay_session *s)
{
	uint64_t counts[TL_PORT_SEND_FAULTS];

	for (unsigned i = 0; i < s->n_ports && s->by_nic; i++) {
		const struct tl_replay_port *p = &s->ports[i];
		struct tl_replay_port_results *r = &s->results.ports[i];
		tl_port_send_faults(p->port, counts);
		for (unsigned k = 0; k < TL_PORT_SEND_FAULTS; k++) {
			r->nic_faults += counts[k] - p->nic_faults[k];
			if (counts[k] != p->nic_faults[k] && r->nic_fault == NULL)
				r->nic_fault = tl_port_send_fault_name(k);
		}
	}
	if (s->by_nic && !s->results.stats.by_nic)
		tl_fail(&s->results.timing_reason, 0,
			"the clock of a NIC was set, or its stamps were wrong, during the run");
}
