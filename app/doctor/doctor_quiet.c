// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about hidden CPU stalls: watchdogs, a hypervisor, heat, system management interrupts.

#include "doctor_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MSR_SMI_COUNT 0x34 // Intel SDM volume 4, table 2-2
#define SECONDS_PER_HOUR 3600

// Parse the line "cpu  user nice system idle iowait irq softirq steal ...".
static struct tl_fact_num read_steal(const struct tl_tree *tree)
{
	struct tl_fact_num ppm = {0};
	double ticks[8], sum = 0;
	char line[256];

	if (tl_tree_line_after(tree, "/proc/stat", "cpu ", line, sizeof(line)) &&
		sscanf(line, "%lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
			&ticks[5], &ticks[6], &ticks[7]) == 8) {
		for (size_t i = 0; i < 8; i++)
			sum += ticks[i];
		if (sum > 0 && ticks[7] >= 0 && ticks[7] <= sum)
			ppm = tl_fact_is((int64_t)(ticks[7] / sum * 1e6));
	}
	return ppm;
}

struct heat {
	const struct tl_tree *tree;
	struct tl_fact_num hottest_mc;
};

static void look_zone(void *ctx, const char *name)
{
	struct heat *heat = ctx;
	struct tl_fact_num mc = {0};

	if (strncmp(name, "thermal_zone", 12) == 0)
		mc = tl_tree_num(heat->tree, "/sys/class/thermal/%.64s/temp", name);
	if (mc.known && (!heat->hottest_mc.known || mc.value > heat->hottest_mc.value))
		heat->hottest_mc = mc;
}

static void read_heat(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct heat heat = {.tree = tree};

	tl_tree_each(tree, "/sys/class/thermal", look_zone, &heat);
	facts->cpu.hottest_mc = heat.hottest_mc;
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		struct tl_fact_num n = {0}, *sum = &facts->cpu.throttled;
		if (tl_cpus_has(&facts->cpu.online, cpu))
			n = tl_tree_num(
				tree, "/sys/devices/system/cpu/cpu%u/thermal_throttle/core_throttle_count", cpu);
		if (n.known && n.value >= 0 && !__builtin_add_overflow(sum->value, n.value, &sum->value))
			sum->known = true;
	}
}

static bool read_smi_count(const struct tl_tree *tree, uint64_t *count)
{
	struct stat status;
	int fd = tl_tree_fd(tree, O_RDONLY, "/dev/cpu/0/msr");

	if (fd < 0)
		return false;
	bool fits = fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || (tree->live && S_ISCHR(status.st_mode)));
	bool got = fits && pread(fd, count, sizeof(*count), MSR_SMI_COUNT) == (ssize_t)sizeof(*count);
	close(fd);
	return got;
}

static struct tl_fact_num read_smis_per_hour(const struct tl_tree *tree)
{
	struct tl_fact_text uptime = tl_tree_line(tree, "/proc/uptime");
	double seconds;
	uint64_t count;

	if (!uptime.known || sscanf(uptime.text, "%lf", &seconds) != 1 || !(seconds >= 1) ||
		!read_smi_count(tree, &count))
		return (struct tl_fact_num){0};
	return tl_fact_is((int64_t)((double)(uint32_t)count / seconds * SECONDS_PER_HOUR)); // the counter has 32 bits
}

void tl_gather_quiet(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct tl_fact_cpu *cpu = &facts->cpu;

	cpu->rt_runtime_us = tl_tree_num(tree, "/proc/sys/kernel/sched_rt_runtime_us");
	cpu->nmi_watchdog = tl_tree_num(tree, "/proc/sys/kernel/nmi_watchdog");
	cpu->watchdog = tl_tree_num(tree, "/proc/sys/kernel/watchdog");
	cpu->steal_ppm = read_steal(tree);
	cpu->smis_per_hour = read_smis_per_hour(tree);
	read_heat(tree, facts);
}
