// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// report, internal: tables of counters from which the JSON, the text and the identities are generated.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_report.h>

// Role of a counter in its row's identity: whole = sum of its parts.
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
extern const struct tl_report_table tl_report_handoff_table; // rows: struct tl_ledger_handoff
extern const struct tl_report_table tl_report_inner_table;   // rows: struct tl_ledger_inner
extern const struct tl_report_table tl_report_probe_table;   // rows: struct tl_report_probes
extern const struct tl_report_table tl_report_ptp_table;     // rows: struct tl_report_ptp_received
extern const struct tl_report_table tl_report_reply_table;   // rows: struct tl_report_replies
extern const struct tl_report_table tl_report_flow_table;    // rows: struct tl_ledger_flow
extern const struct tl_report_table tl_report_police_table;  // rows: struct tl_report_police
extern const struct tl_report_table tl_report_echo_table;    // rows: struct tl_report_echo
extern const struct tl_report_table tl_report_class_table;   // rows: struct tl_report_class
extern const struct tl_report_table tl_report_hist_table;    // rows: struct tl_hist_summary, without the mean

uint64_t tl_report_value(const struct tl_report_counter *counter, const void *row);

// Return whole minus parts: 0 if the identity holds, positive if some are unaccounted for.
int64_t tl_report_unaccounted(const struct tl_report_table *table, const void *row);

// Return the sum of the counters named drop_*.
uint64_t tl_report_drops(const struct tl_report_table *table, const void *row);

// Merge both directions of a recording into one row.
struct tl_ledger_flow tl_report_total(const struct tl_report_capture *capture);

// Check the identity of one row. Before the end (final false) a row may lack items still in transit.
bool tl_report_port_ok(const struct tl_report_port *port, bool final);
bool tl_report_ptp_ok(const struct tl_report_ptp *ptp, bool final); // part of the port's
bool tl_report_capture_ok(const struct tl_report_capture *capture, bool final);
bool tl_report_echo_ok(const struct tl_report_echo *echo, bool final);

// police.c: part of the recording's.
bool tl_report_police_ok(const struct tl_report_capture *capture, bool final);
json_t *tl_report_police_json(const struct tl_report_capture *capture);
void tl_report_police_text(FILE *out, const struct tl_report_capture *capture, bool final);

// text.c: "12,345,678"
#define TL_REPORT_GROUPED 32 // "18,446,744,073,709,551,615" and its NUL
const char *tl_report_grouped(uint64_t value, char buf[TL_REPORT_GROUPED]);
