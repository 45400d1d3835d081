// SPDX-License-Identifier: BSD-3-Clause
// Build Williams designs from their first row 0, 1, n - 1, 2, n - 2, ...

#include "bench_order.h"

unsigned tl_bench_order_square(unsigned n)
{
	return n % 2 == 0 ? n : 2 * n;
}

// Return an entry of the first row of the square. For even n the steps between neighbours all differ modulo n; for odd
// n each step occurs twice in one direction, and in the other when the row is read backwards.
static unsigned first_row(unsigned n, unsigned place)
{
	return place % 2 != 0 ? (place + 1) / 2 : n - place / 2;
}

unsigned tl_bench_order_at(unsigned n, unsigned round, unsigned place)
{
	unsigned row = round % tl_bench_order_square(n);

	if (row >= n)
		place = n - 1 - place;
	return (first_row(n, place) + row) % n;
}

unsigned tl_bench_order_balanced(unsigned n, unsigned rounds)
{
	unsigned square = tl_bench_order_square(n);

	return (rounds + square - 1) / square * square;
}
