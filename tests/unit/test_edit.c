// SPDX-License-Identifier: BSD-3-Clause
// Edits of frames, each in a heap block of its exact size so that the sanitizer detects any access beyond it. The tests
// compute checksums from scratch; the edit only updates them.

#include <errno.h>
#include <stdlib.h>

#include <tl_edit.h>
#include <tl_err.h>
#include <tl_test.h>

#define FRAME_MAX 256

static struct tl_edit edit;
static struct tl_err err;

// ---- frames

static uint8_t frame[FRAME_MAX], got[FRAME_MAX + TL_EDIT_GROWTH];
static uint32_t bytes, got_bytes;

static void put(const void *data, uint32_t len)
{
	memcpy(frame + bytes, data, len);
	bytes += len;
}

static void put16(uint16_t value)
{
	value = tl_be16(value);
	put(&value, 2);
}

static void begin(uint16_t type)
{
	bytes = 0;
	put("\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a", 12);
	put16(type);
}

static void ipv4(const char *src, const char *dst, uint8_t proto, uint16_t payload, uint16_t frag)
{
	uint32_t ends[2];

	CU_ASSERT_EQUAL_FATAL(tl_parse_ipv4(src, &ends[0]) | tl_parse_ipv4(dst, &ends[1]), 0);
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45,
		.tos = 0x03,
		.total_len_be = tl_be16(TL_IPV4_LEN + payload),
		.frag_be = tl_be16(frag),
		.ttl = 64,
		.proto = proto,
		.src_be = ends[0],
		.dst_be = ends[1]};
	tl_wire_ipv4_finish(&ip);
	put(&ip, sizeof(ip));
}

static void ipv6(const char *src, const char *dst, uint8_t next, uint16_t payload)
{
	struct tl_ipv6_hdr ip = {.version_be = tl_be32(6u << 28 | 0x12345),
		.payload_len_be = tl_be16(payload),
		.next = next,
		.hop_limit = 64};

	CU_ASSERT_EQUAL_FATAL(tl_parse_ipv6(src, &ip.src) | tl_parse_ipv6(dst, &ip.dst), 0);
	put(&ip, sizeof(ip));
}

static void udp(uint16_t src, uint16_t dst, uint16_t payload)
{
	put16(src);
	put16(dst);
	put16(TL_UDP_LEN + payload);
	put16(0);
	for (uint16_t i = 0; i < payload; i++)
		put(&(uint8_t){(uint8_t)i}, 1);
}

static uint16_t load16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, 2);
	return value;
}

static uint32_t load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return value;
}

// Return the sum of an L4 header and payload with its pseudo-header; 0: valid.
static uint16_t l4_sum(const uint8_t *ip, const uint8_t *l4, uint8_t proto, uint32_t len)
{
	uint32_t sum;

	if (ip[0] >> 4 == 4)
		sum = tl_cksum_pseudo(load32(ip + 12), load32(ip + 16), proto, (uint16_t)len);
	else
		sum = tl_cksum_pseudo6((const void *)(ip + 8), (const void *)(ip + 24), proto, len);
	return tl_cksum_finish(tl_cksum_add(sum, l4, len));
}

static void sign(uint32_t ip_at, uint32_t l4_at, uint8_t proto, uint32_t sum_at, uint32_t len)
{
	uint16_t sum = l4_sum(frame + ip_at, frame + l4_at, proto, len);

	memcpy(frame + l4_at + sum_at, &sum, 2);
}

static enum tl_edit_result run(void)
{
	uint8_t *in = malloc(bytes), *out = malloc(bytes + TL_EDIT_GROWTH);

	memcpy(in, frame, bytes);
	enum tl_edit_result result = tl_edit_copy(&edit, in, bytes, out, &got_bytes);
	CU_ASSERT_EQUAL(got_bytes, tl_edit_copied_bytes(&edit, in, bytes));
	CU_ASSERT_EQUAL(memcmp(in, frame, bytes), 0);
	memcpy(got, out, got_bytes);
	free(in);
	free(out);
	return result;
}

