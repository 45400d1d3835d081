// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about the kernel's receive path of each port: interrupts of its queues, masks of RPS and XPS.

#include "doctor_facts.h"
#include "doctor_irqs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Return the only CPU of a set; unknown if it has more, or none.
static struct tl_fact_num only_cpu(const struct tl_fact_cpus *cpus)
{
	struct tl_fact_num only = {0};

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		if (!tl_cpus_has(cpus, cpu))
			continue;
		if (only.known)
			return (struct tl_fact_num){0};
		only = tl_fact_is(cpu);
	}
	return only;
}

static void take_irq(void *ctx, const struct tl_irq *irq)
{
	struct tl_fact_port *port = ctx;

	port->queue_irqs.known = true;
	if (irq->queue < 0 || port->queue_irqs.value == TL_FACT_IRQS_MAX)
		return;
	port->irqs[port->queue_irqs.value++] = (struct tl_fact_irq){
		.number = irq->number, .cpu = only_cpu(irq->effective.known ? &irq->effective : &irq->allowed)};
}

struct queue_look {
	const struct tl_tree *tree;
	struct tl_fact_port *port;
};

// Add the CPUs in the mask of a queue: "rx-0", "tx-0".
static void look_queue(void *ctx, const char *name)
{
	const struct queue_look *look = ctx;
	bool receives = strncmp(name, "rx-", 3) == 0;
	struct tl_fact_cpus *all = receives ? &look->port->rps : &look->port->xps;
	struct tl_fact_text line = tl_tree_line(look->tree, "/sys/class/net/%s/queues/%s/%s",
		look->port->interface.text, name, receives ? "rps_cpus" : "xps_cpus");
	struct tl_fact_cpus cpus = line.known ? tl_cpus_parse_mask(line.text) : (struct tl_fact_cpus){0};

	all->known |= cpus.known;
	for (size_t i = 0; i < TL_ARRAY_LEN(all->bits); i++)
		all->bits[i] |= cpus.bits[i];
}

void tl_gather_receive(const struct tl_tree *tree, struct tl_facts *facts)
{
	char *interrupts = tl_tree_text(tree, "/proc/interrupts");
	char path[TL_TREE_PATH_MAX];

	for (uint32_t i = 0; i < facts->n_ports; i++) {
		struct tl_fact_port *port = &facts->ports[i];
		if (!port->interface.known || port->interface.text[0] == '\0')
			continue;
		tl_irqs_device(tree, port->interface.text, path, sizeof(path));
		tl_irqs_each(tree, path, interrupts, take_irq, port);
		snprintf(path, sizeof(path), "/sys/class/net/%s/queues", port->interface.text);
		tl_tree_each(tree, path, look_queue, &(struct queue_look){tree, port});
	}
	free(interrupts);
}
