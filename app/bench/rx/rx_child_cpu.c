// SPDX-License-Identifier: BSD-3-Clause
// CPU time, wake-ups and hardware counters of a rung, and the softirq time of the host.

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rx_priv.h"

static int open_event(uint64_t config, pid_t tid)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = config};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int rx_events_open(struct rx_events *events, pid_t tid)
{
	atomic_store(&events->instructions_fd, open_event(PERF_COUNT_HW_INSTRUCTIONS, tid));
	atomic_store(&events->cycles_fd, open_event(PERF_COUNT_HW_CPU_CYCLES, tid));
	return atomic_load(&events->instructions_fd) < 0 || atomic_load(&events->cycles_fd) < 0 ? -errno : 0;
}

void rx_events_close(struct rx_events *events)
{
	if (events->instructions_fd >= 0)
		close(events->instructions_fd);
	if (events->cycles_fd >= 0)
		close(events->cycles_fd);
}

// Add a counter to *sum, which becomes -1 if it cannot be read.
static void add_event(int fd, int64_t *sum)
{
	uint64_t value;

	if (fd >= 0 && *sum >= 0 && read(fd, &value, sizeof(value)) == (ssize_t)sizeof(value))
		*sum += (int64_t)value;
	else
		*sum = -1;
}

void rx_events_add(const struct rx_events *events, struct rx_snapshot *out)
{
	add_event(atomic_load(&events->instructions_fd), &out->instructions);
	add_event(atomic_load(&events->cycles_fd), &out->cycles);
}

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * TL_NS_PER_S + (uint64_t)time->tv_usec * TL_NS_PER_US;
}

// The parts of a thread and of its process are scaled apart: their difference may be negative.
static uint64_t difference(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

void rx_usage_own(struct rx_snapshot *out)
{
	struct rusage all, main;

	getrusage(RUSAGE_SELF, &all);
	getrusage(RUSAGE_THREAD, &main);
	out->user_ns = difference(timeval_ns(&all.ru_utime), timeval_ns(&main.ru_utime));
	out->system_ns = difference(timeval_ns(&all.ru_stime), timeval_ns(&main.ru_stime));
	out->cpu_ns = difference(timeval_ns(&all.ru_utime) + timeval_ns(&all.ru_stime),
		timeval_ns(&main.ru_utime) + timeval_ns(&main.ru_stime));
	out->wakeups = all.ru_nvcsw - main.ru_nvcsw;
}

uint64_t rx_tick_ns(void)
{
	return TL_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}

// Open a file of a thread; NULL: it has ended.
static FILE *open_of_task(pid_t pid, const char *tid, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", pid, tid, name);
	return fopen(path, "re");
}

uint64_t rx_usage_thread(pthread_t thread)
{
	clockid_t clock;
	struct timespec time;

	if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * TL_NS_PER_S + (uint64_t)time.tv_nsec;
}

// Check for a worker of DPDK, which polls: "rte-worker-N", from DPDK 23.11 on "dpdk-wN".
static bool is_worker(pid_t pid, const char *tid)
{
	char name[32] = "";
	FILE *file = open_of_task(pid, tid, "comm");

	if (file == NULL)
		return false;
	if (fscanf(file, "%31s", name) != 1)
		name[0] = '\0';
	fclose(file);
	return strstr(name, "worker") != NULL || strncmp(name, "dpdk-w", 6) == 0;
}

static void add_cpu(pid_t pid, const char *tid, struct rx_snapshot *out)
{
	uint64_t cpu_ns = 0, user = 0, system = 0;
	FILE *exact = open_of_task(pid, tid, "schedstat"), *ticks = open_of_task(pid, tid, "stat");

	if (exact != NULL && fscanf(exact, "%" SCNu64, &cpu_ns) == 1)
		out->cpu_ns += cpu_ns;
	if (is_worker(pid, tid))
		out->polling_ns += cpu_ns;
	// Fields 14 and 15, in ticks, after a name without blanks: proc(5).
	if (ticks != NULL && fscanf(ticks, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
				     &user, &system) == 2) {
		out->user_ns += user * rx_tick_ns();
		out->system_ns += system * rx_tick_ns();
	}
	if (exact != NULL)
		fclose(exact);
	if (ticks != NULL)
		fclose(ticks);
}

static void add_wakeups(pid_t pid, const char *tid, struct rx_snapshot *out)
{
	char line[128];
	int64_t n;
	FILE *file = open_of_task(pid, tid, "status");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNd64, &n) == 1)
			out->wakeups += n;
	if (file != NULL)
		fclose(file);
}

// Call fn for each thread of a process but main.
static void for_each_thread(pid_t pid, void (*fn)(pid_t pid, const char *tid, void *ctx), void *ctx)
{
	char path[48];
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	while (tasks != NULL && (entry = readdir(tasks)) != NULL)
		if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != pid)
			fn(pid, entry->d_name, ctx);
	if (tasks != NULL)
		closedir(tasks);
}

static void add_usage(pid_t pid, const char *tid, void *ctx)
{
	add_cpu(pid, tid, ctx);
	add_wakeups(pid, tid, ctx);
}

void rx_usage_of(pid_t pid, struct rx_snapshot *out)
{
	for_each_thread(pid, add_usage, out);
}

static void open_thread_events(pid_t pid, const char *tid, void *ctx)
{
	struct rx_process_events *events = ctx;

	(void)pid;
	if (events->n < TL_ARRAY_LEN(events->of))
		(void)rx_events_open(&events->of[events->n++], (pid_t)strtol(tid, NULL, 10));
}

void rx_process_events_open(struct rx_process_events *events, pid_t pid)
{
	events->n = 0;
	for_each_thread(pid, open_thread_events, events);
}

// Field 7 of the first line: user, nice, system, idle, iowait, irq, softirq.
uint64_t rx_softirq_ns(void)
{
	uint64_t ticks = 0;
	FILE *file = fopen("/proc/stat", "re");

	if (file == NULL)
		return 0;
	if (fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) != 1)
		ticks = 0;
	fclose(file);
	return ticks * rx_tick_ns();
}
