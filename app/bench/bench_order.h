// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_order: the order of variants in a benchmark, balanced against carry-over from the variant before.
//
// A Williams design (E. J. Williams, "Experimental designs balanced for the estimation of residual effects of
// treatments", 1949): for n variants, n rounds for an even n and 2 n for an odd one form a square. In a square each
// variant occurs at each position of a round equally often, and follows each other one in a round equally often. The
// transition from the end of one round to the beginning of the next is not balanced.
//
// Threads: any; pure functions.

#include <stdbool.h>

// Return the number of rounds of one square of n variants, n >= 2.
unsigned tl_bench_order_square(unsigned n);

// Return the variant, from 0, at a position below n of a round, from 0; the square repeats after its last round.
unsigned tl_bench_order_at(unsigned n, unsigned round, unsigned place);

// Return the number of rounds of the fewest whole squares with at least this number of rounds.
unsigned tl_bench_order_balanced(unsigned n, unsigned rounds);
