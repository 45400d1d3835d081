// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// noise: what the kernel did on an lcore's CPU and with its thread, as its counters tell; the difference of two
// readings says what may have delayed the thread in between.
//
// Threads: any but an lcore: it reads files. Memory: the caller's.

#include <stdint.h>

#define TL_NOISE_UNKNOWN UINT64_MAX

// Each since the kernel started, TL_NOISE_UNKNOWN where it does not tell.
struct tl_noise {
	uint64_t interrupts;	       // that the CPU took
	uint64_t steal_ns;	       // the hypervisor ran somebody else on it; the kernel counts in ticks
	uint64_t involuntary_switches; // the kernel ran another thread instead of this one
	uint64_t wait_ns;	       // the thread could have run, and had to wait for it
};

// proc is "/proc"; tests have their own. tid 0: no thread.
void tl_noise_read(const char *proc, unsigned cpu, int tid, struct tl_noise *out);

struct tl_noise tl_noise_between(const struct tl_noise *before, const struct tl_noise *after);
