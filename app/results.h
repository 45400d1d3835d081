// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// results: print the results of a command. An output error makes the command fail.
//
// Threads: main. Memory: none kept.

#include <stdio.h>

#include <jansson.h>

// Print value, which is taken over, and a newline; print nothing if it is NULL or incomplete (tl_json_check()). Return
// 0, or -errno after a log line.
int tl_results_json(json_t *value, FILE *out);

// Flush printed output to the kernel. Return 0, or -errno after a log line.
int tl_results_flush(FILE *out);
