// SPDX-License-Identifier: BSD-3-Clause
// Step CLOCK_REALTIME for one running program: preloaded, it adds an offset from a file to the kernel's time.
//
//   LD_PRELOAD=BUILD/tests/libstep_clock.so STEP_CLOCK=FILE tapline …
//
// FILE holds 8 bytes, little endian: ns, signed. A write to it steps the clock.

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

static int (*real_gettime)(clockid_t id, struct timespec *out);
static const volatile int64_t *step_ns;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("STEP_CLOCK");
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (fd < 0)
		return;
	void *map = mmap(NULL, sizeof(*step_ns), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		step_ns = map;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
	// The constructor of another library may read the time before ours has run.
	int rc = real_gettime != NULL ? real_gettime(id, out) : (int)syscall(SYS_clock_gettime, id, out);

	if (rc != 0 || id != CLOCK_REALTIME || step_ns == NULL)
		return rc;
	int64_t ns = (int64_t)out->tv_sec * NS_PER_S + out->tv_nsec + *step_ns;
	*out = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
	return 0;
}
