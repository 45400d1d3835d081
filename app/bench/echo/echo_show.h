// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// echo_show: the result of `bench echo` as a table with explanations, as JSON and as a page.

#include <stdio.h>

#include <jansson.h>

#include "bench_echo.h"

int tl_bench_echo_print(const struct tl_bench_echo_result *result, FILE *out); // return 0 or -EIO

// Return a new object with host and rungs; NULL: out of memory.
json_t *tl_bench_echo_json(const struct tl_bench_echo_result *result);

// Write a self-contained page with bars, and the report (the JSON with its manifest) in it. Return 0, or -errno with a
// message in *err.
int tl_bench_echo_html(
	const struct tl_bench_echo_result *result, const json_t *report, const char *path, struct tl_err *err);
