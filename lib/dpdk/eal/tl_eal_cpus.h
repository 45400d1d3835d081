// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// eal_cpus: CPUs on which threads of this process may run. EAL need not run.
//
// Threads: any; changes the calling thread's affinity temporarily. Memory: the caller's.

#include <sched.h>

// Return the online CPUs of the process's cpuset, including those of isolcpus=: sched_setaffinity(2) accepts each of
// them, while the initial mask of a process lacks the isolated ones. Return 0, or -errno if the host has more CPUs
// than a cpu_set_t.
int tl_eal_permitted_cpus(cpu_set_t *out);
