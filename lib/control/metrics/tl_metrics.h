// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// metrics: reads every counter of a running appliance into one snapshot.
//
// Threads: main only (it samples the ports). Memory: the caller's; the sources are borrowed.

#include <tl_base.h>
#include <tl_capture.h>
#include <tl_echo.h>
#include <tl_inner.h>
#include <tl_lcore.h>
#include <tl_outliers.h>
#include <tl_port.h>
#include <tl_report.h>
#include <tl_shape.h>
#include <tl_timesync.h>

struct tl_metrics_echo {
	const char *name;
	const char *mode; // static
	uint32_t queue;
	const struct tl_echo_host *host;
	uint32_t index; // within the host
	const struct tl_port *port;
	uint64_t outlier_ns, pace_bps;
	bool is_policed;
	struct tl_outliers *outliers;	// NULL: none are kept
	struct tl_report_stages stages; // stages in the last snapshot, which borrows them
};

struct tl_metrics_capture {
	struct tl_capture *capture;
	const char *port; // name
};

struct tl_metrics_shape {
	const char *name, *port;
	uint32_t queue;
	const struct tl_shape *shape;
	const struct tl_txq *txq;
	struct tl_report_class *rows; // n rows with names and rates; a snapshot updates the counters, and borrows them
	uint32_t n;
};

struct tl_metrics {
	uint64_t start_ns; // monotonic
	const struct tl_clock *clock;
	uint32_t n_ports, n_captures, n_echoes, n_shapes;
	struct tl_port *ports[TL_REPORT_PORTS];
	struct tl_steer *steers[TL_REPORT_PORTS];			     // NULL: none
	const struct tl_inner *inners[TL_REPORT_PORTS];			     // NULL: none
	const struct tl_timesync *syncs[TL_REPORT_PORTS];		     // NULL: none
	const struct tl_echo_host *hosts[TL_REPORT_PORTS][TL_REPORT_QUEUES]; // by port and queue; NULL: none
	const struct tl_lcore *lcores[TL_REPORT_PORTS][TL_REPORT_QUEUES];
	const char *roles[TL_REPORT_PORTS][TL_REPORT_QUEUES]; // static
	struct tl_metrics_capture *captures;
	struct tl_report_rule *rules[TL_REPORT_PORTS]; // n_rules rows as planned; a snapshot updates and borrows them
	uint32_t n_rules[TL_REPORT_PORTS];
	struct tl_metrics_echo *echoes;
	struct tl_report_capture *capture_rows; // of the last snapshot, which borrows them
	struct tl_report_echo *echo_rows;
	struct tl_metrics_shape shapes[TL_REPORT_SHAPES];
};

// Allocate captures and echoes, and their rows, for the numbers given. Return 0 or -ENOMEM; fini() follows both.
int tl_metrics_init(struct tl_metrics *metrics);
void tl_metrics_fini(struct tl_metrics *metrics);

// Read the counters of a shape into its rows, which *out borrows.
void tl_metrics_read_shape(const struct tl_metrics_shape *shape, struct tl_report_shape *out);

// final: the lcores have returned and the recordings are closed, so that every identity must hold.
void tl_metrics_snapshot(struct tl_metrics *metrics, bool final, struct tl_snapshot *out);

// Same at run time without the distributions, which take long to copy with many echoes.
void tl_metrics_count(struct tl_metrics *metrics, struct tl_snapshot *out);
