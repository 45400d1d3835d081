// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// echo_latency: what an echo measured of its messages, as the report that all who measure latency make.
//
// Threads: main, after the lcores have returned. Memory: the report is the caller's (tl_latency_destroy).

#include <tl_latency.h>
#include <tl_metrics.h>

// Method "software": the residence, by the time stamp counter. row: of the last snapshot. NULL: no memory.
struct tl_latency *tl_echo_latency(const struct tl_metrics_echo *echo, const struct tl_report_echo *row);
