// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_session: the open resources of a replay.
//
// Threads: main. Memory: open/close.

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <tl_eal.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_port.h>
#include <tl_replay_playlist.h>

#include "replay_args.h"
#include "replay_show.h"

#define TL_REPLAY_LCORE 1 // EAL's id of the sending lcore

// A port of the call.
struct tl_replay_port {
	const char *device;
	struct tl_port_cfg cfg;
	struct tl_port *port;
	uint64_t hw_before;
	bool link_known; // at the start
};

struct tl_ctl;

struct tl_replay_session {
	const struct tl_replay_args *args;
	struct tl_replay_playlist files;
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_replay_port ports[TL_REPLAY_PORTS];
	unsigned n_ports;
	struct tl_filter *filter, *split_filter;
	struct tl_replay *replay;
	struct tl_replay_cfg cfg;
	struct tl_replay_results results;
	uint32_t lcore;	    // CPU
	struct tl_ctl *ctl; // NULL: no --control
	json_t *manifest;
	bool failed; // an error was printed
};

// Check the call against files and host, start DPDK and the port, and create the replay. Return 0, or -errno with a
// message in *err; call tl_replay_close() in both cases.
int tl_replay_open(struct tl_replay_session *s, struct tl_err *err);
void tl_replay_close(struct tl_replay_session *s);
