// SPDX-License-Identifier: BSD-3-Clause
// Gather the facts in order, and the host requirements of the configuration.

#include "doctor_facts.h"

#include <stdio.h>
#include <string.h>

#include "hugepages.h"

// Store the CPUs assigned to the configuration's queues.
static void want_cpus(const struct tl_config *config, const struct tl_place *place, struct tl_facts *facts)
{
	tl_cpus_add(&facts->wanted.lcores, config->eal.main_lcore);
	for (uint32_t p = 0; p < config->n_ports; p++)
		for (uint32_t q = 0; q < config->ports[p].rx_queues; q++) {
			uint32_t cpu = place->cpus[place->first[p] + q];
			tl_cpus_add(&facts->wanted.lcores, cpu);
			tl_cpus_add(&facts->wanted.port_lcores[p], cpu);
			if (cpu != config->eal.main_lcore)
				tl_cpus_add(&facts->wanted.workers, cpu);
		}
}

static void want_memory(const struct tl_config *config, const struct tl_place *place, struct tl_facts *facts)
{
	uint32_t node_mb[TL_EAL_NODES_MAX];
	struct tl_memory_need need;

	tl_memory_need(config, facts, &need);
	facts->wanted.used_mb = tl_memory_need_mb(&need);
	tl_memory_spread(config, facts, place, node_mb);
	for (uint32_t i = 0; i < facts->n_nodes && facts->wanted.huge; i++)
		if (facts->nodes[i].id < TL_EAL_NODES_MAX)
			facts->nodes[i].need_mb = node_mb[facts->nodes[i].id];
}

static void name_sleepers(const struct tl_config *config, const struct tl_place *place, struct tl_facts *facts)
{
	struct tl_fact_text *text = &facts->wanted.sleepers;

	text->known = true;
	for (uint32_t p = 0; p < config->n_ports; p++) {
		size_t used = strlen(text->text);
		if (place->shared[p] != 0)
			snprintf(text->text + used, sizeof(text->text) - used, "%s%s", used > 0 ? ", " : "",
				config->ports[p].name);
	}
}

static void gather_wanted(const struct tl_config *config, struct tl_facts *facts)
{
	struct tl_fact_wanted *wanted = &facts->wanted;
	struct tl_place place;

	if (config == NULL) {
		if (facts->cpu.isolated.known && !tl_cpus_is_empty(&facts->cpu.isolated))
			wanted->workers = facts->cpu.isolated;
		return;
	}
	wanted->configured = true;
	wanted->huge = config->eal.huge;
	wanted->memory_mb = config->eal.memory_mb;
	tl_place_choose(config, facts, &place);
	want_cpus(config, &place, facts);
	want_memory(config, &place, facts);
	name_sleepers(config, &place, facts);
}

void tl_doctor_gather(const struct tl_tree *tree, const struct tl_config *config, bool measure, struct tl_facts *out)
{
	*out = (struct tl_facts){0};
	tl_gather_nodes(tree, out);
	tl_gather_cpus(tree, out);
	tl_gather_cores(tree, out);
	if (config != NULL)
		tl_gather_places(tree, config, out);
	gather_wanted(config, out);
	tl_gather_memory(tree, out);
	tl_gather_workers(tree, out);
	tl_gather_irqs(tree, out);
	tl_gather_processes(tree, out);
	tl_gather_quiet(tree, out);
	tl_gather_ports(tree, config, out);
	tl_gather_receive(tree, out);
	tl_gather_time(tree, out);
	tl_gather_disks(tree, config, measure, out);
	tl_gather_dpdk(tree, out);
}
