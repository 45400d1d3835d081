// SPDX-License-Identifier: BSD-3-Clause
// Checks of time: the counter that stamps frames, and its reference.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

#define ERROR_US_MOST 1000

static void judge_tsc(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *constant = &facts->time.constant_tsc, *nonstop = &facts->time.nonstop_tsc;

	if (constant->known && nonstop->known)
		tl_found(f, constant->value && nonstop->value ? TL_VERDICT_OK : TL_VERDICT_FAIL,
			"%s constant_tsc, %s nonstop_tsc", constant->value ? "has" : "without",
			nonstop->value ? "has" : "without");
}

static void judge_synchronized(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *synchronized = &facts->time.synchronized, *error_us = &facts->time.max_error_us;

	if (!synchronized->known)
		tl_found(f, TL_VERDICT_UNKNOWN, "known only from the running kernel");
	else if (!synchronized->value)
		tl_found(f, TL_VERDICT_WARN, "not synchronized");
	else
		tl_found(f, error_us->value <= ERROR_US_MOST ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"synchronized, within %" PRIi64 " us", error_us->value);
}

static void judge_daemon(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_text *daemon = &facts->time.daemon;

	if (daemon->known)
		tl_found(f, daemon->text[0] != '\0' ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s",
			daemon->text[0] != '\0' ? daemon->text
						: "none of chronyd, phc2sys, ptp4l, ntpd, systemd-timesyncd runs");
}

static const struct tl_check checks[] = {
	{"time.clocksource", TL_CAN_WARN,
		"If the kernel does not trust the TSC, its stamps are unreliable; other clock sources are slow.",
		"echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource; tsc=reliable on the kernel command "
		"line, if the TSC is known to be reliable.",
		"set_to /sys/devices/system/clocksource/clocksource0/current_clocksource tsc",
		.setting = TEXT(time.clocksource, .good = "tsc")},
	{"time.tsc", TL_CAN_FAIL,
		"Software stamps come from the TSC: they are wrong if its rate changes or it stops with the CPU.",
		"Use a CPU with an invariant TSC; in a virtual machine pass the flags through (-cpu host,+invtsc).",
		.judge = judge_tsc},
	{"time.synchronized", TL_CAN_WARN, "The error of a comparison between hosts is at least that of their clocks.",
		"Run chronyd, or ptp4l and phc2sys; wait until chronyc tracking shows it synchronized.",
		.judge = judge_synchronized},
	{"time.daemon", TL_CAN_WARN, "A clock without synchronization drifts by seconds per week.",
		"apt-get install chrony, or linuxptp for hardware precision.", .judge = judge_daemon},
};

const struct tl_check_group tl_doctor_time = {checks, TL_ARRAY_LEN(checks)};