static void begin_maps(void)
{
	tl_edit_init(&edit);
	CU_ASSERT_EQUAL_FATAL(tl_edit_add_map(&edit, "10.1.0.0/16=192.0.2.0/24", &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_edit_add_map(&edit, "10.0.0.0/8=172.16.0.0/12", &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_edit_add_map(&edit, "2001:db8::/32=fd00:1::/33", &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_edit_add_ports(&edit, "5000-5099=6000", &err), 0);
}

static void expect_ipv4(const uint8_t *ip, const char *src, const char *dst)
{
	char text[2][TL_IPV4_TEXT];

	CU_ASSERT_STRING_EQUAL(tl_format_ipv4(load32(ip + 12), text[0]), src);
	CU_ASSERT_STRING_EQUAL(tl_format_ipv4(load32(ip + 16), text[1]), dst);
	CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, ip, TL_IPV4_LEN)), 0);
}

static void expect_ipv6(const uint8_t *ip, const char *src, const char *dst)
{
	char text[2][TL_IPV6_TEXT];

	CU_ASSERT_STRING_EQUAL(tl_format_ipv6((const void *)(ip + 8), text[0]), src);
	CU_ASSERT_STRING_EQUAL(tl_format_ipv6((const void *)(ip + 24), text[1]), dst);
}

// ---- addresses and ports

TL_TEST("the first matching map replaces the prefix")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	udp(5099, 5100, 4);
	sign(14, 34, TL_IPPROTO_UDP, 6, 12);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv4(got + 14, "192.0.2.3", "172.31.2.3");
	CU_ASSERT_EQUAL(load16(got + 34), tl_be16(6099));
	CU_ASSERT_EQUAL(load16(got + 36), tl_be16(5100));
	CU_ASSERT_EQUAL(l4_sum(got + 14, got + 34, TL_IPPROTO_UDP, 12), 0);
	CU_ASSERT_EQUAL(memcmp(got + 42, frame + 42, 4), 0);
}

TL_TEST("a prefix of no bits has all addresses of its family")
{
	tl_edit_init(&edit);
	CU_ASSERT_EQUAL(tl_edit_add_map(&edit, "10.1.0.0/16=192.0.2.0/24", &err), 0);
	CU_ASSERT_EQUAL(tl_edit_add_map(&edit, "0.0.0.0/0=172.16.0.0/12", &err), 0);
	CU_ASSERT_EQUAL(tl_edit_add_map(&edit, "::/0=fd00:1::/33", &err), 0);
	CU_ASSERT_EQUAL(tl_edit_add_map(&edit, "9.0.0.0/8=1.0.0.0/8", &err), -EINVAL); // covered
	CU_ASSERT_EQUAL(tl_edit_add_map(&edit, "0.0.0.1/0=172.16.0.0/12", &err), -EINVAL);
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "203.15.2.3", TL_IPPROTO_UDP, 12, 0);
	udp(5099, 5100, 4);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv4(got + 14, "192.0.2.3", "172.31.2.3");
	begin(TL_ETHERTYPE_IPV6);
	ipv6("2001:db8::1", "fe80::2", TL_IPPROTO_UDP, 12);
	udp(5099, 5100, 4);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv6(got + 14, "fd00:1::1", "fd00:1::2");
}

TL_TEST("a wrong checksum stays wrong and an absent one stays absent")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	udp(5099, 5100, 4);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	CU_ASSERT_EQUAL(load16(got + 40), 0);
	sign(14, 34, TL_IPPROTO_UDP, 6, 12);
	frame[40] ^= 0x12;
	uint16_t wrong = l4_sum(frame + 14, frame + 34, TL_IPPROTO_UDP, 12);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	CU_ASSERT_EQUAL(l4_sum(got + 14, got + 34, TL_IPPROTO_UDP, 12), wrong);
}

