// SPDX-License-Identifier: BSD-3-Clause
// Cache warm-up: run the fast path to its end, then undo it. In a separate file, so that the code in tcp_ready_dp.c
// runs and not an inlined copy.

#include <rte_mbuf.h>

#include "tcp_conn.h"

// True if a segment would leave by the ready header now, and no frame waits in tx.
static bool can_warm(const struct tl_tcp *c, uint32_t len)
{
	const struct tl_net *net = c->net;

	return len - 1 < c->ready.few && c->arp_generation == net->arp_generation && c->flight != NULL &&
	       net->spare != NULL && net->n_notes == 0 && net->cfg.tx->n == 0;
}

bool tl_tcp_warm(struct tl_tcp *c, const void *data, uint32_t len)
{
	struct tl_net *net = c->net;
	struct rte_mbuf *m = net->spare;
	uint32_t seq = c->snd_nxt;

	if (!can_warm(c, len))
		return false;
	(void)tl_tcp_send_held(c, data, len);
	net->cfg.tx->n = 0;
	rte_pktmbuf_reset(m);
	net->spare = m;
	net->n_notes = 0;
	c->snd_nxt = seq;
	c->snd_end = seq;
	return true;
}
