// SPDX-License-Identifier: BSD-3-Clause
// CPUs of the process's cpuset, read from the kernel.

#include <tl_eal_cpus.h>

#include <errno.h>
#include <string.h>

// The kernel reduces a mask to the cpuset. A seccomp filter may forbid setting one: then the current mask is the
// result.
int tl_eal_permitted_cpus(cpu_set_t *out)
{
	cpu_set_t before, all;

	if (sched_getaffinity(0, sizeof(before), &before) != 0)
		return -errno;
	memset(&all, 0xff, sizeof(all));
	*out = before;
	if (sched_setaffinity(0, sizeof(all), &all) != 0)
		return 0;
	if (sched_getaffinity(0, sizeof(*out), out) != 0)
		*out = before;
	(void)sched_setaffinity(0, sizeof(before), &before);
	return 0;
}
