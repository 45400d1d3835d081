// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// start: start of DPDK and of the clock, once per process. Another process can take hugepages between the check for
// free ones and DPDK's start; then the program is executed again, with ordinary memory.
//
// Threads: main only, before other threads exist. Memory: the caller's.

#include <stdbool.h>

#include <tl_clock.h>
#include <tl_eal.h>

// True in the second start: do not use hugepages.
bool tl_restarted(void);

// Start DPDK, then the clock. again: if hugepages can be the cause of a failure, execute the program again with its
// arguments, and do not return. Return 0, or -errno with a message; end what was started in both cases.
int tl_start_dpdk(
	const struct tl_eal_cfg *cfg, bool again, struct tl_eal **eal, struct tl_clock **clock, struct tl_err *err);
