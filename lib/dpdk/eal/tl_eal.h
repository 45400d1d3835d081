// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// eal: starts DPDK's environment with nothing but what the configuration names: no PCI device is probed that is not
// listed, nothing is shared with other DPDK processes. Nothing
// in the tree depends on the DPDK version so far (22.11 to 25.11); what does one day stands here, in one file.
//
// Threads: main only, once per process (DPDK's own limit). Memory: DPDK's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;
struct tl_eal; // opaque

#define TL_EAL_NODES_MAX 32 // RTE_MAX_NUMA_NODES

struct tl_eal_cfg {
	bool huge;		 // false: ordinary memory (--no-huge); needs no set-up, costs TLB misses
	uint32_t memory_mb;	 // DPDK's memory at the start
	const uint32_t *node_mb; // of memory_mb, entry i of NUMA node i, TL_EAL_NODES_MAX of them; NULL: wherever
	uint32_t main_lcore;	 // CPU of the main lcore, which polls nothing
	const uint32_t *lcores;	 // CPUs of the RX lcores; entry i becomes EAL's lcore i + 1; a CPU may stand twice
	uint32_t n_lcores;
	const char *const *pci; // PCI addresses to probe, n_pci of them; none: --no-pci
	uint32_t n_pci;
	bool verbose; // leave DPDK's log at its default level
};

// The calling thread, and whatever it starts, may run on the main lcore's CPU and all others that no RX lcore has.
// Returns 0 or a negative errno with the cause and the mend (no hugepages: how to reserve them, or "huge": false). What
// DPDK opened before it failed is closed by execve(2).
int tl_eal_init(const struct tl_eal_cfg *cfg, struct tl_eal **out, struct tl_err *err);

// The driver of a device that was torn out must not be asked to clean up: tl_eal_fini() will leave DPDK as it is, for
// the end of the process.
void tl_eal_abandon(struct tl_eal *eal);

// Releases hugepages and files under /var/run/dpdk.
void tl_eal_fini(struct tl_eal *eal);
