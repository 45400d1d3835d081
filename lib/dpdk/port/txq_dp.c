// SPDX-License-Identifier: BSD-3-Clause
// Sent frames kept until the recording has processed them, and frames that wait or are dropped.

#include "port_priv.h"

void tl_txq_free_dropped(struct tl_txq *q, struct rte_mbuf *m)
{
	if (q->on_dropped != NULL)
		q->on_dropped(q->on_dropped_ctx, m);
	rte_pktmbuf_free(m);
}

// Keep the frames after the first n for the next flush; drop the last ones if they are too many. A TX stamp of a
// delayed frame would not have the time that its requester assumes, so the request is removed.
void tl_txq_keep_waiting(struct tl_txq *q, uint16_t n)
{
	uint16_t waiting = q->n - n;
	uint16_t counted = q->delayed > n ? q->delayed - n : 0;

	tl_count(&q->delayed_tx_pkts, waiting - counted);
	if (waiting == TL_TXQ_MAX) {
		tl_txq_free_dropped(q, q->pkts[--waiting]);
		tl_count(&q->drop_tx_pkts, 1);
	}
	for (uint16_t i = 0; i < waiting; i++) {
		q->pkts[i] = q->pkts[n + i];
		q->pkts[i]->ol_flags &= ~RTE_MBUF_F_TX_IEEE1588_TMST;
	}
	q->n = q->delayed = waiting;
}

void tl_txq_drop_waiting(struct tl_txq *q)
{
	for (uint16_t i = 0; i < q->n; i++)
		tl_txq_free_dropped(q, q->pkts[i]);
	tl_count(&q->drop_tx_pkts, q->n);
	q->n = q->delayed = 0;
}

void tl_txq_record_sent(struct tl_txq *q)
{
	struct tl_burst *sent = q->sent;

	if (sent == NULL || sent->n == 0)
		return;
	q->on_sent(q->on_sent_ctx, sent);
	rte_pktmbuf_free_bulk(sent->pkts, sent->n);
	sent->n = 0;
}
