// SPDX-License-Identifier: BSD-3-Clause
// Gate for the stamps of a NIC, main's part: setup, account, and the cause of a closure.

#include "port_priv.h"

#include <inttypes.h>

#include <rte_cycles.h>

#include <tl_log.h>

#define TRIAL_STAMPS 64
#define LOGGED_MAX 3 // closures that are logged; the report counts all
#define TIME_NS (2 * TL_NS_PER_S)
#define TAI_NS (37 * (int64_t)TL_NS_PER_S) // since 2017

void tl_port_gate_init(struct tl_port_gate *gate)
{
	uint64_t now = rte_rdtsc();

	*gate = (struct tl_port_gate){.since_tsc = now, .poll_tsc = now, .left = TRIAL_STAMPS, .state = TL_GATE_TRIAL};
}

const char *tl_gate_state_name(enum tl_gate_state state)
{
	static const char *const names[] = {
		[TL_GATE_TRIAL] = "trial", [TL_GATE_OPEN] = "open", [TL_GATE_SHUT] = "shut"};

	return names[state];
}

bool tl_port_gate(const struct tl_port *port, struct tl_port_gate_stats *out)
{
	*out = (struct tl_port_gate_stats){.state = TL_GATE_OPEN};
	if (port->rxq[0].source != TL_TS_NIC_RX)
		return false;
	for (uint16_t i = 0; i < port->cfg.rx_queues; i++) {
		const struct tl_port_gate *g = &port->rxq[i].gate;
		enum tl_gate_state state = atomic_load_explicit(&g->state, memory_order_relaxed);
		out->closures += atomic_load_explicit(&g->closures, memory_order_relaxed);
		out->refused_pkts += tl_count_read(&g->refused_pkts);
		if (state == TL_GATE_SHUT || (state == TL_GATE_TRIAL && out->state == TL_GATE_OPEN))
			out->state = state;
	}
	return true;
}

bool tl_port_gate_has_passed(const struct tl_port *port)
{
	bool passed = false;

	for (uint16_t i = 0; i < port->cfg.rx_queues; i++) {
		const struct tl_port_gate *g = &port->rxq[i].gate;
		passed |=
			atomic_load_explicit(&g->state, memory_order_relaxed) == TL_GATE_OPEN || g->left < TRIAL_STAMPS;
	}
	return passed;
}

static bool is_near(int64_t off_ns)
{
	return llabs(off_ns) < (int64_t)TIME_NS;
}

// Return the cause of a closure. A stamp that is a time since 1970 belongs to another clock than one read as ticks:
// mlx5 with REAL_TIME_CLOCK_ENABLE=1 reads the free-running counter if it may not map BAR 0
// (drivers/net/mlx5/mlx5_txpp.c:998 and linux/mlx5_ethdev_os.c:355, DPDK v22.11.11).
static const char *reason(const struct tl_port *port, const struct tl_port_gate *g)
{
	int64_t off_ns = (int64_t)(g->offence.ticks - tl_clock_wall_ns(port->cfg.clock, g->offence.tsc));

	if (is_near(off_ns) || is_near(off_ns - TAI_NS))
		return "stamps are times since 1970, and the driver reads another clock: of an mlx5 set "
		       "REAL_TIME_CLOCK_ENABLE=0, or run as root without kernel lockdown, so that BAR 0 can be mapped";
	if (g->offence.was_open)
		return "the NIC's clock was set, or its stamps jumped";
	return "the clock that the driver reads is not that of the stamps: set timestamps to \"tsc\"";
}

static void log_closure(struct tl_port *port, uint16_t queue, struct tl_port_gate *g)
{
	tl_warn("port %s: %s, queue %u: the NIC's stamps are not used: one was %+" PRId64
		" ns from the poll of its frame (%s); frames get the poll's time (tsc)",
		port->name, port->cfg.spec.text, queue, g->offence.late_ns, reason(port, g));
}

void tl_port_watch_gate(struct tl_port *port)
{
	for (uint16_t i = 0; i < port->cfg.rx_queues && port->rxq[0].source == TL_TS_NIC_RX; i++) {
		struct tl_port_gate *g = &port->rxq[i].gate;
		uint64_t closures = atomic_load_explicit(&g->closures, memory_order_acquire);
		if (closures != g->seen && g->seen < LOGGED_MAX)
			log_closure(port, i, g);
		g->seen = closures;
	}
}