// RFC 768: a computed checksum of 0 is sent as all ones.
TL_TEST("a UDP checksum is updated for every change and never becomes 0")
{
	tl_edit_init(&edit);
	for (uint32_t to = 0; to < 0x10000; to++) {
		begin(TL_ETHERTYPE_IPV4);
		ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
		udp(1, 2, 4);
		sign(14, 34, TL_IPPROTO_UDP, 6, 12);
		edit.n_ports = 1;
		edit.ports[0] = (struct tl_edit_ports){.first = 1, .last = 1, .to = (uint16_t)to};
		(void)run();
		if (load16(got + 40) == 0 || l4_sum(got + 14, got + 34, TL_IPPROTO_UDP, 12) != 0)
			CU_FAIL_FATAL("a wrong sum");
	}
}

TL_TEST("only the first IPv4 fragment has ports and the checksum")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 16, 0);
	udp(5000, 5100, 8);
	sign(14, 34, TL_IPPROTO_UDP, 6, 16);
	run();
	uint16_t whole_sum = load16(got + 40);
	struct tl_ipv4_hdr *ip = (void *)(frame + 14);
	ip->frag_be = tl_be16(0x2000);
	ip->cksum_be = 0;
	tl_wire_ipv4_finish(ip);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv4(got + 14, "192.0.2.3", "172.31.2.3");
	CU_ASSERT_EQUAL(load16(got + 34), tl_be16(6000));
	CU_ASSERT_EQUAL(load16(got + 40), whole_sum);
	ip->frag_be = tl_be16(0x0001);
	ip->cksum_be = 0;
	tl_wire_ipv4_finish(ip);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv4(got + 14, "192.0.2.3", "172.31.2.3");
	CU_ASSERT_EQUAL(memcmp(got + 34, frame + 34, 16), 0);
}

TL_TEST("an L4 checksum beyond the end of the frame is reported")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_TCP, 20, 0);
	udp(5000, 5100, 8); // 16 bytes; the checksum of TCP would follow
	CU_ASSERT_EQUAL(run(), TL_EDIT_UNSUMMED);
	expect_ipv4(got + 14, "192.0.2.3", "172.31.2.3");
	put16(0);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
}

TL_TEST("IPv6 extension headers are skipped, and the checksum covers the final destination")
{
	static const uint8_t hop[8] = {TL_IP6_ROUTING}, fragment[8] = {TL_IPPROTO_UDP, 0, 0, 1};
	uint8_t routing[24] = {TL_IP6_FRAGMENT, 2, 3, 0};

	begin_maps();
	for (unsigned left = 0; left < 2; left++) {
		begin(TL_ETHERTYPE_IPV6);
		ipv6("2001:db8:8000::1", "2001:db8::2", TL_IP6_HOP_BY_HOP, 52);
		put(hop, sizeof(hop));
		routing[3] = (uint8_t)left;
		put(routing, sizeof(routing));
		put(fragment, sizeof(fragment));
		udp(5000, 53, 4);
		uint32_t at = 14 + 40 + 40;
		sign(14, at, TL_IPPROTO_UDP, 6, 12);
		CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
		expect_ipv6(got + 14, "fd00:1::1", "fd00:1::2");
		CU_ASSERT_EQUAL(load16(got + at), tl_be16(6000));
		// With Segments Left > 0 the checksum covers the final destination, which is not edited.
		CU_ASSERT_EQUAL(l4_sum(got + 14, got + at, TL_IPPROTO_UDP, 12) == 0, left == 0);
		memcpy(got + 14 + 24, frame + 14 + 24, 16);
		CU_ASSERT_EQUAL(l4_sum(got + 14, got + at, TL_IPPROTO_UDP, 12) == 0, left == 1);
	}
}

