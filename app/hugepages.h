// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// hugepages: reserved hugepages of the kernel, and the need of a configuration, by NUMA node. The run and the checks
// before it use the same functions.

#include <stdbool.h>
#include <stdint.h>

#include <tl_config.h>
#include <tl_doctor_facts.h>
#include <tl_eal.h>
#include <tl_place.h>

// True if memory_mb are free in hugepages of all sizes, and this is not a restart without them (start.h). DPDK needs
// no mounted hugetlbfs with --in-memory.
bool tl_hugepages_suffice(uint32_t memory_mb);

// DPDK memory need of a configuration.
struct tl_memory_need {
	uint64_t base_bytes;			  // memory of DPDK and of no particular port
	uint64_t port_bytes[TL_CONFIG_PORTS_MAX]; // packets and rings of a port, its recordings and echoes
};

// Compute the memory need. From the facts it reads wanted.port_vendors: some drivers have longer rings.
void tl_memory_need(const struct tl_config *config, const struct tl_facts *facts, struct tl_memory_need *out);

uint64_t tl_memory_need_mb(const struct tl_memory_need *need);

// Distribute eal.memory_mb among the nodes in proportion to the need of their ports; the rest goes to the main lcore's
// node. Entry i belongs to node i. On a host without node information node 0 gets all.
void tl_memory_spread(const struct tl_config *config, const struct tl_facts *facts, const struct tl_place *place,
	uint32_t node_mb[TL_EAL_NODES_MAX]);
