// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about CPUs: the online ones, and the settings of the workers' CPUs.

#include "doctor_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_eal_about.h>
#include <tl_eal_cpus.h>

#define CPU_DIR "/sys/devices/system/cpu"
#define IDLE_STATES_MAX 16
#define FLAGS_BYTES 8192

// Check whether a blank-separated list contains the word.
static bool has_word(const char *list, const char *word)
{
	size_t chars = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += chars) {
		bool begins = at == list || at[-1] == ' ';
		if (begins && (at[chars] == ' ' || at[chars] == '\0'))
			return true;
	}
	return false;
}

static void read_flags(const struct tl_tree *tree, struct tl_facts *facts)
{
	const char *const *flags = tl_eal_cpu_flags();
	char line[FLAGS_BYTES], missing[TL_FACT_TEXT] = "";
	size_t used = 0;

	if (tl_tree_line_after(tree, "/proc/cpuinfo", TL_CPUINFO_FLAGS, line, sizeof(line))) {
		for (size_t i = 0; flags[i] != NULL; i++)
			if (!has_word(line, flags[i]) && used + 16 < sizeof(missing))
				used += (size_t)snprintf(
					missing + used, sizeof(missing) - used, "%s%s", used > 0 ? " " : "", flags[i]);
		facts->cpu.missing_flags = tl_fact_says(missing);
		facts->time.constant_tsc = tl_fact_is(has_word(line, "constant_tsc"));
		facts->time.nonstop_tsc = tl_fact_is(has_word(line, "nonstop_tsc"));
	}
}

struct tl_fact_num tl_cpuinfo_hypervisor(const char *cpuinfo)
{
	char line[FLAGS_BYTES];

	if (cpuinfo == NULL || !tl_line_after(cpuinfo, TL_CPUINFO_FLAGS, line, sizeof(line)))
		return (struct tl_fact_num){0};
	return tl_fact_is(has_word(line, "hypervisor"));
}

// Find the value of a word KEY=VALUE on the kernel command line.
static bool find_option(const char *cmdline, const char *key, char *buf, size_t size)
{
	size_t chars = strlen(key);

	for (const char *at = cmdline; (at = strstr(at, key)) != NULL; at += chars) {
		if ((at != cmdline && at[-1] != ' ') || at[chars] != '=')
			continue;
		snprintf(buf, size, "%.*s", (int)strcspn(at + chars + 1, " \n"), at + chars + 1);
		return true;
	}
	return false;
}

// Read rcu_nocbs; it includes the CPUs of nohz_full.
static struct tl_fact_cpus read_rcu_nocbs(const struct tl_tree *tree, const struct tl_facts *facts)
{
	char *cmdline = tl_tree_text(tree, "/proc/cmdline");
	struct tl_fact_cpus cpus = {0};
	char list[1024];

	if (cmdline == NULL)
		return cpus;
	if (!find_option(cmdline, "rcu_nocbs", list, sizeof(list)))
		cpus = (struct tl_fact_cpus){.known = true};
	else
		cpus = strcmp(list, "all") == 0 ? facts->cpu.online : tl_cpus_parse_list(list);
	for (size_t i = 0; i < TL_FACT_CPUS_MAX / 64 && cpus.known && facts->cpu.nohz_full.known; i++)
		cpus.bits[i] |= facts->cpu.nohz_full.bits[i];
	free(cmdline);
	return cpus;
}

static struct tl_fact_cpus read_allowed(const struct tl_tree *tree)
{
	char list[4096];

	if (!tl_tree_line_after(tree, "/proc/self/status", "Cpus_allowed_list:", list, sizeof(list)))
		return (struct tl_fact_cpus){0};
	return tl_cpus_parse_list(list);
}

static struct tl_fact_cpus read_permitted(const struct tl_tree *tree)
{
	struct tl_fact_cpus cpus = {.known = true};
	cpu_set_t permitted;

	if (!tree->live || tl_eal_permitted_cpus(&permitted) != 0)
		return tl_cgroup_cpus(tree);
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &permitted))
			tl_cpus_add(&cpus, cpu);
	return cpus;
}

void tl_gather_cpus(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct tl_fact_cpu *cpu = &facts->cpu;
	struct tl_fact_text mask = tl_tree_line(tree, "/sys/devices/virtual/workqueue/cpumask");

	cpu->online = tl_tree_cpus(tree, CPU_DIR "/online");
	cpu->allowed = read_allowed(tree);
	cpu->permitted = read_permitted(tree);
	cpu->isolated = tl_tree_cpus(tree, CPU_DIR "/isolated");
	cpu->nohz_full = tl_tree_cpus(tree, CPU_DIR "/nohz_full");
	cpu->rcu_nocbs = read_rcu_nocbs(tree, facts);
	cpu->watched = tl_tree_cpus(tree, "/proc/sys/kernel/watchdog_cpumask");
	if (mask.known)
		cpu->workqueues = tl_cpus_parse_mask(mask.text);
	cpu->quota_percent = tl_cgroup_quota(tree);
	read_flags(tree, facts);
}

// ---- each worker

// Keep the governor: "performance", or the first other one.
static void look_governor(const struct tl_tree *tree, uint32_t cpu, struct tl_fact_text *first)
{
	struct tl_fact_text governor = tl_tree_line(tree, CPU_DIR "/cpu%u/cpufreq/scaling_governor", cpu);

	if (governor.known && (!first->known || strcmp(first->text, "performance") == 0))
		*first = governor;
}

static void look_idle(const struct tl_tree *tree, uint32_t cpu, struct tl_fact_num *deepest_us)
{
	for (unsigned state = 0; state < IDLE_STATES_MAX; state++) {
		struct tl_fact_num us = tl_tree_num(tree, CPU_DIR "/cpu%u/cpuidle/state%u/latency", cpu, state);
		struct tl_fact_num off = tl_tree_num(tree, CPU_DIR "/cpu%u/cpuidle/state%u/disable", cpu, state);
		if (!us.known)
			continue;
		deepest_us->known = true;
		if (!(off.known && off.value) && us.value > deepest_us->value)
			deepest_us->value = us.value;
	}
}

static void look_siblings(const struct tl_tree *tree, uint32_t cpu, struct tl_fact_cpus *all)
{
	struct tl_fact_cpus these = tl_tree_cpus(tree, CPU_DIR "/cpu%u/topology/thread_siblings_list", cpu);

	if (!these.known)
		return;
	all->known = true;
	for (uint32_t other = 0; other < TL_FACT_CPUS_MAX; other++)
		if (other != cpu && tl_cpus_has(&these, other))
			tl_cpus_add(all, other);
}

void tl_gather_workers(const struct tl_tree *tree, struct tl_facts *facts)
{
	const struct tl_fact_cpus *cpus = facts->wanted.workers.known ? &facts->wanted.workers : &facts->cpu.online;
	struct tl_fact_text idle_driver = tl_tree_line(tree, CPU_DIR "/cpuidle/current_driver");

	if (idle_driver.known && strcmp(idle_driver.text, "none") == 0)
		facts->cpu.idle_exit_us = tl_fact_is(0);
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		if (!tl_cpus_has(cpus, cpu))
			continue;
		look_governor(tree, cpu, &facts->cpu.governor);
		look_idle(tree, cpu, &facts->cpu.idle_exit_us);
		look_siblings(tree, cpu, &facts->cpu.siblings);
	}
}
