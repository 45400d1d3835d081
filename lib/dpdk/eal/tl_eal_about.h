// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// about: which DPDK this program was built with and runs with. Needs no started EAL.
//
// Threads: any. Memory: static, or the caller's.

#include <stdbool.h>
#include <stddef.h>

#include <tl_base.h>

// "DPDK 22.11.11"; the first into buf, which it returns.
char *tl_eal_version_built(char *buf, size_t size);
const char *tl_eal_version_running(void);

// The directory of DPDK's drivers, such as "/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0", into buf. Returns 0, or -ENOENT
// where DPDK is linked into the program.
int tl_eal_driver_dir(char *buf, size_t size);

// Flags of the CPU, as /proc/cpuinfo calls them, without which the program does not run. Ends with NULL.
const char *const *tl_eal_cpu_flags(void);

// Whether the DPDK that this was built with is said to stamp by IEEE 1588.
bool tl_eal_built_ieee1588(void);
