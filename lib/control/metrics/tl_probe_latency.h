// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// probe_latency: latency reports of a port whose NIC stamps sent frames, by PTP probes and by its replies.
//
// Threads: main, after tl_timesync_end(). Memory: the report is the caller's (tl_latency_destroy).

#include <tl_latency.h>
#include <tl_timesync.h>

// Create a report with method "probe": from the call of tx_burst, by the TSC, to the wire, by the NIC. Received PTP
// frames give a stage from the wire to the poll. NULL: out of memory.
struct tl_latency *tl_probe_latency(const struct tl_timesync *sync, const char *port);

// Create a report of stamped replies, from the trigger's arrival to the departure by the NIC. Method "rx-tx" if the NIC
// stamped the trigger, too: from wire to wire; else "software": from the return of the poll. The parts are stages.
// NULL: out of memory.
struct tl_latency *tl_reply_latency(const struct tl_timesync *sync, const char *port); // with tl_timesync_replies()
