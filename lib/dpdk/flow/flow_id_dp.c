// SPDX-License-Identifier: BSD-3-Clause
// Flow identification from headers: every length is checked before a byte behind it is read.

#include "flow_priv.h"

#include <string.h>

#include <tl_encap.h>

#define IPV6_EXTENSIONS_MAX 8 // frames with more have no flow
#define VLAN_TAGS_MAX 2
#define PORTS_LEN 4

// Unparsed bytes of the frame.
struct rest {
	const uint8_t *at;
	uint32_t len;
};

struct end {
	uint64_t addr[2]; // IPv4 address: in the first
	uint16_t port;	  // network byte order, like the address
};

struct flow_key {
	struct end src, dst;
	uint32_t vlans;
	uint8_t version, proto;
	bool syn;
};

static inline void skip(struct rest *r, uint32_t bytes)
{
	r->at += bytes;
	r->len -= bytes;
}

// EtherType after at most two VLAN tags; 0: truncated.
static inline uint16_t read_ethernet(struct rest *r, struct flow_key *key)
{
	if (r->len < TL_ETHER_LEN)
		return 0;
	uint16_t type = tl_load_be16(r->at + offsetof(struct tl_ether_hdr, type_be));
	skip(r, TL_ETHER_LEN);
	for (unsigned i = 0; i < VLAN_TAGS_MAX && (type == TL_ETHERTYPE_VLAN || type == TL_ETHERTYPE_QINQ); i++) {
		if (r->len < TL_VLAN_LEN)
			return 0;
		key->vlans = key->vlans << 16 | 0x8000 | (tl_load_be16(r->at) & TL_VLAN_ID);
		type = tl_load_be16(r->at + 2);
		skip(r, TL_VLAN_LEN);
	}
	return type;
}

// A snapped frame may lack its end, but not its headers.
static inline bool read_ipv4(struct rest *r, struct flow_key *key)
{
	const struct tl_ipv4_hdr *ip = (const void *)r->at;

	if (r->len < TL_IPV4_LEN || ip->version_ihl >> 4 != 4 || (tl_be16(ip->frag_be) & TL_IPV4_FRAG_OFFSET) != 0)
		return false;
	uint32_t hdr_len = (ip->version_ihl & 0x0fu) * 4;
	uint32_t total_len = tl_be16(ip->total_len_be);
	if (hdr_len < TL_IPV4_LEN || total_len < hdr_len || r->len < hdr_len)
		return false;
	key->version = 4;
	key->proto = ip->proto;
	key->src.addr[0] = ip->src_be;
	key->dst.addr[0] = ip->dst_be;
	if (r->len > total_len)
		r->len = total_len; // without Ethernet padding
	skip(r, hdr_len);
	return true;
}

// Length of an extension header, of which 8 bytes are present; 0: not an extension header.
static uint32_t extension_bytes(uint8_t kind, const uint8_t *header)
{
	switch (kind) {
	case TL_IP6_HOP_BY_HOP:
	case TL_IP6_ROUTING:
	case TL_IP6_DEST_OPTIONS:
	case TL_IP6_MOBILITY:
		return (header[1] + 1u) * 8;
	case TL_IP6_FRAGMENT:
		return 8;
	case TL_IP6_AH:
		return (header[1] + 2u) * 4; // RFC 4302, section 2.2
	default:
		return 0;
	}
}

static bool is_extension(uint8_t kind)
{
	static const uint8_t any[8];

	return extension_bytes(kind, any) != 0;
}

static bool skip_extensions(struct rest *r, struct flow_key *key)
{
	for (unsigned i = 0; i < IPV6_EXTENSIONS_MAX && is_extension(key->proto); i++) {
		if (r->len < 8)
			return false;
		uint32_t bytes = extension_bytes(key->proto, r->at);
		if (r->len < bytes ||
			(key->proto == TL_IP6_FRAGMENT && (tl_load_be16(r->at + 2) & TL_IP6_FRAG_OFFSET) != 0))
			return false;
		key->proto = r->at[0];
		skip(r, bytes);
	}
	return !is_extension(key->proto);
}

