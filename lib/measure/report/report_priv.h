// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// report, inside: the tables of counters that the JSON, the text and the identities are all made from.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_report.h>

// What a counter is in its row's identity: whole = the sum of its parts.
enum tl_report_role { TL_REPORT_ASIDE, TL_REPORT_WHOLE, TL_REPORT_PART };

struct tl_report_counter {
	const char *name;
	size_t offset; // of the uint64_t in its row
	enum tl_report_role role;
};

struct tl_report_table {
	const struct tl_report_counter *counters;
	size_t n;
};

extern const struct tl_report_table tl_report_port_table;    // rows: struct tl_report_port
extern const struct tl_report_table tl_report_handoff_table; // rows: struct tl_report_handoff
extern const struct tl_report_table tl_report_probe_table;   // rows: struct tl_report_probes
extern const struct tl_report_table tl_report_ptp_table;     // rows: struct tl_report_ptp_received
extern const struct tl_report_table tl_report_reply_table;   // rows: struct tl_report_replies
extern const struct tl_report_table tl_report_flow_table;    // rows: struct tl_report_flow
extern const struct tl_report_table tl_report_echo_table;    // rows: struct tl_report_echo
extern const struct tl_report_table tl_report_hist_table;    // rows: struct tl_hist_summary, the mean left out

uint64_t tl_report_value(const struct tl_report_counter *counter, const void *row);

// Whole minus parts: 0 where the identity holds, positive where something is unaccounted for.
int64_t tl_report_unaccounted(const struct tl_report_table *table, const void *row);

// Sum of the counters called drop_*.
uint64_t tl_report_drops(const struct tl_report_table *table, const void *row);

// Both directions of a recording in one row.
struct tl_report_flow tl_report_total(const struct tl_report_capture *capture);

// The identity of one row. Before the end (final false) a row may be short of what is still under way.
bool tl_report_port_ok(const struct tl_report_port *port, bool final);
bool tl_report_ptp_ok(const struct tl_report_ptp *ptp, bool final); // part of the port's
bool tl_report_capture_ok(const struct tl_report_capture *capture, bool final);
bool tl_report_echo_ok(const struct tl_report_echo *echo, bool final);
