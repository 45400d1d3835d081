// SPDX-License-Identifier: BSD-3-Clause
// tapline run --explain: print the choices made for each port, and their reasons.

#include "explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_report.h>
#include <tl_units.h>
#include <tl_wire.h>

#include "explain_place.h"
#include "flow_rules.h"
#include "police.h"
#include "policer.h"
#include "shaping.h"

static const char *way_of(const struct tl_plan *plan, uint32_t port)
{
	const struct tl_port_traits *traits = tl_port_traits(&plan->specs[port]);

	return (plan->has_echo[port] || plan->has_replay[port]) && traits->way_sending != NULL ? traits->way_sending
											       : traits->way;
}

static json_t *queues_json(
	const struct tl_config *config, const struct tl_plan *plan, const struct tl_facts *facts, uint32_t port)
{
	json_t *queues = json_array();

	for (uint32_t q = 0; q < config->ports[port].rx_queues; q++) {
		uint32_t entry = plan->place.first[port] + q;
		json_t *row = json_pack("{s:s, s:i, s:i}", "role", tl_plan_role(config, plan, port, q), "cpu",
			(int)plan->place.cpus[entry], "numa_node", plan->place.cpu_nodes[entry]);
		if (facts != NULL)
			tl_explain_place_json(row, config, plan, facts, port, q);
		json_array_append_new(queues, row);
	}
	return queues;
}

static struct tl_flow_rules *rules_of(const struct tl_config *config, const struct tl_plan *plan, uint32_t port)
{
	return tl_flow_rules_create(
		&config->ports[port], plan->flow_rules[port], &plan->rules[port], plan->has_echo[port]);
}

static json_t *rules_json(const struct tl_config *config, const struct tl_plan *plan, uint32_t port)
{
	struct tl_flow_rules *rules = rules_of(config, plan, port);
	json_t *list = json_array();

	for (uint32_t i = 0; rules != NULL && i < rules->n; i++)
		json_array_append_new(list, tl_report_rule_json(&rules->row[i]));
	free(rules);
	return list;
}

static json_t *replays_json(const struct tl_config *config, const struct tl_plan *plan, uint32_t port)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < config->n_replays; i++)
		if (tl_config_sends(&config->replays[i], port))
			json_array_append_new(list, json_pack("{s:s, s:i}", "name", config->replays[i].name, "cpu",
							    (int)plan->place.cpus[plan->place.n_lcores + i]));
	return list;
}

static json_t *paces_json(const struct tl_config *config, uint32_t port)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < config->n_echoes; i++)
		if (config->echoes[i].port == port && config->echoes[i].pace_bps != 0)
			json_array_append_new(list, json_pack("{s:s, s:I}", "echo", config->echoes[i].name, "pace_bps",
							    (json_int_t)config->echoes[i].pace_bps));
	return list;
}

// Print the rate of the connections of each paced echo, and how often the longest frame leaves.
static void print_paces(const struct tl_config *config, uint32_t port)
{
	uint64_t frame_bytes =
		config->ports[port].mtu + TL_ETHER_LEN + (config->ports[port].vlan != 0 ? TL_VLAN_LEN : 0);

	for (uint32_t i = 0; i < config->n_echoes; i++) {
		const struct tl_config_echo *echo = &config->echoes[i];
		char gap[32];
		if (echo->port != port || echo->pace_bps == 0)
			continue;
		printf("  echo %s: each connection is paced to %" PRIu64 " bit/s: a frame of %" PRIu64
		       " bytes every %s (paced_waits)\n",
			echo->name, echo->pace_bps, frame_bytes,
			tl_format_ns(8 * frame_bytes * TL_NS_PER_S / echo->pace_bps, gap, sizeof(gap)));
	}
}

// Describe the work per received frame that rules in the NIC add. tests/bench/rules.sh has measured ixgbe.
static const char *cost_of_rules(const char *driver, bool marks)
{
	if (strcmp(driver, "net_ixgbe") == 0)
		return "none (measured: docs/benchmarks.md, flow rules)";
	return marks ? "its mark is read; not measured with this driver"
		     : "none expected; not measured with this driver";
}

static void print_rules(const struct tl_config *config, const struct tl_plan *plan, uint32_t port)
{
	struct tl_flow_rules *rules = rules_of(config, plan, port);
	bool in_nic = false, marks = false;

	for (uint32_t i = 0; rules != NULL && i < rules->n; i++) {
		printf("  rule %" PRIu32 ": ", i);
		tl_report_rule_text(stdout, &rules->row[i]);
		in_nic |= rules->row[i].by != NULL;
		marks |= rules->row[i].mark != 0;
	}
	if (in_nic)
		printf("  cost of the rules per received frame: %s\n",
			cost_of_rules(plan->rules[port].family->driver, marks));
	free(rules);
}

