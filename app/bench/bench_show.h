// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_show: the result of `bench overhead`, as tables for people and as JSON.

#include <stdio.h>

#include <jansson.h>

#include "bench_overhead.h"

int tl_bench_print(const struct tl_bench_result *result, FILE *out); // 0 or -EIO

// A new object with order, outside, wire_to_poll and each view, or NULL without memory.
json_t *tl_bench_json(const struct tl_bench_result *result);
