// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// outliers: main's side of an echo's outliers: copies them from the lcore, and adds the kernel counters of its CPU
// since the last look.
//
// Threads: main only. Memory: create/destroy; the echo's host and the lcore are borrowed for life.

#include <stdint.h>

#include <tl_echo.h>
#include <tl_lcore.h>
#include <tl_report_stages.h>

struct tl_outliers;

struct tl_outliers_cfg {
	const struct tl_tail *tail; // tail of an echo
	const struct tl_lcore *lcore;
	const struct tl_clock *clock;
	unsigned cpu; // CPU of the lcore
};

// Return NULL if out of memory.
struct tl_outliers *tl_outliers_create(const struct tl_outliers_cfg *cfg);
void tl_outliers_destroy(struct tl_outliers *outliers);

// Call it every few milliseconds: reads the kernel's counters when there are new outliers, and once a second.
void tl_outliers_look(struct tl_outliers *outliers);

// List the latest outliers, the oldest first; valid until the next call.
void tl_outliers_list(struct tl_outliers *outliers, struct tl_report_stages *out);
