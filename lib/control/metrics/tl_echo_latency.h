// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// echo_latency: latency report of an echo.
//
// Threads: main, after the lcores have returned. Memory: the report is the caller's (tl_latency_destroy).

#include <tl_latency.h>
#include <tl_metrics.h>

// Create a report with method "software": the residence time by the TSC. row: of the last snapshot. NULL: out of
// memory.
struct tl_latency *tl_echo_latency(const struct tl_metrics_echo *echo, const struct tl_report_echo *row);
