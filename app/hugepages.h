// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// hugepages: what the kernel has reserved for us, what a configuration needs, and on which NUMA node. What runs and
// what predicts ask the same functions.

#include <stdbool.h>
#include <stdint.h>

#include <tl_config.h>
#include <tl_doctor_facts.h>
#include <tl_eal.h>
#include <tl_place.h>

// True where so much memory is free in hugepages of all sizes, and this is not a restart without them (restart.h). DPDK
// needs no mounted hugetlbfs with --in-memory.
bool tl_hugepages_suffice(uint32_t memory_mb);

// What a configuration takes of DPDK's memory.
struct tl_memory_need {
	uint64_t base_bytes;			  // DPDK's own, and what belongs to no port
	uint64_t port_bytes[TL_CONFIG_PORTS_MAX]; // packets and rings of a port, its recordings and echoes
};

// Of the facts it reads wanted.port_vendors: some drivers' rings are longer.
void tl_memory_need(const struct tl_config *config, const struct tl_facts *facts, struct tl_memory_need *out);

uint64_t tl_memory_need_mb(const struct tl_memory_need *need);

// Shares eal.memory_mb out among the nodes, as the need of their ports is; the rest goes to the main lcore's. Entry i
// is of node i. A host that tells no nodes gets all on node 0.
void tl_memory_spread(const struct tl_config *config, const struct tl_facts *facts, const struct tl_place *place,
	uint32_t node_mb[TL_EAL_NODES_MAX]);
