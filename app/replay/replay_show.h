// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_show: the results of a replay, as text and JSON.
//
// Threads: main. Memory: the caller's.

#include <stdio.h>

#include <jansson.h>

#include "replay_args.h"

struct tl_replay_results {
	const struct tl_replay_args *args;
	const struct tl_replay_pacing *pacing; // with the rate that a share came to
	struct tl_replay_stats stats;
	const struct tl_hist *lateness; // NULL with --line-rate
	const struct tl_replay_damage *damages;
	size_t n_damages;
	uint64_t speed_bps; // of the line; 0: unknown
	bool hw_known;
	uint64_t hw_sent_pkts; // by the device's own count; of an interface with what others sent meanwhile
	bool stopped;	       // before everything was sent
};

// One progress line.
void tl_replay_show_progress(const struct tl_replay_stats *stats);

// The report without manifest. NULL without memory.
json_t *tl_replay_json(const struct tl_replay_results *results);

void tl_replay_print(const struct tl_replay_results *results, FILE *out);
