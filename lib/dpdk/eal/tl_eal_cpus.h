// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// eal_cpus: the CPUs that threads of this process may be put on. Needs no started EAL.
//
// Threads: any; the calling one's affinity is another for a moment. Memory: the caller's.

#include <sched.h>

// The CPUs of the process's cpuset that are online, those of isolcpus= among them: sched_setaffinity(2) takes each of
// them, while the mask that a process begins with lacks the isolated ones. Returns 0, or -errno where the host has more
// CPUs than a cpu_set_t.
int tl_eal_permitted_cpus(cpu_set_t *out);
