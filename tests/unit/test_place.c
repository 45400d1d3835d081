// SPDX-License-Identifier: BSD-3-Clause
// Choice of a CPU for each RX queue, and of a NUMA node for each port's memory.

#include <stdio.h>
#include <string.h>

#include <tl_place.h>
#include <tl_test.h>

// 8 CPUs, odd ones on node 1, as on some hosts; 2 to 5 are isolated.
static struct tl_facts host(void)
{
	struct tl_facts facts = {.cpu = {.online = tl_cpus_parse_list("0-7"),
					 .allowed = tl_cpus_parse_list("0-1,6-7"),
					 .permitted = tl_cpus_parse_list("0-7"),
					 .isolated = tl_cpus_parse_list("2-5")},
		.n_nodes = 2,
		.nodes = {{.id = 0, .cpus = tl_cpus_parse_list("0,2,4,6")},
			{.id = 1, .cpus = tl_cpus_parse_list("1,3,5,7")}}};

	return facts;
}

static struct tl_config *one_port(struct tl_config *config, uint32_t queues)
{
	*config = (struct tl_config){.n_ports = 1, .ports = {{.rx_queues = queues}}};
	for (uint32_t q = 0; q < TL_CONFIG_QUEUES_MAX; q++)
		config->ports[0].lcores[q] = TL_CONFIG_LCORE_AUTO;
	return config;
}

