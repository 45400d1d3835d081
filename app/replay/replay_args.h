// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_args: what the call of `tapline replay` says.
//
// Threads: main. Memory: strings are borrowed from the process's arguments, the filter is in it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_replay.h>

#define TL_REPLAY_ANY_LCORE UINT64_MAX
#define TL_REPLAY_LATE_NS TL_NS_PER_MS // without --max-late

struct tl_replay_args {
	const char *const *paths;
	size_t n_paths;
	char filter[4096]; // "": none
	const char *device;
	struct tl_replay_pacing pacing;
	const char *rate; // NULL: no --rate; a share is of a line rate that only the port knows
	uint64_t loops;
	uint64_t start_ns;    // since 1970; 0: at once
	uint64_t max_late_ns; // UINT64_MAX: no limit
	uint64_t mtu;
	uint64_t lcore;
	bool has_mtu, has_speed, take, json;
	uint64_t now_ns; // since 1970, when the call was parsed
};

// Parses a duration as "500", "500ns", "20us", "1.5ms" or "2s". Returns 0 or -EINVAL.
int tl_replay_parse_ns(const char *text, uint64_t *out_ns);

// Replays. Returns the exit status.
int tl_replay_run(const struct tl_replay_args *args);
