// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ip6_book: numbers for IPv6 addresses. The stack identifies hosts and groups by 32 bits, as in IPv4; the book maps
// such numbers to IPv6 addresses. A number lies in a range that is invalid as an IPv4 source (240.0.0.0/4, RFC 1112
// section 4), and its first byte gives its kind, so the same predicates apply to both families:
//
//   f0 host | f1 group | f2 link-local host, then the entry's index in 24 bits
//
// An entry lives while it is referenced, and then until its slot is needed: the least recently used is reused first.
//
// Threads: one at a time. Memory: the caller's, tl_ip6_book_bytes() of it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_units.h>

#define TL_IP6_BOOK_MAX (UINT32_C(1) << 24)

enum {
	TL_IP6_HOST = 0xf0,
	TL_IP6_GROUP = 0xf1,
	TL_IP6_LINK_LOCAL = 0xf2,
};

struct tl_ip6_entry {
	struct tl_ip6 ip;
	uint32_t next;	       // next in its bucket
	uint32_t refs;	       // 0: in the queue of unreferenced entries
	uint32_t older, newer; // links of that queue
};

struct tl_ip6_book {
	struct tl_ip6_entry *entry; // [0] is the head of the queue, without an address
	uint32_t *bucket;
	uint32_t n, bucket_mask;
	uint64_t seed[2];
};

// Size of a book for n referenced addresses; n < TL_IP6_BOOK_MAX.
size_t tl_ip6_book_bytes(uint32_t n);
void tl_ip6_book_init(struct tl_ip6_book *book, void *memory, uint32_t n, const uint64_t seed[2]);

// HOT. Hash by the product of both keyed halves; an attacker knows neither key.
static inline uint32_t *tl_ip6_bucket(const struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint64_t word[2];

	memcpy(word, ip, sizeof(word));
	unsigned __int128 product = (unsigned __int128)(word[0] ^ book->seed[0]) * (word[1] ^ book->seed[1]);
	uint64_t h = ((uint64_t)product ^ (uint64_t)(product >> 64)) * UINT64_C(0x9e3779b97f4a7c15);
	return &book->bucket[(h >> 32) & book->bucket_mask];
}

// HOT. Index of the entry with that address; 0: none.
static inline uint32_t tl_ip6_index(const struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint32_t i = *tl_ip6_bucket(book, ip);

	while (i != 0 && !tl_ip6_equal(&book->entry[i].ip, ip))
		i = book->entry[i].next;
	return i;
}

// HOT. Number of the entry.
static inline uint32_t tl_ip6_number_at(const struct tl_ip6 *ip, uint32_t index)
{
	uint32_t kind = TL_IP6_HOST;

	if (tl_ip6_is_mcast(ip))
		kind = TL_IP6_GROUP;
	else if (tl_ip6_is_link_local(ip))
		kind = TL_IP6_LINK_LOCAL;
	return index << 8 | kind;
}

// HOT. Number of the address; 0: none.
static inline uint32_t tl_ip6_find(const struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint32_t i = tl_ip6_index(book, ip);

	return i != 0 ? tl_ip6_number_at(ip, i) : 0;
}

// HOT. Number of the address, assigned if needed. 0: every entry is referenced.
uint32_t tl_ip6_number(struct tl_ip6_book *book, const struct tl_ip6 *ip);

// HOT. Add a reference; release it.
void tl_ip6_ref(struct tl_ip6_book *book, uint32_t number_be);
void tl_ip6_unref(struct tl_ip6_book *book, uint32_t number_be);

// HOT. True for a number, false for an IPv4 address.
static inline bool tl_ip_is6(uint32_t ip_be)
{
	return (uint8_t)((uint8_t)ip_be - TL_IP6_HOST) <= TL_IP6_LINK_LOCAL - TL_IP6_HOST;
}

// HOT. True for a group of either family.
static inline bool tl_ip_is_mcast(uint32_t ip_be)
{
	return (ip_be & 0xf0) == 0xe0 || (uint8_t)ip_be == TL_IP6_GROUP;
}

// HOT. Address of a number.
static inline const struct tl_ip6 *tl_ip6_of(const struct tl_ip6_book *book, uint32_t number_be)
{
	return &book->entry[number_be >> 8].ip;
}