TL_TEST("checksums of routing and mobility protocols that cover the addresses are updated")
{
	static const struct {
		const char *start; // of the header
		uint8_t proto, sum_at;
		bool six;
	} packets[] = {
		{"\x31", 112, 6, false}, // VRRP version 3 (RFC 5798)
		{"\x31", 112, 6, true},
		{"\x03\x05", 89, 12, true},	    // OSPF for IPv6 (RFC 5340, appendix A.3.1)
		{"\x23", 103, 2, true},		    // PIM (RFC 7761, section 4.9)
		{"\x21", 103, 2, true},		    // its register message
		{"\x3b\x01\x05", 135, 4, true},	    // mobility (RFC 6275, section 6.1.1)
		{"\x3b\x04\x01\x21", 139, 4, true}, // HIP (RFC 7401, section 5.1.1)
		{"\x3b\x04\x01\x21", 139, 4, false},
	};

	begin_maps();
	for (size_t i = 0; i < TL_ARRAY_LEN(packets); i++) {
		uint8_t payload[20] = {0};
		// The length in the pseudo-header is that of the header of a register message only.
		uint32_t len = memcmp(packets[i].start, "\x21", 2) == 0 ? 8 : sizeof(payload);
		memcpy(payload, packets[i].start, strlen(packets[i].start));
		begin(packets[i].six ? TL_ETHERTYPE_IPV6 : TL_ETHERTYPE_IPV4);
		if (packets[i].six)
			ipv6("2001:db8::1", "2001:db8::2", packets[i].proto, sizeof(payload));
		else
			ipv4("10.1.2.3", "10.15.2.3", packets[i].proto, sizeof(payload), 0);
		uint32_t at = bytes;
		put(payload, sizeof(payload));
		sign(14, at, packets[i].proto, packets[i].sum_at, len);
		CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
		CU_ASSERT_NOT_EQUAL(memcmp(got + 14, frame + 14, at - 14), 0);
		CU_ASSERT_EQUAL(l4_sum(got + 14, got + at, packets[i].proto, len), 0);
	}
}

TL_TEST("a VRRP checksum over IPv4 that does not cover the addresses stays")
{
	for (uint8_t version = 2; version < 4; version++) {
		uint8_t payload[12] = {(uint8_t)(version << 4 | 1), 1, 100, 1, 0, 100, 0, 0, 10, 1, 2, 9};
		uint16_t sum = tl_cksum_finish(tl_cksum_add(0, payload, sizeof(payload)));
		memcpy(payload + 6, &sum, 2);
		payload[3] ^= version == 2; // a wrong one, of version 2, is not taken for one with addresses
		begin_maps();
		begin(TL_ETHERTYPE_IPV4);
		ipv4("10.1.2.3", "10.15.2.3", 112, sizeof(payload), 0);
		put(payload, sizeof(payload));
		CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
		expect_ipv4(got + 14, "192.0.2.3", "172.31.2.3");
		CU_ASSERT_EQUAL(memcmp(got + 34, payload, sizeof(payload)), 0);
	}
}

// RFC 6275, section 11.3.1: the checksum covers the home address, which is not edited.
TL_TEST("a home address in IPv6 options replaces the source in the checksum")
{
	uint8_t options[24] = {TL_IPPROTO_UDP, 2, 0, 1, 1, 0, 201, 16, 0x20, 0x01, 0x0d, 0xb8, [23] = 9};

	for (unsigned home = 0; home < 2; home++) {
		options[6] = home != 0 ? 201 : 30;
		begin_maps();
		begin(TL_ETHERTYPE_IPV6);
		ipv6("2001:db8:8000::1", "2001:db8::2", TL_IP6_DEST_OPTIONS, sizeof(options) + 12);
		put(options, sizeof(options));
		udp(5000, 53, 4);
		if (home != 0)
			memcpy(frame + 22, options + 8, 16);
		sign(14, 14 + 64, TL_IPPROTO_UDP, 6, 12);
		CU_ASSERT_EQUAL_FATAL(tl_parse_ipv6("2001:db8:8000::1", (struct tl_ip6 *)(frame + 22)), 0);
		CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
		expect_ipv6(got + 14, "fd00:1::1", "fd00:1::2");
		if (home != 0)
			memcpy(got + 22, options + 8, 16);
		CU_ASSERT_EQUAL(l4_sum(got + 14, got + 14 + 64, TL_IPPROTO_UDP, 12), 0);
	}
}

