// SPDX-License-Identifier: BSD-3-Clause
// Read the interrupts of a device from sysfs, /proc/irq and /proc/interrupts.

#include "doctor_irqs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Names that drivers give to interrupts of receive queues: the queue's number follows the stem, and ends the name, or
// is followed by "@" and the device.
static const char *const stems[] = {
	"-TxRx-",  // ixgbe, igb, igc, i40e, ice, iavf, bnxt
	"-Tx-Rx-", // ena
	"-rx-",	   // igb, i40e, ice, bnxt, vmxnet3
	"-rxtx-",  // vmxnet3, nfp, nicvf
	"_rxq",	   // hinic
	"mana_q",
	"-input.", // virtio_net
	"-fp-",	   // bnx2x
	"mlx5_comp",
	"mlx4-",
};

static int32_t queue_of(const char *name)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(stems); i++) {
		const char *at = strstr(name, stems[i]);
		if (at == NULL)
			continue;
		at += strlen(stems[i]);
		size_t digits = strspn(at, "0123456789");
		if (digits > 0 && digits < 6 && (at[digits] == '\0' || at[digits] == '@'))
			return atoi(at);
	}
	return -1;
}

// Find the counts of an interrupt: " 41:   12   0  IR-PCI-MSI 524288-edge  eth0-TxRx-0".
static const char *find_counts(const char *interrupts, uint32_t number)
{
	unsigned found;

	for (const char *line = interrupts; line != NULL; line = strchr(line, '\n')) {
		line += line[0] == '\n';
		if (sscanf(line, " %u:", &found) == 1 && found == number)
			return strchr(line, ':') + 1;
	}
	return NULL;
}

// Take the last word of the line as the handler's name.
static void take_name(const char *line, char name[TL_IRQ_NAME])
{
	size_t end = strcspn(line, "\n"), begin;

	while (end > 0 && isblank((unsigned char)line[end - 1]))
		end--;
	for (begin = end; begin > 0 && !isblank((unsigned char)line[begin - 1]); begin--)
		;
	snprintf(name, TL_IRQ_NAME, "%.*s", (int)(end - begin), line + begin);
}

// Take the counts by CPU, below the heading "           CPU0       CPU2".
static void take_counts(const char *head, const char *line, struct tl_irq *irq)
{
	unsigned cpu;
	char *end;

	irq->counted.known = true;
	for (;;) {
		head += strspn(head, " \t");
		if (sscanf(head, "CPU%u", &cpu) != 1)
			break;
		head += strcspn(head, " \t\n");
		unsigned long long count = strtoull(line, &end, 10);
		if (end == line)
			break;
		line = end;
		irq->count += count;
		if (count != 0)
			tl_cpus_add(&irq->counted, cpu);
	}
	take_name(line, irq->name);
}

struct irq_look {
	const struct tl_tree *tree;
	const char *interrupts;
	void (*visit)(void *ctx, const struct tl_irq *irq);
	void *ctx;
};

static void look_irq(void *ctx, const char *name)
{
	const struct irq_look *look = ctx;
	struct tl_fact_num number = tl_fact_parse(name, 10);
	struct tl_irq irq = {.queue = -1};

	if (!number.known || number.value <= 0 || number.value > INT32_MAX)
		return;
	irq.number = (uint32_t)number.value;
	irq.effective = tl_tree_cpus(look->tree, "/proc/irq/%u/effective_affinity_list", irq.number);
	irq.allowed = tl_tree_cpus(look->tree, "/proc/irq/%u/smp_affinity_list", irq.number);
	const char *counts = look->interrupts != NULL ? find_counts(look->interrupts, irq.number) : NULL;
	if (counts != NULL)
		take_counts(look->interrupts, counts, &irq);
	irq.queue = queue_of(irq.name);
	look->visit(look->ctx, &irq);
}

void tl_irqs_device(const struct tl_tree *tree, const char *interface, char *path, size_t size)
{
	struct tl_fact_text device = tl_tree_link(tree, "/sys/class/net/%s/device", interface);

	snprintf(path, size, "/sys/class/net/%s/device%s", interface,
		strncmp(device.text, "virtio", 6) == 0 ? "/.." : "");
}

void tl_irqs_each(const struct tl_tree *tree, const char *device, const char *interrupts,
	void (*visit)(void *ctx, const struct tl_irq *irq), void *ctx)
{
	struct irq_look look = {.tree = tree, .interrupts = interrupts, .visit = visit, .ctx = ctx};
	char path[TL_TREE_PATH_MAX];

	snprintf(path, sizeof(path), "%s/msi_irqs", device);
	if (tl_tree_each(tree, path, look_irq, &look) == 0)
		return;
	struct tl_fact_text line = tl_tree_line(tree, "%s/irq", device);
	if (line.known)
		look_irq(&look, line.text);
}
