// SPDX-License-Identifier: BSD-3-Clause
// A sample of all counters: of interfaces, interrupts, softirqs, and of an appliance's ports.

#include "pps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_units.h>

#define SOFTNET_COLUMNS 13

struct pps_iface *pps_add_iface(struct pps_sample *sample, const char *name)
{
	struct pps_iface *ifaces = reallocarray(sample->ifaces, sample->n + 1, sizeof(*ifaces));

	if (ifaces == NULL)
		return NULL;
	sample->ifaces = ifaces;
	struct pps_iface *iface = &ifaces[sample->n++];
	memset(iface, 0, sizeof(*iface));
	snprintf(iface->name, sizeof(iface->name), "%s", name);
	return iface;
}

bool pps_is_called(const struct pps_iface *iface, const char *name)
{
	size_t chars = strlen(name);

	if (strcmp(iface->name, name) == 0)
		return true;
	for (const char *at = iface->altnames; *at != '\0'; at += strcspn(at, " ") + 1)
		if (strncmp(at, name, chars) == 0 && at[chars] == ' ')
			return true;
	return false;
}

struct pps_iface *pps_find_iface(const struct pps_sample *sample, const char *name)
{
	for (size_t i = 0; i < sample->n; i++)
		if (pps_is_called(&sample->ifaces[i], name))
			return &sample->ifaces[i];
	return NULL;
}

void pps_sample_free(struct pps_sample *sample)
{
	free(sample->ifaces);
	sample->ifaces = NULL;
	sample->n = 0;
}

// ---- interrupts

static void format_cpus(const struct tl_fact_cpus *cpus, char text[PPS_LIST])
{
	text[0] = '\0';
	if (cpus->known)
		tl_cpus_format(cpus, text, PPS_LIST);
}

static void take_irq(void *ctx, const struct tl_irq *irq)
{
	struct pps_iface *iface = ctx;

	if (iface->n_irqs == PPS_IRQS_MAX)
		return;
	struct pps_irq *row = &iface->irqs[iface->n_irqs++];
	*row = (struct pps_irq){.number = irq->number, .queue = irq->queue, .counted = irq->counted.known};
	row->count = irq->count;
	memcpy(row->name, irq->name, sizeof(row->name));
	format_cpus(irq->effective.known ? &irq->effective : &irq->allowed, row->cpus);
	format_cpus(&irq->allowed, row->allowed);
}

static int compare_irqs(const void *a, const void *b)
{
	uint32_t x = ((const struct pps_irq *)a)->number, y = ((const struct pps_irq *)b)->number;

	return (x > y) - (x < y);
}

void pps_read_irqs(const struct tl_tree *tree, const char *interrupts, struct pps_iface *iface)
{
	char device[TL_TREE_PATH_MAX];
	struct tl_fact_num index = tl_tree_num(tree, "/sys/class/net/%s/ifindex", iface->name);

	if (index.known && index.value != iface->index) // /sys may show another network namespace (nsenter -n)
		return;
	tl_irqs_device(tree, iface->name, device, sizeof(device));
	tl_irqs_each(tree, device, interrupts, take_irq, iface);
	qsort(iface->irqs, iface->n_irqs, sizeof(iface->irqs[0]), compare_irqs);
}

// ---- softirqs

// Return the nth CPU of a set; -1: it has fewer.
static int nth_cpu(const struct tl_fact_cpus *cpus, uint32_t n)
{
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		if (tl_cpus_has(cpus, cpu) && n-- == 0)
			return (int)cpu;
	return -1;
}

// Take a line of hexadecimal counters: net/core/net-procfs.c, softnet_seq_show(). From Linux 5.10 it names its CPU;
// before, lines are those of the CPUs that are online.
static void take_softnet(const char *line, const struct tl_fact_cpus *online, struct pps_sample *out)
{
	static const unsigned columns[PPS_N_SOFTNET] = {0, 1, 2, 9};
	unsigned value[SOFTNET_COLUMNS], n = 0;
	char *end;

	for (; n < SOFTNET_COLUMNS && *line != '\n' && *line != '\0'; n++) {
		value[n] = (unsigned)strtoul(line, &end, 16);
		if (end == line)
			break;
		line = end + strspn(end, " \t");
	}
	int cpu = n == SOFTNET_COLUMNS ? (int)value[SOFTNET_COLUMNS - 1] : nth_cpu(online, out->n_cpus);
	if (n < 3 || cpu < 0 || out->n_cpus == TL_FACT_CPUS_MAX)
		return;
	struct pps_cpu *row = &out->cpus[out->n_cpus++];
	*row = (struct pps_cpu){.cpu = (uint32_t)cpu};
	for (unsigned i = 0; i < PPS_N_SOFTNET; i++)
		if (columns[i] < n)
			pps_count(&row->row, i, value[columns[i]]);
}

void pps_read_softnet(const struct tl_tree *tree, struct pps_sample *out)
{
	struct tl_fact_cpus online = tl_tree_cpus(tree, "/sys/devices/system/cpu/online");
	char *text = tl_tree_text(tree, "/proc/net/softnet_stat");

	for (const char *line = text; line != NULL && *line != '\0'; line += *line == '\n') {
		take_softnet(line, &online, out);
		line += strcspn(line, "\n");
	}
	free(text);
}

// ---- everything

static int read_ports(const struct pps_want *want, struct pps_sample *out, struct tl_err *err)
{
	char *answer;
	int rc = tl_ctl_ask(want->socket, "status", &answer, err);

	if (rc != 0)
		return rc;
	json_t *status = json_loads(answer, 0, NULL);
	free(answer);
	pps_take_ports(status, want, out);
	json_decref(status);
	return 0;
}

static int add_absent(const struct pps_want *want, struct pps_sample *out)
{
	for (size_t i = 0; i < want->n; i++) {
		if (pps_find_iface(out, want->names[i]) != NULL)
			continue;
		struct pps_iface *iface = pps_add_iface(out, want->names[i]);
		if (iface == NULL)
			return -ENOMEM;
		iface->state = PPS_GONE;
	}
	return 0;
}

int pps_look(const struct tl_tree *tree, const struct pps_want *want, struct pps_sample *out, struct tl_err *err)
{
	struct tl_err port_err = {{0}};

	*out = (struct pps_sample){.time_ns = tl_mono_ns()};
	int rc = pps_read_links(want, out);
	if (rc != 0)
		return tl_fail(err, rc, "the kernel's interfaces: %s", strerror(-rc));
	char *interrupts = tl_tree_text(tree, "/proc/interrupts");
	for (size_t i = 0; i < out->n; i++) {
		pps_read_queues(&out->ifaces[i]);
		pps_read_irqs(tree, interrupts, &out->ifaces[i]);
	}
	free(interrupts);
	pps_read_softnet(tree, out);
	size_t in_kernel = out->n;
	if (want->n == 0 || in_kernel < want->n || want->insist)
		read_ports(want, out, &port_err);
	rc = add_absent(want, out);
	snprintf(err->text, sizeof(err->text), "%s", port_err.text);
	return rc != 0 ? tl_fail(err, rc, "no memory") : 0;
}
