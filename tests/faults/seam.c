// SPDX-License-Identifier: BSD-3-Clause
// Count the calls of each site, choose the failing ones, and write the trace.

#include "seam.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SITES 4096u // a power of two, several times the number of sites
#define NAME_CHARS 40

struct site {
	const char *name;
	uintptr_t offset;
	unsigned long calls;
};

static struct {
	int trace_fd;
	pthread_mutex_t lock;
	struct site sites[SITES]; // hash table with open addressing
	struct {
		char name[NAME_CHARS];
		uintptr_t offset;
		unsigned long first, last;
		int code; // 0: no fault
	} fault;
} seam = {.trace_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

void *seam_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

// ---- the trace

// Write a trace line with raw system calls, which are not counted.
void seam_trace(const char *format, ...)
{
	char line[9000];
	va_list args;

	if (seam.trace_fd < 0)
		return;
	va_start(args, format);
	int len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	line[len++] = '\n';
	(void)!syscall(SYS_write, seam.trace_fd, line, (size_t)len);
}

void seam_trace_file(const char *what, int fd)
{
	struct stat status;

	if (syscall(SYS_fstat, fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
		seam_trace("%s %lu", what, (unsigned long)status.st_ino);
}

static void trace_fault(const char *name, int code, int fd)
{
	char link[64], path[4096];
	ssize_t len = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		len = syscall(SYS_readlink, link, path, sizeof(path));
	seam_trace("fault %s %d %.*s", name, code, len < 0 ? 1 : (int)len, len < 0 ? "-" : path);
}

static void trace_open_files(void)
{
	struct dirent *item;
	char path[4096];
	DIR *dir = opendir("/proc/self/fd");

	while (dir != NULL && (item = readdir(dir)) != NULL) {
		ssize_t len = readlinkat(dirfd(dir), item->d_name, path, sizeof(path));
		if (len > 0 && atoi(item->d_name) > 2 && atoi(item->d_name) != seam.trace_fd)
			seam_trace("open %.*s", (int)len, path);
	}
	if (dir != NULL)
		closedir(dir);
}

// ---- counting

static struct site *find_site(const char *name, uintptr_t offset)
{
	size_t at = (offset * UINT64_C(0x9E3779B97F4A7C15)) >> 52;

	while (seam.sites[at].name != NULL &&
		(seam.sites[at].offset != offset || strcmp(seam.sites[at].name, name) != 0))
		at = (at + 1) % SITES;
	return &seam.sites[at];
}

int seam_count(const char *name, const void *site, int fd)
{
	uintptr_t offset;

	if (seam.trace_fd < 0 || !seam_is_ours(site, &offset))
		return 0;
	pthread_mutex_lock(&seam.lock);
	struct site *found = find_site(name, offset);
	*found = (struct site){.name = name, .offset = offset, .calls = found->calls + 1};
	unsigned long calls = found->calls;
	pthread_mutex_unlock(&seam.lock);
	if (seam.fault.code == 0 || offset != seam.fault.offset || strcmp(name, seam.fault.name) != 0 ||
		calls < seam.fault.first || (seam.fault.last != 0 && calls > seam.fault.last))
		return 0;
	if (calls < seam.fault.first + 3) // a permanent fault is traced three times
		trace_fault(name, seam.fault.code, fd);
	if (seam.fault.code == SEAM_KILLED)
		syscall(SYS_kill, getpid(), SIGKILL);
	return seam.fault.code;
}

// ---- begin and end

__attribute__((constructor)) static void begin(void)
{
	const char *trace = getenv("SEAM_TRACE"), *fault = getenv("SEAM_FAULT");

	if (fault != NULL && sscanf(fault, "%lx:%39[^:]:%lu:%lu:%d", &seam.fault.offset, seam.fault.name,
				     &seam.fault.first, &seam.fault.last, &seam.fault.code) != 5)
		abort();
	if (trace != NULL)
		seam.trace_fd =
			(int)syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((destructor)) static void end(void)
{
	int trace_fd = seam.trace_fd;

	if (trace_fd < 0)
		return;
	for (size_t i = 0; i < SITES; i++)
		if (seam.sites[i].name != NULL)
			seam_trace("site %lx %s %lu", seam.sites[i].offset, seam.sites[i].name, seam.sites[i].calls);
	seam_trace_leaks();
	trace_open_files();
	seam.trace_fd = -1;
}
