// SPDX-License-Identifier: BSD-3-Clause
// Checks of CPUs: presence, and isolation of the workers' CPUs.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

#define CPUS_TEXT 128
#define IDLE_EXIT_US_MOST 10
#define RT_RUNTIME_NO_LIMIT (-1)

static void judge_flags(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_text *missing = &facts->cpu.missing_flags;

	if (missing->known && missing->text[0] == '\0')
		tl_found(f, TL_VERDICT_OK, "has all that the build uses");
	else if (missing->known)
		tl_found(f, TL_VERDICT_FAIL, "without %s", missing->text);
}

// Check that all configured CPUs are in the set.
static void judge_lcores_in(const struct tl_facts *facts, const struct tl_fact_cpus *set, struct tl_finding *f)
{
	const struct tl_fact_cpus *lcores = &facts->wanted.lcores;
	char set_text[CPUS_TEXT], out_text[CPUS_TEXT];

	if (!set->known)
		return;
	struct tl_fact_cpus out = tl_cpus_minus(lcores, set);
	tl_cpus_format(set, set_text, sizeof(set_text));
	if (tl_cpus_is_empty(&out))
		tl_found(f, TL_VERDICT_OK, "CPUs %s", set_text);
	else
		tl_found(f, TL_VERDICT_FAIL, "CPUs %s, without %s", set_text,
			tl_cpus_format(&out, out_text, sizeof(out_text)));
}

static void judge_online(const struct tl_facts *facts, struct tl_finding *f)
{
	judge_lcores_in(facts, &facts->cpu.online, f);
}

static void judge_cpuset(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_cpu *cpu = &facts->cpu;

	judge_lcores_in(facts, cpu->permitted.known ? &cpu->permitted : &cpu->allowed, f);
}

static void judge_shared(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_text *sleepers = &facts->wanted.sleepers;
	char text[CPUS_TEXT];

	if (!facts->wanted.configured)
		tl_found(f, TL_VERDICT_UNKNOWN, "no configuration");
	else if (sleepers->known && sleepers->text[0] == '\0')
		tl_found(f, TL_VERDICT_OK, "each queue has a CPU: %s",
			tl_cpus_format(&facts->wanted.workers, text, sizeof(text)));
	else if (sleepers->known)
		tl_found(f, TL_VERDICT_WARN, "no CPU is left for %s", sleepers->text);
}

static void judge_quota(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *quota = &facts->cpu.quota_percent;

	if (quota->known && quota->value == TL_FACT_NO_LIMIT)
		tl_found(f, TL_VERDICT_OK, "no limit");
	else if (quota->known)
		tl_found(f, TL_VERDICT_WARN, "%" PRIi64 " %% of one CPU", quota->value);
}

// Judge interference on the workers' CPUs: its number and sources.
static void judge_strays(const struct tl_facts *facts, const struct tl_fact_num *n, const struct tl_fact_text *list,
	struct tl_finding *f)
{
	if (!tl_found_workers(facts, f) || !n->known)
		return;
	if (n->value == 0)
		tl_found(f, TL_VERDICT_OK, "none");
	else
		tl_found(f, TL_VERDICT_WARN, "%" PRIi64 ": %s", n->value, list->text);
}

static void judge_irqs(const struct tl_facts *facts, struct tl_finding *f)
{
	judge_strays(facts, &facts->cpu.worker_irqs, &facts->cpu.worker_irq_list, f);
}

static void judge_stray_tasks(const struct tl_facts *facts, struct tl_finding *f)
{
	judge_strays(facts, &facts->cpu.stray_tasks, &facts->cpu.stray_task_list, f);
}

static void judge_irqbalance(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *running = &facts->cpu.irqbalance;

	if (running->known)
		tl_found(f, running->value ? TL_VERDICT_WARN : TL_VERDICT_OK, running->value ? "runs" : "does not run");
}

static void judge_smt(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_cpus *siblings = &facts->cpu.siblings;
	char text[CPUS_TEXT];

	if (!tl_found_workers(facts, f) || !siblings->known)
		return;
	// A sibling interferes if it polls as well, or if it is unassigned and available to the kernel.
	struct tl_fact_cpus busy = tl_cpus_minus(siblings, &facts->cpu.isolated);
	struct tl_fact_cpus polling = tl_cpus_both(siblings, &facts->wanted.workers);
	for (size_t i = 0; i < TL_ARRAY_LEN(busy.bits); i++)
		busy.bits[i] |= polling.bits[i];
	if (tl_cpus_is_empty(&busy))
		tl_found(f, TL_VERDICT_OK, "no other CPU uses a worker's core");
	else
		tl_found(f, TL_VERDICT_WARN, "CPUs %s share cores with workers",
			tl_cpus_format(&busy, text, sizeof(text)));
}

static void judge_rt_throttling(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *us = &facts->cpu.rt_runtime_us;

	if (us->known)
		tl_found(f, us->value == RT_RUNTIME_NO_LIMIT ? TL_VERDICT_OK : TL_VERDICT_WARN,
			us->value == RT_RUNTIME_NO_LIMIT ? "off" : "%" PRIi64 " us of each second", us->value);
}

