// SPDX-License-Identifier: BSD-3-Clause
// Frames that an isolated port copies from the kernel's interface.

#include "echo_priv.h"

void tl_echo_take_copies(struct tl_echo_host *host, uint64_t mono_ns)
{
	struct tl_burst *b = &host->copied;

	if (host->copies->burst(host->copies, b) == 0)
		return;
	b->mono_ns = mono_ns; // the timers of this tick run later: the stack's time must not go back
	if (host->steer != NULL)
		tl_echo_steered_rx(host, b);
	else
		tl_echo_rx(host, b);
	tl_txq_flush(host->tx);
	tl_echo_after_tx(host, b);
	rte_pktmbuf_free_bulk(b->pkts, b->n);
}
