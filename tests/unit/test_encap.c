// SPDX-License-Identifier: BSD-3-Clause
// Frames built layer by layer, each in a heap block of its exact size so that the sanitizer detects any read beyond it.
// The builder notes the start of each frame or packet, which the parser has to find.

#include <stdlib.h>

#include <tl_encap.h>
#include <tl_test.h>

#define FRAME_MAX 1024
#define ENTRIES_MAX 12
#define VNI 0x123456

enum layer {
	END,
	ETHER,
	TAG,
	TAG_AD,
	TAG_OLD,
	MPLS,
	MPLS_WORD,
	MPLS_PROTO,
	IP4,
	IP4_OPTIONS,
	IP4_FRAGMENT,
	IP6,
	IP6_OPTIONS,
	GRE,
	GRE_ALL,
	GRE_ROUTED,
	NVGRE,
	ERSPAN1,
	ERSPAN2,
	ERSPAN3,
	ERSPAN3_LONG,
	ERSPAN3_IP,
	VXLAN,
	VXLAN_LINUX,
	VXLAN_NO_VNI,
	GENEVE,
	GENEVE_OPTIONS,
	GENEVE_CONTROL,
	GTP,
	GTP_NUMBERED,
	GTP_EXTENDED,
	GTP_ECHO,
	UDP,
	TCP,
	ARP,
};

// Headers behind IP, without the type of the payload; type_at: offset of the type, 0: none.
static const struct {
	uint8_t proto;
	uint16_t port; // UDP port, 0: no UDP
	uint32_t len, type_at;
	uint8_t bytes[24];
	uint16_t type; // overrides the type of the next layer
} tunnels[ARP + 1] = {
	[GRE] = {47, 0, 4, 2, {0}, 0},
	[GRE_ALL] = {47, 0, 16, 2, {0xb0, 0, [8] = 1, 2, 3, 4}, 0},
	[GRE_ROUTED] = {47, 0, 4, 2, {0x40}, 0},
	[NVGRE] = {47, 0, 8, 2, {0x20, 0, [4] = 0x12, 0x34, 0x56, 0x99}, 0},
	[ERSPAN1] = {47, 0, 4, 2, {0}, 0x88be},
	[ERSPAN2] = {47, 0, 16, 2, {0x10, [8] = 0x10, 1}, 0x88be},
	[ERSPAN3] = {47, 0, 20, 2, {0x10, [8] = 0x20, 1}, 0x22eb},
	[ERSPAN3_LONG] = {47, 0, 28, 2, {0x10, [8] = 0x20, 1, [19] = 1}, 0x22eb},
	[ERSPAN3_IP] = {47, 0, 20, 2, {0x10, [8] = 0x20, 1, [18] = 8}, 0x22eb},
	[VXLAN] = {17, 4789, 8, 0, {0x08, [4] = 0x12, 0x34, 0x56}, 0},
	[VXLAN_LINUX] = {17, 8472, 8, 0, {0x08, [4] = 0x12, 0x34, 0x56}, 0},
	[VXLAN_NO_VNI] = {17, 4789, 8, 0, {0}, 0},
	[GENEVE] = {17, 6081, 8, 2, {0, [4] = 0x12, 0x34, 0x56}, 0},
	[GENEVE_OPTIONS] = {17, 6081, 20, 2, {3, 0x40, [4] = 0x12, 0x34, 0x56}, 0},
	[GENEVE_CONTROL] = {17, 6081, 8, 2, {0, 0x80, [4] = 0x12, 0x34, 0x56}, 0},
	[GTP] = {17, 2152, 8, 0, {0x30, 255}, 0},
	[GTP_NUMBERED] = {17, 2152, 12, 0, {0x32, 255, [8] = 1, 2, 0, 0x85}, 0},
	[GTP_EXTENDED] = {17, 2152, 24, 0, {0x34, 255, [11] = 0x85, 1, 0, 0, 0xc0, 2, [23] = 0}, 0},
	[GTP_ECHO] = {17, 2152, 8, 0, {0x30, 1}, 0},
	[UDP] = {17, 5001, 4, 0, {1, 2, 3, 4}, 0},
};

struct built {
	uint8_t bytes[FRAME_MAX];
	uint32_t len;
	struct {
		uint32_t off, need, network_off, tags; // need: least captured length that contains it
		bool ethernet;
	} entry[ENTRIES_MAX];
	uint32_t entries;
};

