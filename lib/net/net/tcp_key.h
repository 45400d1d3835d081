// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Key of a connection within a net. Our own address is the net's and not part of it; the peer's is of either family,
// see tl_ip6_book.h.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tl_wire.h>

struct tl_tcp_key {
	uint32_t peer_be;
	uint16_t peer_port_be;
	uint16_t own_port_be;
};

// Hash seeds: one per 32-bit word of the key, and one.
#define TL_TCP_KEY_SEEDS 3

static inline struct tl_tcp_key tl_tcp_key(uint32_t peer_be, uint16_t peer_port_be, uint16_t own_port_be)
{
	return (struct tl_tcp_key){.peer_be = peer_be, .peer_port_be = peer_port_be, .own_port_be = own_port_be};
}

// HOT. Key of a received segment: its address and ports are in the order of the key, so one load reads them.
static inline struct tl_tcp_key tl_tcp_key_of(const struct tl_pkt *pkt)
{
	struct tl_tcp_key key;
	_Static_assert(offsetof(struct tl_pkt, src_port_be) == offsetof(struct tl_pkt, src_be) + 4, "order of the key");
	_Static_assert(offsetof(struct tl_pkt, dst_port_be) == offsetof(struct tl_pkt, src_be) + 6, "order of the key");

	memcpy(&key, &pkt->src_be, sizeof(key));
	return key;
}

// The key in memory order, to compare and to hash.
static inline uint64_t tl_tcp_key_bits(struct tl_tcp_key key)
{
	uint64_t bits;
	_Static_assert(sizeof(bits) == sizeof(key), "no padding");

	memcpy(&bits, &key, sizeof(bits));
	return bits;
}

static inline bool tl_tcp_key_equal(struct tl_tcp_key a, struct tl_tcp_key b)
{
	return tl_tcp_key_bits(a) == tl_tcp_key_bits(b);
}

// HOT. Pair-multiply-shift (Thorup, "High Speed Hashing for Integers and Strings", 2015): strongly universal, so two
// keys chosen without the seeds collide as rarely as random ones. It is linear in the ports, so that consecutive ones
// can share a few buckets: its halves are multiplied.
static inline uint32_t tl_tcp_key_hash(const uint64_t seed[TL_TCP_KEY_SEEDS], struct tl_tcp_key key)
{
	uint64_t bits = tl_tcp_key_bits(key);

	uint64_t sum = (seed[0] + (bits >> 32)) * (seed[1] + (uint32_t)bits) + seed[2];

	return (uint32_t)(sum * (sum >> 32) >> 32);
}

// HOT. Both ports of a key, in memory order.
static inline uint32_t tl_tcp_key_ports_be(const struct tl_tcp_key *key)
{
	uint32_t ports_be;

	memcpy(&ports_be, &key->peer_port_be, sizeof(ports_be));
	return ports_be;
}

// HOT. Hash for a peer over IPv6: the folded product of both halves of its address, of which one is mixed with the
// ports. It is linear in none of them: consecutive addresses and ports collide as rarely as random ones.
static inline uint32_t tl_tcp_key_hash6(
	const uint64_t seed[TL_TCP_KEY_SEEDS], const struct tl_ip6 *peer, uint32_t ports_be)
{
	uint64_t a, b;

	memcpy(&a, peer->byte, sizeof(a));
	memcpy(&b, peer->byte + sizeof(a), sizeof(b));
	a ^= seed[0];
	b ^= seed[1] ^ ports_be * seed[2];
	uint64_t high = (uint64_t)(((unsigned __int128)a * b) >> 64);
	return (uint32_t)((high ^ a * b) >> 32);
}

static inline uint32_t tl_tcp_key_ports(struct tl_tcp_key key)
{
	return (uint32_t)key.peer_port_be << 16 | key.own_port_be;
}

// The key as one word, for tl_tcp_hash().
static inline uint64_t tl_tcp_key_word(struct tl_tcp_key key)
{
	return (uint64_t)key.peer_be << 32 | tl_tcp_key_ports(key);
}
