// SPDX-License-Identifier: BSD-3-Clause
// Set-up of the book of IPv6 addresses.

#include <tl_ip6_book.h>

static uint32_t bucket_count(uint32_t n)
{
	uint32_t buckets = 16;

	while (buckets < n)
		buckets *= 2;
	return buckets;
}

size_t tl_ip6_book_bytes(uint32_t n)
{
	return (n + 1) * sizeof(struct tl_ip6_entry) + bucket_count(n) * sizeof(uint32_t);
}

void tl_ip6_book_init(struct tl_ip6_book *book, void *memory, uint32_t n, const uint64_t seed[2])
{
	uint32_t buckets = bucket_count(n);

	memset(memory, 0, tl_ip6_book_bytes(n));
	*book = (struct tl_ip6_book){
		.entry = memory,
		.bucket = (uint32_t *)((struct tl_ip6_entry *)memory + n + 1),
		.n = n,
		.bucket_mask = buckets - 1,
		.seed = {seed[0], seed[1]},
	};
	for (uint32_t i = 0; i <= n; i++) {
		book->entry[i].older = i == 0 ? n : i - 1;
		book->entry[i].newer = i == n ? 0 : i + 1;
	}
}
