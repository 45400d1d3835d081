// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// place: which CPU each RX queue gets, and which NUMA node each port's memory is on, from facts of the host. What runs
// and what predicts ask the same function.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_config.h>
#include <tl_doctor_facts.h>

#define TL_PLACE_LCORES_MAX (TL_CONFIG_PORTS_MAX * TL_CONFIG_QUEUES_MAX)
#define TL_PLACE_NO_NODE (-1) // the host does not say; DPDK's SOCKET_ID_ANY

struct tl_place {
	// RX queues of all ports in order: queue q of port p is entry first[p] + q.
	uint32_t first[TL_CONFIG_PORTS_MAX];
	uint32_t n_lcores;
	uint32_t cpus[TL_PLACE_LCORES_MAX];	 // of each entry
	int cpu_nodes[TL_PLACE_LCORES_MAX];	 // of that CPU
	int nodes[TL_CONFIG_PORTS_MAX];		 // the NIC's; where it has none, that of its first queue's CPU
	uint32_t shared[TL_CONFIG_PORTS_MAX];	 // queues on the main lcore's CPU, for want of another
	uint32_t isolated[TL_CONFIG_PORTS_MAX];	 // queues on isolated CPUs
	uint32_t disturbed[TL_CONFIG_PORTS_MAX]; // queues with "auto" on a CPU that takes interrupts of the ports' NICs
};

// Reads of the facts: cpu.online, allowed, permitted and isolated; nodes; wanted.port_nodes and wanted.irq_cpus.
//
// "auto" takes what this process may use and nobody has named: first isolated CPUs of the NIC's node, then other
// isolated ones, then those of the node, then any. A CPU that takes interrupts of a port's NIC comes after all others,
// and the main lcore's last.
void tl_place_choose(const struct tl_config *config, const struct tl_facts *facts, struct tl_place *out);

// The CPUs that "auto" may take, with the main lcore's and those that are named. Isolated CPUs are not in the mask that
// the kernel gives a process at first: they are taken all the same, unless somebody has narrowed that mask (taskset,
// CPUAffinity=).
struct tl_fact_cpus tl_place_candidates(const struct tl_facts *facts);

// What the lcores of a port do while nothing arrives.
struct tl_place_idle {
	bool adaptive;	 // false: they poll all the time
	const char *why; // a clause
};

// wakes: the device wakes a thread that waits for frames.
struct tl_place_idle tl_place_idle(
	const struct tl_config *config, const struct tl_place *place, uint32_t port, bool wakes, bool has_echo);

// The node of a CPU, as /sys/devices/system/node tells.
int tl_place_node_of(const struct tl_facts *facts, uint32_t cpu);
