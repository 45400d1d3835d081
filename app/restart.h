// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// restart: a second start of the program, which uses ordinary memory. Another process can take hugepages between our
// look at what is free and DPDK's start, and DPDK starts once per process.
//
// Threads: main only, before threads of our own exist. Memory: the caller's.

#include <stdbool.h>

// True in the second start: hugepages are not to be used.
bool tl_restarted(void);

// To be called when tl_eal_init() with hugepages, which nobody required, failed with rc. Executes the program again
// with its arguments where hugepages can be the cause. Returns rc where they cannot, or where the program cannot be
// executed.
int tl_restart_without_hugepages(int rc);
