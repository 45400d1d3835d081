// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_order: in which order the variants of a benchmark run, so that none gains by what ran before it.
//
// A Williams design (E. J. Williams, "Experimental designs balanced for the estimation of residual effects of
// treatments", 1949): of n variants, n rounds for an even n and 2 n for an odd one are a square. In a square each
// variant stands at each place of a round equally often, and follows each other one in a round equally often. What runs
// at the end of one round and at the beginning of the next is not balanced.
//
// Threads: any; pure functions.

#include <stdbool.h>

// Rounds of one square of n variants, n >= 2.
unsigned tl_bench_order_square(unsigned n);

// The variant, from 0, at a place below n of a round, from 0; the square begins anew after its last round.
unsigned tl_bench_order_at(unsigned n, unsigned round, unsigned place);

// The least whole number of squares that has so many rounds or more.
unsigned tl_bench_order_balanced(unsigned n, unsigned rounds);
