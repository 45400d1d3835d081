// SPDX-License-Identifier: BSD-3-Clause
// Start DPDK; execute the program again, with the same process, signals and descriptors.

#include "start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_log.h>

#define SECOND_START "TAPLINE_WITHOUT_HUGEPAGES" // internal: not for users

bool tl_restarted(void)
{
	return getenv(SECOND_START) != NULL;
}

// Return the arguments from the kernel: getopt may have reordered those of main(). NULL: out of memory, or no /proc.
static char **own_arguments(void)
{
	FILE *file = fopen("/proc/self/cmdline", "re");
	char **argv = calloc(1, sizeof(*argv));
	size_t n = 0, size = 0;
	char *argument = NULL;

	while (file != NULL && argv != NULL && getdelim(&argument, &size, '\0', file) > 0) {
		char **longer = realloc(argv, (n + 2) * sizeof(*argv));
		if (longer == NULL)
			break;
		longer[n++] = argument;
		longer[n] = NULL;
		argv = longer;
		argument = NULL;
	}
	bool whole = file != NULL && argv != NULL && feof(file) && n > 0;
	if (file != NULL)
		fclose(file);
	return whole ? argv : NULL; // freed by execv(), or by exit after a failed start
}

// Execute the program again if hugepages can be the cause of the error rc. Return rc if they cannot, or if the program
// cannot be executed.
static int restart_without_hugepages(int rc)
{
	// Errors of rte_eal_init() for unmappable and exhausted hugepages.
	bool taken = rc == -ENOMEM || rc == -EACCES;
	char **argv = taken && !tl_restarted() ? own_arguments() : NULL;

	if (argv == NULL)
		return rc;
	tl_warn("DPDK did not start with hugepages: another process took those that were free; starting again with ordinary "
		"memory, which is slower");
	if (setenv(SECOND_START, "1", 1) == 0)
		execv("/proc/self/exe", argv);
	return rc;
}

int tl_start_dpdk(
	const struct tl_eal_cfg *cfg, bool again, struct tl_eal **eal, struct tl_clock **clock, struct tl_err *err)
{
	int rc = tl_eal_init(cfg, eal, err);

	if (rc != 0)
		return cfg->huge && again ? restart_without_hugepages(rc) : rc;
	*clock = tl_clock_create();
	return *clock != NULL ? 0 : tl_fail(err, -ENODEV, "this CPU's time stamp counter does not run");
}
