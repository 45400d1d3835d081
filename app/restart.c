// SPDX-License-Identifier: BSD-3-Clause
// Execute the program again, with the same process, signals and descriptors.

#include "restart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

int tl_restart_without_hugepages(int rc)
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
