// SPDX-License-Identifier: BSD-3-Clause
// Parser of frames built byte by byte, each in a heap block of its exact size so that the sanitizer detects any read
// beyond it; checksums compared with the definition of RFC 1071.

#include <stdlib.h>

#include <tl_test.h>
#include <tl_wire.h>

#define FRAME_MAX 2048

// A frame under construction.
struct frame {
	uint32_t len;
	uint32_t ip_off;
	uint8_t bytes[FRAME_MAX];
};

static void put(struct frame *f, const void *bytes, uint32_t len)
{
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static void put16(struct frame *f, uint16_t value)
{
	put(f, &(uint16_t){tl_be16(value)}, 2);
}

static void put_random(struct frame *f, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		f->bytes[f->len++] = (uint8_t)rand();
}

// RFC 1071, section 4.1: 16-bit words in network order, the last byte padded with zero.
static uint16_t naive_cksum_be(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return tl_be16((uint16_t)~sum);
}

static uint32_t naive_pseudo(uint32_t src_be, uint32_t dst_be, uint8_t proto, uint16_t len)
{
	uint32_t src = tl_be32(src_be), dst = tl_be32(dst_be);
	return (src >> 16) + (src & 0xffff) + (dst >> 16) + (dst & 0xffff) + proto + len;
}

static void begin(struct frame *f, unsigned vlans, uint16_t type)
{
	*f = (struct frame){.len = 0};
	put(f, "\x01\x00\x5e\x01\x02\x03\x02\x00\x00\x00\x00\x01", 12);
	for (unsigned i = 0; i < vlans; i++) {
		put16(f, i == 0 && vlans == 2 ? TL_ETHERTYPE_QINQ : TL_ETHERTYPE_VLAN);
		put16(f, (uint16_t)(0x2064 + i));
	}
	put16(f, type);
}

// Parameters of the tests' IPv4 frames.
struct shape {
	unsigned vlans;
	unsigned option_words;
	uint8_t proto;
	uint16_t frag;
	uint16_t payload_len;
};

static void fix_ip_cksum(struct frame *f)
{
	uint8_t *ip = f->bytes + f->ip_off;
	uint16_t cksum_be = naive_cksum_be(ip, (ip[0] & 0x0fu) * 4, 0);
	memcpy(ip + 10, &cksum_be, 2);
}

static void set_ip_cksum(struct frame *f)
{
	memset(f->bytes + f->ip_off + 10, 0, 2);
	fix_ip_cksum(f);
}

static void put_l4_header(struct frame *f, struct shape s)
{
	switch (s.proto) {
	case TL_IPPROTO_UDP:
		put16(f, 1111);
		put16(f, 2222);
		put16(f, TL_UDP_LEN + s.payload_len);
		put16(f, 0);
		break;
	case TL_IPPROTO_TCP: // with four bytes of options
		put16(f, 1111);
		put16(f, 2222);
		put(f, "\1\2\3\4\5\6\7\10\x60\x18\0\100\0\0\0\0\1\1\1\1", 20);
		break;
	case TL_IPPROTO_ICMP:
		put(f, "\10\0\0\0\1\2\3\4", 8);
		break;
	case TL_IPPROTO_IGMP:
		put(f, "\x16\0\0\0\xef\1\2\3", 8);
		break;
	default:
		break;
	}
}

static uint32_t l4_cksum_at(uint8_t proto)
{
	return proto == TL_IPPROTO_UDP ? 6 : proto == TL_IPPROTO_TCP ? 16 : 2;
}

static void set_l4_cksum(struct frame *f, uint32_t l4_off, uint8_t proto)
{
	uint16_t len = (uint16_t)(f->len - l4_off);
	uint32_t src_be, dst_be, sum = 0;

	memcpy(&src_be, f->bytes + f->ip_off + 12, 4);
	memcpy(&dst_be, f->bytes + f->ip_off + 16, 4);
	if (proto == TL_IPPROTO_UDP || proto == TL_IPPROTO_TCP)
		sum = naive_pseudo(src_be, dst_be, proto, len);
	memset(f->bytes + l4_off + l4_cksum_at(proto), 0, 2);
	uint16_t cksum_be = naive_cksum_be(f->bytes + l4_off, len, sum);
	memcpy(f->bytes + l4_off + l4_cksum_at(proto), &cksum_be, 2);
}

static struct frame ipv4_frame(struct shape s)
{
	struct frame f;

	begin(&f, s.vlans, TL_ETHERTYPE_IPV4);
	f.ip_off = f.len;
	put(&f, &(uint8_t){(uint8_t)(0x45 + s.option_words)}, 1);
	put(&f, "\0\0\0\x12\x34", 5);
	put16(&f, s.frag);
	put(&f, "\100", 1);
	put(&f, &s.proto, 1);
	put(&f, "\0\0\xc0\0\2\1\xef\1\2\3", 10);
	for (unsigned i = 0; i < s.option_words; i++)
		put(&f, "\1\1\1\1", 4);
	uint32_t l4_off = f.len;
	put_l4_header(&f, s);
	put_random(&f, s.payload_len);
	uint16_t total_len_be = tl_be16((uint16_t)(f.len - f.ip_off));
	memcpy(f.bytes + f.ip_off + 2, &total_len_be, 2);
	fix_ip_cksum(&f);
	if (s.proto != 99)
		set_l4_cksum(&f, l4_off, s.proto);
	return f;
}

static struct frame arp_frame(unsigned vlans)
{
	struct frame f;

	begin(&f, vlans, TL_ETHERTYPE_ARP);
	f.ip_off = f.len;
	put(&f, "\0\1\x08\0\6\4\0\1\2\0\0\0\0\1\xc0\0\2\1\0\0\0\0\0\0\xc0\0\2\2", TL_ARP_LEN);
	return f;
}

// Parse a heap copy of exactly len bytes; *cksum_ok gets the result of the checksum.
static struct tl_pkt parse_exact(const uint8_t *bytes, uint32_t len, bool *cksum_ok)
{
	struct tl_pkt pkt;
	uint8_t *copy = malloc(len);

	memcpy(copy, bytes, len);
	memset(&pkt, 0xa5, sizeof(pkt));
	tl_wire_parse(copy, len, &pkt);
	*cksum_ok = tl_wire_l4_cksum_ok(copy, &pkt);
	free(copy);
	return pkt;
}

static struct tl_pkt parse(const struct frame *f)
{
	bool ignored;
	return parse_exact(f->bytes, f->len, &ignored);
}

static bool cksum_ok(const struct frame *f)
{
	bool ok;
	parse_exact(f->bytes, f->len, &ok);
	return ok;
}

static uint8_t kind_of(const struct frame *f)
{
	return parse(f).kind;
}

static const struct {
	uint8_t proto;
	uint8_t kind;
	uint8_t hdr_len;
} protocols[] = {
	{TL_IPPROTO_UDP, TL_PKT_UDP, TL_UDP_LEN},
	{TL_IPPROTO_TCP, TL_PKT_TCP, TL_TCP_LEN + 4},
	{TL_IPPROTO_ICMP, TL_PKT_ICMP, TL_ICMP_LEN},
	{TL_IPPROTO_IGMP, TL_PKT_IGMP, 8},
};

static void check_fields(unsigned vlans, unsigned option_words, size_t p)
{
	struct frame f = ipv4_frame((struct shape){vlans, option_words, protocols[p].proto, 0, 33});
	struct tl_pkt pkt = parse(&f);
	bool has_ports = pkt.kind == TL_PKT_UDP || pkt.kind == TL_PKT_TCP;
	uint32_t igmp_hdr = pkt.kind == TL_PKT_IGMP ? 8 : 0;

	CU_ASSERT_EQUAL(pkt.kind, protocols[p].kind);
	CU_ASSERT_EQUAL(pkt.l2_len, 14 + 4 * vlans);
	CU_ASSERT_EQUAL(pkt.vlan_tci, vlans == 0 ? 0 : 0x2064);
	CU_ASSERT_EQUAL(pkt.l3_off, 14 + 4 * vlans);
	CU_ASSERT_EQUAL(pkt.l4_off, pkt.l3_off + 20 + 4 * option_words);
	CU_ASSERT_EQUAL(pkt.payload_off, pkt.l4_off + protocols[p].hdr_len - igmp_hdr);
	CU_ASSERT_EQUAL(pkt.payload_len, 33 + igmp_hdr);
	CU_ASSERT_EQUAL(pkt.src_be, tl_be32(0xc0000201));
	CU_ASSERT_EQUAL(pkt.dst_be, tl_be32(0xef010203));
	CU_ASSERT_EQUAL(pkt.src_port_be, has_ports ? tl_be16(1111) : 0);
	CU_ASSERT_EQUAL(pkt.dst_port_be, has_ports ? tl_be16(2222) : 0);
	CU_ASSERT_EQUAL(pkt.tcp_flags, pkt.kind == TL_PKT_TCP ? TL_TCP_PSH | TL_TCP_ACK : 0);
	CU_ASSERT(cksum_ok(&f));
}

TL_TEST("every protocol is parsed behind 0 to 2 VLAN tags and any IP options")
{
	for (unsigned vlans = 0; vlans <= 2; vlans++) {
		for (unsigned words = 0; words <= 10; words++) {
			for (size_t p = 0; p < TL_ARRAY_LEN(protocols); p++)
				check_fields(vlans, words, p);
		}
	}
}

TL_TEST("an ARP frame gives sender and target")
{
	for (unsigned vlans = 0; vlans <= 2; vlans++) {
		struct frame f = arp_frame(vlans);
		struct tl_pkt pkt = parse(&f);
		CU_ASSERT_EQUAL(pkt.kind, TL_PKT_ARP);
		CU_ASSERT_EQUAL(pkt.l3_off, 14 + 4 * vlans);
		CU_ASSERT_EQUAL(pkt.src_be, tl_be32(0xc0000201));
		CU_ASSERT_EQUAL(pkt.dst_be, tl_be32(0xc0000202));
		CU_ASSERT_EQUAL(pkt.l4_off | pkt.payload_off | pkt.payload_len, 0);
	}
}

TL_TEST("ARP for anything but IPv4 over Ethernet is malformed")
{
	for (uint32_t i = 0; i < 6; i++) {
		struct frame f = arp_frame(0);
		f.bytes[f.ip_off + i] ^= 1;
		CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_BAD);
	}
}

