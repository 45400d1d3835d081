// SPDX-License-Identifier: BSD-3-Clause
// delays: delay calls of a program, so that its threads interleave in orders that do not occur on an idle machine with
// a fast disk. Preloaded; it affects only calls made by the program's own text.
//
//   LD_PRELOAD=BUILD/tests/faults/libdelays.so DELAYS=SEED[:MS] [DELAYS_TRACE=FILE] PROGRAM
//
// DELAYS        selects, for each call site, the delays of its calls: most never, some often by 1 to 20 ms, a few
//               occasionally by 0.3 to 2 s, always before the call or always after it. The same seed and the same
//               binary delay the same sites, so a fault can be reproduced, if not each time. The sum of the delays is
//               at most MS, plus a second for the last, so that a program with many calls ends; default 12000.
// DELAYS_TRACE  file for a line "delay OFFSET CALL MS before|after THREAD" per delay, appended; OFFSET is that of the
//               return address in the program
//
// Delayed are file system calls, io_uring submissions (a late submission is also a late completion), and the locks,
// conditions and starts of threads.
//
// Threads: any. Memory: static.

#include "seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <liburing.h>

#define SITE __builtin_return_address(0)
#define NS_PER_MS 1000000L

#define MS_MAX 12000 // per process, in total; at most a third of it for short delays
// Limits per site.
#define SHORT_MAX 40
#define LONG_MAX 3
#define SITES 4096 // sites that hash to one entry share its counts

struct turn {
	const char *call;
	uintptr_t offset;
	bool counts; // the program made the call
};

static struct {
	uint64_t seed;
	bool on;
	int trace_fd;
	_Atomic uint64_t threads;
	long ms_max;
	atomic_long short_ms, long_ms; // time spent
	atomic_uint site_shorts[SITES], site_longs[SITES];
} delays = {.trace_fd = -1};

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
	return value ^ (value >> 31);
}

// Return a random word of this thread: the n-th thread to call has the n-th sequence of the seed.
static uint64_t random_word(void)
{
	static _Thread_local uint64_t state;

	if (state == 0)
		state = mix(delays.seed + 0x9E37 * (atomic_fetch_add(&delays.threads, 1) + 1)) | 1;
	state += UINT64_C(0x9E3779B97F4A7C15);
	return mix(state);
}

// Take a delay from the budgets of the site and the process. Return false if a budget is exhausted.
static bool spend(atomic_uint *of_site, unsigned most, atomic_long *spent_ms, long ms, long most_ms)
{
	if (atomic_load(spent_ms) >= most_ms || atomic_fetch_add(of_site, 1) >= most)
		return false;
	atomic_fetch_add(spent_ms, ms);
	return true;
}

// Return the delay of this call at its site; 0: none.
static long delay_ms(uint64_t site)
{
	unsigned kind = (unsigned)(site % 100), place = (unsigned)(site >> 40) % SITES;
	uint64_t word = random_word();
	long ms = (long)((word >> 8) % 100000);

	if (kind < 5 && word % 4 == 0) {
		ms = 300 + ms % 1700;
		return spend(&delays.site_longs[place], LONG_MAX, &delays.long_ms, ms, delays.ms_max * 2 / 3) ? ms : 0;
	}
	if (kind < 40 && word % 4 == 1) {
		ms = 1 + ms % 20;
		return spend(&delays.site_shorts[place], SHORT_MAX, &delays.short_ms, ms, delays.ms_max / 3) ? ms : 0;
	}
	return 0;
}

static void delay(const struct turn *turn, bool after)
{
	uint64_t site = mix(delays.seed ^ mix(turn->offset));
	int code = errno;
	char line[160];

	if (!turn->counts || (site >> 32) % 2 != after)
		return;
	long ms = delay_ms(site);
	if (ms != 0 && delays.trace_fd >= 0) {
		int len = snprintf(line, sizeof(line), "delay %lx %s %ld %s %ld\n", turn->offset, turn->call, ms,
			after ? "after" : "before", syscall(SYS_gettid));
		(void)!syscall(SYS_write, delays.trace_fd, line, (size_t)len);
	}
	if (ms != 0)
		syscall(SYS_nanosleep, &(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS}, NULL);
	errno = code;
}

static struct turn begin_turn(const char *call, const void *site)
{
	struct turn turn = {.call = call};

	turn.counts = delays.on && seam_is_ours(site, &turn.offset);
	delay(&turn, false);
	return turn;
}

