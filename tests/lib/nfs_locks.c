// SPDX-License-Identifier: BSD-3-Clause
// Emulate flock() on NFS for functional tests: an exclusive lock needs a writable descriptor, a shared one a readable
// descriptor. Preloaded.

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int fd, int operation)
{
	int access = fcntl(fd, F_GETFL) & O_ACCMODE;

	if (((operation & LOCK_EX) == 0 || access != O_RDONLY) && ((operation & LOCK_SH) == 0 || access != O_WRONLY))
		return (int)syscall(SYS_flock, fd, operation);
	errno = EBADF;
	return -1;
}
