// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// top: two answers of a running appliance (tl_report_json) as a page of rates, and a page on a terminal. Pure: whatever
// the answers lack or have wrong shows as "-".
//
// Threads: any. Memory: the caller's.

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

// The page: per port, recording and echo what happened per second between the answers, by the appliance's own clock.
// before may be NULL: there are no rates then; nor where a counter went back, as that is another run of the appliance.
void tl_top_print(FILE *out, const json_t *before, const json_t *now);

// Puts the text where the last one was, cut to columns and rows; nothing on the terminal scrolls.
void tl_top_show(FILE *out, const char *text, unsigned columns, unsigned rows);
