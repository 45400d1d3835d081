// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay seconds: the lateness in those seconds of a run in which the sending thread kept its CPU: it waited for it for
// at most 1 ms (schedstat), the hypervisor took no tick (steal), and gaps between two readings of the clock, with
// nothing to do in between, took at most 5 ms: what interrupts and the hypervisor take without a trace. It is the
// lateness of the program, without that of the host.
//
// Threads: one, main. Memory: 1.1 MiB; create() and free().

#include <stdbool.h>
#include <stdint.h>

#include <tl_hist.h>
#include <tl_noise.h>

#define TL_REPLAY_SECONDS_HISTS 2

// In an undisturbed second, at most.
#define TL_REPLAY_WAIT_NS_MAX TL_NS_PER_MS
#define TL_REPLAY_INTERRUPTED_NS_MAX (5 * TL_NS_PER_MS)
#define TL_REPLAY_GAP_NS TL_NS_PER_US // a longer gap is an interruption

struct tl_replay_seconds {
	uint64_t watched;	 // seconds with frames, from the first look to the last
	uint64_t undisturbed;	 // part of them
	struct tl_hist lateness; // in the undisturbed ones, within 0.1 %
	// At the last look.
	bool begun;
	struct tl_noise noise;
	uint64_t interrupted_ns;
	struct tl_hist seen[TL_REPLAY_SECONDS_HISTS];
	struct tl_hist now[TL_REPLAY_SECONDS_HISTS]; // at this one
};

struct tl_replay_seconds *tl_replay_seconds_create(void); // NULL: no memory; free() it

// End a second and begin the next one. cpu and tid: the sending thread's; proc: "/proc", except in tests; hists: its
// histograms, n of them (at most TL_REPLAY_SECONDS_HISTS), always the same; interrupted_ns: sum of its gaps so far.
void tl_replay_seconds_look(struct tl_replay_seconds *s, const char *proc, unsigned cpu, int tid,
	const struct tl_hist *const *hists, unsigned n, uint64_t interrupted_ns);
