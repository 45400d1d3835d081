// SPDX-License-Identifier: BSD-3-Clause
// Creation of the control socket. A lock on its directory serializes processes.

#include "ctl_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <tl_err.h>

#define CONNECT_TIMEOUT_MS 200
#define LOCK_TIMEOUT_MS 1000
#define LOCK_RETRY_MS 5

// Lock the directory of the socket. Return a descriptor that holds the lock, or -errno and a message.
static int lock_directory(const struct sockaddr_un *address, struct tl_err *err)
{
	char path[sizeof(address->sun_path) + 1];

	snprintf(path, sizeof(path), "%s", address->sun_path);
	const char *dir = dirname(path);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || access(dir, W_OK | X_OK) != 0) {
		int rc = tl_fail(err, -errno, "control socket %s: cannot create a socket in its directory: %s",
			address->sun_path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (int waited_ms = 0; waited_ms <= LOCK_TIMEOUT_MS; waited_ms += LOCK_RETRY_MS) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		(void)poll(NULL, 0, LOCK_RETRY_MS);
	}
	close(fd);
	return tl_fail(err, -EBUSY, "control socket %s: another process holds a lock on its directory (see `lslocks`)",
		address->sun_path);
}

// Remove the socket of a terminated process, without a listener. The directory is locked.
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
		return tl_fail(err, -EADDRINUSE, "control socket %s: another appliance is listening there", path);
	if (unlink(path) != 0)
		return tl_fail(err, -errno, "control socket %s: left by another process, and cannot be removed (%s)",
			path, strerror(errno));
	return 0;
}

int tl_ctl_check(const char *path, struct tl_err *err)
{
	struct sockaddr_un address;
	int rc = tl_ctl_address(path, &address, err);
	int lock = rc == 0 ? lock_directory(&address, err) : rc;

	if (lock < 0)
		return lock;
	rc = remove_stale(&address, err);
	close(lock);
	return rc;
}

// Bind and listen while the directory is locked: the next process finds a listener.
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
	int lock = lock_directory(&ctl->address, err);

	if (lock < 0)
		return lock;
	int rc = remove_stale(&ctl->address, err);
	if (rc == 0 && (rc = listen_here(ctl)) != 0)
		(void)tl_fail(err, rc, "control socket %s: %s", ctl->address.sun_path, strerror(-rc));
	close(lock);
	return rc;
}
