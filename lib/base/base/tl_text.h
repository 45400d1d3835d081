// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// text: escapes foreign strings for a terminal: file names, strings inside files.
//
// Threads: any. Memory: the caller's.

#include <tl_base.h>

#define TL_PRINTABLE_BYTES 1024u

// Copy text to buf, at most size - 1 bytes; each byte of a control character (C0, DEL, C1) or of invalid UTF-8 becomes
// "\xNN". Return buf.
char *tl_printable(const char *text, char *buf, size_t size);

// Printable form of a text, valid to the end of the enclosing block; NULL stays NULL.
#define TL_PRINTABLE(text) tl_printable((text), (char[TL_PRINTABLE_BYTES]){0}, TL_PRINTABLE_BYTES)