static void check_every_cut(const struct frame *f)
{
	for (uint32_t len = 0; len < f->len; len++) {
		bool ok;
		struct tl_pkt pkt = parse_exact(f->bytes, len, &ok);
		CU_ASSERT_EQUAL(pkt.kind, TL_PKT_BAD);
		CU_ASSERT(!ok);
	}
}

TL_TEST("a frame truncated anywhere is malformed and not read past its end")
{
	for (unsigned vlans = 0; vlans <= 2; vlans++) {
		for (size_t p = 0; p < TL_ARRAY_LEN(protocols); p++) {
			struct frame f = ipv4_frame((struct shape){vlans, vlans, protocols[p].proto, 0, 50});
			check_every_cut(&f);
		}
		struct frame f = arp_frame(vlans);
		check_every_cut(&f);
		f = ipv4_frame((struct shape){vlans, 0, TL_IPPROTO_UDP, 0x2000, 50});
		check_every_cut(&f);
	}
}

// The IP length ends within the L4 header, with and without further bytes in the frame.
TL_TEST("an IP length that ends inside the L4 header is malformed")
{
	for (size_t p = 0; p < TL_ARRAY_LEN(protocols); p++) {
		for (uint16_t l4_len = 0; l4_len < protocols[p].hdr_len; l4_len++) {
			struct frame f = ipv4_frame((struct shape){0, 0, protocols[p].proto, 0, 50});
			f.bytes[17] = (uint8_t)(20 + l4_len);
			set_ip_cksum(&f);
			CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_BAD);
			f.len = 14u + 20u + l4_len;
			CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_BAD);
		}
	}
}

