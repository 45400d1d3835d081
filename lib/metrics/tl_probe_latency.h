// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// probe_latency: what a port measured whose NIC stamps what it sends, by PTP probes and by its replies, as the report
// that all who measure latency make.
//
// Threads: main, after tl_timesync_end(). Memory: the report is the caller's (tl_latency_destroy).

#include <tl_latency.h>
#include <tl_timesync.h>

// Method "probe": from the call of tx_burst, by the time stamp counter, to the wire, by the NIC. The way from the wire
// to the poll, of received PTP frames, stands beside it as a stage. NULL: no memory.
struct tl_latency *tl_probe_latency(const struct tl_timesync *sync, const char *port);

// From each stamped reply's trigger to its leaving, by the NIC. Method "rx-tx" where the NIC has stamped the trigger,
// too: from wire to wire; else "software": from the return of the poll. The parts stand beside it as stages. NULL: no
// memory.
struct tl_latency *tl_reply_latency(const struct tl_timesync *sync, const char *port); // that has tl_timesync_replies()