static uint16_t type_of(enum layer layer)
{
	switch (layer) {
	case ETHER:
		return 0x6558;
	case TAG:
		return 0x8100;
	case TAG_AD:
		return 0x88a8;
	case TAG_OLD:
		return 0x9100;
	case MPLS:
	case MPLS_WORD:
		return 0x8847;
	case IP4:
	case IP4_OPTIONS:
	case IP4_FRAGMENT:
		return 0x0800;
	case IP6:
	case IP6_OPTIONS:
		return 0x86dd;
	case ARP:
		return 0x0806;
	default:
		return 0;
	}
}

static uint8_t proto_of(enum layer layer)
{
	switch (layer) {
	case IP4:
	case IP4_OPTIONS:
	case IP4_FRAGMENT:
		return 4;
	case IP6:
	case IP6_OPTIONS:
		return 41;
	case TCP:
		return 6;
	case MPLS_PROTO:
		return 137;
	default:
		return tunnels[layer].proto;
	}
}

static bool is_ip(enum layer layer)
{
	return layer >= IP4 && layer <= IP6_OPTIONS;
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void note(struct built *b, bool ethernet, uint32_t bytes)
{
	b->entry[b->entries].off = b->len;
	b->entry[b->entries].need = b->len + bytes;
	b->entry[b->entries].network_off = b->len + (ethernet ? bytes : 0);
	b->entry[b->entries++].ethernet = ethernet;
}

static uint32_t put_ip(uint8_t *at, enum layer layer, enum layer next)
{
	bool six = layer >= IP6;
	uint32_t bytes = six ? TL_IPV6_LEN : TL_IPV4_LEN;

	at[0] = six ? 0x60 : 0x45;
	at[six ? 6 : 9] = proto_of(next);
	memset(at + (six ? 8 : 12), layer, six ? 32 : 8);
	if (layer == IP4_FRAGMENT)
		at[6] = 0x20;
	if (layer == IP4_OPTIONS) {
		at[0] = 0x46;
		bytes += 4;
	}
	if (layer == IP6_OPTIONS) { // hop-by-hop, then destination options of 16 bytes
		at[6] = 0;
		at[40] = 60;
		at[48] = proto_of(next);
		at[49] = 1;
		bytes += 24;
	}
	return bytes;
}

static uint32_t put_tunnel(uint8_t *at, enum layer layer, enum layer next)
{
	uint32_t udp = tunnels[layer].proto == 17 ? TL_UDP_LEN : 0;

	if (udp != 0)
		put16(at + 2, tunnels[layer].port);
	memcpy(at + udp, tunnels[layer].bytes, tunnels[layer].len);
	if (tunnels[layer].type_at != 0)
		put16(at + udp + tunnels[layer].type_at,
			tunnels[layer].type != 0 ? tunnels[layer].type : type_of(next));
	return udp + tunnels[layer].len;
}

static void put_layer(struct built *b, enum layer layer, enum layer next)
{
	uint8_t *at = b->bytes + b->len;
	uint32_t last = b->entries - 1;

	switch (layer) {
	case ETHER:
		note(b, true, TL_ETHER_LEN);
		memset(at, (int)b->entries, 12);
		put16(at + 12, type_of(next));
		b->len += TL_ETHER_LEN;
		return;
	case TAG:
	case TAG_AD:
	case TAG_OLD:
		put16(at, 0x2007);
		put16(at + 2, type_of(next));
		b->entry[last].network_off += 4;
		b->entry[last].tags++;
		b->len += 4;
		return;
	case MPLS:
	case MPLS_PROTO:
	case MPLS_WORD:
		at[2] = next == MPLS || next == MPLS_WORD ? 0 : 1;
		b->len += layer == MPLS_WORD ? 8 : 4;
		return;
	case TCP:
		b->len += TL_TCP_LEN;
		return;
	case ARP:
		put16(at, 1);
		b->len += TL_ARP_LEN;
		return;
	default:
		if (is_ip(layer) && (last >= ENTRIES_MAX || b->entry[last].network_off != b->len))
			note(b, false, layer >= IP6 ? TL_IPV6_LEN : TL_IPV4_LEN);
		b->len += is_ip(layer) ? put_ip(at, layer, next) : put_tunnel(at, layer, next);
	}
}

// Set the lengths in IP and UDP headers when all layers are known.
static void put_lengths(struct built *b, const enum layer *layers, const uint32_t *at)
{
	for (uint32_t i = 0; layers[i] != END; i++) {
		uint32_t bytes = b->len - at[i];
		if (layers[i] >= IP4 && layers[i] <= IP4_FRAGMENT)
			put16(b->bytes + at[i] + 2, bytes);
		else if (is_ip(layers[i]))
			put16(b->bytes + at[i] + 4, bytes - TL_IPV6_LEN);
		else if (tunnels[layers[i]].proto == 17)
			put16(b->bytes + at[i] + 4, bytes);
	}
}

static void build(const enum layer *layers, struct built *out)
{
	uint32_t at[16];

	*out = (struct built){0};
	for (uint32_t i = 0; layers[i] != END; i++) {
		at[i] = out->len;
		put_layer(out, layers[i], layers[i + 1]);
	}
	put_lengths(out, layers, at);
}

static void parse_exact(const struct built *b, uint32_t len, struct tl_encap *out)
{
	uint8_t *exact = malloc(len != 0 ? len : 1);

	memcpy(exact, b->bytes, len);
	tl_encap_parse(exact, len, out);
	free(exact);
}

// Require the last noted entry that lies within len bytes.
static void require_entry(const struct built *b, uint32_t entries, uint32_t len, const struct tl_encap *found)
{
	uint32_t i = entries - 1;

	while (i != 0 && b->entry[i].need > len)
		i--;
	CU_ASSERT_EQUAL(found->tunnels, i);
	CU_ASSERT_EQUAL(found->off, b->entry[i].off);
	CU_ASSERT_EQUAL(found->ethernet, b->entry[i].ethernet);
	CU_ASSERT(found->off <= found->network_off && found->network_off <= found->end && found->end <= len);
	if (b->entry[i].network_off <= len && len >= TL_ETHER_LEN) {
		CU_ASSERT_EQUAL(found->network_off, b->entry[i].network_off);
		CU_ASSERT_EQUAL(found->tags, b->entry[i].tags);
		CU_ASSERT_EQUAL(found->end, len);
	}
}

static const enum layer understood[][14] = {
	{ETHER, IP4, TCP},
	{ETHER, TAG, IP4, TCP},
	{ETHER, TAG_AD, TAG, IP6, TCP},
	{ETHER, TAG_OLD, TAG_OLD, TAG, TAG, IP4, UDP},
	{ETHER, ARP},
	{ETHER, MPLS, IP4, TCP},
	{ETHER, TAG, MPLS, MPLS, MPLS, IP6, TCP},
	{ETHER, MPLS, MPLS_WORD, ETHER, TAG, IP4, UDP},
	{ETHER, IP4, IP4, TCP},
	{ETHER, IP4, IP6, TCP},
	{ETHER, IP6, IP4, TCP},
	{ETHER, IP6_OPTIONS, IP6_OPTIONS, TCP},
	{ETHER, IP4_OPTIONS, MPLS_PROTO, IP4_OPTIONS, UDP},
	{ETHER, IP4, GRE, IP4, TCP},
	{ETHER, IP6, GRE_ALL, IP6, UDP},
	{ETHER, IP4, GRE, ETHER, TAG, ARP},
	{ETHER, IP4, GRE, MPLS, MPLS, IP6, TCP},
	{ETHER, IP4, NVGRE, ETHER, IP4, TCP},
	{ETHER, IP6, NVGRE, ETHER, IP6, TCP},
	{ETHER, IP4, ERSPAN1, ETHER, IP4, TCP},
	{ETHER, IP6, ERSPAN2, ETHER, TAG, IP6, TCP},
	{ETHER, IP4, ERSPAN3, ETHER, IP4, TCP},
	{ETHER, IP4, ERSPAN3_LONG, ETHER, IP6, TCP},
	{ETHER, IP4, ERSPAN3_IP, IP6, TCP},
	{ETHER, IP4, VXLAN, ETHER, IP4, TCP},
	{ETHER, TAG, IP6, VXLAN, ETHER, TAG, TAG, IP6, UDP},
	{ETHER, IP4, VXLAN_LINUX, ETHER, ARP},
	{ETHER, IP4, GENEVE, ETHER, IP4, TCP},
	{ETHER, IP6, GENEVE_OPTIONS, IP6, TCP},
	{ETHER, IP4, GENEVE, MPLS, IP4, TCP},
	{ETHER, IP4, GTP, IP4, TCP},
	{ETHER, IP6, GTP_NUMBERED, IP6, UDP},
	{ETHER, IP4, GTP_EXTENDED, IP6, TCP},
	{ETHER, IP4, VXLAN, ETHER, IP6, GENEVE, ETHER, IP4, TCP},
	{ETHER, IP4, GRE, IP4, GTP, IP6, TCP},
	{ETHER, IP4, IP6, IP4, IP6, TCP},
	{ETHER, IP4, IP4, GRE, IP4, VXLAN, ETHER, IP4, UDP},
};

TL_TEST("every encapsulation leads to its innermost packet")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(understood); i++) {
		struct built b;
		struct tl_encap found;
		build(understood[i], &b);
		parse_exact(&b, b.len, &found);
		require_entry(&b, b.entries, b.len, &found);
		CU_ASSERT_EQUAL(found.off, b.entry[b.entries - 1].off);
		CU_ASSERT(tl_encap_is_ip(&found) || found.ethertype == TL_ETHERTYPE_ARP);
	}
}

