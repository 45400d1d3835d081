// SPDX-License-Identifier: BSD-3-Clause
// Any bytes may be parsed and summed: what the parse says of them must lie inside them.

#include <stdlib.h>

#include <tl_wire.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool has_payload(const struct tl_pkt *pkt)
{
	uint8_t kind = pkt->kind == TL_PKT_IP6 ? pkt->ip6_kind : pkt->kind;

	return kind == TL_PKT_ICMP || kind == TL_PKT_IGMP || kind == TL_PKT_UDP || kind == TL_PKT_TCP;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_pkt pkt;
	bool ok;

	tl_wire_parse(data, (uint32_t)size, &pkt);
	ok = tl_wire_l4_cksum_ok(data, &pkt);
	require(pkt.kind <= TL_PKT_BAD_CKSUM);
	require(pkt.l2_len <= size && pkt.l3_off <= size && pkt.l4_off <= size);
	require((size_t)pkt.payload_off + pkt.payload_len <= size);
	if (has_payload(&pkt)) {
		require(pkt.l3_off == pkt.l2_len && pkt.l4_off >= pkt.l3_off + TL_IPV4_LEN);
		require(pkt.payload_off >= pkt.l4_off);
	} else {
		require(!ok && pkt.payload_len == 0 && pkt.src_port_be == 0);
	}
	return 0;
}