TL_TEST("Ethernet padding is not payload")
{
	for (size_t p = 0; p < TL_ARRAY_LEN(protocols); p++) {
		struct frame f = ipv4_frame((struct shape){0, 0, protocols[p].proto, 0, 1});
		struct tl_pkt bare = parse(&f);
		put_random(&f, 40);
		struct tl_pkt padded = parse(&f);
		CU_ASSERT_EQUAL(memcmp(&bare, &padded, sizeof(bare)), 0);
		CU_ASSERT(cksum_ok(&f));
	}
}

TL_TEST("a fragment is classified as such and has no ports")
{
	static const uint16_t frags[] = {0x2000, 0x2001, 0x0001, 0x1000, 0x1fff};

	for (size_t i = 0; i < TL_ARRAY_LEN(frags); i++) {
		struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, frags[i], 30});
		struct tl_pkt pkt = parse(&f);
		CU_ASSERT_EQUAL(pkt.kind, TL_PKT_FRAG);
		CU_ASSERT_EQUAL(pkt.src_be, tl_be32(0xc0000201));
		CU_ASSERT_EQUAL(pkt.src_port_be | pkt.dst_port_be | pkt.payload_off | pkt.payload_len, 0);
		CU_ASSERT(!cksum_ok(&f));
	}
	struct frame whole = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, 0x4000, 30});
	CU_ASSERT_EQUAL(kind_of(&whole), TL_PKT_UDP);
}

