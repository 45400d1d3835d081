// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// top: formats two responses of a running appliance (tl_report_json) as a page of rates, and shows pages on a terminal.
// Pure: missing or invalid values show as "-".
//
// Threads: any. Memory: the caller's.

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

// Print the page: per port, recording and echo the rates between the responses, by the appliance's own clock. before
// may be NULL. Without it, or after a restart of the appliance (a counter decreased), there are no rates.
void tl_top_print(FILE *out, const json_t *before, const json_t *now);

// Replace the last page on the terminal, clipped to columns and rows; nothing scrolls.
void tl_top_show(FILE *out, const char *text, unsigned columns, unsigned rows);
