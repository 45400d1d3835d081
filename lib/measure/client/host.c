// SPDX-License-Identifier: BSD-3-Clause
// Host monitoring during a run: stolen time, and steps of CLOCK_REALTIME.

#include "session_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRIES 8

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * (int64_t)TL_NS_PER_S + now.tv_nsec;
}

// Read real time between two readings of the monotonic clock; of several tries keep the narrowest.
static int64_t read_offset(uint64_t *bound_ns)
{
	int64_t offset_ns = 0, narrowest_ns = INT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
		int64_t real_ns = clock_ns(CLOCK_REALTIME);
		int64_t width_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
		if (width_ns >= narrowest_ns)
			continue;
		narrowest_ns = width_ns;
		offset_ns = real_ns - before_ns - width_ns / 2;
	}
	*bound_ns = (uint64_t)narrowest_ns / 2 + 1;
	return offset_ns;
}

// "cpu3 user nice system idle iowait irq softirq steal ..." (proc_stat(5))
void tl_client_host_parse(FILE *stat, uint64_t *stolen_ticks, size_t n)
{
	char line[512];
	unsigned cpu;
	uint64_t steal;

	while (fgets(line, sizeof(line), stat) != NULL)
		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &cpu, &steal) == 2 && cpu < n)
			stolen_ticks[cpu] = steal;
}

static void read_stolen(uint64_t *stolen_ticks)
{
	FILE *stat = fopen("/proc/stat", "re");

	if (stat == NULL)
		return;
	tl_client_host_parse(stat, stolen_ticks, CPU_SETSIZE);
	fclose(stat);
}

int tl_client_host_begin(struct tl_client_host *host)
{
	*host = (struct tl_client_host){.stolen_ticks = calloc(CPU_SETSIZE, sizeof(uint64_t))};
	if (host->stolen_ticks == NULL)
		return -ENOMEM;
	CPU_ZERO(&host->cpus);
	read_stolen(host->stolen_ticks);
	host->offset_ns = read_offset(&host->bound_ns);
	return 0;
}

// Both clocks are slewed alike, so that their difference changes by steps only.
void tl_client_host_look(struct tl_client_host *host)
{
	uint64_t bound_ns;
	int64_t offset_ns = read_offset(&bound_ns);
	int64_t step_ns = offset_ns - host->offset_ns;

	if ((uint64_t)llabs(step_ns) <= bound_ns + host->bound_ns)
		return;
	if (llabs(step_ns) > llabs(host->step_ns))
		host->step_ns = step_ns;
	host->offset_ns = offset_ns;
	host->bound_ns = bound_ns;
}

void tl_client_host_ran_here(struct tl_client_host *host)
{
	int cpu = sched_getcpu();

	if (cpu >= 0)
		CPU_SET((size_t)cpu, &host->cpus);
}

uint64_t tl_client_host_end(struct tl_client_host *host)
{
	uint64_t after[CPU_SETSIZE], ticks = 0;

	if (host->stolen_ticks == NULL)
		return 0;
	tl_client_host_look(host);
	memcpy(after, host->stolen_ticks, sizeof(after));
	read_stolen(after);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &host->cpus) && after[cpu] > host->stolen_ticks[cpu])
			ticks += after[cpu] - host->stolen_ticks[cpu];
	free(host->stolen_ticks);
	host->stolen_ticks = NULL;
	return ticks * TL_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}
