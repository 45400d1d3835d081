// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// eal: starts DPDK's environment with only the devices of the configuration: no unlisted PCI device is probed, nothing
// is shared with other DPDK processes. No code depends on the DPDK version so far (22.11 to 25.11); version-dependent
// code belongs here, in one file.
//
// Threads: main only, once per process (DPDK's own limit). Memory: DPDK's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;
struct tl_eal; // opaque

#define TL_EAL_NODES_MAX 32 // RTE_MAX_NUMA_NODES

struct tl_eal_cfg {
	bool huge;		 // false: ordinary memory (--no-huge); needs no setup, costs TLB misses
	uint32_t memory_mb;	 // DPDK's memory at start, MiB
	const uint32_t *node_mb; // part of memory_mb on each NUMA node, TL_EAL_NODES_MAX entries; NULL: any node
	uint32_t main_lcore;	 // CPU of the main lcore, which does not poll
	const uint32_t *lcores;	 // CPUs of the RX lcores; entry i becomes EAL's lcore i + 1; a CPU may occur twice
	uint32_t n_lcores;
	const char *const *pci; // PCI addresses to probe, n_pci entries; none: --no-pci
	uint32_t n_pci;
	bool verbose; // keep DPDK's log at its default level
};

// Start EAL. The calling thread, and threads that it starts, may run on the main lcore's CPU and all others without an
// RX lcore. Return 0 or a negative errno with cause and remedy (no hugepages: how to reserve them, or "huge": false).
// Descriptors that DPDK opened before a failure are closed by execve(2).
int tl_eal_init(const struct tl_eal_cfg *cfg, struct tl_eal **out, struct tl_err *err);

// Make tl_eal_fini() skip DPDK's cleanup: the driver of a device that was torn out must not access it, so DPDK remains
// as it is until the process exits.
void tl_eal_abandon(struct tl_eal *eal);

// Release hugepages and files under /var/run/dpdk.
void tl_eal_fini(struct tl_eal *eal);
