// SPDX-License-Identifier: BSD-3-Clause
// Serves the control socket.

#include "ctl_priv.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_ctl.h>
#include <tl_err.h>

#define CLIENT_TIMEOUT_MS 200

struct tl_ctl {
	int fd;
	struct sockaddr_un address;
	tl_ctl_answer_fn *answer;
	void *ctx;
};

// A socket file that nobody listens on is left over from a process that died: it may go.
static int remove_stale(const struct sockaddr_un *address, struct tl_err *err)
{
	struct stat st;

	if (lstat(address->sun_path, &st) != 0)
		return errno == ENOENT
			       ? 0
			       : tl_fail(err, -errno, "control socket %s: %s", address->sun_path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return tl_fail(err, -EEXIST, "control socket %s: a file of this name is there and is no socket",
			address->sun_path);
	int fd = tl_ctl_connect(address, CLIENT_TIMEOUT_MS);
	if (fd >= 0) {
		close(fd);
		return tl_fail(
			err, -EADDRINUSE, "control socket %s: another appliance is listening there", address->sun_path);
	}
	if (unlink(address->sun_path) != 0)
		return tl_fail(err, -errno, "control socket %s: left by another process, and cannot be removed (%s)",
			address->sun_path, strerror(errno));
	return 0;
}

static int check_directory(const char *path, struct tl_err *err)
{
	char dir[sizeof(((struct sockaddr_un *)NULL)->sun_path)];

	snprintf(dir, sizeof(dir), "%s", path);
	if (access(dirname(dir), W_OK | X_OK) == 0)
		return 0;
	return tl_fail(
		err, -errno, "control socket %s: no socket can be made in its directory: %s", path, strerror(errno));
}

static int listen_on(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t old = umask(0117); // 0660 from the first moment

	int rc = fd < 0 ? -errno : 0;
	if (rc == 0 && bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
		rc = -errno;
	umask(old);
	if (rc == 0 && listen(fd, 8) != 0)
		rc = -errno;
	if (rc != 0 && fd >= 0)
		close(fd);
	return rc == 0 ? fd : rc;
}

int tl_ctl_check(const char *path, struct tl_err *err)
{
	struct sockaddr_un address;
	int rc = tl_ctl_address(path, &address, err);

	if (rc == 0)
		rc = remove_stale(&address, err);
	return rc == 0 ? check_directory(path, err) : rc;
}

int tl_ctl_open(const char *path, tl_ctl_answer_fn *answer, void *ctx, struct tl_ctl **out, struct tl_err *err)
{
	struct sockaddr_un address;
	int rc = tl_ctl_address(path, &address, err);

	if (rc == 0)
		rc = tl_ctl_check(path, err);
	if (rc != 0)
		return rc;
	int fd = listen_on(&address);
	if (fd < 0)
		return tl_fail(err, fd, "control socket %s: %s", path, strerror(-fd));
	struct tl_ctl *ctl = calloc(1, sizeof(*ctl));
	if (ctl == NULL) {
		close(fd);
		return tl_fail(err, -ENOMEM, "control socket %s: out of memory", path);
	}
	*ctl = (struct tl_ctl){.fd = fd, .address = address, .answer = answer, .ctx = ctx};
	*out = ctl;
	return 0;
}

int tl_ctl_fd(const struct tl_ctl *ctl)
{
	return ctl->fd;
}

// One command line, cut at its newline. False: the client sent none in time.
static bool read_command(int fd, char *line, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		ssize_t n = read(fd, line + used, size - 1 - used);
		if (n <= 0)
			return false;
		used += (size_t)n;
		line[used] = '\0';
		char *newline = strchr(line, '\n');
		if (newline != NULL) {
			*newline = '\0';
			return true;
		}
	}
	return false;
}

static void send_all(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void serve_one(struct tl_ctl *ctl, int fd)
{
	char line[TL_CTL_COMMAND_MAX];

	tl_ctl_set_timeouts(fd, CLIENT_TIMEOUT_MS);
	if (!read_command(fd, line, sizeof(line)))
		return;
	char *answer = ctl->answer(ctl->ctx, line);
	send_all(fd, answer != NULL ? answer : "{\"ok\": false, \"error\": \"unknown command\"}\n");
	free(answer);
}

void tl_ctl_serve(struct tl_ctl *ctl)
{
	int fd = accept4(ctl->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	serve_one(ctl, fd);
	close(fd);
}

void tl_ctl_close(struct tl_ctl *ctl)
{
	if (ctl == NULL)
		return;
	unlink(ctl->address.sun_path);
	close(ctl->fd);
	free(ctl);
}
