// SPDX-License-Identifier: BSD-3-Clause
// Sent frames kept until the recording has processed them, and frames dropped that cannot be sent.

#include "port_priv.h"

void tl_txq_drop_waiting(struct tl_txq *q)
{
	if (q->n == 0)
		return;
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	tl_count(&q->drop_tx_pkts, q->n);
	q->n = 0;
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
