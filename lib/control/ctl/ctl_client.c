// SPDX-License-Identifier: BSD-3-Clause
// Client of the control socket.

#include "ctl_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <tl_ctl.h>
#include <tl_err.h>

#define ANSWER_TIMEOUT_S 20	      // of an appliance on an overloaded host, too
#define ANSWER_MAX_BYTES (256u << 20) // a class of a shape has about 1 KiB

int tl_ctl_address(const char *path, struct sockaddr_un *out, struct tl_err *err)
{
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(out->sun_path))
		return tl_fail(err, -ENAMETOOLONG, "control socket %s: a socket's path has at most %zu characters",
			path, sizeof(out->sun_path) - 1);
	memcpy(out->sun_path, path, strlen(path));
	return 0;
}

static void set_timeouts(int fd, unsigned timeout_ms)
{
	struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

int tl_ctl_connect(const struct sockaddr_un *address, unsigned timeout_ms)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	set_timeouts(fd, timeout_ms);
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

bool tl_ctl_reserve(char **text, size_t *size, size_t used, size_t max)
{
	if (used + 1 < *size)
		return true;
	size_t more = *size == 0 ? 65536 : 2 * *size;
	char *bigger = more > max ? NULL : realloc(*text, more);
	if (bigger == NULL)
		return false;
	*text = bigger;
	*size = more;
	return true;
}

// Read to the end of the stream into a NUL-terminated string.
static int read_all(int fd, char **out)
{
	size_t used = 0, size = 0;
	char *text = NULL;
	ssize_t n = 1;

	while (n > 0) {
		if (!tl_ctl_reserve(&text, &size, used, ANSWER_MAX_BYTES)) {
			free(text);
			return -ENOMEM;
		}
		do {
			n = read(fd, text + used, size - used - 1);
		} while (n < 0 && errno == EINTR);
		if (n < 0) {
			int rc = -errno;
			free(text);
			return rc;
		}
		used += (size_t)n;
	}
	text[used] = '\0';
	*out = text;
	return 0;
}

// Send the whole command, with its newline.
static int send_line(int fd, const char *command)
{
	char newline = '\n';
	struct iovec line[] = {{.iov_base = (void *)(uintptr_t)command, .iov_len = strlen(command)},
		{.iov_base = &newline, .iov_len = 1}};
	const struct msghdr message = {.msg_iov = line, .msg_iovlen = TL_ARRAY_LEN(line)};

	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)(line[0].iov_len + 1) ? 0 : -errno;
}

int tl_ctl_ask(const char *path, const char *command, char **out, struct tl_err *err)
{
	struct sockaddr_un address;
	int rc = tl_ctl_address(path, &address, err);

	if (rc != 0)
		return rc;
	if (strlen(command) > TL_CTL_COMMAND_MAX - 2)
		return tl_fail(err, -E2BIG, "the command has %zu bytes, the most is %u", strlen(command),
			TL_CTL_COMMAND_MAX - 2);
	int fd = tl_ctl_connect(&address, ANSWER_TIMEOUT_S * 1000);
	if (fd < 0)
		return tl_fail(err, fd,
			"no appliance answers on %s (%s): is it running, with control.socket set to this path?", path,
			strerror(-fd));
	rc = send_line(fd, command);
	if (rc == 0)
		rc = read_all(fd, out);
	close(fd);
	if (rc == -EAGAIN)
		return tl_fail(err, rc,
			"the appliance on %s did not answer within %d s: it is stopped, or the host is overloaded",
			path, ANSWER_TIMEOUT_S);
	if (rc != 0)
		return tl_fail(err, rc, "the appliance on %s did not answer (%s)", path, strerror(-rc));
	return 0;
}
