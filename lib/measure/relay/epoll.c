// SPDX-License-Identifier: BSD-3-Clause
// epoll: one thread could serve many connections; for one it costs a system call more per message than blocking calls.
// It waits for input while nothing is left to send, else for room. The busy form asks again and again in place of
// sleeping, and lets the kernel poll the driver (SO_BUSY_POLL): no wake-up, for the price of a CPU.

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay_priv.h"

#define BUSY_POLL_US 50

struct state {
	int epoll, in, out;
	bool blocked; // waits for room at out
	uint8_t *room;
	size_t from, to; // part of it that is left to send
};

static int watch(const struct state *s, int operation)
{
	struct epoll_event out = {.events = s->blocked ? EPOLLOUT : 0, .data.fd = s->out};
	struct epoll_event in = {.events = s->blocked ? 0 : EPOLLIN, .data.fd = s->in};

	if (s->in == s->out)
		in.events |= out.events;
	else if (epoll_ctl(s->epoll, operation, s->out, &out) != 0)
		return -errno;
	return epoll_ctl(s->epoll, operation, s->in, &in) == 0 ? 0 : -errno;
}

// Send what is left, or the next input. Return 1, 0: the stream has ended, or -errno.
static int forward(struct state *s)
{
	if (s->from == s->to) {
		ssize_t n = recv(s->in, s->room, RELAY_ROOM_BYTES, 0);
		if (n <= 0)
			return n == 0 ? 0 : errno == EAGAIN ? 1 : -errno;
		s->from = 0;
		s->to = (size_t)n;
	}
	ssize_t n = send(s->out, s->room + s->from, s->to - s->from, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	s->from += n > 0 ? (size_t)n : 0;
	bool blocked = s->from < s->to;
	if (blocked == s->blocked)
		return 1;
	s->blocked = blocked;
	int rc = watch(s, EPOLL_CTL_MOD);
	return rc == 0 ? 1 : rc;
}

static int loop(struct state *s, bool busy)
{
	struct epoll_event events[2];
	int more = 1;

	while (more == 1) {
		int n = epoll_wait(s->epoll, events, 2, busy ? 0 : -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			if (events[i].data.fd == s->out && s->in != s->out && (events[i].events & EPOLLHUP) != 0)
				return 0;
		if (n > 0)
			more = forward(s);
	}
	return more;
}

static int run(int in, int out, bool busy)
{
	const int us = BUSY_POLL_US;
	struct state s = {.epoll = epoll_create1(EPOLL_CLOEXEC), .in = in, .out = out};

	s.room = malloc(RELAY_ROOM_BYTES);
	int rc = s.epoll < 0 ? -errno : s.room == NULL ? -ENOMEM : 0;
	if (rc == 0 && (fcntl(in, F_SETFL, O_NONBLOCK) != 0 || fcntl(out, F_SETFL, O_NONBLOCK) != 0))
		rc = -errno;
	if (busy) // drivers without it, as veth: the loop alone spins
		(void)setsockopt(in, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us));
	if (rc == 0)
		rc = watch(&s, EPOLL_CTL_ADD);
	if (rc == 0)
		rc = loop(&s, busy);
	if (s.epoll >= 0)
		close(s.epoll);
	free(s.room);
	return rc;
}

int relay_epoll(int in, int out)
{
	return run(in, out, false);
}

int relay_epoll_busy(int in, int out)
{
	return run(in, out, true);
}
