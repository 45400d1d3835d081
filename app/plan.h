// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// plan: what a configuration means on this host before anything is started: which device each port is, whether the
// filters compile and the paths can name files, which CPU each RX queue gets.

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_config.h>
#include <tl_port.h>

struct tl_err;

#define TL_PLAN_LCORES_MAX (TL_CONFIG_PORTS_MAX * TL_CONFIG_QUEUES_MAX)

struct tl_plan {
	struct tl_port_spec specs[TL_CONFIG_PORTS_MAX];
	bool adaptive[TL_CONFIG_PORTS_MAX];
	bool has_echo[TL_CONFIG_PORTS_MAX];
	enum tl_ts_source timestamps[TL_CONFIG_PORTS_MAX];
	uint16_t echo_queues[TL_CONFIG_ECHOES_MAX]; // whose lcore owns each echo
	const char *pci[TL_CONFIG_PORTS_MAX];	    // borrowed from specs
	uint32_t n_pci;
	// RX queues of all ports in order: queue q of port p is entry first[p] + q, and runs on CPU cpus[entry] as
	// DPDK's lcore entry + 1.
	uint32_t first[TL_CONFIG_PORTS_MAX];
	uint32_t cpus[TL_PLAN_LCORES_MAX];
	uint32_t n_lcores;
};

// Returns 0, or a negative errno with a sentence.
int tl_plan_make(const struct tl_config *config, struct tl_plan *out, struct tl_err *err);

// Hands out CPUs only: first, cpus, n_lcores and adaptive. True where a queue shares the CPU of the main lcore.
bool tl_plan_cpus(const struct tl_config *config, const cpu_set_t *allowed, struct tl_plan *plan);

// The lowest CPU that this process may use.
uint32_t tl_plan_first_cpu(void);
