// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Declarations shared by the groups of checks.

#include <tl_doctor.h>

#define TL_FILL_BYTES 2048

struct tl_check_group {
	const struct tl_check *checks;
	size_t n;
};

extern const struct tl_check_group tl_doctor_memory, tl_doctor_cpu, tl_doctor_quiet, tl_doctor_pci, tl_doctor_link,
	tl_doctor_receive, tl_doctor_time, tl_doctor_storage, tl_doctor_dpdk;

// Add the observation of one object; the finding has the most urgent verdict of all objects.
void tl_found(struct tl_finding *finding, enum tl_verdict verdict, const char *fmt, ...) TL_PRINTF(3, 4);

// Settings: a number in a range, a text, and a set of CPUs that all workers should be in.
#define SETTING(kind, type, fact, ...)                                                                                 \
	&(const struct tl_check_setting)                                                                               \
	{                                                                                                              \
		.kind = _Generic(((struct tl_facts *)NULL)->fact, struct type                                          \
				 : offsetof(struct tl_facts, fact)),                                                   \
		__VA_ARGS__                                                                                            \
	}
#define NUMBER(fact, low, high, ...) SETTING(number, tl_fact_num, fact, .least = low, .most = high, __VA_ARGS__)
#define TEXT(fact, ...) SETTING(text, tl_fact_text, fact, __VA_ARGS__)
#define WORKERS_IN(fact) SETTING(cpus, tl_fact_cpus, fact)

// True if the polling CPUs are known; otherwise the finding states that they are not.
bool tl_found_workers(const struct tl_facts *facts, struct tl_finding *finding);

// Warn if not all workers are in the set.
void tl_found_workers_in(const struct tl_facts *facts, struct tl_finding *finding, const struct tl_fact_cpus *set);

// True for mlx4 and mlx5: DPDK uses them together with the kernel driver.
bool tl_port_is_bifurcated(const struct tl_fact_port *port);

// True if the port needs vfio, as far as is known.
bool tl_port_needs_vfio(const struct tl_fact_port *port);
