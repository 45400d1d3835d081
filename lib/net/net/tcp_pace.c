// SPDX-License-Identifier: BSD-3-Clause
// Begin and end of pacing.

#include "tcp_pace.h"

#include "tcp_table.h"

#define BYTE_NS (8 * TL_NS_PER_S) // at 1 bit/s
#define USER_TIMEOUT_FRAMES 4	  // at least, so that a retransmission that waits is sent, and may be lost, before it

void tl_tcp_pace_set(struct tl_tcp *c, uint64_t bps)
{
	c->paced = bps != 0;
	if (!c->paced)
		return;
	c->pace_step = ((BYTE_NS << TL_TCP_PACE_SHIFT) - 1) / tl_max_u64(bps, TL_TCP_PACE_MIN_BPS) + 1;
	uint64_t frame_ns = c->pace_step * (TL_ETHER_LEN + TL_VLAN_LEN + c->net->cfg.mtu) >> TL_TCP_PACE_SHIFT;
	c->user_timeout_ns = tl_max_u64(c->user_timeout_ns, USER_TIMEOUT_FRAMES * frame_ns);
}

void tl_tcp_pace_stop(struct tl_tcp *c)
{
	if (c->pace.slot != TL_WHEEL_OUT)
		tl_wheel_remove(&c->net->tcp->paced, &c->pace);
}
