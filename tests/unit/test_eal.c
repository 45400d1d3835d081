// SPDX-License-Identifier: BSD-3-Clause
// Tests of how DPDK is started; once per process is DPDK's own limit.

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include <tl_eal.h>
#include <tl_err.h>
#include <tl_test.h>

static void a_cpu_that_is_not_ours_is_refused(void)
{
	struct tl_eal_cfg cfg = {.memory_mb = 64, .main_lcore = CPU_SETSIZE};
	struct tl_eal *eal = NULL;
	struct tl_err err = {{0}};

	CU_ASSERT(tl_eal_init(&cfg, &eal, &err) < 0);
	CU_ASSERT_PTR_NULL(eal);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "CPU 1024 is not one this process may use"));
}

static void main_may_run_wherever_no_lcore_does_and_the_log_goes_to_stderr(void)
{
	struct tl_eal_cfg cfg = {.memory_mb = 64};
	cpu_set_t before, after;
	struct tl_eal *eal;
	struct tl_err err = {{0}};

	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(cfg.main_lcore, &before))
		cfg.main_lcore++;
	CU_ASSERT_EQUAL_FATAL(tl_eal_init(&cfg, &eal, &err), 0);
	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(after), &after), 0);
	CU_ASSERT(CPU_EQUAL(&before, &after));
	CU_ASSERT_PTR_EQUAL(rte_log_get_stream(), stderr); // seccomp ends a process that connects to syslog
	tl_eal_fini(eal);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"a CPU that is not ours is refused", a_cpu_that_is_not_ours_is_refused},
		{"main may run wherever no lcore does, and DPDK's log goes to stderr",
			main_may_run_wherever_no_lcore_does_and_the_log_goes_to_stderr},
	};

	return tl_test_main("eal", tests, TL_ARRAY_LEN(tests));
}