TL_TEST("an L4 checksum that ESP or AH may hide is reported")
{
	static const uint8_t payload[20];

	for (uint8_t proto = 50; proto < 53; proto++) {
		begin_maps();
		begin(TL_ETHERTYPE_IPV4);
		ipv4("10.1.2.3", "10.15.2.3", proto, sizeof(payload), 0);
		put(payload, sizeof(payload));
		CU_ASSERT_EQUAL(run(), proto < 52 ? TL_EDIT_UNSUMMED : TL_EDIT_DONE);
		edit.n_maps = 0;
		CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	}
	begin_maps();
	begin(TL_ETHERTYPE_IPV6);
	ipv6("2001:db8::1", "2001:db8::2", 50, sizeof(payload));
	put(payload, sizeof(payload));
	CU_ASSERT_EQUAL(run(), TL_EDIT_UNSUMMED);
}

TL_TEST("a later IPv6 fragment has no ports")
{
	static const uint8_t fragment[8] = {TL_IPPROTO_UDP, 0, 0, 8};

	begin_maps();
	begin(TL_ETHERTYPE_IPV6);
	ipv6("2001:db8::1", "2001:db8::2", TL_IP6_FRAGMENT, 20);
	put(fragment, sizeof(fragment));
	udp(5000, 5001, 4);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv6(got + 14, "fd00:1::1", "fd00:1::2");
	CU_ASSERT_EQUAL(memcmp(got + 62, frame + 62, 12), 0);
}

// ---- addresses elsewhere

TL_TEST("the packet quoted by an ICMP error is edited")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.2.0.1", "10.1.2.3", TL_IPPROTO_ICMP, 8 + 20 + 12, 0);
	put("\x05\x01\0\0\x0a\x01\x02\x09", 8); // a redirect to 10.1.2.9
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	udp(5001, 53, 4);
	sign(42, 62, TL_IPPROTO_UDP, 6, 12);
	uint16_t sum = tl_cksum_finish(tl_cksum_add(0, frame + 34, 40));
	memcpy(frame + 36, &sum, 2);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv4(got + 14, "172.18.0.1", "192.0.2.3");
	expect_ipv4(got + 42, "192.0.2.3", "172.31.2.3");
	CU_ASSERT_EQUAL(memcmp(got + 38, "\xc0\0\x02\x09", 4), 0);
	CU_ASSERT_EQUAL(load16(got + 62), tl_be16(6001));
	CU_ASSERT_EQUAL(l4_sum(got + 42, got + 62, TL_IPPROTO_UDP, 12), 0);
	CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, got + 34, 40)), 0);
	frame[34] = 8; // an echo request with the same payload
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	CU_ASSERT_EQUAL(memcmp(got + 34, frame + 34, 40), 0);
}

TL_TEST("ICMPv6 errors and neighbour discovery are edited")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV6);
	ipv6("2001:db8::9", "2001:db8::1", TL_IPPROTO_ICMP6, 8 + 40 + 12);
	put("\x02\0\0\0\0\0\x05\0", 8);
	ipv6("2001:db8::1", "2001:db8::2", TL_IPPROTO_UDP, 12);
	udp(5000, 53, 4);
	sign(62, 102, TL_IPPROTO_UDP, 6, 12);
	sign(14, 54, TL_IPPROTO_ICMP6, 2, 60);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	expect_ipv6(got + 62, "fd00:1::1", "fd00:1::2");
	CU_ASSERT_EQUAL(l4_sum(got + 62, got + 102, TL_IPPROTO_UDP, 12), 0);
	CU_ASSERT_EQUAL(l4_sum(got + 14, got + 54, TL_IPPROTO_ICMP6, 60), 0);
	begin(TL_ETHERTYPE_IPV6);
	ipv6("fe80::1", "ff02::1", TL_IPPROTO_ICMP6, 24);
	put("\x88\0\0\0\0\0\0\0\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07", 24);
	sign(14, 54, TL_IPPROTO_ICMP6, 2, 24);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	CU_ASSERT_EQUAL(memcmp(got + 62, "\xfd\0\0\1\0", 5), 0);
	CU_ASSERT_EQUAL(l4_sum(got + 14, got + 54, TL_IPPROTO_ICMP6, 24), 0);
}

