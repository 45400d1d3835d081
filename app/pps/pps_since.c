// SPDX-License-Identifier: BSD-3-Clause
// Increments of the counters between two samples.

#include "pps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct pps_counter_name pps_counters[PPS_N_COUNTERS] = {
	[PPS_RX_PKTS] = {"rx_pkts", "rx_pps", "rx/s", 1},
	[PPS_RX_BYTES] = {"rx_bytes", "rx_bps", "rxbit/s", 8},
	[PPS_TX_PKTS] = {"tx_pkts", "tx_pps", "tx/s", 1},
	[PPS_TX_BYTES] = {"tx_bytes", "tx_bps", "txbit/s", 8},
	[PPS_RX_DROPPED] = {"rx_dropped_pkts", NULL, "drop/s", 1},
	[PPS_RX_MISSED] = {"rx_missed_pkts", NULL, "miss/s", 1},
	[PPS_RX_FIFO] = {"rx_fifo_pkts", NULL, "fifo/s", 1},
	[PPS_TX_DROPPED] = {"tx_dropped_pkts", NULL, "txdrop/s", 1},
};

const struct pps_counter_name pps_softnets[PPS_N_SOFTNET] = {
	[PPS_PROCESSED] = {"processed_pkts", NULL, "packets/s", 1},
	[PPS_BACKLOG_DROPPED] = {"dropped_pkts", NULL, "drop/s", 1},
	[PPS_SQUEEZED] = {"squeezes", NULL, "squeeze/s", 1},
	[PPS_RPS] = {"rps_interrupts", NULL, "rps/s", 1},
};

// True if a counter that fell may have wrapped at 32 bits: then it has grown by less than half of its range.
static bool has_wrapped(uint64_t before, uint64_t now)
{
	return before <= UINT32_MAX && (uint32_t)(now - before) <= INT32_MAX;
}

// Compute the increments of a row. A single counter that decreased has wrapped; more of them were reset.
bool pps_row_since(const struct pps_row *before, const struct pps_row *now, struct pps_row *out)
{
	unsigned fallen = 0;

	*out = (struct pps_row){.known = before->known & now->known};
	for (unsigned i = 0; i < PPS_N_COUNTERS; i++) {
		if (!pps_knows(out, i))
			continue;
		out->value[i] = now->value[i] - before->value[i];
		if (now->value[i] >= before->value[i])
			continue;
		if (++fallen > 1 || !has_wrapped(before->value[i], now->value[i]))
			return false;
		out->value[i] = (uint32_t)out->value[i];
	}
	return true;
}

static void irq_since(const struct pps_iface *before, struct pps_irq *irq)
{
	for (uint32_t i = 0; i < before->n_irqs; i++)
		if (before->irqs[i].number == irq->number) {
			irq->counted &= before->irqs[i].counted && irq->count >= before->irqs[i].count;
			irq->count -= before->irqs[i].count;
			return;
		}
	irq->counted = false;
}

// Set the state and the differences. A queue that is new, or was reset, has none.
static void iface_since(const struct pps_iface *before, struct pps_iface *iface)
{
	struct pps_row now = iface->total;

	if (iface->state == PPS_GONE)
		return;
	if (before == NULL || before->state == PPS_GONE || before->index != iface->index)
		iface->state = PPS_NEW;
	else if (!pps_row_since(&before->total, &now, &iface->total))
		iface->state = PPS_RESET;
	for (uint32_t i = 0; i < iface->n_queues && iface->state == PPS_OK; i++) {
		now = iface->queues[i];
		if (!pps_row_since(&before->queues[i], &now, &iface->queues[i]))
			iface->queues[i].known = 0;
	}
	for (uint32_t i = 0; i < iface->n_irqs && iface->state == PPS_OK; i++)
		irq_since(before, &iface->irqs[i]);
	if (iface->state == PPS_OK)
		return;
	iface->total.known = 0;
	iface->n_queues = iface->n_irqs = 0;
}

int pps_since(const struct pps_sample *before, const struct pps_sample *now, struct pps_sample *out)
{
	*out = *now;
	out->time_ns = now->time_ns - before->time_ns;
	out->ifaces = calloc(now->n + 1, sizeof(*out->ifaces));
	if (out->ifaces == NULL) {
		out->n = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < now->n; i++) {
		out->ifaces[i] = now->ifaces[i];
		iface_since(pps_find_iface(before, now->ifaces[i].name), &out->ifaces[i]);
	}
	for (uint32_t i = 0; i < out->n_cpus; i++) {
		bool same = i < before->n_cpus && before->cpus[i].cpu == now->cpus[i].cpu;
		if (!same || !pps_row_since(&before->cpus[i].row, &now->cpus[i].row, &out->cpus[i].row))
			out->cpus[i].row.known = 0;
	}
	return 0;
}

double pps_imbalance(const struct pps_iface *iface)
{
	uint64_t sum = 0, most = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < iface->n_queues; i++) {
		const struct pps_row *queue = &iface->queues[i];
		if (!pps_knows(queue, PPS_RX_PKTS))
			continue;
		n++;
		sum += queue->value[PPS_RX_PKTS];
		most = tl_max_u64(most, queue->value[PPS_RX_PKTS]);
	}
	return n < 2 || sum == 0 ? 0 : (double)most * n / (double)sum;
}
