// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_args: arguments of `tapline replay`.
//
// Threads: main. Memory: strings are borrowed from the process's arguments, the filter is stored inline.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_edit.h>
#include <tl_err.h>
#include <tl_replay.h>

#include "sessions.h"

#define TL_REPLAY_ANY_LCORE UINT64_MAX
#define TL_REPLAY_LATE_NS TL_NS_PER_MS // default of --max-late

enum tl_replay_timing {
	TL_REPLAY_TIMING_TSC,  // the lcore waits for due times
	TL_REPLAY_TIMING_NIC,  // NICs send frames at them
	TL_REPLAY_TIMING_AUTO, // NICs, if they can
};

struct tl_replay_args {
	char **words; // of tl_replay_playlist.h
	size_t n_words;
	bool merge;
	char filter[4096];		      // "": no filter
	const char *devices[TL_REPLAY_PORTS]; // NULL: no such port
	struct tl_replay_split split;	      // which of two ports sends a frame
	const char *split_text;		      // as given; NULL: one port
	struct tl_replay_pacing pacing;
	const char *timing_text; // --timing; NULL: not given
	enum tl_replay_timing timing;
	const char *underrun_text; // --on-underrun; NULL: not given
	bool wire_stamps;
	struct tl_edit edit;
	enum tl_replay_mtu mtu_action;
	struct tl_err wrong; // text of the last error
	const char *rate;    // NULL: no --rate; a share needs the line rate of the port
	uint64_t loops;
	uint64_t start_ns;    // ns since 1970; 0: at once
	uint64_t max_late_ns; // UINT64_MAX: no limit
	uint64_t mtu;
	uint64_t lcore;
	const char *shape;   // --shape; NULL: none
	const char *control; // path of the control socket; NULL: none
	bool has_mtu, one_by_one, take, json;
	int pace_option;   // the last one that sets the pacing; 0: none
	bool paces_differ; // several of them were given
	uint64_t now_ns;   // ns since 1970, when the call was parsed
	struct tl_sessions_args sessions;
};

// Parse a duration of at most 100 years such as "500ns", "20us", "1.5ms" or "2s". Return 0 or -EINVAL.
int tl_replay_parse_ns(const char *text, uint64_t *out_ns);

// Set the defaults, and the time of the call.
void tl_replay_args_init(struct tl_replay_args *args);

// Set an option by its key in the configuration: "line_rate"; value NULL for a switch. Return NULL, or an
// error text that is valid until the next call.
const char *tl_replay_set_key(struct tl_replay_args *args, const char *key, const char *value);

// Return the result of compiling a filter; if it failed and the first word looks like a path, tell that there is no
// file.
int tl_replay_explain_filter(const char *filter, int rc, struct tl_err *err);

// Check combinations of options. Return NULL, or an error text.
const char *tl_replay_check(const struct tl_replay_args *args);

// True with --on-underrun shift.
bool tl_replay_shifts(const struct tl_replay_args *args);

// Parse --timing, and check it against the others. Return NULL, or an error text.
const char *tl_replay_check_timing(struct tl_replay_args *args);

// As tl_start_dpdk() of start.h, without a second start if files has been read from a pipe.
int tl_replay_start_dpdk(const struct tl_eal_cfg *cfg, const struct tl_replay_playlist *files, struct tl_eal **eal,
	struct tl_clock **clock, struct tl_err *err);

// Wait for the link. False: it is down after 10 s. A stop request ends the wait, and afterwards the run.
bool tl_replay_await_link(struct tl_port *port);

// Run the replay. Return the exit status.
int tl_replay_run(const struct tl_replay_args *args);
