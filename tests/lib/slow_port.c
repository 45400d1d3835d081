// SPDX-License-Identifier: BSD-3-Clause
// A slow kernel interface: preloaded, it refuses frames above SLOW_PORT bytes per second, as a full transmit queue
// does.
//
//   LD_PRELOAD=BUILD/tests/libslow_port.so SLOW_PORT=100000 tapline …

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define QUEUE_NS (20 * NS_PER_S / 1000) // room of the queue

static ssize_t (*real_send)(int fd, const void *data, size_t len, int flags);
static uint64_t rate_bytes;
static _Atomic uint64_t free_ns; // CLOCK_MONOTONIC: time at which the queue is empty

__attribute__((constructor)) static void begin(void)
{
	const char *rate = getenv("SLOW_PORT");

	real_send = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	rate_bytes = rate != NULL ? strtoull(rate, NULL, 10) : 0;
}

// Return whether the queue has room, and queue the frame.
static int queue(size_t len)
{
	struct timespec now;
	uint64_t before = atomic_load(&free_ns), from;

	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	do {
		from = before > now_ns ? before : now_ns;
		if (from > now_ns + QUEUE_NS)
			return 0;
	} while (!atomic_compare_exchange_weak(&free_ns, &before, from + len * NS_PER_S / rate_bytes));
	return 1;
}

static int is_packet(int fd)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_PACKET;
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	if (rate_bytes != 0 && is_packet(fd) && !queue(len)) {
		errno = ENOBUFS;
		return -1;
	}
	return real_send(fd, data, len, flags);
}
