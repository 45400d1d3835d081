// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// about: the DPDK versions of build and run time. EAL need not run.
//
// Threads: any. Memory: static, or the caller's.

#include <stdbool.h>
#include <stddef.h>

#include <tl_base.h>

// Format the version as "DPDK 22.11.11" into buf. Return buf.
char *tl_eal_version_built(char *buf, size_t size);
const char *tl_eal_version_running(void);

// Write the directory of DPDK's drivers, such as "/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0", into buf. Return 0, or
// -ENOENT if DPDK is linked into the program.
int tl_eal_driver_dir(char *buf, size_t size);

// Return the CPU flags, as /proc/cpuinfo names them, without which the program does not run. Ends with NULL.
const char *const *tl_eal_cpu_flags(void);

// True if the DPDK of the build was configured for IEEE 1588 stamps.
bool tl_eal_built_ieee1588(void);
