// SPDX-License-Identifier: BSD-3-Clause
// A slow receiver: preloaded, each recv() of a frame keeps its thread busy for SLOW_RECV microseconds, and the socket's
// buffer has room for some hundred frames, or with LARGE_BUFFER for as many as the program has asked for. With
// FAIL_RECV, a number, it fails with this errno.
//
//   LD_PRELOAD=BUILD/tests/libbad_recv.so SLOW_RECV=100 tapline bench rx --rungs recv

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define BUFFER_BYTES (256 << 10) // the kernel doubles it

static ssize_t (*real_recv)(int fd, void *data, size_t len, int flags);
static int (*real_setsockopt)(int fd, int level, int name, const void *value, socklen_t len);
static uint64_t busy_us;
static int fault;

__attribute__((constructor)) static void begin(void)
{
	const char *slow = getenv("SLOW_RECV"), *fail = getenv("FAIL_RECV");

	real_recv = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
	real_setsockopt = (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
	busy_us = slow != NULL ? strtoull(slow, NULL, 10) : 0;
	fault = fail != NULL ? atoi(fail) : 0;
}

static int is_packet(int fd)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_PACKET;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
	if (!is_packet(fd))
		return real_recv(fd, data, len, flags);
	if (fault != 0) {
		errno = fault;
		return -1;
	}
	ssize_t bytes = real_recv(fd, data, len, flags);
	uint64_t end_us = now_us() + busy_us;
	while (bytes >= 0 && now_us() < end_us)
		;
	return bytes;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	static const int small = BUFFER_BYTES;

	if (busy_us != 0 && getenv("LARGE_BUFFER") == NULL && level == SOL_SOCKET && name == SO_RCVBUFFORCE &&
		is_packet(fd))
		return real_setsockopt(fd, level, name, &small, sizeof(small));
	return real_setsockopt(fd, level, name, value, len);
}