static const struct tl_check checks[] = {
	{"cpu.flags", TL_CAN_FAIL,
		"The program was compiled for these instructions: without them it is killed by SIGILL.",
		"Build on this kind of machine, or build DPDK and Tapline for a generic one (-Dcpu_instruction_set=generic).",
		.judge = judge_flags},
	{"cpu.online", TL_CAN_FAIL, "The program does not start with an lcore on a CPU that is missing or offline.",
		"Set other CPUs in eal.main_lcore and ports[].lcores, or enable them in /sys/devices/system/cpu/cpuN/online.",
		.judge = judge_online},
	{"cpu.cpuset", TL_CAN_FAIL,
		"The program does not start with an lcore on a CPU outside the cpuset of the process.",
		"Add the CPU to CPUAffinity= or AllowedCPUs= of the unit, or to cpuset.cpus of the cgroup.",
		.judge = judge_cpuset},
	{"cpu.shared", TL_CAN_WARN,
		"A worker that shares the control thread's CPU sleeps between bursts: the NIC's ring may overrun meanwhile.",
		"Allow the process more CPUs, set them in ports[].lcores, or lower ports[].rx_queues.",
		.judge = judge_shared},
	{"cpu.quota", TL_CAN_WARN,
		"A quota stops polling threads for the rest of each period: frames are lost meanwhile.",
		"Remove CPUQuota= of the unit: echo max > cpu.max of the cgroup.", .judge = judge_quota},
	{"cpu.isolated", TL_CAN_WARN,
		"The scheduler may place any task on a CPU that is not isolated: the worker then waits for milliseconds.",
		"isolcpus=managed_irq,domain,{workers} on the kernel command line.", NULL,
		"isolcpus=managed_irq,domain,{workers}", .setting = WORKERS_IN(cpu.isolated)},
	{"cpu.nohz_full", TL_CAN_WARN,
		"The timer tick interrupts a worker up to 1000 times a second, for microseconds each.",
		"nohz_full={workers} on the kernel command line.", NULL, "nohz_full={workers}",
		.setting = WORKERS_IN(cpu.nohz_full)},
	{"cpu.rcu_nocbs", TL_CAN_WARN, "The kernel runs RCU callbacks on the CPU that queued them, workers included.",
		"rcu_nocbs={workers} on the kernel command line.", NULL, "rcu_nocbs={workers}",
		.setting = WORKERS_IN(cpu.rcu_nocbs)},
	{"cpu.irqs", TL_CAN_WARN, "An interrupt stops a worker for 2 to 20 us.",
		"Write {others} to /proc/irq/N/smp_affinity_list of each of them.",
		"for file in /proc/irq/*/smp_affinity_list; do\n"
		"\tkeep \"$file\"\n"
		"\techo {others} 2>/dev/null >\"$file\" || true # some cannot be moved\n"
		"done",
		"irqaffinity={others}", judge_irqs},
	{"cpu.irqbalance", TL_CAN_WARN, "irqbalance moves interrupts back to the workers' CPUs.",
		"systemctl disable --now irqbalance, or ban the workers in /etc/default/irqbalance.",
		"if systemctl disable --now irqbalance; then\n"
		"\techo \"systemctl enable --now irqbalance\" >>\"$undo\"\n"
		"else\n"
		"\techo \"irqbalance goes on\" >&2\n"
		"fi",
		.judge = judge_irqbalance},
	{"cpu.governor", TL_CAN_WARN,
		"A power-saving governor lowers the clock, and needs up to a millisecond to raise it.",
		"Write performance to /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor.",
		"for file in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do\n"
		"\tset_to \"$file\" performance\n"
		"done",
		"cpufreq.default_governor=performance", .setting = TEXT(cpu.governor, .good = "performance")},
	{"cpu.idle_states", TL_CAN_WARN, "A core in a deep idle state wakes slowly and may have lost its cache.",
		"Disable states with an exit latency above 10 us: /sys/devices/system/cpu/cpu*/cpuidle/state*/disable.",
		"for state in /sys/devices/system/cpu/cpu*/cpuidle/state*; do\n"
		"\t[ \"$(cat \"$state/latency\")\" -le 10 ] || set_to \"$state/disable\" 1\n"
		"done",
		"intel_idle.max_cstate=1 processor.max_cstate=1",
		.setting = NUMBER(
			cpu.idle_exit_us, INT64_MIN, IDLE_EXIT_US_MOST, "the deepest state takes ", " us to leave")},
	{"cpu.smt", TL_CAN_WARN,
		"The two threads of a core share its caches and execution units: a busy sibling costs a worker up to half of its speed.",
		"Give each worker a whole core: isolate its sibling too and leave it idle, or nosmt on the kernel command line.",
		NULL, "nosmt", judge_smt},
	{"cpu.rt_throttling", TL_CAN_WARN,
		"A worker under a real-time policy (chrt) is stopped for the rest of each second.",
		"sysctl -w kernel.sched_rt_runtime_us=-1", "set_to /proc/sys/kernel/sched_rt_runtime_us -1",
		.judge = judge_rt_throttling},
	{"cpu.stray_tasks", TL_CAN_WARN,
		"Another task with a worker's CPU in its mask runs there at times: the worker waits meanwhile.",
		"Isolate the CPUs, or move the tasks with taskset -acp {others} PID.", .judge = judge_stray_tasks},
};

const struct tl_check_group tl_doctor_cpu = {checks, TL_ARRAY_LEN(checks)};
