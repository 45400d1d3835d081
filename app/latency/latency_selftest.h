// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_selftest: `tapline latency --self-test`: generates captures with known latencies, reads them like any other,
// and compares every pair and verdict with the truth: a separate call of the same command.

#include <stdbool.h>

#include <tl_options.h>

enum { TL_LATENCY_SELFTEST_ID = 'x', TL_LATENCY_SEEDS_ID = 'N', TL_LATENCY_SEED_ID = 'S', TL_LATENCY_KEEP_ID = 'K' };

#define TL_LATENCY_SEEDS_DEFAULT 1000
#define TL_LATENCY_SEEDS_TEXT "1000"

#define TL_LATENCY_SELFTEST_OPTION                                                                                     \
	{                                                                                                              \
		"self-test", 0, NULL,                                                                                  \
			"generate captures with known latencies, and compare every pair and verdict with the truth",   \
			TL_LATENCY_SELFTEST_ID                                                                         \
	}
#define TL_LATENCY_SEEDS_OPTION                                                                                        \
	{                                                                                                              \
		"seeds", 0, "N", "number of captures, 1 to 1000000 (default " TL_LATENCY_SEEDS_TEXT ")",               \
			TL_LATENCY_SEEDS_ID                                                                            \
	}
#define TL_LATENCY_SEED_OPTION                                                                                         \
	{                                                                                                              \
		"seed", 0, "S", "seed of the first capture (default 1), incremented for each next one",                \
			TL_LATENCY_SEED_ID                                                                             \
	}
#define TL_LATENCY_KEEP_OPTION                                                                                         \
	{                                                                                                              \
		"keep", 0, "DIR", "keep all files in DIR (default: only those of captures with differences)",          \
			TL_LATENCY_KEEP_ID, .choices = TL_CHOICES_DIRECTORY                                            \
	}

bool tl_latency_is_selftest(int argc, char **argv);	// true if --self-test is among the arguments
int tl_latency_selftest_command(int argc, char **argv); // return the exit status