// Return the CPUs of a port with this many queues and "auto", in their order: "2 4".
static const char *choose(const struct tl_facts *facts, uint32_t queues, struct tl_place *place)
{
	static char text[64];
	struct tl_config config;
	int used = 0;

	tl_place_choose(one_port(&config, queues), facts, place);
	for (uint32_t q = 0; q < queues; q++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%u", q > 0 ? " " : "", place->cpus[q]);
	return text;
}

TL_TEST("\"auto\" prefers isolated CPUs of the NIC's node")
{
	struct tl_facts facts = host();
	struct tl_place place;

	facts.wanted.port_nodes[0] = (struct tl_fact_num){true, 1};
	CU_ASSERT_STRING_EQUAL(choose(&facts, 7, &place), "3 5 2 4 1 7 6");
	CU_ASSERT_EQUAL(place.nodes[0], 1);
	CU_ASSERT_EQUAL(place.cpu_nodes[2], 0);
	CU_ASSERT_EQUAL(place.shared[0], 0);
}

TL_TEST("a NIC without a node gets the lowest isolated CPUs and memory of their node")
{
	struct tl_facts facts = host();
	struct tl_place place;

	facts.wanted.port_nodes[0] = (struct tl_fact_num){true, -1};
	CU_ASSERT_STRING_EQUAL(choose(&facts, 2, &place), "2 3");
	CU_ASSERT_EQUAL(place.nodes[0], 0);
	facts.wanted.port_nodes[0] = (struct tl_fact_num){true, 3}; // nonexistent
	choose(&facts, 1, &place);
	CU_ASSERT_EQUAL(place.nodes[0], 0);
}

TL_TEST("a replay is placed before the port that only sends it")
{
	struct tl_facts facts = host();
	struct tl_config_capture capture = {0};
	struct tl_config config;
	struct tl_place place;

	one_port(&config, 1);
	config.n_ports = 2;
	config.ports[1] = config.ports[0];
	config.captures = &capture;
	config.n_captures = config.n_replays = 1; // of port 0
	config.replays[0] = (struct tl_config_replay){.port = 1, .lcore = TL_CONFIG_LCORE_AUTO};
	tl_place_choose(&config, &facts, &place);
	CU_ASSERT_EQUAL(place.n_lcores, 2);
	CU_ASSERT_EQUAL(place.cpus[0], 2);
	CU_ASSERT_EQUAL(place.cpus[1], 4);
	CU_ASSERT_EQUAL(place.cpus[2], 3);
	config.captures[0].port = 1; // a recording needs the CPU of its queue first
	tl_place_choose(&config, &facts, &place);
	CU_ASSERT_EQUAL(place.cpus[1], 3);
	CU_ASSERT_EQUAL(place.cpus[2], 4);
	config.replays[0].lcore = 2;
	tl_place_choose(&config, &facts, &place);
	CU_ASSERT_EQUAL(place.cpus[0], 3);
	CU_ASSERT_EQUAL(place.cpus[2], 2);
}

TL_TEST("a CPU with the NIC's interrupts is chosen last")
{
	struct tl_facts facts = host();
	struct tl_place place;

	facts.wanted.port_nodes[0] = (struct tl_fact_num){true, 0};
	facts.wanted.irq_cpus = tl_cpus_parse_list("2,6");
	CU_ASSERT_STRING_EQUAL(choose(&facts, 5, &place), "4 3 5 1 7");
	CU_ASSERT_EQUAL(place.disturbed[0], 0);
	CU_ASSERT_STRING_EQUAL(choose(&facts, 7, &place), "4 3 5 1 7 2 6");
	CU_ASSERT_EQUAL(place.disturbed[0], 2);
}

TL_TEST("a restricted affinity mask is respected")
{
	struct tl_facts facts = host();
	struct tl_place place;

	facts.cpu.allowed = tl_cpus_parse_list("0,6"); // taskset, CPUAffinity=
	CU_ASSERT_STRING_EQUAL(choose(&facts, 1, &place), "6");
	facts.cpu.permitted = tl_cpus_parse_list("0,2,6"); // a cpuset whose isolated CPU is not in the affinity mask
	CU_ASSERT_STRING_EQUAL(choose(&facts, 2, &place), "2 6");
}

TL_TEST("queues without a free CPU share that of the main lcore")
{
	struct tl_facts facts = host();
	struct tl_place place;

	facts.cpu.allowed = facts.cpu.permitted = tl_cpus_parse_list("0-1");
	CU_ASSERT_STRING_EQUAL(choose(&facts, 3, &place), "1 0 0");
	CU_ASSERT_EQUAL(place.shared[0], 2);
	CU_ASSERT_EQUAL(place.disturbed[0], 0);
}

TL_TEST("configured CPUs are kept and not assigned to other queues")
{
	struct tl_facts facts = host();
	struct tl_config config;
	struct tl_place place;

	one_port(&config, 2);
	config.n_ports = 2;
	config.ports[1] = config.ports[0];
	config.ports[1].lcores[0] = 2;
	config.ports[1].lcores[1] = 7;
	config.eal.main_lcore = 3;
	facts.wanted.port_nodes[1] = (struct tl_fact_num){true, 1};
	tl_place_choose(&config, &facts, &place);
	CU_ASSERT_EQUAL(place.n_lcores, 4);
	CU_ASSERT_EQUAL(place.first[1], 2);
	CU_ASSERT_EQUAL(place.cpus[0], 4);
	CU_ASSERT_EQUAL(place.cpus[1], 5);
	CU_ASSERT_EQUAL(place.cpus[2], 2);
	CU_ASSERT_EQUAL(place.cpus[3], 7);
	CU_ASSERT_EQUAL(place.cpu_nodes[3], 1);
	CU_ASSERT_EQUAL(place.cpu_nodes[2], 0);
	CU_ASSERT_EQUAL(place.nodes[1], 1); // the NIC's node, independent of its lcores
}

TL_TEST("placement works without facts about the host")
{
	struct tl_facts facts = {.cpu.online = tl_cpus_parse_list("0-1")};
	struct tl_place place;

	CU_ASSERT_STRING_EQUAL(choose(&facts, 1, &place), "1");
	CU_ASSERT_EQUAL(place.nodes[0], TL_PLACE_NO_NODE);
	CU_ASSERT_EQUAL(place.cpu_nodes[0], TL_PLACE_NO_NODE);
}

TL_TEST("an lcore polls on an isolated CPU or a device without wake-up, otherwise it is adaptive")
{
	struct tl_facts facts = host();
	struct tl_config config;
	struct tl_place place;

	tl_place_choose(one_port(&config, 4), &facts, &place);
	CU_ASSERT_EQUAL(place.isolated[0], 4);
	CU_ASSERT_FALSE(tl_place_idle(&config, &place, 0, true, true).adaptive);
	CU_ASSERT(tl_place_idle(&config, &place, 0, true, false).adaptive); // no frame waits for an echo
	CU_ASSERT_FALSE(tl_place_idle(&config, &place, 0, false, false).adaptive);
	config.ports[0].idle = TL_IDLE_ADAPTIVE;
	CU_ASSERT(tl_place_idle(&config, &place, 0, false, true).adaptive);
	tl_place_choose(one_port(&config, 5), &facts, &place); // one lcore on a CPU that is not isolated
	CU_ASSERT_EQUAL(place.isolated[0], 4);
	CU_ASSERT(tl_place_idle(&config, &place, 0, true, true).adaptive);
	config.ports[0].idle = TL_IDLE_POLL;
	CU_ASSERT_FALSE(tl_place_idle(&config, &place, 0, true, true).adaptive);
	tl_place_choose(one_port(&config, 8), &facts, &place);
	CU_ASSERT_EQUAL(place.shared[0], 1);
	config.ports[0].idle = TL_IDLE_POLL;
	CU_ASSERT(tl_place_idle(&config, &place, 0, false, true).adaptive);
}

static void expect_why(const struct tl_config *config, const struct tl_facts *facts, const struct tl_place *place,
	uint32_t queue, const char *wanted)
{
	char why[TL_PLACE_WHY_CHARS];

	CU_ASSERT_STRING_EQUAL(tl_place_why(config, facts, place, 0, queue, why), wanted);
}

// Seven queues take all CPUs but the main lcore's, the best first; an eighth is left without.
TL_TEST("each CPU has a reason")
{
	struct tl_facts facts = host();
	struct tl_config config;
	struct tl_place place;

	facts.wanted.port_nodes[0] = (struct tl_fact_num){true, 1};
	facts.wanted.irq_cpus = tl_cpus_parse_list("6");
	tl_place_choose(one_port(&config, 8), &facts, &place); // 3 5 2 4 1 7 6 0
	expect_why(&config, &facts, &place, 0, "isolated, on the NIC's node");
	expect_why(&config, &facts, &place, 2, "isolated, on another node: no such CPU is left on the NIC's");
	expect_why(
		&config, &facts, &place, 4, "no isolated CPU without interrupts of a NIC is left, on the NIC's node");
	expect_why(&config, &facts, &place, 6,
		"no isolated CPU without interrupts of a NIC is left, on another node: no such CPU is left on the NIC's, "
		"takes interrupts of a NIC: no other CPU is left");
	expect_why(&config, &facts, &place, 7, "no other CPU is left: it is the control thread's");
	config.ports[0].lcores[1] = 2;
	facts.wanted.port_nodes[0].known = false;
	tl_place_choose(&config, &facts, &place);
	expect_why(&config, &facts, &place, 0, "isolated, on any node, since the device reports none");
	expect_why(&config, &facts, &place, 1, "set in the configuration");
}

static void expect_shares(
	const struct tl_place_shares *shares, const char *core, const char *open, const char *cache, const char *node)
{
	const struct tl_fact_cpus *const sets[] = {&shares->core, &shares->open, &shares->cache, &shares->node};
	const char *const wanted[] = {core, open, cache, node};
	char text[64];

	for (unsigned i = 0; i < TL_ARRAY_LEN(sets); i++)
		CU_ASSERT_STRING_EQUAL(tl_cpus_format(sets[i], text, sizeof(text)), wanted[i]);
}

// CPUs n and n + 4 are of one core, and of one node; 0, 2, 4 and 6 have a cache together, 1 and 5, and 3 and 7.
static struct tl_facts host_with_cores(void)
{
	struct tl_facts facts = host();

	for (uint16_t cpu = 0; cpu < 8; cpu++) {
		facts.cpu.core_of[cpu] = cpu % 4;
		facts.cpu.cache_of[cpu] = cpu % 2 == 0 ? 0 : cpu % 4;
	}
	return facts;
}

TL_TEST("what the CPU of a queue shares is listed")
{
	struct tl_facts facts = host_with_cores();
	struct tl_place_shares shares;
	struct tl_config config;
	struct tl_place place;

	facts.wanted.port_nodes[0] = (struct tl_fact_num){true, 1};
	tl_place_choose(one_port(&config, 3), &facts, &place); // 3 5 2
	shares = tl_place_shares(&config, &facts, &place, 0, 0);
	expect_shares(&shares, "none", "7", "none", "5");
	CU_ASSERT_FALSE(shares.far);
	shares = tl_place_shares(&config, &facts, &place, 0, 1);
	expect_shares(&shares, "none", "1", "none", "3");
	shares = tl_place_shares(&config, &facts, &place, 0, 2);
	expect_shares(&shares, "none", "6", "0", "none"); // the main lcore is on CPU 0
	CU_ASSERT_TRUE(shares.far);
	CU_ASSERT_EQUAL(shares.nic_node, 1);
}

TL_TEST("a core shared with a queue, a replay or the control thread is not open to other tasks")
{
	struct tl_facts facts = host_with_cores();
	struct tl_place_shares shares;
	struct tl_config config;
	struct tl_place place;

	one_port(&config, 3)->n_replays = 1;
	config.ports[0].lcores[0] = 2;
	config.ports[0].lcores[1] = 6;
	config.ports[0].lcores[2] = 3;
	config.replays[0] = (struct tl_config_replay){.port = 0, .lcore = 7};
	config.eal.main_lcore = 4;
	tl_place_choose(&config, &facts, &place);
	shares = tl_place_shares(&config, &facts, &place, 0, 0);
	expect_shares(&shares, "6", "none", "4", "none");
	CU_ASSERT_FALSE(shares.far); // the node of the NIC is unknown
	shares = tl_place_shares(&config, &facts, &place, 0, 2);
	expect_shares(&shares, "7", "none", "none", "none");
	facts.cpu.isolated = tl_cpus_parse_list("2-7");
	config.ports[0].lcores[1] = 5;
	tl_place_choose(&config, &facts, &place);
	shares = tl_place_shares(&config, &facts, &place, 0, 0);
	expect_shares(&shares, "none", "none", "4", "none"); // CPU 6 is idle and isolated
}

int main(void)
{
	return tl_test_run("place");
}
