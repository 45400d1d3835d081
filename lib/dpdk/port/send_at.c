// SPDX-License-Identifier: BSD-3-Clause
// Scheduled sending: frames sent by the NIC at a time of its clock.

#include "port_priv.h"

#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

// Counters of mlx5 for frames that did not, or may not have, left at their time.
static const char *const fault_names[TL_PORT_SEND_FAULTS] = {
	"tx_pp_timestamp_past_errors",
	"tx_pp_timestamp_future_errors",
	"tx_pp_timestamp_order_errors",
	"tx_pp_missed_interrupt_errors",
	"tx_pp_rearm_queue_errors",
	"tx_pp_clock_queue_errors",
	"tx_pp_sync_lost",
};

// The clock must be readable, and the one that stamps received frames.
void tl_port_choose_send_at(struct tl_port *port, bool offered)
{
	struct tl_port_sending *s = &port->sending;

	if (port->cfg.nic != NULL)
		offered = port->cfg.nic->sends_at;
	if (!port->cfg.send_at || !offered || port->stamping.source != TL_TS_NIC_RX)
		return;
	if (rte_mbuf_dyn_tx_timestamp_register(&s->offset, &s->flag) != 0)
		s->flag = 0;
}

bool tl_port_sends_at(const struct tl_port *port)
{
	struct tl_port_gate_stats gate;

	return port->sending.flag != 0 && port->stamping.track != NULL && tl_port_gate(port, &gate) &&
	       gate.state != TL_GATE_SHUT;
}

// A frame with a time of another clock may hold up the send queue, of an mlx5 until that clock has reached it.
bool tl_port_may_send_at(const struct tl_port *port)
{
	return tl_port_sends_at(port) && tl_port_gate_has_passed(port);
}

uint64_t tl_port_send_at(const struct tl_port *port, struct rte_mbuf *m, uint64_t ns)
{
	uint64_t exact_ns;

	*RTE_MBUF_DYNFIELD(m, port->sending.offset, rte_mbuf_timestamp_t *) =
		tl_clock_track_ticks(port->stamping.track, ns, &exact_ns);
	m->ol_flags |= port->sending.flag;
	return exact_ns;
}

struct tl_port_send_field tl_port_send_field(const struct tl_port *port)
{
	return (struct tl_port_send_field){.offset = port->sending.offset, .flag = port->sending.flag};
}

struct tl_clock_line tl_port_send_line(const struct tl_port *port, uint64_t near_ns)
{
	const struct tl_clock_track *track = port->stamping.track;
	uint64_t exact_ns, later_ns;
	uint64_t ticks = tl_clock_track_ticks(track, near_ns, &exact_ns);
	uint64_t later = tl_clock_track_ticks(track, near_ns + TL_NS_PER_S, &later_ns);
	unsigned __int128 scaled = (unsigned __int128)((later - ticks) & track->mask) << TL_CLOCK_SHIFT;

	return (struct tl_clock_line){
		.base_ticks = exact_ns, .base_ns = ticks, .mult = (uint64_t)(scaled / (later_ns - exact_ns))};
}

const char *tl_port_send_fault_name(unsigned fault)
{
	return fault_names[fault];
}

void tl_port_send_faults(const struct tl_port *port, uint64_t counts[TL_PORT_SEND_FAULTS])
{
	for (unsigned i = 0; i < TL_PORT_SEND_FAULTS; i++) {
		uint64_t id;
		counts[i] = 0;
		if (rte_eth_xstats_get_id_by_name(port->port_id, fault_names[i], &id) == 0)
			(void)rte_eth_xstats_get_by_id(port->port_id, &id, &counts[i], 1);
	}
}
