// SPDX-License-Identifier: BSD-3-Clause
// getsockopt() for packetdrill's own code, which queries TCP_INFO from the kernel for every stack. Preloaded (see
// public.sh); the library answers for its own sockets.

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

// Return false if the descriptor does not belong to the library.
EXPORTED _Bool (*tl_pd_answer_getsockopt)(int fd, int level, int name, void *value, socklen_t *len, int *rc);

EXPORTED int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict len)
{
	int rc;

	if (tl_pd_answer_getsockopt != NULL && tl_pd_answer_getsockopt(fd, level, name, value, len, &rc))
		return rc;
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}
