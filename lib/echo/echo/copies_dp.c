// SPDX-License-Identifier: BSD-3-Clause
// Frames that an isolated port copies from the kernel's interface.

#include "echo_priv.h"

void tl_echo_take_copies(struct tl_echo_host *host)
{
	struct tl_burst *b = &host->copied;

	if (host->copies->burst(host->copies, b) == 0)
		return;
	if (host->steer != NULL)
		tl_echo_steered_rx(host, b);
	else
		tl_echo_rx(host, b);
	tl_txq_flush(host->tx);
	tl_echo_after_tx(host, b);
	rte_pktmbuf_free_bulk(b->pkts, b->n);
}
