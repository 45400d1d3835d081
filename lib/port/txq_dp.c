// SPDX-License-Identifier: BSD-3-Clause
// Keeps sent frames until the recording has seen them.

#include "port_priv.h"

void tl_txq_record_sent(struct tl_txq *q)
{
	struct tl_burst *sent = q->sent;

	if (sent == NULL || sent->n == 0)
		return;
	q->on_sent(q->on_sent_ctx, sent);
	rte_pktmbuf_free_bulk(sent->pkts, sent->n);
	sent->n = 0;
}
