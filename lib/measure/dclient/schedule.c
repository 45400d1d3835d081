// SPDX-License-Identifier: BSD-3-Clause
// Datagrams that leave at a time, by the NIC's clock.

#include "dclient_priv.h"

#define TIGHT_NS TL_NS_PER_US // of two clocks read one after the other
#define TRIES 4

void tl_dclient_schedule_begin(struct tl_dclient_link *link)
{
	const struct tl_dclient_cfg *cfg = &link->host->cfg;
	struct tl_client_sources *sources = &link->link.sources;
	struct tl_port_stamps stamps;

	if (cfg->lead_ns == 0 || link->link.cfg->timestamps != TL_CLIENT_STAMPS_NIC ||
		link->link.cfg->mode == TL_CLIENT_TCP || !tl_port_sends_at(cfg->port))
		return;
	tl_port_stamps(cfg->port, &stamps);
	uint64_t tick_ns = (uint64_t)(1e9 / stamps.nic_clock.rate_hz) + 1;
	sources->departures = tl_ts_source_name(TL_TS_NIC_TX);
	sources->departure_unit_ns = stamps.unit_ns;
	sources->departure_bound_ns = cfg->send_grain_ns + tick_ns;
	sources->arrival_bound_ns = tick_ns;
	sources->realtime_bound_ns = stamps.bound_ns;
	link->link.lead_ns = cfg->lead_ns;
	tl_port_send_faults(cfg->port, link->faults);
}

// Return the current lead of the stamps' clock over CLOCK_MONOTONIC.
static uint64_t wall_ahead_ns(const struct tl_clock *clock, uint64_t *now_ns)
{
	uint64_t best_ns = UINT64_MAX, ahead_ns = 0;

	for (int i = 0; i < TRIES && best_ns > TIGHT_NS; i++) {
		uint64_t before_ns = tl_mono_ns();
		uint64_t tsc = rte_rdtsc();
		*now_ns = tl_mono_ns();
		if (*now_ns - before_ns >= best_ns)
			continue;
		best_ns = *now_ns - before_ns;
		ahead_ns = tl_clock_wall_ns(clock, tsc) - before_ns - best_ns / 2;
	}
	return ahead_ns;
}

// The port receives the frame with half of the lead left, or without a send time: the recorded departure must be true.
// Nor may another frame be in the same call, as it would get that time, too.
uint64_t tl_dclient_schedule(struct tl_dclient_link *link)
{
	const struct tl_dclient *host = link->host;
	uint64_t now_ns, due_ns = link->link.due_ns;
	uint64_t ahead_ns = wall_ahead_ns(host->cfg.clock, &now_ns);

	if (due_ns >= now_ns + link->link.lead_ns / 2 && host->tx->n == 1 && tl_port_may_send_at(host->cfg.port))
		return tl_port_send_at(host->cfg.port, host->tx->pkts[0], due_ns + ahead_ns);
	while (tl_mono_ns() < due_ns)
		;
	return 0;
}

void tl_dclient_schedule_end(struct tl_client_link *link)
{
	const struct tl_dclient_link *l = (const struct tl_dclient_link *)link;
	uint64_t counts[TL_PORT_SEND_FAULTS];

	if (link->lead_ns == 0)
		return;
	tl_port_send_faults(l->host->cfg.port, counts);
	for (unsigned i = 0; i < TL_PORT_SEND_FAULTS; i++) {
		if (counts[i] == l->faults[i])
			continue;
		if (link->sources.fault == NULL)
			link->sources.fault = tl_port_send_fault_name(i);
		link->sources.faults += counts[i] - l->faults[i];
	}
}
