// SPDX-License-Identifier: BSD-3-Clause
// The reason for the CPU of a queue, and what it shares with others, as text and JSON.

#include "explain_place.h"

#include <stdio.h>

#define WARNINGS_MAX 3
#define WARNING_CHARS 320

struct warnings {
	unsigned n;
	char text[WARNINGS_MAX][WARNING_CHARS];
};

static void list_warnings(const struct tl_place_shares *shares, struct warnings *out)
{
	char cpus[TL_FACT_TEXT];

	out->n = 0;
	if (!tl_cpus_is_empty(&shares->core))
		snprintf(out->text[out->n++], WARNING_CHARS,
			"shares its core with CPU %s of this configuration: each has about half of the core's speed; name "
			"CPUs of different cores in \"lcores\"",
			tl_cpus_format(&shares->core, cpus, sizeof(cpus)));
	if (!tl_cpus_is_empty(&shares->open))
		snprintf(out->text[out->n++], WARNING_CHARS,
			"shares its core with CPU %s, which is not isolated: other tasks there take up to half of its speed",
			tl_cpus_format(&shares->open, cpus, sizeof(cpus)));
	if (shares->far)
		snprintf(out->text[out->n++], WARNING_CHARS, "is not on node %d of the NIC: each frame crosses nodes",
			shares->nic_node);
}

static json_t *cpus_json(const struct tl_fact_cpus *cpus)
{
	json_t *list = json_array();

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		if (tl_cpus_has(cpus, cpu))
			json_array_append_new(list, json_integer(cpu));
	return list;
}

void tl_explain_place_json(json_t *row, const struct tl_config *config, const struct tl_plan *plan,
	const struct tl_facts *facts, uint32_t port, uint32_t queue)
{
	struct tl_place_shares shares = tl_place_shares(config, facts, &plan->place, port, queue);
	json_t *list = json_array();
	struct warnings warnings;
	char why[TL_PLACE_WHY_CHARS];

	list_warnings(&shares, &warnings);
	for (unsigned i = 0; i < warnings.n; i++)
		json_array_append_new(list, json_string(warnings.text[i]));
	json_object_set_new(row, "cpu_why", json_string(tl_place_why(config, facts, &plan->place, port, queue, why)));
	json_object_set_new(row, "core_shared_with", cpus_json(&shares.core));
	json_object_set_new(row, "cache_shared_with", cpus_json(&shares.cache));
	json_object_set_new(row, "node_shared_with", cpus_json(&shares.node));
	json_object_set_new(row, "warnings", list);
}

static void print_shared(const char *what, const struct tl_fact_cpus *with)
{
	char cpus[TL_FACT_TEXT];

	if (!tl_cpus_is_empty(with))
		printf("    shares its %s with CPU %s of this configuration\n", what,
			tl_cpus_format(with, cpus, sizeof(cpus)));
}

void tl_explain_place_print(const struct tl_config *config, const struct tl_plan *plan, const struct tl_facts *facts,
	uint32_t port, uint32_t queue)
{
	struct tl_place_shares shares = tl_place_shares(config, facts, &plan->place, port, queue);
	struct warnings warnings;
	char why[TL_PLACE_WHY_CHARS];

	list_warnings(&shares, &warnings);
	printf("    this CPU: %s\n", tl_place_why(config, facts, &plan->place, port, queue, why));
	for (unsigned i = 0; i < warnings.n; i++)
		printf("    warning: it %s\n", warnings.text[i]);
	print_shared("last-level cache", &shares.cache);
	print_shared("node's memory", &shares.node);
}
