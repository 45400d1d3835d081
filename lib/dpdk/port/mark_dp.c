// SPDX-License-Identifier: BSD-3-Clause
// Count received frames by the mark of their flow rule.

#include "port_priv.h"

uint16_t tl_eth_marked_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct tl_marked *marked = q->marked;
	uint16_t n = marked->burst(q, b);

	for (uint16_t i = 0; i < n; i++) {
		uint32_t mark = tl_frame_mark(b->pkts[i]);
		if (mark != 0)
			tl_count(&marked->pkts[mark], 1);
	}
	return n;
}
