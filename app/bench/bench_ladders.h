// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_ladders: `bench rx`, `bench echo` and `bench qualify`, from the configuration to the exit status.
// Threads: main.

#include <stdbool.h>

#include <jansson.h>

struct tl_bench_rx_cfg;
struct tl_bench_echo_cfg;
struct tl_qualify_cfg;

// Requested output.
struct tl_bench_output {
	bool json;		// in place of text
	const char *html;	// NULL: no page
	const json_t *manifest; // NULL: out of memory
};

// Run, and show the result. Return the exit status.
int tl_bench_rx_main(const struct tl_bench_rx_cfg *cfg, const struct tl_bench_output *output);
int tl_bench_echo_main(const struct tl_bench_echo_cfg *cfg, const struct tl_bench_output *output);
int tl_qualify_main(const struct tl_qualify_cfg *cfg, const struct tl_bench_output *output); // no page
