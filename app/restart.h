// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// restart: a second start of the program, with ordinary memory. Another process can take hugepages between the check
// for free ones and DPDK's start, and DPDK starts once per process.
//
// Threads: main only, before other threads exist. Memory: the caller's.

#include <stdbool.h>

// True in the second start: do not use hugepages.
bool tl_restarted(void);

// Call after tl_eal_init() with optional hugepages failed with rc. Execute the program again with its arguments if
// hugepages can be the cause. Return rc if they cannot, or if the program cannot be executed.
int tl_restart_without_hugepages(int rc);
