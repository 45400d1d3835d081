// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_page: a self-contained page of bars, without scripts or anything from elsewhere, and a report in it.
// Threads: main.

#include <stdbool.h>

#include <jansson.h>

struct tl_err;

struct tl_bench_bar {
	const char *name;
	char what[48];		   // what was measured
	double value;		   // length
	char text[48], beside[48]; // its figure, and another one
	const char *refused;	   // in place of the bar; NULL: there is one
	bool noisy;
	const char *why; // sentence below the bar, or NULL
};

// Bars of one scale.
struct tl_bench_chart {
	char caption[800];
	struct tl_bench_bar *bars;
	unsigned n;
};

struct tl_bench_page {
	const char *title, *heading;
	const struct tl_bench_chart *charts;
	unsigned n;
};

// Write the page with the report for programs (the JSON with its manifest). Return 0, or -errno with a message in
// *err.
int tl_bench_page_save(const struct tl_bench_page *page, const json_t *report, const char *path, struct tl_err *err);
