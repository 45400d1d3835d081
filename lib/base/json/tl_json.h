// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// json: tells when JSON that was built lacks a part for want of memory. jansson's builders leave such a part out and go
// on; so what is built is checked once, before it is shown.
//
// Threads: any; each knows of its own failures. Memory: none is kept.

#include <jansson.h>

// Have jansson allocate through this module. First in main(), before any JSON is made.
void tl_json_init(void);

// Check a value before it is shown. Returns 0; or -ENOMEM: value is NULL, or jansson has got no memory in this thread
// since the last check.
int tl_json_check(const json_t *value);

// A new string of text that others chose, which may be any bytes: where it is not UTF-8, '?' stands for each byte that
// is not ASCII. NULL without memory.
json_t *tl_json_string(const char *text);

// Returns the value as text (malloc'd, the caller frees), with jansson's flags; NULL: it is not whole, or there is no
// memory for the text.
char *tl_json_text(const json_t *value, size_t flags);
