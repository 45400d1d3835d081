// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about other users of the workers' CPUs, interrupts and tasks, and about running daemons.

#include "doctor_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KTHREADD 2
#define STATUS_BYTES 4096

struct look {
	const struct tl_tree *tree;
	struct tl_facts *facts;
	char process[32]; // process whose threads are examined
};

// Increment the count, and append the first few names to the list.
static void add_to(struct tl_fact_num *n, struct tl_fact_text *list, const char *fmt, ...) TL_PRINTF(3, 4);

static void add_to(struct tl_fact_num *n, struct tl_fact_text *list, const char *fmt, ...)
{
	size_t used = strlen(list->text), room = sizeof(list->text) - used;
	char name[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	n->value++;
	list->known = true;
	if (strlen(name) + sizeof(", ...") < room)
		snprintf(list->text + used, room, "%s%s", used > 0 ? ", " : "", name);
	else if (room > 4 && strcmp(list->text + used - 3, "...") != 0)
		snprintf(list->text + used, room, "...");
}

static bool is_number(const char *name)
{
	return name[0] != '\0' && strspn(name, "0123456789") == strlen(name);
}

// ---- interrupts

static bool meets_workers(const struct tl_facts *facts, const struct tl_fact_cpus *cpus)
{
	struct tl_fact_cpus both = tl_cpus_both(&facts->wanted.workers, cpus);

	return both.known && !tl_cpus_is_empty(&both);
}

static void look_irq(void *ctx, const char *name)
{
	const struct look *look = ctx;
	struct tl_fact_cpu *cpu = &look->facts->cpu;

	if (!is_number(name))
		return;
	// Prefer the effective CPUs of the interrupt; if unknown, use the permitted ones.
	struct tl_fact_cpus cpus = tl_tree_cpus(look->tree, "/proc/irq/%.32s/effective_affinity_list", name);
	if (!cpus.known)
		cpus = tl_tree_cpus(look->tree, "/proc/irq/%.32s/smp_affinity_list", name);
	cpu->worker_irqs.known |= cpus.known;
	if (meets_workers(look->facts, &cpus))
		add_to(&cpu->worker_irqs, &cpu->worker_irq_list, "IRQ %.32s", name);
}

void tl_gather_irqs(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct look look = {.tree = tree, .facts = facts};

	tl_tree_each(tree, "/proc/irq", look_irq, &look);
}

// ---- tasks

static uint32_t count(const struct tl_fact_cpus *cpus)
{
	uint32_t n = 0;

	for (size_t i = 0; i < TL_FACT_CPUS_MAX / 64; i++)
		n += (uint32_t)__builtin_popcountll(cpus->bits[i]);
	return n;
}

// Check whether a task belongs on its CPU: a kernel thread bound to its CPU cannot be moved; own workers are in place.
static bool is_at_home(const char *status, const struct tl_fact_cpus *cpus)
{
	char name[64], parent[32];

	if (!tl_line_after(status, "Name:", name, sizeof(name)) || strncmp(name, "tapline", 7) == 0 ||
		strncmp(name, "tl-", 3) == 0 || strstr(name, "-worker") != NULL)
		return true;
	if (!tl_line_after(status, "PPid:", parent, sizeof(parent)))
		return true;
	struct tl_fact_num ppid = tl_fact_parse(parent, 10);
	return ppid.known && ppid.value == KTHREADD && count(cpus) == 1;
}

static void look_task(void *ctx, const char *name)
{
	const struct look *look = ctx;
	struct tl_fact_cpu *cpu = &look->facts->cpu;
	char path[TL_TREE_PATH_MAX], status[STATUS_BYTES], list[1024], comm[32] = "?";

	snprintf(path, sizeof(path), "/proc/%s/task/%.16s/status", look->process, name);
	if (!is_number(name) || tl_tree_bytes(look->tree, status, sizeof(status), path) < 0 ||
		!tl_line_after(status, "Cpus_allowed_list:", list, sizeof(list)))
		return;
	struct tl_fact_cpus cpus = tl_cpus_parse_list(list);
	cpu->stray_tasks.known |= cpus.known;
	tl_line_after(status, "Name:", comm, sizeof(comm));
	if (meets_workers(look->facts, &cpus) && !is_at_home(status, &cpus))
		add_to(&cpu->stray_tasks, &cpu->stray_task_list, "%.20s (%.16s)", comm, name);
}

static void look_daemon(struct tl_facts *facts, const char *comm)
{
	// comm has at most 15 characters.
	static const char *const clocks[] = {"chronyd", "phc2sys", "ptp4l", "ntpd", "systemd-timesyn", "timemaster"};

	if (!facts->cpu.irqbalance.known)
		facts->cpu.irqbalance = tl_fact_is(0);
	if (!facts->time.daemon.known)
		facts->time.daemon = tl_fact_says("");
	if (strcmp(comm, "irqbalance") == 0)
		facts->cpu.irqbalance = tl_fact_is(1);
	for (size_t i = 0; i < TL_ARRAY_LEN(clocks); i++)
		if (strcmp(comm, clocks[i]) == 0)
			facts->time.daemon = tl_fact_says(comm);
}

static void look_process(void *ctx, const char *name)
{
	struct look *look = ctx;
	char path[TL_TREE_PATH_MAX];

	if (!is_number(name))
		return;
	struct tl_fact_text comm = tl_tree_line(look->tree, "/proc/%.16s/comm", name);
	if (comm.known)
		look_daemon(look->facts, comm.text);
	snprintf(look->process, sizeof(look->process), "%.16s", name);
	snprintf(path, sizeof(path), "/proc/%.16s/task", name);
	if (look->facts->wanted.workers.known)
		tl_tree_each(look->tree, path, look_task, look);
}

void tl_gather_processes(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct look look = {.tree = tree, .facts = facts};

	tl_tree_each(tree, "/proc", look_process, &look);
}