// Call passed on unchanged.
#define CALL(type, name, params, args)                                                                                 \
	type name params;                                                                                              \
	type name params                                                                                               \
	{                                                                                                              \
		static type(*next) params;                                                                             \
		if (next == NULL)                                                                                      \
			next = (type(*) params)dlsym(RTLD_NEXT, #name);                                                \
		struct turn turn = begin_turn(#name, SITE);                                                            \
		type result = next args;                                                                               \
		delay(&turn, true);                                                                                    \
		return result;                                                                                         \
	}

// ---- files

CALL(int, __open64_2, (const char *name, int flags), (name, flags)) // name in hardened builds
CALL(int, close, (int fd), (fd))
CALL(ssize_t, read, (int fd, void *data, size_t len), (fd, data, len))
CALL(ssize_t, __read_chk, (int fd, void *data, size_t len, size_t size), (fd, data, len, size))
CALL(ssize_t, write, (int fd, const void *data, size_t len), (fd, data, len))
CALL(ssize_t, pread64, (int fd, void *data, size_t len, off64_t offset), (fd, data, len, offset))
CALL(ssize_t, pwrite64, (int fd, const void *data, size_t len, off64_t offset), (fd, data, len, offset))
CALL(int, fsync, (int fd), (fd))
CALL(int, fdatasync, (int fd), (fd))
CALL(int, ftruncate64, (int fd, off64_t len), (fd, len))
CALL(int, fallocate64, (int fd, int mode, off64_t offset, off64_t len), (fd, mode, offset, len))
CALL(int, flock, (int fd, int operation), (fd, operation))
CALL(int, fstat64, (int fd, struct stat64 *status), (fd, status))
CALL(int, stat64, (const char *name, struct stat64 *status), (name, status))
CALL(int, lstat64, (const char *name, struct stat64 *status), (name, status))
CALL(int, faccessat, (int dir, const char *name, int mode, int flags), (dir, name, mode, flags))
CALL(int, rename, (const char *from, const char *to), (from, to))
CALL(int, renameat2, (int from_dir, const char *from, int to_dir, const char *to, unsigned flags),
	(from_dir, from, to_dir, to, flags))
CALL(int, linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags),
	(from_dir, from, to_dir, to, flags))
CALL(int, unlink, (const char *name), (name))
CALL(int, unlinkat, (int dir, const char *name, int flags), (dir, name, flags))
CALL(int, remove, (const char *name), (name))

// Calls with an optional last argument.
int open64(const char *name, int flags, ...)
{
	static int (*next)(const char *, int, ...);
	va_list args;

	va_start(args, flags);
	mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (next == NULL)
		next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
	struct turn turn = begin_turn("open64", SITE);
	int fd = next(name, flags, mode);
	delay(&turn, true);
	return fd;
}

int fcntl64(int fd, int command, ...)
{
	static int (*next)(int, int, ...);
	va_list args;

	va_start(args, command);
	void *arg = va_arg(args, void *);
	va_end(args);
	if (next == NULL)
		next = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64");
	struct turn turn = begin_turn("fcntl64", SITE);
	int rc = next(fd, command, arg);
	delay(&turn, true);
	return rc;
}

CALL(int, io_uring_submit, (struct io_uring * ring), (ring))
CALL(int, io_uring_submit_and_wait, (struct io_uring * ring, unsigned wait), (ring, wait))

// ---- threads

CALL(int, pthread_create, (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg),
	(thread, attributes, run, arg))
CALL(int, pthread_mutex_lock, (pthread_mutex_t * lock), (lock))
CALL(int, pthread_mutex_unlock, (pthread_mutex_t * lock), (lock))
CALL(int, pthread_cond_signal, (pthread_cond_t * condition), (condition))
CALL(int, pthread_cond_broadcast, (pthread_cond_t * condition), (condition))
CALL(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *lock), (condition, lock))
CALL(int, pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *lock, const struct timespec *deadline),
	(condition, lock, deadline))

__attribute__((constructor)) static void begin(void)
{
	const char *seed = getenv("DELAYS"), *trace = getenv("DELAYS_TRACE");
	struct rlimit limit;

	if (seed == NULL)
		return;
	delays.seed = mix(strtoull(seed, NULL, 10) + 1);
	delays.ms_max = strchr(seed, ':') != NULL ? atol(strchr(seed, ':') + 1) : MS_MAX;
	// A limit of the file size applies to the program only.
	if (trace != NULL && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
		delays.trace_fd =
			(int)syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	delays.on = true;
}
