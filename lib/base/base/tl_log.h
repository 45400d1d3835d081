// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// log: one line on stderr, "tapline: [warning: |error: ]text", escaped as tl_printable() does. stdout belongs to
// results.
//
// Threads: any but an RX lcore in its loop (a log is a system call). Memory: none.

#include <tl_base.h>

void tl_info(const char *fmt, ...) TL_PRINTF(1, 2);
void tl_warn(const char *fmt, ...) TL_PRINTF(1, 2);
void tl_error(const char *fmt, ...) TL_PRINTF(1, 2);
