// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// text: strings that others chose, made safe for a terminal: names of files, and strings inside files.
//
// Threads: any. Memory: the caller's.

#include <tl_base.h>

#define TL_PRINTABLE_BYTES 1024u

// Copies text to buf, at most size - 1 bytes; each byte of a control character (C0, DEL, C1), and each byte that is not
// UTF-8, becomes "\xNN". Returns buf.
char *tl_printable(const char *text, char *buf, size_t size);

// The printable form of a text, valid to the end of the block that it is used in; NULL stays NULL.
#define TL_PRINTABLE(text) tl_printable((text), (char[TL_PRINTABLE_BYTES]){0}, TL_PRINTABLE_BYTES)
