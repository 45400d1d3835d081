// SPDX-License-Identifier: BSD-3-Clause
// Show the difference of two looks: as a page, and as JSON.

#include "pps.h"

#include <string.h>

#include <tl_json.h>
#include <tl_text.h>
#include <tl_units.h>

#define NAME_COLUMNS 16
#define CELL 24

static double rate_of(const struct pps_sample *diff, uint64_t count, double factor)
{
	return diff->time_ns != 0 ? (double)count * factor * (double)TL_NS_PER_S / (double)diff->time_ns : 0;
}

// ---- page

static void print_title(FILE *out, const char *first, const struct pps_counter_name *names, unsigned n)
{
	fprintf(out, "%-*s", NAME_COLUMNS, first);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, " %9s", names[i].title);
	fputc('\n', out);
}

static void print_row(FILE *out, const struct pps_sample *diff, const char *name, const struct pps_row *row,
	const struct pps_counter_name *names, unsigned n)
{
	char cell[CELL];

	fprintf(out, "%-*s", NAME_COLUMNS, TL_PRINTABLE(name));
	for (unsigned i = 0; i < n; i++)
		fprintf(out, " %9s",
			pps_knows(row, i)
				? tl_format_scaled(rate_of(diff, row->value[i], names[i].factor), cell, sizeof(cell))
				: "-");
}

static void print_queues(FILE *out, const struct pps_sample *diff, const struct pps_iface *iface)
{
	uint64_t sum = 0;
	char name[CELL];

	for (uint32_t i = 0; i < iface->n_queues; i++)
		sum += pps_knows(&iface->queues[i], PPS_RX_PKTS) ? iface->queues[i].value[PPS_RX_PKTS] : 0;
	for (uint32_t i = 0; i < iface->n_queues; i++) {
		const struct pps_row *queue = &iface->queues[i];
		if (queue->known == 0)
			continue;
		snprintf(name, sizeof(name), "  queue %u", i);
		print_row(out, diff, name, queue, pps_counters, PPS_N_COUNTERS);
		if (sum != 0 && pps_knows(queue, PPS_RX_PKTS))
			fprintf(out, " %5.1f %%", (double)queue->value[PPS_RX_PKTS] * 100 / (double)sum);
		fputc('\n', out);
	}
	if (pps_imbalance(iface) != 0)
		fprintf(out, "  imbalance %.2f (busiest queue / mean)\n", pps_imbalance(iface));
	if (iface->n_queues == 0 && iface->no_queues[0] != '\0')
		fprintf(out, "  no queues: %s\n", iface->no_queues);
}

static void print_irqs(FILE *out, const struct pps_sample *diff, const struct pps_iface *iface)
{
	char cell[CELL];

	for (uint32_t i = 0; i < iface->n_irqs; i++) {
		const struct pps_irq *irq = &iface->irqs[i];
		fprintf(out, "  irq %-5u %9s/s  cpu %s", irq->number,
			irq->counted ? tl_format_scaled(rate_of(diff, irq->count, 1), cell, sizeof(cell)) : "-",
			irq->cpus[0] != '\0' ? irq->cpus : "?");
		if (irq->allowed[0] != '\0' && strcmp(irq->cpus, irq->allowed) != 0)
			fprintf(out, " of %s", irq->allowed);
		if (irq->queue >= 0)
			fprintf(out, "  queue %d", irq->queue);
		fprintf(out, "  %s\n", TL_PRINTABLE(irq->name));
	}
}

static const char *const states[] = {"ok", "new", "reset", "gone"};

void pps_print(FILE *out, const struct pps_sample *diff)
{
	char name[CELL];

	print_title(out, "interface", pps_counters, PPS_N_COUNTERS);
	for (size_t i = 0; i < diff->n; i++) {
		const struct pps_iface *iface = &diff->ifaces[i];
		print_row(out, diff, iface->name, &iface->total, pps_counters, PPS_N_COUNTERS);
		fprintf(out, "%s%s\n", iface->state == PPS_OK ? "" : "  ",
			iface->state == PPS_OK ? "" : states[iface->state]);
		print_queues(out, diff, iface);
		print_irqs(out, diff, iface);
	}
	fputc('\n', out);
	print_title(out, "softirq", pps_softnets, PPS_N_SOFTNET);
	for (uint32_t i = 0; i < diff->n_cpus; i++) {
		snprintf(name, sizeof(name), "cpu %u", diff->cpus[i].cpu);
		print_row(out, diff, name, &diff->cpus[i].row, pps_softnets, PPS_N_SOFTNET);
		fputc('\n', out);
	}
}