TL_TEST("a truncated frame ends at its last complete header")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(understood); i++) {
		struct built b;
		struct tl_encap found;
		build(understood[i], &b);
		for (uint32_t len = 0; len < b.len; len++) {
			parse_exact(&b, len, &found);
			require_entry(&b, b.entries, len, &found);
		}
	}
}

// The last layer that is parsed, and its payload.
TL_TEST("unknown encapsulations are not parsed")
{
	static const enum layer refused[][8] = {
		{ETHER, IP4_FRAGMENT, IP4, TCP},
		{ETHER, IP4, GRE_ROUTED, IP4, TCP},
		{ETHER, IP4, VXLAN_NO_VNI, ETHER, IP4, TCP},
		{ETHER, IP4, GENEVE_CONTROL, ETHER, IP4, TCP},
		{ETHER, IP4, GTP_ECHO, IP4, TCP},
		{ETHER, IP4, GRE, ARP},
		{ETHER, IP4, ERSPAN3_IP, ETHER, IP4, TCP},
		{ETHER, IP4, UDP, ETHER, IP4, TCP},
		{ETHER, MPLS, ARP},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(refused); i++) {
		struct built b;
		struct tl_encap found;
		build(refused[i], &b);
		parse_exact(&b, b.len, &found);
		require_entry(&b, 1, b.len, &found);
	}
}

