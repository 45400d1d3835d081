// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// place internals: the cost of a CPU, by which it is chosen, and of which its reason is made.

#include <tl_place.h>

// Costs of a CPU for "auto"; lower is better.
#define TL_PLACE_FAR 1u		// on another node than the NIC
#define TL_PLACE_SCHEDULED 2u	// not isolated: the scheduler may put any task there
#define TL_PLACE_INTERRUPTED 4u // takes interrupts of a port's NIC

// Return the sum of these. node: of the NIC.
unsigned tl_place_cost(const struct tl_facts *facts, uint32_t cpu, int node);

// Return the node of a port's NIC, if it exists on the host; else TL_PLACE_NO_NODE.
int tl_place_nic_node(const struct tl_facts *facts, uint32_t port);