TL_TEST("addresses in ARP are edited")
{
	begin_maps();
	begin(TL_ETHERTYPE_ARP);
	put("\0\1\x08\0\6\4\0\1\x02\0\0\0\0\x0a\x0a\1\2\3\0\0\0\0\0\0\x0a\x0f\2\3", 28);
	CU_ASSERT_EQUAL(run(), TL_EDIT_DONE);
	CU_ASSERT_EQUAL(memcmp(got + 28, "\xc0\0\2\3\0\0\0\0\0\0\xac\x1f\2\3", 14), 0);
	bytes--;
	CU_ASSERT_EQUAL(run(), TL_EDIT_MALFORMED);
}

TL_TEST("a truncated header is not read")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.2.0.1", "10.1.2.3", TL_IPPROTO_ICMP, 8 + 20 + 12, 0);
	put("\x03\x01\0\0\0\0\0\0", 8);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	udp(5001, 53, 4);
	for (; bytes > TL_ETHER_LEN; bytes--)
		CU_ASSERT_EQUAL(run() == TL_EDIT_MALFORMED, bytes < 34);
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.2.0.1", "10.1.2.3", TL_IPPROTO_UDP, 0, 0);
	frame[14] = 0x46; // the options are missing
	CU_ASSERT_EQUAL(run(), TL_EDIT_MALFORMED);
}

// ---- VLAN, MAC, TTL, DSCP

TL_TEST("a VLAN tag is added, rewritten and stripped")
{
	begin_maps();
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_TCP, 0, 0);
	CU_ASSERT_EQUAL(tl_edit_set_vlan(&edit, "set:7", &err), 0);
	run();
	CU_ASSERT_EQUAL(got_bytes, 34);
	CU_ASSERT_EQUAL(tl_edit_set_vlan(&edit, "add:100", &err), 0);
	run();
	CU_ASSERT_EQUAL(got_bytes, 38);
	CU_ASSERT_EQUAL(memcmp(got, frame, 12), 0);
	CU_ASSERT_EQUAL(memcmp(got + 12, "\x81\0\0\x64\x08\0", 6), 0);
	expect_ipv4(got + 18, "192.0.2.3", "172.31.2.3");
	memcpy(frame, got, bytes = got_bytes);
	frame[14] = 0xb0; // priority 5, drop eligible
	CU_ASSERT_EQUAL(tl_edit_set_vlan(&edit, "set:4094", &err), 0);
	run();
	CU_ASSERT_EQUAL(memcmp(got + 12, "\x81\0\xbf\xfe\x08\0", 6), 0);
	CU_ASSERT_EQUAL(tl_edit_set_vlan(&edit, "strip", &err), 0);
	run();
	CU_ASSERT_EQUAL(got_bytes, 34);
	CU_ASSERT_EQUAL(load16(got + 12), tl_be16(TL_ETHERTYPE_IPV4));
	bytes = 17; // half a tag
	run();
	CU_ASSERT_EQUAL(got_bytes, 17);
}

// Mark the frame in a heap block of its size.
static void mark(int dscp, int pcp)
{
	uint8_t *in = malloc(bytes);

	memcpy(in, frame, bytes);
	tl_edit_mark(in, bytes, dscp, pcp);
	memcpy(got, in, bytes);
	free(in);
}

// The sum of the header is computed from scratch.
TL_TEST("a mark sets the DSCP, and keeps ECN and a right sum of the header")
{
	for (unsigned from = 0; from < 256; from++) {
		begin(TL_ETHERTYPE_IPV4);
		ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
		udp(1, 2, 4);
		frame[15] = (uint8_t)from;
		tl_wire_ipv4_finish((struct tl_ipv4_hdr *)(void *)(frame + 14));
		for (unsigned to = 0; to < 64; to++) {
			mark((int)to, TL_EDIT_KEEP);
			CU_ASSERT_EQUAL(got[15], to << 2 | (from & 3));
			CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, got + 14, TL_IPV4_LEN)), 0);
			CU_ASSERT_EQUAL(memcmp(got, frame, 15) | memcmp(got + 16, frame + 16, 8), 0);
			CU_ASSERT_EQUAL(memcmp(got + 26, frame + 26, bytes - 26), 0);
		}
	}
}

