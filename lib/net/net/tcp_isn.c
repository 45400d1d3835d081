// SPDX-License-Identifier: BSD-3-Clause
// Unpredictable numbers: initial sequence numbers (RFC 6528), and the keyed hash for local ports, timestamps and
// cookies.

#include <string.h>

#include "tcp_secret.h"
#include "tcp_table.h"

#define ISN_CLOCK_NS 4000

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], unsigned rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void sip_absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

// SipHash-2-4 (Aumasson, Bernstein 2012) of one 64-bit word.
uint64_t tl_tcp_hash(const uint64_t key[2], uint64_t word)
{
	uint64_t v[4] = {
		key[0] ^ UINT64_C(0x736f6d6570736575),
		key[1] ^ UINT64_C(0x646f72616e646f6d),
		key[0] ^ UINT64_C(0x6c7967656e657261),
		key[1] ^ UINT64_C(0x7465646279746573),
	};

	sip_absorb(v, word);
	sip_absorb(v, UINT64_C(8) << 56); // the length, in the last byte
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// Hash the IPv6 address itself: its number may be reassigned to another address.
uint64_t tl_tcp_hash_key(const struct tl_net *net, const uint64_t secret[2], struct tl_tcp_key key)
{
	uint64_t word[2];

	if (!tl_ip_is6(key.peer_be))
		return tl_tcp_hash(secret, tl_tcp_key_word(key));
	memcpy(word, tl_ip6_of(&net->ip6->book, key.peer_be), sizeof(word));
	uint64_t ports = tl_tcp_hash(secret, tl_tcp_key_ports(key));
	return tl_tcp_hash(secret, tl_tcp_hash(secret, ports ^ word[0]) ^ word[1]);
}

// Our address is constant per net, so the key replaces it.
uint32_t tl_tcp_isn(struct tl_net *net, struct tl_tcp_key key)
{
	if (net->tcp->isn_fixed)
		return net->tcp->isn_next;
	return (uint32_t)(tl_tcp_hash_key(net, net->tcp->secrets.isn, key) + net->now_ns / ISN_CLOCK_NS);
}
