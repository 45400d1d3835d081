// SPDX-License-Identifier: BSD-3-Clause
// Lookup and reference counting of IPv6 addresses.

#include <tl_base.h>
#include <tl_ip6_book.h>

// Hash by the product of both keyed halves; an attacker knows neither key.
static uint32_t *bucket_of(const struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint64_t word[2];

	memcpy(word, ip, sizeof(word));
	unsigned __int128 product = (unsigned __int128)(word[0] ^ book->seed[0]) * (word[1] ^ book->seed[1]);
	uint64_t h = ((uint64_t)product ^ (uint64_t)(product >> 64)) * UINT64_C(0x9e3779b97f4a7c15);
	return &book->bucket[(h >> 32) & book->bucket_mask];
}

static uint32_t number_for(const struct tl_ip6 *ip, uint32_t index)
{
	uint32_t kind = TL_IP6_HOST;

	if (tl_ip6_is_mcast(ip))
		kind = TL_IP6_GROUP;
	else if (tl_ip6_is_link_local(ip))
		kind = TL_IP6_LINK_LOCAL;
	return index << 8 | kind;
}

static uint32_t find_index(const struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint32_t i = *bucket_of(book, ip);

	while (i != 0 && !tl_ip6_equal(&book->entry[i].ip, ip))
		i = book->entry[i].next;
	return i;
}

uint32_t tl_ip6_find(const struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint32_t i = find_index(book, ip);

	return i != 0 ? number_for(ip, i) : 0;
}

// ---- queue of unreferenced entries

static void take_out(struct tl_ip6_book *book, uint32_t i)
{
	struct tl_ip6_entry *e = &book->entry[i];

	book->entry[e->older].newer = e->newer;
	book->entry[e->newer].older = e->older;
}

static void put_last(struct tl_ip6_book *book, uint32_t i)
{
	struct tl_ip6_entry *head = &book->entry[0], *e = &book->entry[i];

	e->older = head->older;
	e->newer = 0;
	book->entry[e->older].newer = i;
	head->older = i;
}

static void forget(struct tl_ip6_book *book, uint32_t i)
{
	uint32_t *link = bucket_of(book, &book->entry[i].ip);

	while (*link != i && *link != 0)
		link = &book->entry[*link].next;
	if (*link == i) // otherwise it never had an address
		*link = book->entry[i].next;
}

uint32_t tl_ip6_number(struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint32_t i = find_index(book, ip);

	if (TL_LIKELY(i != 0 && book->entry[i].refs != 0))
		return number_for(ip, i);
	if (i == 0) {
		i = book->entry[0].newer;
		if (i == 0)
			return 0;
		uint32_t *bucket = bucket_of(book, ip);
		forget(book, i);
		book->entry[i].ip = *ip;
		book->entry[i].next = *bucket;
		*bucket = i;
	}
	take_out(book, i);
	put_last(book, i);
	return number_for(ip, i);
}

void tl_ip6_ref(struct tl_ip6_book *book, uint32_t number_be)
{
	if (book->entry[number_be >> 8].refs++ == 0)
		take_out(book, number_be >> 8);
}

void tl_ip6_unref(struct tl_ip6_book *book, uint32_t number_be)
{
	if (--book->entry[number_be >> 8].refs == 0)
		put_last(book, number_be >> 8);
}