TL_TEST("a mark sets the traffic class of IPv6, and keeps its flow label")
{
	begin(TL_ETHERTYPE_IPV6);
	ipv6("2001:db8::1", "2001:db8::2", TL_IPPROTO_UDP, 12);
	udp(1, 2, 4);
	frame[15] |= 0x30; // ECN
	mark(46, TL_EDIT_KEEP);
	CU_ASSERT_EQUAL(load32(got + 14), tl_be32(6u << 28 | (46u << 2 | 3) << 20 | 0x12345));
	CU_ASSERT_EQUAL(memcmp(got, frame, 14) | memcmp(got + 18, frame + 18, bytes - 18), 0);
	mark(0, TL_EDIT_KEEP);
	CU_ASSERT_EQUAL(load32(got + 14), tl_be32(6u << 28 | 3u << 20 | 0x12345));
}

TL_TEST("a mark sets the priority of the outermost tag")
{
	begin(TL_ETHERTYPE_QINQ);
	put16(0x1fff); // drop eligible, VLAN 4095
	put16(TL_ETHERTYPE_VLAN);
	put16(7);
	put16(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	mark(10, 5);
	CU_ASSERT_EQUAL(load16(got + 14), tl_be16(0xbfff));
	CU_ASSERT_EQUAL(load16(got + 18), tl_be16(7));
	CU_ASSERT_EQUAL(got[23], 10 << 2 | 3);
	CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, got + 22, TL_IPV4_LEN)), 0);
	mark(TL_EDIT_KEEP, 0);
	CU_ASSERT_EQUAL(memcmp(got, frame, bytes), 0);
}

TL_TEST("frames without a tag or an IP header are not marked")
{
	begin(TL_ETHERTYPE_ARP);
	put("\0\1\x08\0\6\4\0\1 a sender and a target", 28);
	mark(46, 7);
	CU_ASSERT_EQUAL(memcmp(got, frame, bytes), 0);
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	for (uint32_t all = bytes; bytes >= 14; bytes--) { // truncated
		mark(46, 7);
		CU_ASSERT_EQUAL(memcmp(got, frame, bytes) == 0, bytes < all);
	}
	begin(TL_ETHERTYPE_IPV6);
	ipv6("2001:db8::1", "2001:db8::2", TL_IPPROTO_UDP, 12);
	bytes--;
	mark(46, 7);
	CU_ASSERT_EQUAL(memcmp(got, frame, bytes), 0);
	begin(TL_ETHERTYPE_VLAN);
	put("\x20", 1);
	mark(46, 7);
	CU_ASSERT_EQUAL(memcmp(got, frame, bytes), 0);
}

TL_TEST("TTL, DSCP and MAC addresses are set")
{
	tl_edit_init(&edit);
	CU_ASSERT_FALSE(tl_edit_is_set(&edit));
	edit.ttl = 255;
	edit.dscp = 46;
	edit.set_src_mac = edit.set_dst_mac = true;
	CU_ASSERT_EQUAL(
		tl_parse_mac("02:00:00:00:01:01", edit.src_mac) | tl_parse_mac("02:00:00:00:01:02", edit.dst_mac), 0);
	CU_ASSERT_TRUE(tl_edit_is_set(&edit));
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	udp(5099, 5100, 4);
	run();
	CU_ASSERT_EQUAL(memcmp(got, "\x02\0\0\0\1\2\x02\0\0\0\1\1", 12), 0);
	CU_ASSERT_EQUAL(got[15], 46 << 2 | 3);
	CU_ASSERT_EQUAL(got[22], 255);
	expect_ipv4(got + 14, "10.1.2.3", "10.15.2.3");
	begin(TL_ETHERTYPE_IPV6);
	ipv6("2001:db8::1", "2001:db8::2", TL_IP6_NO_NEXT, 0);
	run();
	CU_ASSERT_EQUAL(memcmp(got + 14, "\x6b\x81\x23\x45", 4), 0);
	CU_ASSERT_EQUAL(got[21], 255);
}

