// SPDX-License-Identifier: BSD-3-Clause
// Gather NUMA facts of the configuration's ports: the node of each NIC, and the CPUs that receive its interrupts.

#include "doctor_facts.h"
#include "doctor_irqs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_port.h>

#define CARD "/sys/bus/pci/devices/%s"

void tl_gather_address(const struct tl_tree *tree, const struct tl_port_spec *spec, char *buf, size_t size)
{
	struct tl_port_spec card;

	buf[0] = '\0';
	if (tl_port_traits(spec)->nic) {
		snprintf(buf, size, "%s", spec->arg);
	} else if (tl_port_traits(spec)->interface) {
		struct tl_fact_text device = tl_tree_link(tree, "/sys/class/net/%s/device", spec->arg);
		if (tl_port_spec_parse(device.text, &card, NULL) == 0 && tl_port_traits(&card)->nic)
			snprintf(buf, size, "%s", card.arg);
	}
}

// Add the CPUs an interrupt is routed to; if the kernel does not report them, those that have received it.
static void look_irq(void *ctx, const struct tl_irq *irq)
{
	const struct tl_fact_cpus *cpus = irq->effective.known ? &irq->effective : &irq->counted;

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		if (tl_cpus_has(cpus, cpu))
			tl_cpus_add(ctx, cpu);
}

void tl_gather_places(const struct tl_tree *tree, const struct tl_config *config, struct tl_facts *facts)
{
	char *interrupts = tl_tree_text(tree, "/proc/interrupts");

	for (uint32_t p = 0; p < config->n_ports; p++) {
		struct tl_port_spec spec;
		char address[TL_ADDRESS_CHARS], path[TL_TREE_PATH_MAX];
		if (tl_port_spec_parse(config->ports[p].device, &spec, NULL) != 0)
			continue;
		tl_gather_address(tree, &spec, address, sizeof(address));
		if (address[0] == '\0')
			continue;
		facts->wanted.port_vendors[p] = tl_tree_hex(tree, CARD "/vendor", address);
		facts->wanted.port_nodes[p] = tl_tree_num(tree, CARD "/numa_node", address);
		snprintf(path, sizeof(path), CARD, address);
		tl_irqs_each(tree, path, interrupts, look_irq, &facts->wanted.irq_cpus);
	}
	free(interrupts);
}