TL_TEST("any flipped bit of the IP header is detected")
{
	for (uint32_t bit = 0; bit < 24 * 8; bit++) {
		struct frame f = ipv4_frame((struct shape){0, 1, TL_IPPROTO_UDP, 0, 30});
		f.bytes[f.ip_off + bit / 8] ^= (uint8_t)(1u << bit % 8);
		uint8_t kind = kind_of(&f);
		CU_ASSERT(kind == TL_PKT_BAD_CKSUM || (kind == TL_PKT_BAD && bit / 8 < 4));
	}
}

// Compare the parse of a frame with that of the same frame behind one tag, and behind two, which no fast path takes.
static void check_behind_tags(const struct frame *f, uint16_t tci)
{
	struct frame tagged = *f;
	struct tl_pkt want = parse(f);

	for (unsigned tags = 1; tags <= 2; tags++) {
		memmove(tagged.bytes + 16, tagged.bytes + 12, tagged.len - 12);
		memcpy(tagged.bytes + 12, (uint16_t[]){tl_be16(TL_ETHERTYPE_VLAN), tl_be16(tci)}, 4);
		tagged.len += 4;
		struct tl_pkt pkt = parse(&tagged);
		want.l2_len += 4;
		want.l3_off += 4;
		want.l4_off += want.l4_off != 0 ? 4 : 0;
		want.payload_off += want.payload_off != 0 ? 4 : 0;
		want.vlan_tci = tci;
		CU_ASSERT_EQUAL(memcmp(&pkt, &want, sizeof(pkt)), 0);
	}
}

TL_TEST("a tagged frame is parsed like an untagged one, valid or not")
{
	for (unsigned i = 0; i < 20000; i++) {
		struct frame f = ipv4_frame((struct shape){0, i / 2 % 8 == 0, protocols[i % 2].proto, 0, i % 50});
		uint32_t at = f.ip_off + (uint32_t)rand() % 44;
		if (i % 3 != 0 && at < f.len) // of the IP header, mostly its lengths, or behind it
			f.bytes[i % 3 == 1 ? f.ip_off + (uint32_t)rand() % 8 : at] ^= (uint8_t)(1u << rand() % 8);
		if (i % 4 != 0)
			set_ip_cksum(&f);
		if (i % 7 == 0)
			f.len -= (uint32_t)rand() % (f.len - f.ip_off);
		check_behind_tags(&f, (uint16_t)rand());
	}
}

TL_TEST("a wrong version, header length or total length is malformed")
{
	static const uint8_t version_ihl[] = {0x44, 0x40, 0x65, 0x05, 0x4f};

	for (size_t i = 0; i < TL_ARRAY_LEN(version_ihl); i++) {
		struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, 0, 8});
		f.bytes[f.ip_off] = version_ihl[i];
		CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_BAD);
	}
	for (uint16_t total = 0; total < 20; total++) {
		struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, 0, 8});
		f.bytes[f.ip_off + 3] = (uint8_t)total;
		set_ip_cksum(&f);
		CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_BAD);
	}
}

TL_TEST("a UDP length must cover its header and fit the packet")
{
	for (uint16_t udp_len = 0; udp_len < 60; udp_len++) {
		struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, 0, 32});
		f.bytes[14 + 20 + 5] = (uint8_t)udp_len;
		struct tl_pkt pkt = parse(&f);
		bool good = udp_len >= 8 && udp_len <= 40;
		CU_ASSERT_EQUAL(pkt.kind, good ? TL_PKT_UDP : TL_PKT_BAD);
		CU_ASSERT_EQUAL(pkt.payload_len, good ? udp_len - 8 : 0);
	}
}

TL_TEST("a TCP header length must cover its header and fit the packet")
{
	for (uint8_t words = 0; words < 16; words++) {
		struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_TCP, 0, 8}); // 32 bytes after the IP header
		f.bytes[14 + 20 + 12] = (uint8_t)(words << 4);
		struct tl_pkt pkt = parse(&f);
		bool good = words >= 5 && words <= 8;
		CU_ASSERT_EQUAL(pkt.kind, good ? TL_PKT_TCP : TL_PKT_BAD);
		CU_ASSERT_EQUAL(pkt.payload_len, good ? 32 - 4 * words : 0);
	}
}

