// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// plan: the resources of a configuration on this host, before anything is started: the device of each port, the
// validity of filters and path names, the CPU of each RX queue.

#include <stdbool.h>
#include <stdint.h>

#include <tl_config.h>
#include <tl_eal.h>
#include <tl_place.h>
#include <tl_port.h>
#include <tl_rules.h>

struct tl_err;

struct tl_plan {
	struct tl_port_spec specs[TL_CONFIG_PORTS_MAX];
	struct tl_place_idle idle[TL_CONFIG_PORTS_MAX];
	bool has_echo[TL_CONFIG_PORTS_MAX];
	bool has_replay[TL_CONFIG_PORTS_MAX];
	uint16_t echo_queues[TL_CONFIG_ECHOES_MAX]; // RX queue whose lcore owns each echo
	const char *pci[TL_CONFIG_PORTS_MAX];	    // borrowed from specs
	uint32_t n_pci;
	const struct tl_config_rule *flow_rules[TL_CONFIG_PORTS_MAX];	   // of each port, as many as its plan has
	struct tl_config_rule isolated[TL_CONFIG_PORTS_MAX][TL_RULES_MAX]; // the same of an isolated port
	struct tl_rules_plan rules[TL_CONFIG_PORTS_MAX];
	struct tl_place place;		    // RX queue of entry i runs as DPDK's lcore i + 1
	uint32_t node_mb[TL_EAL_NODES_MAX]; // share of eal.memory_mb by node
};

// Make a plan. Return 0, or a negative errno with a message in *err.
int tl_plan_make(const struct tl_config *config, struct tl_plan *out, struct tl_err *err);

// Return the role that a queue has with the port's echoes and recordings: "both", "echo", "record", "none".
const char *tl_plan_role(const struct tl_config *config, const struct tl_plan *plan, uint32_t port, uint32_t queue);

// True if the lcores of a port hand over encapsulated frames among its recorded queues, by their inner flows.
bool tl_plan_hands_over_inner(const struct tl_config *config, uint32_t port);

// Return the number of a port's send queues: one per lcore of a port with an echo, one of a replay.
uint16_t tl_plan_tx_queues(const struct tl_config *config, const struct tl_plan *plan, uint32_t port);

// Return the facts of this host on CPUs and memory; the caller frees them. NULL: out of memory.
struct tl_facts *tl_plan_facts(const struct tl_config *config);

// Return the lowest CPU in the affinity mask of this process.
uint32_t tl_plan_first_cpu(void);
