// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_eal: start EAL inside a unit test: no hugepages, no PCI, no shared memory, one lcore (id 0) on the first CPU of
// the process's affinity mask. Ports are added later, with rte_eal_hotplug_add() or rte_eth_from_rings().
//
// Threads: main, once per process. Memory: TL_TEST_EAL_MB of ordinary pages, allocated on first use.

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_errno.h>

#ifndef TL_TEST_EAL_MB
#define TL_TEST_EAL_MB "512"
#endif

// Start EAL. Exit with status 1 if it fails: a test without its set-up has failed.
static inline void tl_test_eal_start(void)
{
	cpu_set_t allowed;
	char lcores[32];
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
		perror("sched_getaffinity");
		exit(1);
	}
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed))
		cpu++;
	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", cpu);

	char *argv[] = {(char *)"test", lcores, (char *)"--no-huge", (char *)"--no-pci", (char *)"--no-shconf",
		(char *)"--no-telemetry", (char *)"--log-level=lib.eal:error", (char *)"-m", (char *)TL_TEST_EAL_MB};
	if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])), argv) < 0) {
		fprintf(stderr, "rte_eal_init: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
	// Undo EAL's pinning of this thread to its lcore: threads started by a test would inherit it.
	sched_setaffinity(0, sizeof(allowed), &allowed);
}