TL_TEST("an unsupported protocol is classified as other, not malformed")
{
	static const uint16_t types[] = {0x88cc, 0x0026, 0x8847};
	struct frame f;

	for (size_t i = 0; i < TL_ARRAY_LEN(types); i++) {
		begin(&f, 0, types[i]);
		CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_OTHER);
		put_random(&f, 46);
		CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_OTHER);
		CU_ASSERT(!cksum_ok(&f));
	}
	f = ipv4_frame((struct shape){0, 0, 99, 0, 20});
	struct tl_pkt pkt = parse(&f);
	CU_ASSERT_EQUAL(pkt.kind, TL_PKT_OTHER);
	CU_ASSERT_EQUAL(pkt.dst_be, tl_be32(0xef010203));
	begin(&f, 3, TL_ETHERTYPE_IPV4);
	put_random(&f, 40);
	pkt = parse(&f);
	CU_ASSERT_EQUAL(pkt.kind, TL_PKT_OTHER);
	CU_ASSERT_EQUAL(pkt.l2_len, 22);
}

TL_TEST("any flipped bit of the payload breaks the L4 checksum")
{
	for (size_t p = 0; p < TL_ARRAY_LEN(protocols); p++) {
		struct frame f = ipv4_frame((struct shape){0, 0, protocols[p].proto, 0, 31});
		CU_ASSERT(cksum_ok(&f));
		for (uint32_t bit = 0; bit < 31 * 8; bit++) {
			struct frame g = f;
			g.bytes[f.len - 31 + bit / 8] ^= (uint8_t)(1u << bit % 8);
			CU_ASSERT(!cksum_ok(&g));
		}
	}
}

TL_TEST("a UDP datagram delivered to the wrong address fails its checksum")
{
	struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, 0, 31});

	f.bytes[f.ip_off + 15] ^= 1;
	set_ip_cksum(&f);
	CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_UDP);
	CU_ASSERT(!cksum_ok(&f));
}

TL_TEST("a UDP checksum of 0 means none, a TCP one does not")
{
	struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, 0, 31});

	memset(f.bytes + 14 + 20 + 6, 0, 2);
	CU_ASSERT(cksum_ok(&f));
	f.bytes[14 + 20 + 7] = 1;
	CU_ASSERT(!cksum_ok(&f));
	f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_TCP, 0, 31});
	memset(f.bytes + 14 + 20 + 16, 0, 2);
	CU_ASSERT(!cksum_ok(&f));
}

TL_TEST("the checksum is that of RFC 1071 at any length and alignment")
{
	for (size_t len = 0; len < 1600; len += len < 200 ? 1 : 37) {
		for (size_t shift = 0; shift < 8; shift++) {
			uint8_t *block = malloc(shift + len + 1);
			for (size_t i = 0; i < shift + len; i++)
				block[i] = (uint8_t)rand();
			uint16_t want = naive_cksum_be(block + shift, len, 0);
			CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, block + shift, len)), want);
			free(block);
		}
	}
}

TL_TEST("the checksum carries correctly when all bits are set")
{
	static uint8_t ones[65535];

	memset(ones, 0xff, sizeof(ones));
	for (size_t len = 1; len <= sizeof(ones); len = len * 2 + 1) {
		uint16_t want = naive_cksum_be(ones, len, 0);
		CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(0, ones, len)), want);
	}
	CU_ASSERT_EQUAL(tl_cksum_finish(0), 0xffff);
	CU_ASSERT_EQUAL(tl_cksum_finish(UINT32_MAX), 0);
	CU_ASSERT_EQUAL(tl_cksum_finish(0x10000), 0xfffe);
	CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(UINT32_MAX, ones, 2)), 0);
}

TL_TEST("a checksum may be summed in pieces of even length")
{
	uint8_t bytes[301];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	uint16_t want = naive_cksum_be(bytes, sizeof(bytes), 0);
	for (size_t cut = 0; cut < sizeof(bytes); cut += 2) {
		uint32_t sum = tl_cksum_add(0, bytes, cut);
		CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_add(sum, bytes + cut, sizeof(bytes) - cut)), want);
	}
}

