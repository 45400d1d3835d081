// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_list: lists of a benchmark's command line, separated by commas.
// Threads: any; pure functions.

#include <stdbool.h>
#include <stdint.h>

#define TL_BENCH_SIZES_MAX 8

// Parse "60,512" into sizes. Return 0, -EINVAL or -ERANGE.
int tl_bench_sizes(const char *text, uint64_t min, uint64_t max, uint32_t sizes[TL_BENCH_SIZES_MAX], uint32_t *n);

// Check whether the list has the name; an absent list (NULL) has all.
bool tl_bench_lists(const char *names, const char *name);

// Check whether every entry of the list is one of n names.
bool tl_bench_known(const char *names, const char *const known[], unsigned n);
