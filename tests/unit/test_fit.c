// SPDX-License-Identifier: BSD-3-Clause
// Frames above the MTU: truncated ones are checked by checksums computed from scratch, fragments by reassembly.

#include <stdlib.h>

#include <tl_fit.h>
#include <tl_test.h>
#include <tl_wire.h>

#define FRAME_MAX 66000
#define LIMIT 590

static uint8_t frame[FRAME_MAX], whole[FRAME_MAX];
static uint32_t bytes;

// Make a UDP datagram over IPv4 with these options and tags, and with valid checksums.
static void make(uint32_t tags, const char *options, uint32_t option_bytes, uint16_t payload, uint16_t frag)
{
	uint32_t hdr = TL_IPV4_LEN + option_bytes;
	uint16_t l4 = TL_UDP_LEN + payload;

	memset(frame, 0x5a, TL_ETHER_LEN);
	for (uint32_t i = 0; i < tags; i++)
		memcpy(frame + 12 + 4 * i, "\x81\0\0\7", 4);
	memcpy(frame + 12 + 4 * tags, "\x08\0", 2);
	uint8_t *ip = frame + TL_ETHER_LEN + 4 * tags;
	*(struct tl_ipv4_hdr *)ip = (struct tl_ipv4_hdr){.version_ihl = (uint8_t)(0x40 | hdr / 4),
		.total_len_be = tl_be16((uint16_t)(hdr + l4)),
		.id_be = 7,
		.frag_be = tl_be16(frag),
		.ttl = 64,
		.proto = TL_IPPROTO_UDP,
		.src_be = 0x0100000a,
		.dst_be = 0x0200000a};
	memcpy(ip + TL_IPV4_LEN, options, option_bytes);
	((struct tl_ipv4_hdr *)ip)->cksum_be = tl_cksum_finish(tl_cksum_add(0, ip, hdr));
	struct tl_udp_hdr *udp = (void *)(ip + hdr);
	*udp = (struct tl_udp_hdr){.src_port_be = 1, .dst_port_be = 2, .len_be = tl_be16(l4)};
	for (uint32_t i = 0; i < payload; i++)
		ip[hdr + TL_UDP_LEN + i] = (uint8_t)(i * 7 + i / 256);
	uint32_t sum = tl_cksum_pseudo(0x0100000a, 0x0200000a, TL_IPPROTO_UDP, l4);
	udp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, udp, l4));
	bytes = (uint32_t)(ip - frame) + hdr + l4;
}

static uint32_t be16(const uint8_t *at)
{
	return (uint32_t)(at[0] << 8 | at[1]);
}

// ---- truncation

static void expect_cut(uint32_t limit, bool right)
{
	struct tl_pkt pkt;

	tl_fit_cut(frame, bytes, limit);
	tl_wire_parse(frame, limit, &pkt);
	CU_ASSERT_EQUAL(pkt.kind, TL_PKT_UDP);
	CU_ASSERT_EQUAL(pkt.payload_off + (uint32_t)pkt.payload_len, limit);
	CU_ASSERT_EQUAL(tl_wire_l4_cksum_ok(frame, &pkt), right);
}

TL_TEST("a truncated packet has correct lengths and checksums, and a wrong checksum stays wrong")
{
	for (uint32_t limit = LIMIT; limit < LIMIT + 8; limit++) {
		make(limit % 3, "\x94\4\0\0", limit % 2 * 4, 1401, 0x4000);
		expect_cut(limit, true);
	}
	make(0, "", 0, 1401, 0);
	frame[40] ^= 4; // the checksum
	expect_cut(LIMIT, false);
	make(0, "", 0, 1401, 0);
	memset(frame + 40, 0, 2); // none
	expect_cut(LIMIT, true);
	CU_ASSERT_EQUAL(be16(frame + 40), 0);
}

TL_TEST("truncating a fragment keeps its checksum")
{
	make(0, "", 0, 1401, 0x2000);
	memcpy(whole, frame, bytes);
	tl_fit_cut(frame, bytes, LIMIT);
	CU_ASSERT_EQUAL(be16(frame + 16), LIMIT - TL_ETHER_LEN);
	CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, frame + 14, TL_IPV4_LEN)), 0);
	CU_ASSERT_EQUAL(memcmp(frame + 34, whole + 34, LIMIT - 34), 0);
}

