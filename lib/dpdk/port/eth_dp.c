// SPDX-License-Identifier: BSD-3-Clause
// Receive from and send to a DPDK device.

#include "port_priv.h"

#include <rte_ethdev.h>

#include "flush.h"

uint16_t tl_eth_burst(struct tl_rxq *q, struct tl_burst *b)
{
	uint16_t n = rte_eth_rx_burst(q->port_id, q->queue_id, b->pkts, TL_BURST);
	uint64_t bytes = 0;

	b->n = n;
	b->tsc = rte_rdtsc();
	b->mono_ns = tl_clock_mono_ns(q->clock, b->tsc);
	if (n == 0)
		return 0;
	uint64_t wall_ns = tl_clock_wall_ns(q->clock, b->tsc);
	for (uint16_t i = 0; i < n; i++) {
		b->ts_ns[i] = wall_ns;
		b->wire_bytes[i] = b->pkts[i]->pkt_len;
		bytes += b->pkts[i]->pkt_len;
	}
	tl_count(&q->stats.rx_pkts, n);
	tl_count(&q->stats.rx_bytes, bytes);
	return n;
}

// Replace the time of the poll by the stamps that the frames carry.
static uint16_t take_stamps(struct tl_rxq *q, struct tl_burst *b)
{
	struct tl_clock_stamps stamps;
	uint64_t unstamped = 0;

	if (b->n == 0)
		return 0;
	tl_clock_track_load(q->track, &stamps);
	for (uint16_t i = 0; i < b->n; i++) {
		uint64_t ticks;
		if (TL_LIKELY(tl_rxq_ticks(q, b->pkts[i], &ticks)))
			b->ts_ns[i] = tl_clock_stamps_ns(&stamps, ticks);
		else
			unstamped |= UINT64_C(1) << i;
	}
	b->unstamped = unstamped;
	if (TL_UNLIKELY(unstamped != 0))
		tl_count(&q->stats.unstamped_pkts, (uint64_t)__builtin_popcountll(unstamped));
	return b->n;
}

uint16_t tl_eth_stamped_burst(struct tl_rxq *q, struct tl_burst *b)
{
	tl_eth_burst(q, b);
	return take_stamps(q, b);
}

static inline uint16_t eth_send(struct tl_txq *q, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_tx_burst(q->port_id, q->queue_id, pkts, n);
}

uint16_t tl_eth_send(struct tl_txq *q, struct rte_mbuf **pkts, uint16_t n)
{
	return eth_send(q, pkts, n);
}

void tl_eth_flush(struct tl_txq *q)
{
	tl_txq_flush_by(q, eth_send);
}
