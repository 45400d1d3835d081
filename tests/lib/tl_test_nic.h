// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Emulate TCP and UDP checksum offload for the frames of a send queue that request it.

#include <rte_mbuf.h>

#include <tl_port.h>
#include <tl_test.h>
#include <tl_wire.h>

// Compute the checksum of one frame like a NIC: trust the given lengths, and add the bytes behind the headers to the
// contents of the field. Return true if the frame requested it.
static inline bool nic_sum(struct rte_mbuf *m)
{
	uint64_t kind = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint8_t *l4 = rte_pktmbuf_mtod_offset(m, uint8_t *, m->l2_len + m->l3_len);
	uint8_t *field = l4 + (kind == RTE_MBUF_F_TX_TCP_CKSUM ? 16 : 6);

	if (kind == 0)
		return false;
	bool is_ip4 = (m->ol_flags & RTE_MBUF_F_TX_IPV4) != 0, is_ip6 = (m->ol_flags & RTE_MBUF_F_TX_IPV6) != 0;
	CU_ASSERT(is_ip4 != is_ip6);
	CU_ASSERT_EQUAL(m->l3_len, is_ip4 ? TL_IPV4_LEN : TL_IPV6_LEN);
	uint16_t sum =
		tl_cksum_finish(tl_cksum_add(0, l4, (size_t)(m->data_len - (l4 - rte_pktmbuf_mtod(m, uint8_t *)))));
	if (sum == 0 && kind == RTE_MBUF_F_TX_UDP_CKSUM)
		sum = 0xffff;
	memcpy(field, &sum, sizeof(sum));
	return true;
}

// Compute the checksums of all frames; return the number of frames that requested it.
static inline unsigned nic_sum_all(struct tl_txq *q)
{
	unsigned asked = 0;

	for (uint16_t i = 0; i < q->n; i++)
		asked += nic_sum(q->pkts[i]);
	return asked;
}
