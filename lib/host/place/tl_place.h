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

// What the CPU of a queue shares with other threads. Named sets have CPUs of the configuration: of other queues, of
// replays, of the control thread.
struct tl_place_shares {
	struct tl_fact_cpus core;  // of the configuration, on the same core
	struct tl_fact_cpus open;  // on the same core, not of the configuration and not isolated
	struct tl_fact_cpus cache; // of the configuration, on other cores with the same last-level cache
	struct tl_fact_cpus node;  // of the configuration, on the same node, with another last-level cache
	int nic_node;		   // TL_PLACE_NO_NODE: not reported
	bool far;		   // on another node than the NIC
};

// Find what the CPU of a queue shares. Needs cpu.core_of and cpu.cache_of, too.
struct tl_place_shares tl_place_shares(const struct tl_config *config, const struct tl_facts *facts,
	const struct tl_place *place, uint32_t port, uint32_t queue);

// Format the reason for the CPU of a queue into buf, of TL_PLACE_WHY_CHARS: "isolated, on the NIC's node". Return buf.
#define TL_PLACE_WHY_CHARS 224
char *tl_place_why(const struct tl_config *config, const struct tl_facts *facts, const struct tl_place *place,
	uint32_t port, uint32_t queue, char *buf);
