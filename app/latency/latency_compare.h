// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_compare: `tapline latency --compare A.json B.json`, or A1.json A2.json -- B1.json B2.json: a separate call of
// the same command.

#include <stdbool.h>

#include <tl_options.h>

enum { TL_LATENCY_COMPARE_ID = 'C', TL_LATENCY_THRESHOLD_ID = 'T', TL_LATENCY_FORCE_ID = 'F' };

#define TL_LATENCY_COMPARE_OPTION                                                                                      \
	{                                                                                                              \
		"compare", 0, NULL, "compare two reports, or several runs of each: is B slower?",                      \
			TL_LATENCY_COMPARE_ID                                                                          \
	}
#define TL_LATENCY_THRESHOLD_OPTION                                                                                    \
	{                                                                                                              \
		"threshold", 0, "T", "difference to ignore: 50, 50ns, 1.5us, 2ms, or 5% of A (default 0)",             \
			TL_LATENCY_THRESHOLD_ID                                                                        \
	}
#define TL_LATENCY_FORCE_OPTION                                                                                        \
	{                                                                                                              \
		"force", 0, NULL, "with --compare: accept reports that were measured differently", TL_LATENCY_FORCE_ID \
	}

bool tl_latency_is_compare(int argc, char **argv);     // true if --compare is among the arguments
int tl_latency_compare_command(int argc, char **argv); // return the exit status
