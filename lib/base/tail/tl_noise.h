// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// noise: kernel counters of an lcore's CPU and thread; the difference of two readings shows possible causes of a delay.
//
// Threads: any but an lcore: it reads files. Memory: the caller's.

#include <stdint.h>

#define TL_NOISE_UNKNOWN UINT64_MAX

// Counts since boot; TL_NOISE_UNKNOWN: not available.
struct tl_noise {
	uint64_t interrupts;	       // interrupts on the CPU
	uint64_t steal_ns;	       // time taken by the hypervisor; resolution of a tick
	uint64_t involuntary_switches; // preemptions of the thread
	uint64_t wait_ns;	       // time the thread was runnable but not running
};

// Read the counters. proc is "/proc", except in tests. tid 0: no thread.
void tl_noise_read(const char *proc, unsigned cpu, int tid, struct tl_noise *out);

struct tl_noise tl_noise_between(const struct tl_noise *before, const struct tl_noise *after);
