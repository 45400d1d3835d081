// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// json: detects JSON that is incomplete after an allocation failure. jansson's builders omit such a part and continue;
// a built value is therefore checked once, before it is output.
//
// Threads: any; each counts its own failures. Memory: none is kept.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_base.h>

// Make jansson allocate through this module. First in main(), before any JSON is built.
void tl_json_init(void);

// Check a value before output. Return 0; or -ENOMEM: value is NULL, or an allocation of jansson has failed in this
// thread since the last check.
int tl_json_check(const json_t *value);

// Create a string from foreign text, which may be any bytes: if it is not UTF-8, '?' replaces each byte that is not
// ASCII. The null of JSON, if text is NULL. NULL without memory.
json_t *tl_json_string(const char *text);

// Create an integer, at most INT64_MAX: most readers have signed ones.
json_t *tl_json_number(uint64_t value);

// Create the same, or the null of JSON for an unknown value.
json_t *tl_json_number_if(bool known, uint64_t value);

// Add each of n counters to the object, under its name.
void tl_json_put_counters(json_t *object, const struct tl_counter *rows, size_t n);

// Convert the value to text (malloc'd, the caller frees), with jansson's flags; NULL: it is incomplete, or out of
// memory. Only ASCII is not escaped: a terminal may obey the control characters of C1.
char *tl_json_text(const json_t *value, size_t flags);

// Write a page with the value in place of "@REPORT@", inside of <script>; with jansson's flags.
// Return 0, -ENOMEM or -EIO.
int tl_json_page(const char *page, size_t page_bytes, const json_t *value, size_t flags, FILE *out);
