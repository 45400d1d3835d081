// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Parts of an appliance, shared by its construction and its run.

#include <signal.h>

#include <tl_capture.h>
#include <tl_clock.h>
#include <tl_config.h>
#include <tl_ctl.h>
#include <tl_echo.h>
#include <tl_err.h>
#include <tl_guard.h>
#include <tl_inner.h>
#include <tl_lcore.h>
#include <tl_metrics.h>
#include <tl_port.h>
#include <tl_timesync.h>

#include "appliance.h"
#include "disk_shares.h"
#include "flow_rules.h"
#include "plan.h"
#include "replays.h"
#include "shaping.h"

// control.c. Fill *out with the handled signals: SIGINT and SIGTERM end an appliance, SIGHUP rotates its recordings,
// SIGUSR1 is a trigger.
void tl_appliance_signals(sigset_t *out);
// Perform the action of a signal. Return true if it ends the appliance.
bool tl_appliance_signal(struct tl_appliance *appliance, int number);
// Answer a command from the control socket (tl_ctl_answer_fn).
char *tl_appliance_answer(void *appliance, const struct tl_ctl_request *request);

// guard.c. Restrict the process to the files and system calls of this appliance, unless switched off. Call before its
// threads start.
int tl_appliance_restrict(struct tl_appliance *appliance, struct tl_err *err);
// Drop the capabilities after the ports are open.
int tl_appliance_drop(struct tl_appliance *appliance, struct tl_err *err);
// Write the restrictions in force into the snapshot.
void tl_appliance_describe(const struct tl_appliance *appliance, struct tl_snapshot *out);

// Watchdog interval of the service manager, and time of the last notification.
struct tl_watchdog {
	uint64_t every_ns; // notification interval; 0: no watchdog
	uint64_t next_ns;
	uint64_t beats[TL_PLACE_LCORES_MAX];
};

struct tl_appliance {
	const struct tl_config *config;
	struct tl_appliance_opts opts;
	struct tl_plan plan;
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_port *ports[TL_CONFIG_PORTS_MAX];
	struct tl_flow_rules *rules[TL_CONFIG_PORTS_MAX];
	struct tl_steer *steers[TL_CONFIG_PORTS_MAX];	 // NULL: one lcore owns all echoes of this port
	struct tl_inner *inners[TL_CONFIG_PORTS_MAX];	 // NULL: frames are recorded where they arrive
	struct tl_echo_host *hosts[TL_PLACE_LCORES_MAX]; // by lcore; NULL: no echo on this lcore's port
	uint32_t echo_index[TL_CONFIG_ECHOES_MAX];	 // index of a configured echo within its host
	struct tl_shaping *shapes[TL_CONFIG_SHAPES_MAX];
	struct tl_shaping_shares shares;
	struct tl_capture *captures[TL_CONFIG_CAPTURES_MAX];
	struct tl_disk_shares *disk_shares;
	struct tl_replays *replays;
	struct tl_timesync *syncs[TL_CONFIG_PORTS_MAX]; // NULL: the port's NIC stamps no PTP frames
	struct tl_lcore *lcores[TL_PLACE_LCORES_MAX];
	uint32_t n_running;				    // number of started lcores, counted from the first
	struct tl_outliers *outliers[TL_CONFIG_ECHOES_MAX]; // NULL: no outlier log for this echo
	gid_t operators;				    // group of the control socket
	struct tl_ctl *ctl;
	struct tl_guard_state guard;
	struct tl_watchdog watchdog;
	struct tl_metrics metrics;
	struct tl_snapshot snapshot;		     // latest snapshot
	uint64_t drops_seen[TL_CONFIG_CAPTURES_MAX]; // drops of the recording and its port at the last check
};
