// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Shared by the loop and its setup.

#include <tl_hist.h>
#include <tl_lcore.h>

#include "nap.h"
#include "patience.h"

struct tl_lcore {
	struct tl_lcore_cfg cfg;
	struct tl_service services[TL_LCORE_SERVICES_MAX];
	bool polls;    // a service has a poll()
	bool handover; // a service takes frames from other lcores, at any moment
	bool closing;  // services were requested to close
	struct tl_patience patience;
	struct tl_nap nap;
	uint64_t next_tick_ns;
	uint64_t beats; // ticks so far
	bool slept;	// since the last tick
	struct tl_lcore_load load;
	struct tl_burst burst;
	uint64_t gap_tsc;   // shortest gap between two polls that is recorded
	_Atomic(int) phase; // enum tl_lcore_phase; written by main
	atomic_bool closed; // written by the lcore
	_Atomic(int) tid;
	struct tl_hist gaps; // gaps between polls
} TL_CACHE_ALIGNED;

// Run the loop; returns when it has drained.
int tl_lcore_loop(void *lcore);

// COLD. Record a long gap between two polls.
void tl_lcore_note_gap(struct tl_lcore *lcore, uint64_t tsc);

// COLD. Sample the fill of the queue's ring.
void tl_lcore_look_at_ring(struct tl_lcore *lcore);

// COLD. Sleep until a frame arrives, or for some milliseconds on a port that gathers frames.
void tl_lcore_idle(struct tl_lcore *lcore);