TL_TEST("a sum is correct if it folds to all ones")
{
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t sum = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 10 ^ (uint64_t)rand();
		if (i % 2 == 0)
			sum -= sum % UINT16_MAX;
		sum |= i < 1000 ? i : 1u << i % 16; // few of these are multiples
		CU_ASSERT_EQUAL(tl_cksum_is_right(sum), tl_cksum_fold(sum) == 0);
		sum = sum - sum % UINT16_MAX + (i % 8 == 0);
		CU_ASSERT(sum == 0 || tl_cksum_is_right(sum) == (i % 8 != 0));
	}
	CU_ASSERT(tl_cksum_is_right(UINT16_MAX) && tl_cksum_is_right(UINT64_MAX));
	CU_ASSERT(!tl_cksum_is_right(1) && !tl_cksum_is_right(UINT64_MAX - 1));
}

TL_TEST("the last bytes of a longer sum are summed at any length")
{
	uint8_t bytes[8 + 80];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	for (uint32_t len = 0; len <= sizeof(bytes) - 8; len++)
		CU_ASSERT_EQUAL(tl_cksum_fold(tl_cksum_add_tail(0, bytes + 8, len)), naive_cksum_be(bytes + 8, len, 0));
}

TL_TEST("the pseudo-header sum is that of RFC 9293")
{
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t src_be = (uint32_t)rand() * 3u, dst_be = i == 0 ? UINT32_MAX : (uint32_t)rand() * 5u;
		uint16_t len = i == 0 ? UINT16_MAX : (uint16_t)rand();
		uint16_t want = naive_cksum_be(NULL, 0, naive_pseudo(src_be, dst_be, TL_IPPROTO_TCP, len));
		CU_ASSERT_EQUAL(tl_cksum_finish(tl_cksum_pseudo(src_be, dst_be, TL_IPPROTO_TCP, len)), want);
	}
}

TL_TEST("a generated IPv4 header is accepted by the parser")
{
	struct frame f = ipv4_frame((struct shape){0, 0, TL_IPPROTO_UDP, 0, 30});
	struct tl_ipv4_hdr *ip = (void *)(f.bytes + f.ip_off);

	ip->ttl = 1;
	CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_BAD_CKSUM);
	tl_wire_ipv4_finish(ip);
	CU_ASSERT_EQUAL(kind_of(&f), TL_PKT_UDP);
}

TL_TEST("a multicast MAC address holds the low 23 bits of the group")
{
	uint8_t mac[6];

	tl_wire_mcast_mac(tl_be32(0xe0000016), mac);
	CU_ASSERT_EQUAL(memcmp(mac, "\x01\x00\x5e\x00\x00\x16", 6), 0);
	tl_wire_mcast_mac(tl_be32(0xefffabcd), mac);
	CU_ASSERT_EQUAL(memcmp(mac, "\x01\x00\x5e\x7f\xab\xcd", 6), 0);
	CU_ASSERT(tl_ipv4_is_mcast(tl_be32(0xe0000000)));
	CU_ASSERT(tl_ipv4_is_mcast(tl_be32(0xefffffff)));
	CU_ASSERT(!tl_ipv4_is_mcast(tl_be32(0xdfffffff)));
	CU_ASSERT(!tl_ipv4_is_mcast(tl_be32(0xf0000000)));
}

// ---- IPv6, in cases not covered by the receive path

static void put_ip6(struct frame *f, uint8_t next, uint16_t len)
{
	begin(f, 0, TL_ETHERTYPE_IPV6);
	f->ip_off = f->len;
	put(f, "\x60\0\0\0", 4);
	put16(f, len);
	put(f, (uint8_t[]){next, 64}, 2);
	put(f, "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\2", 32);
}

static void put_udp(struct frame *f, uint16_t payload)
{
	put16(f, 1111);
	put16(f, 2222);
	put16(f, TL_UDP_LEN + 2);
	put16(f, 0);
	put16(f, payload);
}

