// SPDX-License-Identifier: BSD-3-Clause
// Receive from a kernel interface with the time of the poll in place of the kernel's: when the lcore had the frames.

#include "port_priv.h"

uint16_t tl_packet_polled_burst(struct tl_rxq *q, struct tl_burst *b)
{
	uint16_t n = tl_packet_burst(q, b);

	tl_port_stamp_by_poll(q, b);
	return n;
}
