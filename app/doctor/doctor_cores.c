// SPDX-License-Identifier: BSD-3-Clause
// Gather which CPUs share a core, and which share a last-level cache.

#include "doctor_facts.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define CACHES_MAX 8 // index0 to index7: at most two of level 1, one of each level above

// Return the first CPU of a set that has cpu, else cpu.
static uint16_t first_of(const struct tl_fact_cpus *cpus, uint32_t cpu)
{
	uint32_t first = 0;

	while (first < cpu && !tl_cpus_has(cpus, first))
		first++;
	return (uint16_t)first;
}

// Return the CPUs of the cache with the highest level.
static struct tl_fact_cpus read_last_cache(const struct tl_tree *tree, uint32_t cpu)
{
	struct tl_fact_cpus last = {0};
	int64_t highest = 0;

	for (unsigned i = 0; i < CACHES_MAX; i++) {
		struct tl_fact_num level = tl_tree_num(tree, CPU_DIR "/cpu%u/cache/index%u/level", cpu, i);
		if (!level.known || level.value <= highest)
			continue;
		highest = level.value;
		last = tl_tree_cpus(tree, CPU_DIR "/cpu%u/cache/index%u/shared_cpu_list", cpu, i);
	}
	return last;
}

void tl_gather_cores(const struct tl_tree *tree, struct tl_facts *facts)
{
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		struct tl_fact_cpus core = {0}, cache = {0};
		if (tl_cpus_has(&facts->cpu.online, cpu)) {
			core = tl_tree_cpus(tree, CPU_DIR "/cpu%u/topology/thread_siblings_list", cpu);
			cache = read_last_cache(tree, cpu);
		}
		facts->cpu.core_of[cpu] = first_of(&core, cpu);
		facts->cpu.cache_of[cpu] = first_of(&cache, cpu);
	}
}
