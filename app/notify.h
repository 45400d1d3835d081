// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// notify: report the process state to the service manager by the protocol of sd_notify(3): datagrams of NAME=value
// lines to the socket named by $NOTIFY_SOCKET. Without the variable every call is a no-op.
//
// Threads: main. Memory: none.

#include <stdint.h>

#include <tl_base.h>

// Send one or more lines, such as "READY=1". Failures are silent: notification is best effort.
void tl_notify(const char *fmt, ...) TL_PRINTF(1, 2);

// Return the watchdog interval of the manager, in which it requires a WATCHDOG=1; 0: no watchdog
// (sd_watchdog_enabled(3)).
uint64_t tl_notify_watchdog_ns(void);
