// SPDX-License-Identifier: BSD-3-Clause
// Link headers, each frame in a heap block of its exact size so that the sanitizer detects any read beyond it: the
// parsed packet does not depend on the link header.

#include <stdlib.h>

#include <tl_link.h>
#include <tl_test.h>

#define PACKET_LEN (TL_IPV4_LEN + TL_UDP_LEN + 4)

struct header {
	enum tl_link link;
	uint32_t len;
	uint8_t bytes[TL_ETHER_LEN + 2 * TL_VLAN_LEN + 8];
	uint16_t ethertype, vlan_tci;
	bool sent, received;
	uint16_t inner; // VLAN ID of a second tag
};

#define V4 TL_ETHERTYPE_IPV4
#define V6 TL_ETHERTYPE_IPV6

static const struct header headers[] = {
	{TL_LINK_ETHERNET, 14, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 8, 0}, V4, 0, false},
	{TL_LINK_ETHERNET, 18, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 0x81, 0, 0x20, 7, 8, 0}, V4, 0x2007, false},
	{TL_LINK_NULL, 4, {2, 0, 0, 0}, V4, 0, false},
	{TL_LINK_NULL, 4, {0, 0, 0, 2}, V4, 0, false}, // from a big-endian host
	{TL_LINK_NULL, 4, {10, 0, 0, 0}, V6, 0, false},
	{TL_LINK_NULL, 4, {24, 0, 0, 0}, V6, 0, false},
	{TL_LINK_NULL, 4, {0, 0, 0, 28}, V6, 0, false},
	{TL_LINK_NULL, 4, {30, 0, 0, 0}, V6, 0, false},
	{TL_LINK_NULL, 4, {7, 0, 0, 0}, 0, 0, false},
	{TL_LINK_LOOP, 4, {0, 0, 0, 2}, V4, 0, false},
	{TL_LINK_LOOP, 4, {0, 0, 0, 24}, V6, 0, false},
	{TL_LINK_LOOP, 4, {2, 0, 0, 0}, 0, 0, false},
	{TL_LINK_RAW, 0, {0}, V4, 0, false},
	{TL_LINK_IPV4, 0, {0}, V4, 0, false},
	{TL_LINK_IPV6, 0, {0}, V6, 0, false},
	{TL_LINK_SLL, 16, {0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0}, V4, 0, false, true},
	{TL_LINK_SLL, 16, {0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x86, 0xdd}, V6, 0, true},
	{TL_LINK_SLL, 16, {4, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0}, V4, 0, false},
	{TL_LINK_SLL, 20, {0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x81, 0, 0, 9, 8, 0}, V4, 9, true},
	{TL_LINK_SLL2, 20, {8, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0}, V4, 0, false, true},
	{TL_LINK_SLL2, 20, {0x86, 0xdd, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0}, V6, 0, true},
	{TL_LINK_SLL2, 28,
		{0x88, 0xa8, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0, 9, 0x81, 0, 0, 8, 8, 0}, V4, 9,
		true, false, 8},
};

// Write a packet 192.0.2.1:1000 -> 192.0.2.2:2000, or IPv6 without addresses; 4 bytes.
static uint32_t put_packet(uint8_t *out, uint16_t ethertype)
{
	struct tl_ipv4_hdr ip4 = {.version_ihl = 0x45,
		.total_len_be = tl_be16(PACKET_LEN),
		.ttl = 64,
		.proto = TL_IPPROTO_UDP,
		.src_be = tl_be32(0xc0000201),
		.dst_be = tl_be32(0xc0000202)};
	struct tl_ipv6_hdr ip6 = {.version_be = tl_be32(6u << 28),
		.payload_len_be = tl_be16(TL_UDP_LEN + 4),
		.next = TL_IPPROTO_UDP,
		.src.byte = {0x20, 1},
		.dst.byte = {0x20, 2}};
	struct tl_udp_hdr udp = {tl_be16(1000), tl_be16(2000), tl_be16(TL_UDP_LEN + 4), 0};
	bool six = ethertype == V6;
	uint32_t len = six ? sizeof(ip6) : sizeof(ip4);

	tl_wire_ipv4_finish(&ip4);
	memcpy(out, six ? (void *)&ip6 : (void *)&ip4, len);
	memcpy(out + len, &udp, sizeof(udp));
	memcpy(out + len + sizeof(udp), "data", 4);
	return len + TL_UDP_LEN + 4;
}

static uint8_t *make_frame(const struct header *header, uint32_t *out_len)
{
	uint8_t bytes[128];

	memcpy(bytes, header->bytes, header->len);
	*out_len = header->len + put_packet(bytes + header->len, header->ethertype);
	uint8_t *exact = malloc(*out_len);
	memcpy(exact, bytes, *out_len);
	return exact;
}

