// SPDX-License-Identifier: BSD-3-Clause
// A slow disk for all threads of a program: preloaded, it delays large pwrite() calls so that they take their turns at
// the rate of SLOW_DISK, bytes per second. SLOW_WRITER in its place: large write() calls, too, to whatever device.
//
//   LD_PRELOAD=BUILD/tests/libslow_disk.so SLOW_DISK=8000000 tapline …

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define LARGE 65536u // bytes: slabs, not the blocks at the ends of files

static ssize_t (*real_pwrite)(int fd, const void *data, size_t len, off64_t offset);
static ssize_t (*real_write)(int fd, const void *data, size_t len);
static uint64_t rate_bytes, writer_bytes; // per second; 0: as fast as they go
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t free_ns; // CLOCK_MONOTONIC: end of the last write

__attribute__((constructor)) static void begin(void)
{
	const char *rate = getenv("SLOW_DISK"), *writer = getenv("SLOW_WRITER");

	real_pwrite = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
	real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	writer_bytes = writer != NULL ? strtoull(writer, NULL, 10) : 0;
	rate_bytes = rate != NULL ? strtoull(rate, NULL, 10) : writer_bytes;
}

// Append a write to the queue of the disk. Return the time of its end.
static uint64_t queue(size_t len, uint64_t rate)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	pthread_mutex_lock(&lock);
	free_ns = (free_ns > now_ns ? free_ns : now_ns) + len * NS_PER_S / rate;
	uint64_t end_ns = free_ns;
	pthread_mutex_unlock(&lock);
	return end_ns;
}

static void delay(size_t len, uint64_t rate)
{
	if (rate == 0 || len < LARGE)
		return;
	uint64_t end_ns = queue(len, rate);
	struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_S), .tv_nsec = (long)(end_ns % NS_PER_S)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
	delay(len, rate_bytes);
	return real_pwrite(fd, data, len, offset);
}

ssize_t write(int fd, const void *data, size_t len)
{
	if (real_write == NULL) // before the constructor
		real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	delay(len, writer_bytes);
	return real_write(fd, data, len);
}
