// SPDX-License-Identifier: BSD-3-Clause
// Gathers the facts in order, and what the configuration asks of the host.

#include "doctor_facts.h"

#include <sched.h>
#include <stdlib.h>

#include "hugepages.h"
#include "plan.h"

// The CPUs that the configuration's queues get on that host.
static void want_cpus(const struct tl_config *config, struct tl_facts *facts)
{
	const struct tl_fact_cpus *given = facts->cpu.allowed.known ? &facts->cpu.allowed : &facts->cpu.online;
	struct tl_plan *plan = calloc(1, sizeof(*plan));
	cpu_set_t allowed;

	if (plan == NULL)
		return;
	CPU_ZERO(&allowed);
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (tl_cpus_has(given, cpu))
			CPU_SET(cpu, &allowed);
	tl_plan_cpus(config, &allowed, plan);
	tl_cpus_add(&facts->wanted.lcores, config->eal.main_lcore);
	for (uint32_t p = 0; p < config->n_ports; p++)
		for (uint32_t q = 0; q < config->ports[p].rx_queues; q++) {
			uint32_t cpu = plan->cpus[plan->first[p] + q];
			tl_cpus_add(&facts->wanted.lcores, cpu);
			tl_cpus_add(&facts->wanted.port_lcores[p], cpu);
			if (cpu != config->eal.main_lcore)
				tl_cpus_add(&facts->wanted.workers, cpu);
		}
	free(plan);
}

static uint32_t count(const struct tl_fact_cpus *cpus)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		n += tl_cpus_has(cpus, cpu);
	return n;
}

// DPDK spreads its memory over the nodes as the lcores are spread.
static void want_memory(struct tl_facts *facts)
{
	uint32_t lcores = count(&facts->wanted.lcores);

	for (uint32_t i = 0; i < facts->n_nodes && facts->wanted.huge && lcores > 0; i++) {
		struct tl_fact_cpus here = tl_cpus_both(&facts->wanted.lcores, &facts->nodes[i].cpus);
		facts->nodes[i].need_mb = facts->wanted.memory_mb * count(&here) / lcores;
	}
}

void tl_gather_wanted(const struct tl_config *config, struct tl_facts *facts)
{
	struct tl_fact_wanted *wanted = &facts->wanted;

	if (config == NULL) {
		if (facts->cpu.isolated.known && !tl_cpus_is_empty(&facts->cpu.isolated))
			wanted->workers = facts->cpu.isolated;
		return;
	}
	wanted->configured = true;
	wanted->huge = config->eal.huge;
	wanted->memory_mb = config->eal.memory_mb;
	wanted->used_mb = tl_hugepages_need_mb(config);
	want_cpus(config, facts);
	want_memory(facts);
}

void tl_doctor_gather(const struct tl_tree *tree, const struct tl_config *config, bool measure, struct tl_facts *out)
{
	*out = (struct tl_facts){0};
	tl_gather_nodes(tree, out);
	tl_gather_cpus(tree, out);
	tl_gather_wanted(config, out);
	tl_gather_memory(tree, out);
	tl_gather_workers(tree, out);
	tl_gather_irqs(tree, out);
	tl_gather_processes(tree, out);
	tl_gather_quiet(tree, out);
	tl_gather_ports(tree, config, out);
	tl_gather_time(tree, out);
	tl_gather_disks(tree, config, measure, out);
	tl_gather_dpdk(tree, out);
}
