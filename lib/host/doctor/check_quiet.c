// SPDX-License-Identifier: BSD-3-Clause
// Checks of hidden sources of CPU stalls: watchdogs, workqueues, firmware, heat, a hypervisor.

#include "doctor_priv.h"

#include <inttypes.h>

#define STEAL_PPM_MOST 1000
#define SMIS_PER_HOUR_MOST 60
#define HOT_MC 90000

static void judge_watchdog(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *on = &facts->cpu.watchdog;
	struct tl_fact_cpus both = tl_cpus_both(&facts->cpu.watched, &facts->wanted.workers);

	if (!on->known)
		return;
	if (on->value == 0)
		tl_found(f, TL_VERDICT_OK, "off");
	else if (both.known && tl_cpus_is_empty(&both))
		tl_found(f, TL_VERDICT_OK, "on, but not on workers");
	else
		tl_found(f, TL_VERDICT_WARN, "on");
}

static void judge_workqueues(const struct tl_facts *facts, struct tl_finding *f)
{
	char text[128];

	if (!facts->cpu.workqueues.known || !tl_found_workers(facts, f))
		return;
	struct tl_fact_cpus both = tl_cpus_both(&facts->cpu.workqueues, &facts->wanted.workers);
	tl_found(f, tl_cpus_is_empty(&both) ? TL_VERDICT_OK : TL_VERDICT_WARN, "on CPUs %s",
		tl_cpus_format(&facts->cpu.workqueues, text, sizeof(text)));
}

static void judge_thermal(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *throttled = &facts->cpu.throttled, *hottest = &facts->cpu.hottest_mc;

	if (throttled->known)
		tl_found(f, throttled->value == 0 ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"throttled %" PRIi64 " times since boot", throttled->value);
	if (hottest->known)
		tl_found(f, hottest->value < HOT_MC ? TL_VERDICT_OK : TL_VERDICT_WARN, "%" PRIi64 " degrees Celsius",
			hottest->value / 1000);
}

static void judge_smi(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *smis = &facts->cpu.smis_per_hour;

	if (smis->known)
		tl_found(f, smis->value <= SMIS_PER_HOUR_MOST ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"%" PRIi64 " per hour since boot", smis->value);
	else
		tl_found(f, TL_VERDICT_UNKNOWN, "MSR_SMI_COUNT could not be read (/dev/cpu/0/msr: module msr, root)");
}

static const struct tl_check checks[] = {
	{"cpu.nmi_watchdog", TL_CAN_WARN, "It interrupts each CPU with an NMI, and occupies a performance counter.",
		"sysctl -w kernel.nmi_watchdog=0", "set_to /proc/sys/kernel/nmi_watchdog 0", "nmi_watchdog=0",
		.setting = NUMBER(cpu.nmi_watchdog, 0, 0)},
	{"cpu.watchdog", TL_CAN_WARN, "The soft lockup detector wakes a kernel thread on each CPU it watches.",
		"sysctl -w kernel.watchdog=0, or leave the workers out of kernel.watchdog_cpumask.",
		"set_to /proc/sys/kernel/watchdog 0", "nosoftlockup", judge_watchdog},
	{"cpu.workqueues", TL_CAN_WARN, "Unbound kernel work may run on every CPU of this mask.",
		"Remove the workers from the mask in /sys/devices/virtual/workqueue/cpumask; isolcpus=domain has the same effect.",
		.judge = judge_workqueues},
	{"cpu.steal", TL_CAN_WARN, "Steal is time in which a runnable virtual CPU waited for the hypervisor.",
		"Pin the virtual CPUs to cores of their own on the host, or use bare metal.",
		.setting = NUMBER(cpu.steal_ppm, INT64_MIN, STEAL_PPM_MOST, .after = " ppm since boot")},
	{"cpu.thermal", TL_CAN_WARN, "A CPU that is too hot lowers its clock without a message.",
		"Check fans, air flow and power limits.", .judge = judge_thermal},
	{"cpu.smi", TL_CAN_WARN,
		"A system management interrupt stops all CPUs for up to hundreds of microseconds, unseen by the kernel.",
		"Disable power management and USB legacy support in the firmware's setup (the vendor's low latency profile).",
		.judge = judge_smi},
};

const struct tl_check_group tl_doctor_quiet = {checks, TL_ARRAY_LEN(checks)};
