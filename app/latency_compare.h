// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// `tapline latency --compare A.json B.json`: a call of its own behind the same command.

#include <stdbool.h>

#include <tl_options.h>

enum { TL_LATENCY_COMPARE_ID = 'C', TL_LATENCY_THRESHOLD_ID = 'T' };

#define TL_LATENCY_COMPARE_OPTION                                                                                      \
	{                                                                                                              \
		"compare", 0, NULL, "two reports, and say whether B is slower", TL_LATENCY_COMPARE_ID                  \
	}
#define TL_LATENCY_THRESHOLD_OPTION                                                                                    \
	{                                                                                                              \
		"threshold", 0, "T", "what is no matter: 50, 50ns, 1.5us, 2ms, or 5% of A (default 0)",                \
			TL_LATENCY_THRESHOLD_ID                                                                        \
	}

bool tl_latency_is_compare(int argc, char **argv);     // whether --compare is among the arguments
int tl_latency_compare_command(int argc, char **argv); // returns the exit status
