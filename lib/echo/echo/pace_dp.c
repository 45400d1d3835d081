// SPDX-License-Identifier: BSD-3-Clause
// Segments of paced connections that are due, once per turn of the lcore.

#include "echo_priv.h"

uint16_t tl_echo_pace_poll(void *ctx, uint64_t mono_ns)
{
	struct tl_echo_host *host = ctx;
	uint16_t n = tl_tcp_pace(host->net, mono_ns);

	if (TL_LIKELY(n == 0))
		return 0;
	tl_txq_flush(host->tx);
	tl_net_sent(host->net);
	return n;
}

uint64_t tl_echo_pace_next_ns(void *ctx)
{
	return tl_tcp_pace_next_ns(((struct tl_echo_host *)ctx)->net);
}