// ---- increments

TL_TEST("an increment wraps within its range")
{
	begin_maps();
	CU_ASSERT_EQUAL(tl_edit_add_step(&edit, "192.0.2.0/24+100", &err), 0);
	CU_ASSERT_EQUAL(tl_edit_add_step(&edit, "5100-5109+7", &err), 0);
	begin(TL_ETHERTYPE_IPV4);
	ipv4("10.1.2.3", "10.15.2.3", TL_IPPROTO_UDP, 12, 0);
	udp(5109, 5100, 4);
	sign(14, 34, TL_IPPROTO_UDP, 6, 12);
	tl_edit_set_loop(&edit, 3);
	run();
	expect_ipv4(got + 14, "192.0.2.47", "172.31.2.3"); // 3 + 300 - 256
	CU_ASSERT_EQUAL(load16(got + 34), tl_be16(5100));  // 9 + 21 - 30
	CU_ASSERT_EQUAL(load16(got + 36), tl_be16(5101));
	CU_ASSERT_EQUAL(l4_sum(got + 14, got + 34, TL_IPPROTO_UDP, 12), 0);
	tl_edit_set_loop(&edit, 0);
	run();
	expect_ipv4(got + 14, "192.0.2.3", "172.31.2.3");
}

// ---- texts

static void refuses(int (*add)(struct tl_edit *, const char *, struct tl_err *), const char *text, const char *cause)
{
	err.text[0] = '\0';
	CU_ASSERT_EQUAL(add(&edit, text, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cause));
}

TL_TEST("invalid texts are refused with the cause")
{
	tl_edit_init(&edit);
	refuses(tl_edit_add_map, "10.0.0.0/8", "expected a map such as");
	refuses(tl_edit_add_map, "10.0.0.0/8=", "expected a map such as");
	refuses(tl_edit_add_map, "10.0.0.0=10.1.0.0/16", "10.0.0.0: expected a prefix");
	refuses(tl_edit_add_map, "10.0.0.0/33=10.1.0.0/16", "10.0.0.0/33: expected a prefix");
	refuses(tl_edit_add_map, "10.0.0.0/8=10.1.0.0/8", "10.1.0.0/8: the address has bits beyond the prefix");
	refuses(tl_edit_add_map, "10.0.0.0/8=2001:db8::/32", "one prefix is IPv4");
	CU_ASSERT_EQUAL(tl_edit_add_map(&edit, "10.0.0.0/8=11.0.0.0/8", &err), 0);
	refuses(tl_edit_add_map, "10.1.0.0/16=12.1.0.0/16", "an earlier map covers");
	for (unsigned i = 1; i < TL_EDIT_MAPS_MAX; i++)
		edit.maps[edit.n_maps++] =
			(struct tl_edit_map){.from = {.six = true, .mask = ~(tl_edit_addr)0, .bits = 128}};
	refuses(tl_edit_add_map, "12.1.0.0/16=12.2.0.0/16", "64 maps already");
	refuses(tl_edit_add_ports, "80", "expected a map such as");
	refuses(tl_edit_add_ports, "80=x", "expected a map such as");
	refuses(tl_edit_add_ports, "90-80=1", "90-80: expected ports");
	refuses(tl_edit_add_ports, "65536=1", "expected ports");
	refuses(tl_edit_add_ports, "1-2=65535", "beyond 65535");
	CU_ASSERT_EQUAL(tl_edit_add_ports(&edit, "1-10=65526", &err), 0);
	refuses(tl_edit_add_ports, "10=1", "an earlier map covers");
	refuses(tl_edit_add_step, "10.0.0.0/8", "expected an increment such as");
	refuses(tl_edit_add_step, "10.0.0.0/8+0", "expected an increment such as");
	refuses(tl_edit_add_step, "10.0.0.1/8+1", "bits beyond");
	refuses(tl_edit_set_vlan, "add:4095", "expected add:ID");
	refuses(tl_edit_set_vlan, "drop", "expected add:ID");
}

int main(void)
{
	return tl_test_run("edit");
}