TL_TEST("every link header leads to the same packet")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(headers); i++) {
		const struct header *header = &headers[i];
		struct tl_link_hdr read;
		struct tl_pkt pkt;
		uint32_t len;
		uint8_t *frame = make_frame(header, &len);
		bool six = header->ethertype == V6, known = header->ethertype != 0;
		CU_ASSERT(tl_link_parse(header->link, frame, len, &read));
		CU_ASSERT_EQUAL(read.ethertype, header->ethertype);
		CU_ASSERT_EQUAL(read.network_off, header->len);
		CU_ASSERT_EQUAL(read.vlan_tci, header->vlan_tci);
		CU_ASSERT_EQUAL(read.sent, header->sent);
		CU_ASSERT_EQUAL(read.received, header->received);
		tl_wire_parse_link(header->link, frame, len, &pkt);
		CU_ASSERT_EQUAL(six ? pkt.ip6_kind : pkt.kind, known ? TL_PKT_UDP : TL_PKT_OTHER);
		CU_ASSERT_EQUAL(pkt.l3_off, header->len);
		CU_ASSERT_EQUAL(pkt.vlan_tci, header->vlan_tci);
		uint16_t vlan[2];
		tl_link_vlans(header->link, frame, &pkt, vlan);
		CU_ASSERT_EQUAL(vlan[0], header->vlan_tci & TL_VLAN_ID);
		CU_ASSERT_EQUAL(vlan[1], header->inner);
		CU_ASSERT(!known || (pkt.payload_off == len - 4 && pkt.payload_len == 4));
		CU_ASSERT(!known || (pkt.src_port_be == tl_be16(1000) && pkt.dst_port_be == tl_be16(2000)));
		free(frame);
	}
}

// Copy the frame to a block of its exact size.
static void parse_cut(const struct header *header, const uint8_t *frame, uint32_t len)
{
	uint8_t *exact = malloc(len != 0 ? len : 1);
	struct tl_link_hdr read;
	struct tl_pkt pkt;

	memcpy(exact, frame, len);
	CU_ASSERT_EQUAL(tl_link_parse(header->link, exact, len, &read), len >= header->len);
	tl_wire_parse_link(header->link, exact, len, &pkt);
	CU_ASSERT_NOT_EQUAL(pkt.kind, TL_PKT_UDP);
	CU_ASSERT(pkt.kind != TL_PKT_IP6 || pkt.ip6_kind == TL_PKT_BAD);
	free(exact);
}

TL_TEST("a frame truncated anywhere is not read past its end")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(headers); i++) {
		uint32_t len;
		uint8_t *frame = make_frame(&headers[i], &len);
		for (uint32_t cut = 0; cut < len; cut++)
			parse_cut(&headers[i], frame, cut);
		free(frame);
	}
}

TL_TEST("raw IP has the version of its first byte")
{
	static const struct {
		uint8_t byte;
		uint16_t ethertype;
	} of[] = {{0x45, V4}, {0x60, V6}, {0x50, 0}, {0, 0}};
	struct tl_link_hdr read;

	for (size_t i = 0; i < TL_ARRAY_LEN(of); i++) {
		CU_ASSERT(tl_link_parse(TL_LINK_RAW, &of[i].byte, 1, &read));
		CU_ASSERT_EQUAL(read.ethertype, of[i].ethertype);
	}
}

TL_TEST("the DSCP is that of the outermost IP header")
{
	uint8_t raw[40] = {0x45, 46 << 2 | 3}, ether[54] = {[12] = 0x86, [13] = 0xdd, [14] = 0x64, [15] = 0xb2};

	CU_ASSERT_EQUAL(tl_link_dscp(TL_LINK_RAW, raw, sizeof(raw)), 46);
	CU_ASSERT_EQUAL(tl_link_dscp(TL_LINK_RAW, raw, 19), -1);
	CU_ASSERT_EQUAL(tl_link_dscp(TL_LINK_ETHERNET, ether, sizeof(ether)), 18);
	ether[13] = 0xde;
	CU_ASSERT_EQUAL(tl_link_dscp(TL_LINK_ETHERNET, ether, sizeof(ether)), -1);
}

TL_TEST("a link type is identified by its number")
{
	static const uint32_t numbers[TL_LINKS] = {1, 0, 108, 101, 228, 229, 113, 276};

	for (enum tl_link link = 0; link < TL_LINKS; link++)
		CU_ASSERT_EQUAL(tl_link_of(numbers[link]), link);
	CU_ASSERT_EQUAL(tl_link_of(127), TL_LINKS);
	CU_ASSERT_EQUAL(tl_link_of(UINT32_MAX), TL_LINKS);
	CU_ASSERT_STRING_EQUAL(tl_link_names(),
		"ETHERNET (1), NULL (0), LOOP (108), RAW (101), IPV4 (228), IPV6 (229), LINUX_SLL (113), "
		"LINUX_SLL2 (276)");
}

int main(void)
{
	return tl_test_run("link");
}
