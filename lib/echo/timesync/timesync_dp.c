// SPDX-License-Identifier: BSD-3-Clause
// Lcore side: sends a probe on request, and takes the time of a received frame that the NIC has stamped.

#include "timesync_priv.h"

#include <string.h>

#include <tl_wire.h>

static struct rte_mbuf *make_probe(struct tl_timesync *sync)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(sync->pool);
	uint16_t sequence_be = tl_be16(sync->sequence);

	if (m == NULL)
		return NULL;
	uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(m, TL_TIMESYNC_FRAME_BYTES);
	memcpy(bytes, sync->frame, TL_TIMESYNC_FRAME_BYTES);
	memcpy(bytes + TL_TIMESYNC_SEQUENCE, &sequence_be, sizeof(sequence_be));
	m->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
	sync->sequence++;
	return m;
}

// Send the probe as the last frame of the timers' burst, so that it meets the same conditions as a frame of the echo.
static bool send_probe(struct tl_timesync *sync)
{
	struct tl_txq *q = sync->txq;
	struct rte_mbuf *m = make_probe(sync);
	uint64_t refused = q->drop_tx_pkts;

	if (m == NULL)
		return false;
	tl_txq_push(q, m);
	tl_txq_flush(q);
	sync->probe_tsc = q->begin_tsc;
	return q->drop_tx_pkts == refused && q->n == 0;
}

void tl_timesync_tick(void *ctx, uint64_t mono_ns)
{
	struct tl_timesync *sync = ctx;
	int next = TL_TIMESYNC_IDLE;

	if (TL_LIKELY(atomic_load_explicit(&sync->probe_state, memory_order_acquire) != TL_TIMESYNC_WANTED))
		return;
	if (send_probe(sync)) {
		tl_count(&sync->probes_sent, 1);
		next = TL_TIMESYNC_DONE;
	} else {
		tl_count(&sync->probes_refused, 1);
	}
	atomic_store_explicit(&sync->probe_state, next, memory_order_release);
}

static void take(struct tl_timesync *sync, const struct tl_burst *b, const struct rte_mbuf *m)
{
	bool stamped = (m->ol_flags & RTE_MBUF_F_RX_IEEE1588_TMST) != 0;

	tl_count(&sync->ptp_received_pkts, 1);
	if (!stamped || atomic_load_explicit(&sync->taken_state, memory_order_acquire) != TL_TIMESYNC_WANTED) {
		tl_count(&sync->ptp_busy_pkts, 1);
		return;
	}
	sync->taken_tsc = b->tsc;
	sync->latch = m->timesync;
	atomic_store_explicit(&sync->taken_state, TL_TIMESYNC_DONE, memory_order_release);
}

void tl_timesync_rx(void *ctx, struct tl_burst *b)
{
	for (uint16_t i = 0; i < b->n; i++)
		if (TL_UNLIKELY(
			    (b->pkts[i]->ol_flags & (RTE_MBUF_F_RX_IEEE1588_PTP | RTE_MBUF_F_RX_IEEE1588_TMST)) != 0))
			take(ctx, b, b->pkts[i]);
}
