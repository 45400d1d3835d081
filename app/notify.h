// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// notify: tells the service manager how it goes, by the protocol of sd_notify(3): datagrams of NAME=value lines to the
// socket that $NOTIFY_SOCKET names. Without one, nothing is said.
//
// Threads: main. Memory: none.

#include <stdint.h>

#include <tl_base.h>

// One line or several, such as "READY=1". Failures are silent: who is not listening need not know.
void tl_notify(const char *fmt, ...) TL_PRINTF(1, 2);

// How often the manager wants WATCHDOG=1 at least; 0: it does not (sd_watchdog_enabled(3)).
uint64_t tl_notify_watchdog_ns(void);
