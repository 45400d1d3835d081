// SPDX-License-Identifier: BSD-3-Clause
// Gather NUMA facts of the configuration's ports: the node of each NIC, and the CPUs that receive its interrupts.

#include "doctor_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_port.h>

#define CARD "/sys/bus/pci/devices/%s"

void tl_gather_address(const struct tl_tree *tree, const struct tl_port_spec *spec, char *buf, size_t size)
{
	struct tl_port_spec card;

	buf[0] = '\0';
	if (spec->kind == TL_PORT_PCI) {
		snprintf(buf, size, "%s", spec->arg);
	} else if (spec->kind == TL_PORT_KERNEL || spec->kind == TL_PORT_XDP) {
		struct tl_fact_text device = tl_tree_link(tree, "/sys/class/net/%s/device", spec->arg);
		if (tl_port_spec_parse(device.text, &card, NULL) == 0 && card.kind == TL_PORT_PCI)
			snprintf(buf, size, "%s", card.arg);
	}
}

struct look {
	const struct tl_tree *tree;
	const char *interrupts; // text of /proc/interrupts; NULL: unknown
	struct tl_fact_cpus *cpus;
};

// Add the CPUs that have received an interrupt: "           CPU0       CPU2", then " 41:   12   0  …".
static void add_counted(const struct look *look, unsigned irq)
{
	const char *line = look->interrupts, *head = look->interrupts;
	unsigned number;

	while (line != NULL && !(sscanf(line, " %u:", &number) == 1 && number == irq)) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	if (line == NULL)
		return;
	line = strchr(line, ':') + 1;
	for (;;) {
		unsigned cpu;
		char *end;
		while (*head == ' ' || *head == '\t')
			head++;
		if (sscanf(head, "CPU%u", &cpu) != 1)
			return;
		head += strcspn(head, " \t\n");
		unsigned long long count = strtoull(line, &end, 10);
		if (end == line)
			return;
		line = end;
		if (count != 0)
			tl_cpus_add(look->cpus, cpu);
	}
}

// Add the CPUs an interrupt is routed to; if the kernel does not report them, those that have received it.
static void look_irq(void *ctx, const char *name)
{
	const struct look *look = ctx;
	struct tl_fact_num irq = tl_fact_parse(name, 10);

	if (!irq.known || irq.value <= 0 || irq.value > INT32_MAX)
		return;
	struct tl_fact_cpus routed = tl_tree_cpus(look->tree, "/proc/irq/%.32s/effective_affinity_list", name);
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		if (tl_cpus_has(&routed, cpu))
			tl_cpus_add(look->cpus, cpu);
	if (!routed.known)
		add_counted(look, (unsigned)irq.value);
}

static void look_card(struct look *look, const char *address)
{
	char path[TL_TREE_PATH_MAX];

	snprintf(path, sizeof(path), CARD "/msi_irqs", address);
	if (tl_tree_each(look->tree, path, look_irq, look) == 0)
		return;
	struct tl_fact_text line = tl_tree_line(look->tree, CARD "/irq", address);
	if (line.known)
		look_irq(look, line.text);
}

void tl_gather_places(const struct tl_tree *tree, const struct tl_config *config, struct tl_facts *facts)
{
	char *interrupts = tl_tree_text(tree, "/proc/interrupts");
	struct look look = {.tree = tree, .interrupts = interrupts, .cpus = &facts->wanted.irq_cpus};

	for (uint32_t p = 0; p < config->n_ports; p++) {
		struct tl_port_spec spec;
		char address[TL_ADDRESS_CHARS];
		if (tl_port_spec_parse(config->ports[p].device, &spec, NULL) != 0)
			continue;
		tl_gather_address(tree, &spec, address, sizeof(address));
		if (address[0] == '\0')
			continue;
		facts->wanted.port_vendors[p] = tl_tree_hex(tree, CARD "/vendor", address);
		facts->wanted.port_nodes[p] = tl_tree_num(tree, CARD "/numa_node", address);
		look_card(&look, address);
	}
	free(interrupts);
}
