// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_show: the result of `bench overhead`, as text tables and as JSON.

#include <stdio.h>

#include <jansson.h>

#include "bench_overhead.h"

int tl_bench_print(const struct tl_bench_result *result, FILE *out); // return 0 or -EIO

// Return a new object with order, outside, wire_to_poll and each view; NULL: out of memory.
json_t *tl_bench_json(const struct tl_bench_result *result);
