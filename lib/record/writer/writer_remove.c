// SPDX-License-Identifier: BSD-3-Clause
// Removes a file of the ring without delaying the writes of the recording: the space of a large file is released piece
// by piece, because a file system that frees gigabytes at once blocks all writes meanwhile.

#include "writer_priv.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define PIECE_BYTES (32 << 20)
#define PAUSE_NS (5 * TL_NS_PER_MS)

// A lease (fcntl(2)) is granted only if no other process has the file open. A later open makes the kernel send a
// signal, which is SIGURG here, ignored by default.
bool tl_writer_is_unshared(int fd, const struct stat *status)
{
	if (status->st_nlink != 1 || fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
		return false;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
}

int tl_writer_remove(int fd, const char *path, const struct stat *status)
{
	bool alone = tl_writer_is_unshared(fd, status);

	if (unlink(path) != 0)
		return -errno;
	for (off_t bytes = alone ? status->st_size : 0; bytes > PIECE_BYTES; bytes -= PIECE_BYTES) {
		if (ftruncate(fd, bytes - PIECE_BYTES) != 0)
			break;
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	return 0;
}
