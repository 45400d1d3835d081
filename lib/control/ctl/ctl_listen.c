// SPDX-License-Identifier: BSD-3-Clause
// Creation of the control socket. A lock on a file beside it serializes processes.

#include "ctl_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_files.h>

#define CONNECT_TIMEOUT_MS 200
#define LOCK_TIMEOUT_MS 1000
#define LOCK_RETRY_MS 5

// A lock, held as long as its file, which only this user and root can open, is open.
struct lock {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(".tapline-lock")];
};

// Tell whether the open file is locked, and still has its name.
static bool is_locked(const struct lock *lock)
{
	struct stat held, named;

	return flock(lock->fd, LOCK_EX | LOCK_NB) == 0 && fstat(lock->fd, &held) == 0 &&
	       lstat(lock->path, &named) == 0 && tl_is_same_inode(&held, &named);
}

// Lock the path of the socket. Return 0, or -errno and a message.
static int lock_path(const struct sockaddr_un *address, struct lock *lock, struct tl_err *err)
{
	snprintf(lock->path, sizeof(lock->path), "%s.tapline-lock", address->sun_path);
	for (int waited_ms = 0; waited_ms <= LOCK_TIMEOUT_MS; waited_ms += LOCK_RETRY_MS) {
		lock->fd = open(lock->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (lock->fd < 0)
			return tl_fail(err, -errno, "control socket %s: cannot create %s: %s", address->sun_path,
				lock->path, strerror(errno));
		if (is_locked(lock))
			return 0;
		close(lock->fd);
		(void)poll(NULL, 0, LOCK_RETRY_MS);
	}
	return tl_fail(err, -EBUSY, "control socket %s: another process holds a lock on %s (see `lslocks`)",
		address->sun_path, lock->path);
}

static void unlock_path(const struct lock *lock)
{
	unlink(lock->path);
	close(lock->fd);
}

// Remove the socket of a terminated process, without a listener. The path is locked.
static int remove_stale(const struct sockaddr_un *address, struct tl_err *err)
{
	const char *path = address->sun_path;
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : tl_fail(err, -errno, "control socket %s: %s", path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return tl_fail(err, -EEXIST, "control socket %s: exists and is not a socket", path);
	int fd = tl_ctl_connect(address, CONNECT_TIMEOUT_MS);
	if (fd >= 0)
		close(fd);
	if (fd != -ECONNREFUSED) // a busy listener still listens
		return tl_fail(err, -EBUSY, "control socket %s: another appliance is listening there", path);
	if (unlink(path) != 0)
		return tl_fail(err, -errno, "control socket %s: left by another process, and cannot be removed (%s)",
			path, strerror(errno));
	return 0;
}

int tl_ctl_check(const char *path, struct tl_err *err)
{
	struct sockaddr_un address;
	struct lock lock;
	int rc = tl_ctl_address(path, &address, err);

	if (rc == 0)
		rc = lock_path(&address, &lock, err);
	if (rc != 0)
		return rc;
	rc = remove_stale(&address, err);
	unlock_path(&lock);
	return rc;
}

// Bind and listen while the path is locked: the next process finds a listener.
static int listen_here(struct tl_ctl *ctl)
{
	const struct sockaddr_un *address = &ctl->address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t old = umask(0117); // 0660 from the first moment
	int rc = fd < 0 ? -errno : 0;

	if (rc == 0 && bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
		rc = -errno;
	umask(old);
	if (rc == 0 && (listen(fd, 8) != 0 || lstat(address->sun_path, &ctl->file) != 0))
		rc = -errno;
	if (rc != 0 && fd >= 0)
		close(fd);
	ctl->fd = fd;
	return rc;
}

int tl_ctl_listen(struct tl_ctl *ctl, struct tl_err *err)
{
	struct lock lock;
	int rc = lock_path(&ctl->address, &lock, err);

	if (rc != 0)
		return rc;
	rc = remove_stale(&ctl->address, err);
	if (rc == 0 && (rc = listen_here(ctl)) != 0)
		(void)tl_fail(err, rc, "control socket %s: %s", ctl->address.sun_path, strerror(-rc));
	unlock_path(&lock);
	return rc;
}