TL_TEST("a truncated IPv6 packet has correct lengths and checksums")
{
	static const uint8_t options[8] = {TL_IPPROTO_UDP, 0, 1, 4};
	uint8_t *ip = frame + TL_ETHER_LEN, *l4 = ip + TL_IPV6_LEN + sizeof(options);
	struct tl_pkt pkt;

	make(0, "", 0, 1400, 0);
	memmove(l4, ip + TL_IPV4_LEN, 1408);
	memcpy(frame + 12, "\x86\xdd", 2);
	memset(ip, 0, TL_IPV6_LEN);
	memcpy(ip, "\x60\0\0\0\x05\x88\x3c\x40", 8); // destination options first
	memcpy(ip + TL_IPV6_LEN, options, sizeof(options));
	memset(l4 + 6, 0, 2);
	const struct tl_ip6 *ends = (const void *)(ip + 8);
	uint16_t sum =
		tl_cksum_finish(tl_cksum_add(tl_cksum_pseudo6(&ends[0], &ends[1], TL_IPPROTO_UDP, 1408), l4, 1408));
	memcpy(l4 + 6, &sum, 2);
	bytes = TL_ETHER_LEN + TL_IPV6_LEN + 8 + 1408;
	tl_fit_cut(frame, bytes, LIMIT + 1);
	tl_wire_parse(frame, LIMIT + 1, &pkt);
	CU_ASSERT_EQUAL(pkt.ip6_kind, TL_PKT_UDP);
	CU_ASSERT_EQUAL(pkt.payload_off + (uint32_t)pkt.payload_len, LIMIT + 1);
	CU_ASSERT_TRUE(tl_wire_l4_cksum_ok(frame, &pkt));
}

// Return the sum of the first bytes of an L4 packet over IPv4, and of its pseudo-header; 0: valid.
static uint16_t sum_of(uint8_t proto, uint32_t covered, uint32_t len)
{
	uint32_t sum = tl_cksum_pseudo(0x0100000a, 0x0200000a, proto, (uint16_t)len);

	return tl_cksum_finish(tl_cksum_add(sum, frame + 34, covered));
}

// Cut a packet of 1408 L4 bytes whose checksum covers some; expect a valid one, with this word before it.
static void expect_covered(uint8_t proto, uint16_t word, uint32_t covered, uint16_t cut_word, uint32_t cut_covered)
{
	const uint32_t limit = LIMIT - 34;
	bool udp = proto == TL_IPPROTO_UDP; // the length in its pseudo-header is its own

	make(0, "", 0, 1400, 0);
	frame[23] = proto;
	memcpy(frame + 38, (uint8_t[]){(uint8_t)(word >> 8), (uint8_t)word, 0, 0}, 4);
	uint16_t sum = sum_of(proto, covered, udp ? covered : 1408);
	memcpy(frame + 40, &sum, 2);
	tl_fit_cut(frame, bytes, LIMIT);
	CU_ASSERT_EQUAL(be16(frame + 16), LIMIT - TL_ETHER_LEN);
	CU_ASSERT_EQUAL(be16(frame + 38), cut_word);
	CU_ASSERT_EQUAL(sum_of(proto, cut_covered, udp ? cut_covered : limit), 0);
}

TL_TEST("a checksum that covers a part of a truncated packet covers what is left of that part")
{
	const uint32_t left = LIMIT - 34;

	for (uint16_t n = 8; n <= 1408; n += n == 8 ? (uint16_t)(left - 10) : n < left + 3 ? 1 : 139) {
		uint16_t cut = (uint16_t)(n < left ? n : left);
		expect_covered(TL_IPPROTO_UDP, n, n, cut, cut); // options follow the datagram (RFC 9868)
		expect_covered(TL_IPPROTO_UDPLITE, n, n, cut, cut);
	}
	expect_covered(TL_IPPROTO_UDPLITE, 0, 1408, 0, left);
	expect_covered(TL_IPPROTO_DCCP, 0x0c01, 48, 0x0c01, 48); // the header only
	expect_covered(TL_IPPROTO_DCCP, 0x0c0f, 104, 0x0c0f, 104);
	expect_covered(TL_IPPROTO_DCCP, 0x8c0f, 616, 0x8c00, left);
	expect_covered(TL_IPPROTO_DCCP, 0x0c00, 1408, 0x0c00, left);
}

TL_TEST("truncating a packet whose length field is wrong, or whose checksum is of another kind, keeps its L4 header")
{
	static const struct {
		uint8_t proto, high, low;
	} packets[] = {{TL_IPPROTO_UDP, 5, 0x81}, {TL_IPPROTO_UDP, 0, 7}, {TL_IPPROTO_UDPLITE, 0, 7},
		{TL_IPPROTO_OSPF, 0, 0}, {TL_IPPROTO_VRRP, 0, 0}, {TL_IPPROTO_HIP, 0, 0}};

	for (size_t i = 0; i < TL_ARRAY_LEN(packets); i++) {
		make(0, "", 0, 1400, 0);
		frame[23] = packets[i].proto;
		frame[38] = packets[i].high;
		frame[39] = packets[i].low;
		memcpy(whole, frame, bytes);
		tl_fit_cut(frame, bytes, LIMIT);
		CU_ASSERT_EQUAL(memcmp(frame + 34, whole + 34, LIMIT - 34), 0);
	}
}