TL_TEST("parsing ends at the fourth tunnel")
{
	static const enum layer deep[] = {ETHER, IP4, IP4, IP4, IP6, IP6, IP6, TCP, END};
	struct built b;
	struct tl_encap found;

	build(deep, &b);
	parse_exact(&b, b.len, &found);
	require_entry(&b, TL_ENCAP_TUNNELS_MAX + 1, b.len, &found);
}

TL_TEST("the network ID is that of the innermost tunnel with one")
{
	static const enum layer with[][10] = {{ETHER, IP4, VXLAN, ETHER, IP4, TCP}, {ETHER, IP4, GENEVE, IP4, TCP},
		{ETHER, IP4, NVGRE, ETHER, IP4, TCP}, {ETHER, IP4, VXLAN, ETHER, IP4, GRE, IP4, TCP}},
				without[][10] = {{ETHER, IP4, GRE, IP4, TCP}, {ETHER, IP4, IP4, TCP}};
	struct built b;
	struct tl_encap found;

	for (size_t i = 0; i < TL_ARRAY_LEN(with); i++) {
		build(with[i], &b);
		parse_exact(&b, b.len, &found);
		CU_ASSERT_EQUAL(found.network_id, VNI);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(without); i++) {
		build(without[i], &b);
		parse_exact(&b, b.len, &found);
		CU_ASSERT_EQUAL(found.network_id, 0);
	}
}

TL_TEST("padding after an outer packet is not part of the inner one")
{
	static const enum layer layers[] = {ETHER, IP4, IP4, END};
	struct built b;
	struct tl_encap found;

	build(layers, &b);
	uint32_t len = b.len;
	b.len = TL_ETHER_MIN_FRAME;
	parse_exact(&b, b.len, &found);
	CU_ASSERT_EQUAL(found.end, len);
}

TL_TEST("every outer link type is supported")
{
	static const enum layer layers[] = {ETHER, IP4, GRE, IP6, TCP, END};
	struct built b;
	struct tl_encap found;

	build(layers, &b);
	tl_encap_parse_link(TL_LINK_RAW, b.bytes + TL_ETHER_LEN, b.len - TL_ETHER_LEN, &found);
	CU_ASSERT_EQUAL(found.tunnels, 1);
	CU_ASSERT_EQUAL(found.off, b.entry[1].off - TL_ETHER_LEN);
	CU_ASSERT_EQUAL(found.ethertype, TL_ETHERTYPE_IPV6);
	tl_encap_parse_link(TL_LINK_ETHERNET, b.bytes, b.len, &found);
	CU_ASSERT_EQUAL(found.off, b.entry[1].off);
	tl_encap_parse_link(TL_LINK_SLL, b.bytes, 15, &found);
	CU_ASSERT(found.off == 0 && found.network_off == 0 && found.tunnels == 0 && found.end == 15);
}

TL_TEST("the set contains every tunnel port")
{
	static const uint16_t ports[] = {4789, 8472, 6081, 2152};

	for (size_t i = 0; i < TL_ARRAY_LEN(ports); i++)
		CU_ASSERT((TL_ENCAP_UDP_PORTS >> ports[i] % 64 & 1) == 1);
}

int main(void)
{
	return tl_test_run("encap");
}
