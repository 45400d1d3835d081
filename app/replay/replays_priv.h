// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replays_priv: a replay of an appliance, shared by its set-up and its run.

#include "replay_session.h"
#include "replays.h"

enum phase { WAITING, SENDING, LEAVING, ENDED };

struct replay {
	const struct tl_config_replay *config;
	struct tl_replay_args args;
	struct tl_replay_session session;
	struct tl_hist *lateness[TL_REPLAY_PORTS]; // copies of the lcore's; NULL: no due times
	struct tl_hist *all;			   // their sum
	uint32_t lcore;				   // EAL's
	enum phase phase;
	uint64_t since_ns; // start of WAITING, LEAVING
	char name[20];	   // of its DPDK objects
};

// Take the values of an entry: options, files and filter. Return 0, or -errno with file, line and path; free the
// session's files in both cases.
int replays_read(const struct tl_config *config, uint32_t index, struct replay *r, struct tl_err *err);