// ---- JSON

static json_t *number(bool known, uint64_t value)
{
	return known ? json_integer((json_int_t)tl_min_u64(value, INT64_MAX)) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return text[0] != '\0' ? tl_json_string(text) : json_null();
}

static void put_row(json_t *object, const struct pps_sample *diff, const struct pps_row *row,
	const struct pps_counter_name *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		bool known = pps_knows(row, i);
		json_object_set_new(object, names[i].name, number(known, row->value[i]));
		if (names[i].rate != NULL)
			json_object_set_new(object, names[i].rate,
				known ? json_real(rate_of(diff, row->value[i], names[i].factor)) : json_null());
	}
}

static json_t *queues_json(const struct pps_sample *diff, const struct pps_iface *iface)
{
	json_t *queues = json_array();

	for (uint32_t i = 0; i < iface->n_queues; i++) {
		if (iface->queues[i].known == 0)
			continue;
		json_t *queue = json_object();
		json_object_set_new(queue, "queue", json_integer(i));
		put_row(queue, diff, &iface->queues[i], pps_counters, PPS_N_COUNTERS);
		json_array_append_new(queues, queue);
	}
	return queues;
}

static json_t *irqs_json(const struct pps_iface *iface)
{
	json_t *irqs = json_array();

	for (uint32_t i = 0; i < iface->n_irqs; i++) {
		const struct pps_irq *irq = &iface->irqs[i];
		json_t *row = json_object();
		json_object_set_new(row, "irq", json_integer(irq->number));
		json_object_set_new(row, "name", text_or_null(irq->name));
		json_object_set_new(row, "queue", irq->queue >= 0 ? json_integer(irq->queue) : json_null());
		json_object_set_new(row, "cpus", text_or_null(irq->cpus));
		json_object_set_new(row, "allowed", text_or_null(irq->allowed));
		json_object_set_new(row, "count", number(irq->counted, irq->count));
		json_array_append_new(irqs, row);
	}
	return irqs;
}

static json_t *iface_json(const struct pps_sample *diff, const struct pps_iface *iface)
{
	json_t *object = json_object();
	double imbalance = pps_imbalance(iface);

	json_object_set_new(object, "name", tl_json_string(iface->name));
	json_object_set_new(object, "source",
		iface->state == PPS_GONE ? json_null() : json_string(iface->index != 0 ? "kernel" : "appliance"));
	json_object_set_new(object, "state", json_string(states[iface->state]));
	put_row(object, diff, &iface->total, pps_counters, PPS_N_COUNTERS);
	json_object_set_new(object, "imbalance", imbalance != 0 ? json_real(imbalance) : json_null());
	json_object_set_new(object, "queues", queues_json(diff, iface));
	json_object_set_new(object, "no_queues", text_or_null(iface->no_queues));
	json_object_set_new(object, "irqs", irqs_json(iface));
	return object;
}

json_t *pps_json(const struct pps_sample *diff)
{
	json_t *object = json_object(), *ifaces = json_array(), *cpus = json_array();

	for (size_t i = 0; i < diff->n; i++)
		json_array_append_new(ifaces, iface_json(diff, &diff->ifaces[i]));
	for (uint32_t i = 0; i < diff->n_cpus; i++) {
		json_t *cpu = json_object();
		json_object_set_new(cpu, "cpu", json_integer(diff->cpus[i].cpu));
		put_row(cpu, diff, &diff->cpus[i].row, pps_softnets, PPS_N_SOFTNET);
		json_array_append_new(cpus, cpu);
	}
	json_object_set_new(object, "interval_ns", number(true, diff->time_ns));
	json_object_set_new(object, "interfaces", ifaces);
	json_object_set_new(object, "softnet", cpus);
	return object;
}
