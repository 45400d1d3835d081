// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Send the frames of a queue, by a backend's send call: shared by the backends' flush functions, which inline it.

#include "port_priv.h"

// Take a reference to each of the first n frames for the recording, before the driver may free it.
static inline void tl_txq_hold(struct tl_txq *q, uint16_t n)
{
	struct tl_burst *sent = q->sent;

	if (sent->n + n > TL_BURST)
		tl_txq_record_sent(q);
	for (uint16_t i = 0; i < n; i++) {
		rte_mbuf_refcnt_update(q->pkts[i], 1);
		sent->pkts[sent->n + i] = q->pkts[i];
	}
}

// Record the first n of the held frames as sent.
static inline void tl_txq_keep_accepted(struct tl_txq *q, uint16_t held, uint16_t n)
{
	struct tl_burst *sent = q->sent;
	uint64_t wall_ns = tl_clock_wall_ns(q->clock, q->end_tsc);

	for (uint16_t i = sent->n; i < sent->n + n; i++) {
		sent->ts_ns[i] = wall_ns;
		sent->wire_bytes[i] = sent->pkts[i]->pkt_len;
	}
	if (n < held)
		rte_pktmbuf_free_bulk(&sent->pkts[sent->n + n], held - n);
	sent->n += n;
	sent->tsc = q->end_tsc;
	sent->mono_ns = tl_clock_mono_ns(q->clock, q->end_tsc);
}

// Send what was pushed, at most a burst of it.
static inline __attribute__((always_inline)) void tl_txq_flush_by(
	struct tl_txq *q, uint16_t (*send)(struct tl_txq *q, struct rte_mbuf **pkts, uint16_t n))
{
	uint16_t offered = TL_LIKELY(q->n <= TL_BURST) ? q->n : TL_BURST;
	uint64_t bytes = 0;

	for (uint16_t i = 0; i < offered; i++)
		bytes += q->pkts[i]->pkt_len;
	if (q->on_sent != NULL)
		tl_txq_hold(q, offered);
	q->begin_tsc = rte_rdtsc();
	uint16_t n = send(q, q->pkts, offered);
	q->end_tsc = rte_rdtsc();
	if (q->on_sent != NULL)
		tl_txq_keep_accepted(q, offered, n);
	for (uint16_t i = n; TL_UNLIKELY(i < offered); i++)
		bytes -= q->pkts[i]->pkt_len;
	tl_count(&q->tx_pkts, n);
	tl_count(&q->tx_bytes, bytes);
	if (TL_UNLIKELY(n < q->n))
		tl_txq_keep_waiting(q, n);
	else
		q->n = q->delayed = 0;
}
