// SPDX-License-Identifier: BSD-3-Clause
// Start of DPDK, which is possible once per process.

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include <tl_eal.h>
#include <tl_eal_cpus.h>
#include <tl_err.h>
#include <tl_test.h>

TL_TEST("a CPU outside the affinity mask is refused")
{
	struct tl_eal_cfg cfg = {.memory_mb = 64, .main_lcore = CPU_SETSIZE};
	struct tl_eal *eal = NULL;
	struct tl_err err = {{0}};

	CU_ASSERT(tl_eal_init(&cfg, &eal, &err) < 0);
	CU_ASSERT_PTR_NULL(eal);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "CPU 1024 is not one this process may use"));
}

// As with isolcpus=: the lcore's CPU is in the process's cpuset, but not in its affinity mask.
TL_TEST("an lcore may run on an isolated CPU, and main on any CPU without an lcore")
{
	struct tl_eal_cfg cfg = {.memory_mb = 64};
	cpu_set_t permitted, before, after;
	struct tl_eal *eal;
	struct tl_err err = {{0}};
	uint32_t isolated;

	CU_ASSERT_EQUAL_FATAL(tl_eal_permitted_cpus(&permitted), 0);
	while (!CPU_ISSET(cfg.main_lcore, &permitted))
		cfg.main_lcore++;
	for (isolated = cfg.main_lcore + 1; isolated < CPU_SETSIZE && !CPU_ISSET(isolated, &permitted);)
		isolated++;
	before = permitted;
	if (isolated < CPU_SETSIZE) {
		cfg.lcores = &isolated;
		cfg.n_lcores = 1;
		CPU_CLR(isolated, &before);
		CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(before), &before), 0);
	}
	CU_ASSERT_EQUAL_FATAL(tl_eal_init(&cfg, &eal, &err), 0);
	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(after), &after), 0);
	CU_ASSERT(CPU_EQUAL(&before, &after));
	CU_ASSERT_PTR_EQUAL(rte_log_get_stream(), stderr); // seccomp kills a process that connects to syslog
	tl_eal_fini(eal);
}

int main(void)
{
	return tl_test_run("eal");
}
