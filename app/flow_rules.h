// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// flow_rules: the flow rules of a port as rows for the user, as planned.
//
// Threads: main.

#include <tl_config.h>
#include <tl_report.h>
#include <tl_rules.h>

// Rows of a port's rules, and their texts.
struct tl_flow_rules {
	uint32_t n;
	struct tl_report_rule row[TL_RULES_MAX];
	char matches[TL_RULES_MAX][TL_CONFIG_RULE_TEXT];
};

// Return the rows of rules, as planned; the caller frees them. has_echo: the port's lcores hand frames to each other.
// NULL: out of memory.
struct tl_flow_rules *tl_flow_rules_create(const struct tl_config_port *port, const struct tl_config_rule *rules,
	const struct tl_rules_plan *plan, bool has_echo);