// Offsets (RFC 8200, section 3): payload length 4, next header 6, source 8, destination 24.
static bool read_ipv6(struct rest *r, struct flow_key *key)
{
	if (r->len < TL_IPV6_LEN || r->at[0] >> 4 != 6)
		return false;
	uint32_t payload_len = tl_load_be16(r->at + 4);
	key->version = 6;
	key->proto = r->at[6];
	memcpy(key->src.addr, r->at + 8, sizeof(key->src.addr));
	memcpy(key->dst.addr, r->at + 24, sizeof(key->dst.addr));
	skip(r, TL_IPV6_LEN);
	if (r->len > payload_len && payload_len != 0) // 0: a jumbogram
		r->len = payload_len;
	return !is_extension(key->proto) || skip_extensions(r, key);
}

// *tunnels is a set of UDP ports modulo 64 that may be those of tunnels, read where it is needed: a register less. 0:
// what is in tunnels is of no interest. False for what may be a tunnel.
static inline bool read_ports(const struct rest *r, const uint64_t *tunnels, struct flow_key *key)
{
	switch (key->proto) {
	case TL_IPPROTO_TCP:
		if (r->len < TL_TCP_LEN)
			return false;
		key->syn = (r->at[offsetof(struct tl_tcp_hdr, flags)] & TL_TCP_SYN) != 0;
		break;
	case TL_IPPROTO_UDP:
		if (r->len < PORTS_LEN || (*tunnels >> tl_load_be16(r->at + 2) % 64 & 1) != 0)
			return false;
		break;
	case TL_IPPROTO_DCCP:
	case TL_IPPROTO_SCTP:
	case TL_IPPROTO_UDPLITE:
		if (r->len < PORTS_LEN)
			return false;
		break;
	default:
		return !tl_encap_is_tunnel(key->proto) || *tunnels == 0;
	}
	key->src.port = tl_load_be16(r->at);
	key->dst.port = tl_load_be16(r->at + 2);
	return true;
}

static inline bool read_packet(struct rest *r, uint16_t type, const uint64_t *tunnels, struct flow_key *key)
{
	if (TL_LIKELY(type == TL_ETHERTYPE_IPV4))
		return read_ipv4(r, key) && read_ports(r, tunnels, key);
	return type == TL_ETHERTYPE_IPV6 && read_ipv6(r, key) && read_ports(r, tunnels, key);
}

static inline bool read_key(struct rest *r, const uint64_t *tunnels, struct flow_key *key)
{
	return read_packet(r, read_ethernet(r, key), tunnels, key);
}

// Mix both words: xor of the halves of their product.
static inline uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_end(const uint64_t *key, const struct end *end)
{
	uint64_t addr = fold(end->addr[0] ^ key[0], end->addr[1] ^ key[1]);

	return fold(addr ^ key[2], end->port ^ key[3]);
}

// Sum the hashes of both ends, for the same result in both directions. A CRC would be faster, but is linear: senders
// could construct colliding flows for any seed.
static inline uint64_t print_of(const struct tl_flow_hash *h, const struct flow_key *key)
{
	uint64_t ends = hash_end(h->key, &key->src) + hash_end(h->key, &key->dst);
	uint64_t kind = (uint64_t)key->vlans << 16 | (uint64_t)key->version << 8 | key->proto;

	return fold(ends ^ h->key[4], kind ^ h->key[5]);
}

static inline void publish(
	const struct tl_flow_table *t, uint64_t print, const struct flow_key *key, struct tl_flow_id *out)
{
	out->print = print != 0 ? print : 1;
	out->syn = key->syn;
	__builtin_prefetch(tl_flow_bucket_of(t, out->print), 1);
}

static inline bool read_innermost(const uint8_t *frame, const struct tl_encap *encap, struct flow_key *key)
{
	static const uint64_t none;
	struct rest r = {.at = frame + encap->off, .len = encap->end - encap->off};

	return encap->ethernet ? read_key(&r, &none, key) : read_packet(&r, encap->ethertype, &none, key);
}

// Hash the flow of the innermost packet of a possible tunnel; 0: none. Two tenants may have the same addresses: the
// network of a packet is a part of its flow.
static inline uint64_t print_innermost(
	const struct tl_flow_hash *h, const uint8_t *frame, uint32_t len, struct flow_key *key)
{
	struct tl_encap encap;

	tl_encap_parse(frame, len, &encap);
	if (!read_innermost(frame, &encap, key))
		return 0;
	uint64_t print = print_of(h, key), id = encap.network_id;
	print = id != 0 ? fold(print ^ h->key[0], id ^ h->key[1]) : print;
	return print != 0 ? print : 1;
}

static __attribute__((noinline)) void identify_inner(
	const struct tl_flow_table *t, const uint8_t *frame, uint32_t len, struct tl_flow_id *out)
{
	struct flow_key key = {0};
	uint64_t print = print_innermost(&t->hash, frame, len, &key);

	if (print != 0)
		publish(t, print, &key, out);
}