// ---- fragments

// Fragment the frame and check each fragment; reassemble the payload in whole. Return the number of fragments.
static unsigned fragment(
	uint32_t limit, uint32_t l2, uint32_t first_hdr, uint32_t later_hdr, uint32_t offset, bool more)
{
	struct tl_fit fit;
	uint8_t *out = malloc(limit);
	uint32_t len, at = 0;
	unsigned n = 0;

	CU_ASSERT_TRUE_FATAL(tl_fit_begin(&fit, frame, bytes, limit));
	while ((len = tl_fit_next(&fit, out)) != 0) {
		const uint8_t *ip = out + l2;
		uint32_t hdr = (ip[0] & 15u) * 4, total = be16(ip + 2), frag = be16(ip + 6);
		CU_ASSERT_TRUE(len <= limit && memcmp(out, frame, l2) == 0);
		CU_ASSERT_EQUAL(hdr, n == 0 ? first_hdr : later_hdr);
		CU_ASSERT_EQUAL(l2 + total, len);
		CU_ASSERT_EQUAL((frag & 0x1fff) * 8, at + offset);
		CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, ip, hdr)), 0);
		memcpy(whole + at, ip + hdr, total - hdr);
		at += total - hdr;
		CU_ASSERT_EQUAL((frag & 0x2000) != 0, more || at < bytes - l2 - first_hdr);
		n++;
	}
	CU_ASSERT_EQUAL(at, bytes - l2 - first_hdr);
	CU_ASSERT_EQUAL(memcmp(whole, frame + l2 + first_hdr, at), 0);
	free(out);
	return n;
}

TL_TEST("the fragments of a packet reassemble to it")
{
	make(0, "", 0, 1473, 0);
	CU_ASSERT_EQUAL(fragment(1514, 14, 20, 20, 0, false), 2);
	make(1, "", 0, 60000, 0);
	CU_ASSERT_EQUAL(fragment(1518, 18, 20, 20, 0, false), 41); // 60008 / 1480
	make(0, "", 0, 1400, 0);
	CU_ASSERT_EQUAL(fragment(128, 14, 20, 20, 0, false), 16); // 1408 / 88
}

TL_TEST("later fragments carry only the copied options")
{
	make(0, "\x44\4\5\0\x94\4\0\0\1\x07\3\4", 12, 1400, 0); // time stamp, Router Alert, a NOP, record route
	fragment(LIMIT, 14, 32, 24, 0, false);
	make(0, "\x94\0\0\0", 4, 1400, 0); // malformed
	fragment(LIMIT, 14, 24, 20, 0, false);
}

TL_TEST("a fragment is fragmented further")
{
	make(0, "", 0, 1400, 0x2000 | 100);
	CU_ASSERT_EQUAL(fragment(LIMIT, 14, 20, 20, 800, true), 3);
	make(0, "", 0, 1400, 100);
	CU_ASSERT_EQUAL(fragment(LIMIT, 14, 20, 20, 800, false), 3);
}

TL_TEST("a packet that cannot be fragmented is refused")
{
	struct tl_fit fit;

	make(0, "", 0, 1400, 0x4000);
	CU_ASSERT_FALSE(tl_fit_begin(&fit, frame, bytes, LIMIT)); // DF
	make(0, "", 0, 1400, 0x1fff);
	CU_ASSERT_FALSE(tl_fit_begin(&fit, frame, bytes, LIMIT)); // beyond 64 KiB
	make(0, "", 0, 1400, 0);
	CU_ASSERT_FALSE(tl_fit_begin(&fit, frame, bytes - 1, LIMIT)); // truncated
	CU_ASSERT_FALSE(tl_fit_begin(&fit, frame, bytes, 14 + 20 + 7));
	CU_ASSERT_TRUE(tl_fit_begin(&fit, frame, bytes, 14 + 20 + 8));
	frame[13] = 1;
	CU_ASSERT_FALSE(tl_fit_begin(&fit, frame, bytes, LIMIT));
	frame[12] = 0x86;
	frame[13] = 0xdd;
	CU_ASSERT_FALSE(tl_fit_begin(&fit, frame, bytes, LIMIT));
}

int main(void)
{
	return tl_test_run("fit");
}
