// SPDX-License-Identifier: BSD-3-Clause
// The reason for the CPU of a queue, and what that CPU shares with others.

#include "place_priv.h"

#include <stdio.h>

char *tl_place_why(const struct tl_config *config, const struct tl_facts *facts, const struct tl_place *place,
	uint32_t port, uint32_t queue, char *buf)
{
	uint32_t cpu = place->cpus[place->first[port] + queue];
	int node = tl_place_nic_node(facts, port);
	unsigned cost = tl_place_cost(facts, cpu, node);
	const char *near = node == TL_PLACE_NO_NODE	? "on any node, since the device reports none"
			   : (cost & TL_PLACE_FAR) == 0 ? "on the NIC's node"
							: "on another node: no such CPU is left on the NIC's";

	if (config->ports[port].lcores[queue] != TL_CONFIG_LCORE_AUTO)
		snprintf(buf, TL_PLACE_WHY_CHARS, "set in the configuration");
	else if (cpu == config->eal.main_lcore)
		snprintf(buf, TL_PLACE_WHY_CHARS, "no other CPU is left: it is the control thread's");
	else
		snprintf(buf, TL_PLACE_WHY_CHARS, "%s, %s%s",
			(cost & TL_PLACE_SCHEDULED) == 0 ? "isolated"
							 : "no isolated CPU without interrupts of a NIC is left",
			near,
			(cost & TL_PLACE_INTERRUPTED) != 0 ? ", takes interrupts of a NIC: no other CPU is left" : "");
	return buf;
}

// Return the CPUs that a configuration uses.
static struct tl_fact_cpus used_by(const struct tl_config *config, const struct tl_place *place)
{
	struct tl_fact_cpus used = {.known = true};

	tl_cpus_add(&used, config->eal.main_lcore);
	for (uint32_t i = 0; i < place->n_lcores + config->n_replays; i++)
		tl_cpus_add(&used, place->cpus[i]);
	return used;
}

struct tl_place_shares tl_place_shares(const struct tl_config *config, const struct tl_facts *facts,
	const struct tl_place *place, uint32_t port, uint32_t queue)
{
	uint32_t own = place->cpus[place->first[port] + queue];
	const struct tl_fact_cpu *cpus = &facts->cpu;
	struct tl_fact_cpus used = used_by(config, place);
	struct tl_place_shares out = {.nic_node = tl_place_nic_node(facts, port)};
	int node = tl_place_node_of(facts, own);

	out.far = out.nic_node != TL_PLACE_NO_NODE && node != out.nic_node;
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		bool is_used = tl_cpus_has(&used, cpu);
		if (cpu == own || !tl_cpus_has(&cpus->online, cpu))
			continue;
		if (cpus->core_of[cpu] == cpus->core_of[own]) {
			if (is_used || !tl_cpus_has(&cpus->isolated, cpu))
				tl_cpus_add(is_used ? &out.core : &out.open, cpu);
		} else if (is_used && cpus->cache_of[cpu] == cpus->cache_of[own]) {
			tl_cpus_add(&out.cache, cpu);
		} else if (is_used && node != TL_PLACE_NO_NODE && tl_place_node_of(facts, cpu) == node) {
			tl_cpus_add(&out.node, cpu);
		}
	}
	return out;
}