// Print whether the port's NIC is asked to hash inner headers. Of the families in drivers.md, bnxt alone offers the
// level (bnxt/bnxt_ethdev.c:1144 of DPDK v25.11, bnxt/bnxt.h:579 of v22.11.9).
static void print_inner(const struct tl_plan *plan, uint32_t port)
{
	char driver[64];
	uint16_t device;
	bool known = tl_port_expected_driver(&plan->specs[port], driver, sizeof(driver), &device);

	printf("  rss inner: encapsulated frames are handed over to the queue of their inner flow (inner_handoff_pkts)");
	if (known && strcmp(driver, "net_bnxt") == 0)
		printf(" if the NIC, which is asked to hash inner headers, brought them to another\n");
	else if (known)
		printf(": %s offers no RSS level\n", driver);
	else
		printf(", unless its driver offers an RSS level\n");
}

// Print the role of a queue, the echoes that it owns, and where it hands over their frames.
static void print_role(const struct tl_config *config, const struct tl_plan *plan, uint32_t port, uint32_t queue)
{
	const char *before = ", owner of ";

	printf(": %s", tl_plan_role(config, plan, port, queue));
	for (uint32_t i = 0; i < config->n_echoes; i++) {
		if (config->echoes[i].port != port || plan->echo_queues[i] != queue)
			continue;
		printf("%s%s", before, config->echoes[i].name);
		before = ", ";
	}
	if (plan->has_echo[port] && !tl_config_answers(&config->ports[port], queue))
		printf("; frames for the port's own addresses are handed over (handoff_pkts)");
	if (plan->has_echo[port] && !tl_config_records(&config->ports[port], queue))
		printf("; its frames are not recorded (unrecorded_rx_pkts, unrecorded_tx_pkts)");
	putchar('\n');
}

json_t *tl_explain_json(const struct tl_config *config, const struct tl_plan *plan)
{
	struct tl_facts *facts = tl_plan_facts(config);
	json_t *ports = json_array();

	for (uint32_t p = 0; p < config->n_ports; p++)
		json_array_append_new(ports,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
				config->ports[p].name, "device", config->ports[p].device, "receives_by",
				way_of(plan, p), "idle", plan->idle[p].adaptive ? "adaptive" : "poll", "idle_why",
				plan->idle[p].why, "queues", queues_json(config, plan, facts, p), "flow_rules",
				rules_json(config, plan, p), "shapes", tl_shaping_json(config, p), "recording_classes",
				tl_police_json(config, p), "replays", replays_json(config, plan, p), "paced_echoes",
				paces_json(config, p), "policed_echoes", tl_policer_echoes_json(config, p)));
	free(facts);
	return ports;
}

static void print_queue(const struct tl_config *config, const struct tl_plan *plan, const struct tl_facts *facts,
	uint32_t port, uint32_t queue)
{
	uint32_t entry = plan->place.first[port] + queue;

	printf("  queue %" PRIu32 " on CPU %" PRIu32, queue, plan->place.cpus[entry]);
	if (plan->place.cpu_nodes[entry] != TL_PLACE_NO_NODE)
		printf(" of NUMA node %d", plan->place.cpu_nodes[entry]);
	print_role(config, plan, port, queue);
	if (facts != NULL)
		tl_explain_place_print(config, plan, facts, port, queue);
}

void tl_explain_print(const struct tl_config *config, const struct tl_plan *plan)
{
	struct tl_facts *facts = tl_plan_facts(config);

	for (uint32_t p = 0; p < config->n_ports; p++) {
		const struct tl_config_port *port = &config->ports[p];
		printf("port %s (%s): receives by %s\n", port->name, port->device, way_of(plan, p));
		printf("  idle %s: %s\n", plan->idle[p].adaptive ? "adaptive" : "poll", plan->idle[p].why);
		for (uint32_t q = 0; q < port->rx_queues; q++)
			print_queue(config, plan, facts, p, q);
		if (tl_plan_hands_over_inner(config, p))
			print_inner(plan, p);
		for (uint32_t i = 0; i < config->n_replays; i++)
			if (tl_config_sends(&config->replays[i], p))
				printf("  replay %s sends from CPU %" PRIu32 "\n", config->replays[i].name,
					plan->place.cpus[plan->place.n_lcores + i]);
		print_paces(config, p);
		tl_policer_print_echoes(config, p);
		print_rules(config, plan, p);
		tl_shaping_print(config, p);
		tl_police_print(config, p);
	}
	free(facts);
}
