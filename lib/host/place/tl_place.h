// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// place: CPU of each RX queue, and NUMA node of each port's memory, from facts of the host. Commands that run and
// commands that predict use the same function.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_config.h>
#include <tl_doctor_facts.h>

#define TL_PLACE_LCORES_MAX (TL_CONFIG_PORTS_MAX * TL_CONFIG_QUEUES_MAX)
#define TL_PLACE_NO_NODE (-1) // not reported by the host; DPDK's SOCKET_ID_ANY

struct tl_place {
	// RX queues of all ports in order: queue q of port p is entry first[p] + q.
	uint32_t first[TL_CONFIG_PORTS_MAX];
	uint32_t n_lcores;					    // those of RX queues
	uint32_t cpus[TL_PLACE_LCORES_MAX + TL_CONFIG_REPLAYS_MAX]; // per entry; replay i is entry n_lcores + i
	int cpu_nodes[TL_PLACE_LCORES_MAX + TL_CONFIG_REPLAYS_MAX]; // of that CPU
	int nodes[TL_CONFIG_PORTS_MAX];		 // that of the NIC; if unknown, that of its first queue's CPU
	uint32_t shared[TL_CONFIG_PORTS_MAX];	 // queues on the main lcore's CPU, because no other is available
	uint32_t isolated[TL_CONFIG_PORTS_MAX];	 // queues on isolated CPUs
	uint32_t disturbed[TL_CONFIG_PORTS_MAX]; // queues with "auto" on a CPU that takes interrupts of the ports' NICs
};

// Choose the placement from these facts: cpu.online, allowed, permitted and isolated; nodes; wanted.port_nodes and
// wanted.irq_cpus.
//
// "auto" takes unassigned CPUs available to this process: first isolated CPUs of the NIC's node, then other isolated
// ones, then those of the node, then any. A CPU that receives interrupts of a port's NIC comes after all others, and
// the main lcore's last. Queues of ports that only send replays choose after the replays.
void tl_place_choose(const struct tl_config *config, const struct tl_facts *facts, struct tl_place *out);

// Behaviour of a port's lcores while idle.
struct tl_place_idle {
	bool adaptive;	 // false: poll continuously
	const char *why; // a clause
};

// Choose it. wakes: the device can wake a thread that waits for frames.
struct tl_place_idle tl_place_idle(
	const struct tl_config *config, const struct tl_place *place, uint32_t port, bool wakes, bool has_echo);

// Node of a CPU, from /sys/devices/system/node.
int tl_place_node_of(const struct tl_facts *facts, uint32_t cpu);
