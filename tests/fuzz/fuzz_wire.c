// SPDX-License-Identifier: BSD-3-Clause
// Fuzz parser and checksums: results must refer to bytes within the frame. The bytes are read as an Ethernet frame, and
// as one of the link type chosen by the last byte.

#include <stdlib.h>

#include <tl_link.h>

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

static void check(enum tl_link link, const uint8_t *data, size_t size)
{
	struct tl_pkt pkt;
	bool ok;

	tl_wire_parse_link(link, data, (uint32_t)size, &pkt);
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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_link_hdr header;
	enum tl_link link = size != 0 ? data[size - 1] % TL_LINKS : TL_LINK_ETHERNET;

	check(TL_LINK_ETHERNET, data, size);
	check(link, data, size);
	if (tl_link_parse(link, data, (uint32_t)size, &header))
		require(header.network_off <= size);
	return 0;
}
