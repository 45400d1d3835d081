// SPDX-License-Identifier: BSD-3-Clause
// Pass a burst to the stack in parts, and send after each: the reply to the first message does not wait for the others.

#include "echo_priv.h"

#define ALONE 4 // first frames of a burst that are parts of their own, until one has a reply: an ACK has none

void tl_echo_parse(struct tl_burst *b, uint16_t from, uint16_t to)
{
	for (uint16_t i = from; i < to; i++) {
		if (i + 1 < b->n)
			__builtin_prefetch(rte_pktmbuf_mtod(b->pkts[i + 1], void *));
		tl_echo_parse_at(b, i);
	}
}

static void send_part(struct tl_echo_host *host, const struct tl_burst *polled)
{
	tl_txq_flush(host->tx);
	if (host->is_staged)
		tl_echo_stage_part(host, polled);
	tl_echo_account(host, polled);
}

void tl_echo_input(struct tl_echo_host *host, struct tl_burst *b, const struct tl_burst *polled, uint16_t parsed)
{
	uint16_t step = host->tx->early_pkts != 0 ? 1 : b->n;

	for (uint16_t from = 0, to; from < b->n; from = to) {
		to = b->n - from > step ? from + step : b->n;
		if (to > parsed)
			tl_echo_parse(b, from, to);
		if (host->is_staged && to > parsed)
			tl_echo_stamp(&host->staged.parsed_tsc);
		tl_net_input_part(host->net, b, from, to);
		if (host->is_staged)
			tl_echo_stamp(&host->staged.ready_tsc);
		bool replied = host->tx->n != 0;
		if (replied && to < b->n)
			send_part(host, polled);
		if (replied || to >= ALONE)
			step = host->tx->early_pkts;
	}
}
