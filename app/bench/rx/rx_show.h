// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// rx_show: the result of `bench rx` as a table with explanations, as JSON and as a page.

#include <stdio.h>

#include <jansson.h>

#include "bench_rx.h"

int tl_bench_rx_print(const struct tl_bench_rx_result *result, FILE *out); // return 0 or -EIO

// Return a new object with host and rungs; NULL: out of memory.
json_t *tl_bench_rx_json(const struct tl_bench_rx_result *result);

// Write a self-contained page with bars, and the report (the JSON with its manifest) in it. Return 0, or -errno with a
// message in *err.
int tl_bench_rx_html(
	const struct tl_bench_rx_result *result, const json_t *report, const char *path, struct tl_err *err);
