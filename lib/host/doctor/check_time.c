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
		tl_found(f, TL_VERDICT_UNKNOWN, "only the running kernel tells");
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
		"Where the kernel does not trust the TSC, neither should its stamps be trusted; other sources are slow.",
		"echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource; tsc=reliable on the kernel command "
		"line, if the kernel is known to be wrong.",
		"set_to /sys/devices/system/clocksource/clocksource0/current_clocksource tsc",
		.setting = TEXT(time.clocksource, .good = "tsc")},
	{"time.tsc", TL_CAN_FAIL,
		"All stamps come from the TSC: one that changes its rate or stops with the CPU makes them wrong.",
		"Use a CPU of this millennium; in a virtual machine pass the flags through (-cpu host,+invtsc).",
		.judge = judge_tsc},
	{"time.synchronized", TL_CAN_WARN,
		"Recordings of several hosts can be compared no better than their clocks agree.",
		"Run chronyd, or ptp4l and phc2sys; wait until chronyc tracking shows it synchronized.",
		.judge = judge_synchronized},
	{"time.daemon", TL_CAN_WARN, "A clock that nobody keeps drifts by seconds a week.",
		"apt-get install chrony, or linuxptp for the precision of hardware.", .judge = judge_daemon},
};

const struct tl_check_group tl_doctor_time = {checks, TL_ARRAY_LEN(checks)};
