// SPDX-License-Identifier: BSD-3-Clause
// Lookup and reference counting of IPv6 addresses.

#include <tl_ip6_book.h>

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
	uint32_t *link = tl_ip6_bucket(book, &book->entry[i].ip);

	while (*link != i && *link != 0)
		link = &book->entry[*link].next;
	if (*link == i) // otherwise it never had an address
		*link = book->entry[i].next;
}

uint32_t tl_ip6_number(struct tl_ip6_book *book, const struct tl_ip6 *ip)
{
	uint32_t i = tl_ip6_index(book, ip);

	if (TL_LIKELY(i != 0 && book->entry[i].refs != 0))
		return tl_ip6_number_at(ip, i);
	if (i == 0) {
		i = book->entry[0].newer;
		if (i == 0)
			return 0;
		uint32_t *bucket = tl_ip6_bucket(book, ip);
		forget(book, i);
		book->entry[i].ip = *ip;
		book->entry[i].next = *bucket;
		*bucket = i;
	}
	take_out(book, i);
	put_last(book, i);
	return tl_ip6_number_at(ip, i);
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