// The payload makes the sum valid without a checksum (RFC 8200, section 8.1).
TL_TEST("UDP over IPv6 needs a checksum")
{
	struct frame f;
	struct tl_pkt pkt;

	put_ip6(&f, TL_IPPROTO_UDP, TL_UDP_LEN + 2);
	put_udp(&f, 0);
	tl_wire_parse(f.bytes, f.len, &pkt);
	CU_ASSERT_EQUAL_FATAL(pkt.kind, TL_PKT_IP6);
	const struct tl_ipv6_hdr *ip = tl_wire_ip6(f.bytes, &pkt);
	uint32_t pseudo = tl_cksum_pseudo6(&ip->src, &ip->dst, TL_IPPROTO_UDP, TL_UDP_LEN + 2);
	uint16_t cksum_be = tl_cksum_finish(tl_cksum_add(pseudo, f.bytes + pkt.l4_off, TL_UDP_LEN + 2));
	memcpy(f.bytes + pkt.payload_off, &cksum_be, sizeof(cksum_be));
	CU_ASSERT_FALSE(tl_wire_l4_cksum_ok(f.bytes, &pkt));
	memset(f.bytes + pkt.payload_off, 0, sizeof(cksum_be));
	memcpy(f.bytes + pkt.l4_off + offsetof(struct tl_udp_hdr, cksum_be), &cksum_be, sizeof(cksum_be));
	CU_ASSERT_TRUE(tl_wire_l4_cksum_ok(f.bytes, &pkt));
}

// RFC 8200, section 4.1.
TL_TEST("hop-by-hop options are accepted only as the first header")
{
	static const uint8_t headers[][2] = {
		{TL_IP6_HOP_BY_HOP, TL_IP6_DEST_OPTIONS}, {TL_IP6_DEST_OPTIONS, TL_IP6_HOP_BY_HOP}};

	for (int i = 0; i < 2; i++) {
		struct frame f;
		struct tl_pkt pkt;
		put_ip6(&f, headers[i][0], 8 + 8 + TL_UDP_LEN + 2);
		put(&f, (uint8_t[]){headers[i][1], 0, 1, 4, 0, 0, 0, 0}, 8); // padding
		put(&f, (uint8_t[]){TL_IPPROTO_UDP, 0, 1, 4, 0, 0, 0, 0}, 8);
		put_udp(&f, 0);
		tl_wire_parse(f.bytes, f.len, &pkt);
		CU_ASSERT_EQUAL(pkt.kind, TL_PKT_IP6);
		CU_ASSERT_EQUAL(pkt.ip6_kind, i == 0 ? TL_PKT_UDP : TL_PKT_OTHER);
	}
}

// Length of a header of UDP, of TCP with a data offset of header_words, or of neither.
static void put_l4(struct frame *f, uint8_t next, uint16_t payload_len, uint8_t header_words)
{
	uint16_t len = payload_len + (next == TL_IPPROTO_UDP ? TL_UDP_LEN : TL_TCP_LEN);

	put_ip6(f, next, len);
	put16(f, 1111);
	put16(f, 2222);
	put16(f, len);
	put(f, "\0\0\0\0\0", next == TL_IPPROTO_UDP ? 2 : 6);
	if (next != TL_IPPROTO_UDP)
		put(f, (uint8_t[]){(uint8_t)(header_words << 4), TL_TCP_ACK, 1, 2, 3, 4, 5, 6}, 8);
	put_random(f, payload_len);
}

TL_TEST("a tagged IPv6 frame is parsed like an untagged one, valid or not")
{
	static const uint8_t next[] = {TL_IPPROTO_UDP, TL_IPPROTO_TCP, TL_IPPROTO_UDP, TL_IPPROTO_ICMP6};
	unsigned udp = 0, tcp = 0;

	for (unsigned i = 0; i < 20000; i++) {
		struct frame f;
		put_l4(&f, next[i % 4], (uint16_t)(rand() % 50), (uint8_t)(5 + rand() % 3));
		uint32_t at = (uint32_t)rand() % (f.len - 12);
		if (i % 3 != 0) // its lengths, mostly
			f.bytes[i % 3 == 1 ? 12 + at % 8 : 12 + at] ^= (uint8_t)(1u << rand() % 8);
		if (i % 7 == 0)
			f.len -= (uint32_t)rand() % (f.len - f.ip_off);
		struct tl_pkt pkt = parse(&f);
		udp += pkt.kind == TL_PKT_IP6 && pkt.ip6_kind == TL_PKT_UDP;
		tcp += pkt.kind == TL_PKT_IP6 && pkt.ip6_kind == TL_PKT_TCP;
		check_behind_tags(&f, (uint16_t)rand());
	}
	CU_ASSERT(udp > 4000);
	CU_ASSERT(tcp > 1000);
}

int main(void)
{
	return tl_test_run("wire");
}
