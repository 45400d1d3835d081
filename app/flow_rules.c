// SPDX-License-Identifier: BSD-3-Clause
// Rows of flow rules for --explain and status.

#include "flow_rules.h"

#include <stdlib.h>
#include <string.h>

// Return what happens to the frames of a rule that is not in the NIC.
static const char *instead_of(const struct tl_config_port *port, const struct tl_config_rule *rule, bool has_echo)
{
	if (rule->drop)
		return "its frames are received like others: exclude them by the filter of a recording";
	if (port->isolate)
		return "nothing: the port does not start";
	if (has_echo && port->rx_queues > 1)
		return "RSS; a frame on another lcore than its echo's is handed over (handoff_pkts)";
	return "RSS: its frames come to any queue";
}

static void describe(struct tl_flow_rules *rules, uint32_t index, const struct tl_config_port *port,
	const struct tl_config_rule *rule, const struct tl_rules_row *planned, bool has_echo)
{
	struct tl_report_rule *row = &rules->row[index];

	*row = (struct tl_report_rule){.matches = tl_config_rule_text(rule, rules->matches[index]),
		.drops = rule->drop,
		.queue = rule->drop ? 0 : rule->queue,
		.mark = rule->mark,
		.derived = rule->derived,
		.instead = instead_of(port, rule, has_echo),
		.outcome = "planned"};
	if (planned->way == NULL) {
		row->outcome = "instead";
		row->item = planned->item;
		row->why = planned->why;
		return;
	}
	row->by = planned->way->name;
	row->most = planned->way->max;
	row->used = 1;
	for (uint32_t i = 0; i < index; i++)
		row->used += rules->row[i].by != NULL && strcmp(rules->row[i].by, row->by) == 0;
}

struct tl_flow_rules *tl_flow_rules_create(const struct tl_config_port *port, const struct tl_config_rule *from,
	const struct tl_rules_plan *plan, bool has_echo)
{
	struct tl_flow_rules *rules = calloc(1, sizeof(*rules));

	if (rules == NULL)
		return NULL;
	rules->n = plan->n;
	for (uint32_t i = 0; i < rules->n; i++)
		describe(rules, i, port, &from[i], &plan->row[i], has_echo);
	return rules;
}
