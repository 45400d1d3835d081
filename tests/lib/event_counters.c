// SPDX-License-Identifier: BSD-3-Clause
// Hardware counters on any host: preloaded, perf_event_open(2) of instructions and of cycles counts nanoseconds of the
// thread's CPU time, a counter of the kernel itself.
//
//   LD_PRELOAD=BUILD/tests/libevent_counters.so tapline bench rx --rungs recv

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGS 6

static long (*real_syscall)(long number, ...); // set by the first call: constructors of libraries have some

long syscall(long number, ...)
{
	long arg[ARGS];
	va_list args;

	if (real_syscall == NULL)
		real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (unsigned i = 0; i < ARGS; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number != SYS_perf_event_open)
		return real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	struct perf_event_attr attr = *(const struct perf_event_attr *)arg[0];
	if (attr.type == PERF_TYPE_HARDWARE) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
	}
	return real_syscall(number, &attr, arg[1], arg[2], arg[3], arg[4], arg[5]);
}
