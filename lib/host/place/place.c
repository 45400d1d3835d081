// SPDX-License-Identifier: BSD-3-Clause
// Assignment of CPUs and NUMA nodes.

#include "place_priv.h"

#include <tl_config_setting.h>

struct choice {
	const struct tl_config *config;
	const struct tl_facts *facts;
	struct tl_fact_cpus left; // unassigned CPUs
};

static struct tl_fact_cpus both_of(const struct tl_fact_cpus *a, const struct tl_fact_cpus *b)
{
	struct tl_fact_cpus sum = {.known = true};

	for (size_t i = 0; i < TL_ARRAY_LEN(sum.bits); i++)
		sum.bits[i] = a->bits[i] | b->bits[i];
	return sum;
}

// CPUs available to "auto", with the main lcore's and those named. Isolated CPUs are not in the mask that the kernel
// gives a process at first: they are used nevertheless, unless that mask has been narrowed (taskset, CPUAffinity=).
static struct tl_fact_cpus candidates_of(const struct tl_facts *facts)
{
	const struct tl_fact_cpu *cpu = &facts->cpu;
	struct tl_fact_cpus allowed = cpu->allowed.known ? cpu->allowed : cpu->online;

	if (!cpu->permitted.known || !cpu->isolated.known)
		return allowed;
	struct tl_fact_cpus given = tl_cpus_minus(&cpu->permitted, &cpu->isolated); // initial mask set by the kernel
	struct tl_fact_cpus lost = tl_cpus_minus(&given, &allowed);
	struct tl_fact_cpus isolated = tl_cpus_both(&cpu->permitted, &cpu->isolated);

	return tl_cpus_is_empty(&lost) ? both_of(&allowed, &isolated) : allowed;
}

int tl_place_node_of(const struct tl_facts *facts, uint32_t cpu)
{
	for (uint32_t i = 0; i < facts->n_nodes; i++)
		if (tl_cpus_has(&facts->nodes[i].cpus, cpu))
			return (int)facts->nodes[i].id;
	return TL_PLACE_NO_NODE;
}

int tl_place_nic_node(const struct tl_facts *facts, uint32_t port)
{
	const struct tl_fact_num *node = &facts->wanted.port_nodes[port];

	for (uint32_t i = 0; i < facts->n_nodes && node->known; i++)
		if (node->value == (int64_t)facts->nodes[i].id)
			return (int)node->value;
	return TL_PLACE_NO_NODE;
}

unsigned tl_place_cost(const struct tl_facts *facts, uint32_t cpu, int node)
{
	bool far = node != TL_PLACE_NO_NODE && tl_place_node_of(facts, cpu) != node;
	bool isolated = tl_cpus_has(&facts->cpu.isolated, cpu);
	bool interrupted = tl_cpus_has(&facts->wanted.irq_cpus, cpu);

	return (far ? TL_PLACE_FAR : 0) + (isolated ? 0 : TL_PLACE_SCHEDULED) +
	       (interrupted ? TL_PLACE_INTERRUPTED : 0);
}

// Take the best unassigned CPU, the lowest of equal ones; the main lcore's if there is none.
static uint32_t take_cpu(struct choice *c, int node)
{
	uint32_t best = c->config->eal.main_lcore;
	unsigned least = UINT32_MAX;

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		unsigned cost = tl_cpus_has(&c->left, cpu) ? tl_place_cost(c->facts, cpu, node) : UINT32_MAX;
		if (cost >= least)
			continue;
		best = cpu;
		least = cost;
	}
	struct tl_fact_cpus taken = {.known = true};
	tl_cpus_add(&taken, best);
	c->left = tl_cpus_minus(&c->left, &taken);
	return best;
}

static struct choice begin(const struct tl_config *config, const struct tl_facts *facts)
{
	struct choice c = {.config = config, .facts = facts};
	struct tl_fact_cpus named = {.known = true}, candidates = candidates_of(facts);

	tl_cpus_add(&named, config->eal.main_lcore);
	for (uint32_t p = 0; p < config->n_ports; p++)
		for (uint32_t q = 0; q < config->ports[p].rx_queues; q++)
			if (config->ports[p].lcores[q] != TL_CONFIG_LCORE_AUTO)
				tl_cpus_add(&named, config->ports[p].lcores[q]);
	for (uint32_t i = 0; i < config->n_replays; i++)
		if (config->replays[i].lcore != TL_CONFIG_LCORE_AUTO)
			tl_cpus_add(&named, config->replays[i].lcore);
	c.left = tl_cpus_minus(&candidates, &named);
	return c;
}

static void place_port(struct choice *c, uint32_t port, struct tl_place *out)
{
	const struct tl_config_port *cfg = &c->config->ports[port];
	int node = tl_place_nic_node(c->facts, port);

	for (uint32_t q = 0; q < cfg->rx_queues; q++) {
		uint32_t entry = out->first[port] + q;
		bool choose = cfg->lcores[q] == TL_CONFIG_LCORE_AUTO;
		uint32_t cpu = choose ? take_cpu(c, node) : cfg->lcores[q];
		bool shared = cpu == c->config->eal.main_lcore;
		out->shared[port] += shared;
		out->isolated[port] += tl_cpus_has(&c->facts->cpu.isolated, cpu);
		out->disturbed[port] += choose && !shared && tl_cpus_has(&c->facts->wanted.irq_cpus, cpu);
		out->cpu_nodes[entry] = tl_place_node_of(c->facts, cpu);
		out->cpus[entry] = cpu;
	}
	out->nodes[port] = node != TL_PLACE_NO_NODE ? node : out->cpu_nodes[out->first[port]];
}

// True for a port that only sends a replay: what it receives is not needed.
static bool only_replays(const struct tl_config *config, uint32_t port)
{
	bool replays = false;

	for (uint32_t i = 0; i < config->n_replays; i++)
		replays |= config->replays[i].port == port && !tl_config_has_sessions(&config->replays[i]);
	for (uint32_t i = 0; i < config->n_captures && replays; i++)
		replays = config->captures[i].port != port;
	return replays;
}

// Place the ports that only send replays, or the others.
static void place_ports(struct choice *c, bool replays, struct tl_place *out)
{
	for (uint32_t p = 0; p < c->config->n_ports; p++)
		if (only_replays(c->config, p) == replays)
			place_port(c, p, out);
}

// Place a replay near the NIC that sends; one of sessions on the CPU of its port, whose queue has its place.
static void place_replay(struct choice *c, uint32_t index, struct tl_place *out)
{
	const struct tl_config_replay *cfg = &c->config->replays[index];
	uint32_t entry = out->n_lcores + index;

	if (tl_config_has_sessions(cfg))
		out->cpus[entry] = out->cpus[out->first[cfg->port]];
	else if (cfg->lcore == TL_CONFIG_LCORE_AUTO)
		out->cpus[entry] = take_cpu(c, tl_place_nic_node(c->facts, cfg->port));
	else
		out->cpus[entry] = cfg->lcore;
	out->cpu_nodes[entry] = tl_place_node_of(c->facts, out->cpus[entry]);
}

void tl_place_choose(const struct tl_config *config, const struct tl_facts *facts, struct tl_place *out)
{
	struct choice c = begin(config, facts);

	*out = (struct tl_place){0};
	for (uint32_t p = 0; p < config->n_ports; p++) {
		out->first[p] = out->n_lcores;
		out->n_lcores += config->ports[p].rx_queues;
	}
	place_ports(&c, false, out);
	for (uint32_t i = 0; i < config->n_replays; i++)
		place_replay(&c, i, out);
	place_ports(&c, true, out);
}
