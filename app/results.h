// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// results: prints the results of a command. A command whose results cannot be printed has failed.
//
// Threads: main. Memory: none kept.

#include <stdio.h>

#include <jansson.h>

// Prints value, which is taken over, and a newline; nothing if it is NULL or lacks a part (tl_json_check()). Returns 0,
// or -errno after a line of log.
int tl_results_json(json_t *value, FILE *out);

// Hands over to the kernel what has been printed. Returns 0, or -errno after a line of log.
int tl_results_flush(FILE *out);
