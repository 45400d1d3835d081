// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Key of a connection within a net. Our own address is the net's and not part of it; the peer's is of either family,
// see tl_ip6_book.h.

#include <stdbool.h>
#include <stdint.h>

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

static inline uint32_t tl_tcp_key_ports(struct tl_tcp_key key)
{
	return (uint32_t)key.peer_port_be << 16 | key.own_port_be;
}

static inline bool tl_tcp_key_equal(struct tl_tcp_key a, struct tl_tcp_key b)
{
	return a.peer_be == b.peer_be && tl_tcp_key_ports(a) == tl_tcp_key_ports(b);
}

// HOT. Pair-multiply-shift (Thorup, "High Speed Hashing for Integers and Strings", 2015): strongly universal, so keys
// chosen without the seeds collide as rarely as random ones. One multiplication per two words.
static inline uint32_t tl_tcp_key_hash(const uint64_t seed[TL_TCP_KEY_SEEDS], struct tl_tcp_key key)
{
	return (uint32_t)(((seed[0] + tl_tcp_key_ports(key)) * (seed[1] + key.peer_be) + seed[2]) >> 32);
}

// The key as one word, for tl_tcp_hash().
static inline uint64_t tl_tcp_key_word(struct tl_tcp_key key)
{
	return (uint64_t)key.peer_be << 32 | tl_tcp_key_ports(key);
}
