// SPDX-License-Identifier: BSD-3-Clause
// A process of the benchmark, with a socket to it. It ends when the socket does, so also when the benchmark is killed.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rx_priv.h"

#define STOP_MS 5000
#define LOOK_MS 20

// Libraries print their own words on a refusal: the row has the reason.
void rx_process_silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
	}
}

int rx_process_fork(void (*main)(const void *ctx, int fd), const void *ctx, struct rx_process *out, struct tl_err *err)
{
	int fds[2];

	*out = (struct rx_process){.fd = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return tl_fail(err, -errno, "socketpair: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]); // else the child would not see its end
		main(ctx, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	*out = (struct rx_process){pid, fds[0]};
	return pid >= 0 ? 0 : tl_fail(err, -errno, "fork: %s", strerror(errno));
}

int rx_process_hear(int fd, const atomic_bool *stop, unsigned timeout_ms, void *out, size_t bytes)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	for (unsigned ms = 0; ms < timeout_ms; ms += LOOK_MS) {
		if (atomic_load_explicit(stop, memory_order_relaxed))
			return -EINTR;
		if (poll(&wait, 1, LOOK_MS) > 0)
			return recv(fd, out, bytes, 0) == (ssize_t)bytes ? 0 : -EPIPE;
	}
	return -ETIMEDOUT;
}

void rx_process_stop(struct rx_process *child)
{
	unsigned ms = 0;

	if (child->fd >= 0)
		close(child->fd);
	if (child->pid > 0)
		(void)kill(child->pid, SIGTERM); // ends the load of a sending port; a rung ignores it
	while (child->pid > 0 && waitpid(child->pid, NULL, WNOHANG) == 0) {
		if (ms++ == STOP_MS)
			(void)kill(child->pid, SIGKILL);
		(void)poll(NULL, 0, 1);
	}
	*child = (struct rx_process){.fd = -1};
}