static inline uint16_t xor_words(const struct flow_key *key)
{
	uint64_t x = key->src.addr[0] ^ key->src.addr[1] ^ key->dst.addr[0] ^ key->dst.addr[1];

	x ^= x >> 32;
	return (uint16_t)(tl_be16((uint16_t)(x ^ x >> 16)) ^ key->src.port ^ key->dst.port);
}

static __attribute__((noinline)) uint64_t hash_inner(
	const struct tl_flow_hash *h, const uint8_t *frame, uint32_t len, uint16_t *words)
{
	struct flow_key key = {0};
	struct tl_encap encap;

	tl_encap_parse(frame, len, &encap);
	if (encap.tunnels == 0 || !read_innermost(frame, &encap, &key))
		return 0;
	uint64_t print = print_of(h, &key);
	*words = xor_words(&key);
	return print != 0 ? print : 1;
}

__attribute__((flatten)) uint64_t tl_flow_inner_hash(
	const struct tl_flow_hash *h, const uint8_t *frame, uint32_t len, uint16_t *words)
{
	static const uint64_t tunnels = TL_ENCAP_UDP_PORTS;
	struct rest r = {.at = frame, .len = len};
	struct flow_key key = {0};

	return TL_LIKELY(read_key(&r, &tunnels, &key)) ? 0 : hash_inner(h, frame, len, words);
}

// Flattened into one function: that of plain frames shares nothing with that of tunnels.
__attribute__((flatten)) void tl_flow_identify(
	const struct tl_flow_table *t, const uint8_t *frame, uint32_t len, struct tl_flow_id *out)
{
	struct rest r = {.at = frame, .len = len};
	struct flow_key key = {0};

	*out = (struct tl_flow_id){0};
	if (TL_LIKELY(read_key(&r, &t->tunnels, &key)))
		publish(t, print_of(&t->hash, &key), &key, out);
	else if (t->tunnels != 0)
		identify_inner(t, frame, len, out);
}

static __attribute__((noinline)) uint64_t print_inner(const struct tl_flow_hash *h, const uint8_t *frame, uint32_t len)
{
	struct flow_key key = {0};

	return print_innermost(h, frame, len, &key);
}

__attribute__((flatten)) uint64_t tl_flow_print(
	const struct tl_flow_hash *h, bool inner, const uint8_t *frame, uint32_t len)
{
	const uint64_t tunnels = inner ? TL_ENCAP_UDP_PORTS : 0;
	struct rest r = {.at = frame, .len = len};
	struct flow_key key = {0};

	if (TL_UNLIKELY(!read_key(&r, &tunnels, &key)))
		return inner ? print_inner(h, frame, len) : 0;
	uint64_t print = print_of(h, &key);
	return print != 0 ? print : 1;
}

// Hash the source of a packet of this EtherType in a network (VNI, VSID).
static inline uint64_t print_source(const struct tl_flow_hash *h, const struct rest *r, uint16_t type, uint32_t network)
{
	uint64_t addr[2] = {0}, print;

	if (type == TL_ETHERTYPE_IPV4 && r->len >= TL_IPV4_LEN && r->at[0] >> 4 == 4)
		addr[0] = ((const struct tl_ipv4_hdr *)(const void *)r->at)->src_be;
	else if (type == TL_ETHERTYPE_IPV6 && r->len >= TL_IPV6_LEN && r->at[0] >> 4 == 6)
		memcpy(addr, r->at + 8, sizeof(addr));
	else
		return 0;
	print = fold(addr[0] ^ h->key[0], addr[1] ^ h->key[1]);
	print = fold(print ^ h->key[4], ((uint64_t)network << 16 | type) ^ h->key[5]);
	return print != 0 ? print : 1;
}

uint64_t tl_flow_source_print(const struct tl_flow_hash *h, bool inner, const uint8_t *frame, uint32_t len)
{
	struct rest r = {.at = frame, .len = len};
	struct flow_key key = {0};
	struct tl_encap encap;

	if (!inner) {
		uint16_t type = read_ethernet(&r, &key);
		return print_source(h, &r, type, 0);
	}
	tl_encap_parse(frame, len, &encap);
	r = (struct rest){.at = frame + encap.network_off, .len = encap.end - encap.network_off};
	return print_source(h, &r, encap.ethertype, encap.network_id);
}
