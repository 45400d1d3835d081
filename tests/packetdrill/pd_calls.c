// SPDX-License-Identifier: BSD-3-Clause
// Calls made by packetdrill, and their table.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pd.h"
#include "pd_data.h"
#include "pd_interface.h"

static ssize_t not_supported(void *userdata)
{
	return tl_pd_leave(tl_pd_enter(userdata), -ENOSYS);
}

// ---- opening and closing

static ssize_t look_accept(struct tl_pd_look *look)
{
	return tl_pd_socket_accept(look->s, look->addr, look->addr_len);
}

static ssize_t look_connected(struct tl_pd_look *look)
{
	return tl_pd_socket_connected(look->s);
}

static int pd_socket(void *userdata, int domain, int type, int protocol)
{
	struct tl_pd *pd = tl_pd_enter(userdata);

	if (domain != AF_INET)
		return (int)tl_pd_leave(pd, -EAFNOSUPPORT);
	if ((type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return (int)tl_pd_leave(pd, -ESOCKTNOSUPPORT);
	return (int)tl_pd_leave(pd, tl_pd_socket_open(&pd->host, (type & SOCK_NONBLOCK) != 0));
}

static int pd_bind(void *userdata, int fd, const struct sockaddr *addr, socklen_t len)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)tl_pd_leave(pd, s != NULL ? tl_pd_socket_bind(s, addr, len) : -EBADF);
}

static int pd_listen(void *userdata, int fd, int backlog)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)tl_pd_leave(pd, s != NULL ? tl_pd_socket_listen(s, backlog) : -EBADF);
}

static int pd_accept(void *userdata, int fd, struct sockaddr *addr, socklen_t *len)
{
	struct tl_pd_look look = {.fn = look_accept, .addr = addr, .addr_len = len};

	return (int)tl_pd_on_socket(userdata, fd, &look, 0);
}

static int pd_connect(void *userdata, int fd, const struct sockaddr *addr, socklen_t len)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);
	ssize_t rc = s != NULL ? tl_pd_socket_connect(s, addr, len) : -EBADF;

	if (rc == 0) {
		struct tl_pd_look look = {.fn = look_connected, .s = s};
		rc = tl_pd_wait(pd, &look, s->nonblocking ? 0 : TL_PD_NEVER);
		if (rc == -EAGAIN)
			rc = -EINPROGRESS;
	}
	return (int)tl_pd_leave(pd, rc);
}

static int pd_close(void *userdata, int fd)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)tl_pd_leave(pd, s != NULL ? tl_pd_socket_close(s) : -EBADF);
}

static int pd_shutdown(void *userdata, int fd, int how)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)tl_pd_leave(pd, s != NULL ? tl_pd_socket_shutdown(s, how) : -EBADF);
}

// ---- options and events

static int control(struct tl_pd_socket *s, int command, int argument)
{
	switch (command) {
	case F_GETFL:
		return O_RDWR | (s->nonblocking ? O_NONBLOCK : 0);
	case F_SETFL:
		s->nonblocking = (argument & O_NONBLOCK) != 0;
		return 0;
	default:
		return -EINVAL;
	}
}

static int pd_fcntl(void *userdata, int fd, int command, ...)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);
	int argument = 0;
	va_list args;

	va_start(args, command);
	if (command == F_SETFL)
		argument = va_arg(args, int);
	va_end(args);
	return (int)tl_pd_leave(pd, s != NULL ? control(s, command, argument) : -EBADF);
}

static int pd_ioctl(void *userdata, int fd, unsigned long request, ...)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	const struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);
	va_list args;

	va_start(args, request);
	int *out = va_arg(args, int *);
	va_end(args);
	return (int)tl_pd_leave(pd, s != NULL ? tl_pd_socket_ioctl(s, request, out) : -EBADF);
}

static int pd_getsockopt(void *userdata, int fd, int level, int name, void *value, socklen_t *len)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)tl_pd_leave(pd, s != NULL ? tl_pd_socket_get(s, level, name, value, len) : -EBADF);
}

static int pd_setsockopt(void *userdata, int fd, int level, int name, const void *value, socklen_t len)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)tl_pd_leave(pd, s != NULL ? tl_pd_socket_set(s, level, name, value, len) : -EBADF);
}

static ssize_t look_poll(struct tl_pd_look *look)
{
	ssize_t ready = 0;

	for (nfds_t i = 0; i < look->n; i++) {
		struct pollfd *p = &look->fds[i];
		const struct tl_pd_socket *s = tl_pd_socket_find(look->host, p->fd);
		short always = POLLERR | POLLHUP;
		p->revents = s != NULL ? (short)(tl_pd_socket_events(s) & (p->events | always)) : POLLNVAL;
		ready += p->revents != 0;
	}
	return ready > 0 ? ready : -EAGAIN;
}

static int pd_poll(void *userdata, struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_look look = {.fn = look_poll, .host = &pd->host, .fds = fds, .n = n};
	uint64_t until_us = timeout_ms < 0 ? TL_PD_NEVER : pd->host.stack.now_us + (uint64_t)timeout_ms * 1000;
	ssize_t rc = tl_pd_wait(pd, &look, until_us);

	return (int)tl_pd_leave(pd, rc == -EAGAIN ? 0 : rc);
}

static int pd_epoll_create(void *userdata, int size)
{
	return (int)not_supported(userdata);
}

static int pd_epoll_ctl(void *userdata, int epfd, int op, int fd, struct epoll_event *event)
{
	return (int)not_supported(userdata);
}

static int pd_epoll_wait(void *userdata, int epfd, struct epoll_event *events, int most, int timeout_ms)
{
	return (int)not_supported(userdata);
}

static int pd_pipe(void *userdata, int fds[2])
{
	return (int)not_supported(userdata);
}

static int pd_splice(void *userdata, int in, loff_t *in_off, int out, loff_t *out_off, size_t len, unsigned flags)
{
	return (int)not_supported(userdata);
}

// ---- the wire and the clock

static int pd_netdev_send(void *userdata, const void *packet, size_t len)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	const struct tl_ipv4_hdr *ip = packet;

	if (len < sizeof(*ip) || ip->version_ihl >> 4 != 4)
		return (int)tl_pd_leave(pd, -EAFNOSUPPORT);
	int rc = 0;
	if (pd->host.stack.net == NULL)
		rc = tl_pd_stack_address(&pd->host.stack, ip->dst_be);
	if (rc == 0)
		rc = tl_pd_stack_give(&pd->host.stack, packet, len);
	return (int)tl_pd_leave(pd, rc);
}

// Advance time until the host sends something, or the timeout expires.
static int pd_netdev_receive(void *userdata, void *packet, size_t *len, long long *at_us)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	struct tl_pd_stack *stack = &pd->host.stack;
	uint64_t until_us = stack->now_us + (uint64_t)pd->host.flags.patience_s * TL_PD_US_PER_S;
	struct tl_pd_packet *next;

	while ((next = tl_pd_stack_take(stack)) == NULL && stack->now_us < until_us) {
		tl_pd_stack_step(stack, until_us);
		tl_pd_settle(pd);
	}
	*at_us = (long long)(next != NULL ? next->at_us : stack->now_us);
	if (next == NULL || next->len > *len) {
		*len = 0;
	} else {
		memcpy(packet, next->bytes, next->len);
		*len = next->len;
	}
	free(next);
	return (int)tl_pd_leave(pd, 0);
}

static int pd_usleep(void *userdata, useconds_t us)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	uint64_t until_us = pd->host.stack.now_us + us;

	while (pd->host.stack.now_us < until_us) {
		tl_pd_stack_step(&pd->host.stack, until_us);
		tl_pd_settle(pd);
	}
	return (int)tl_pd_leave(pd, 0);
}

// A caller that polls advances the time by polling. After a blocking call the other thread queries the time of its
// return, regardless of the main thread's progress.
static int pd_gettimeofday(void *userdata, struct timeval *now, struct timezone *zone)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	uint64_t now_us = ++pd->host.stack.now_us;

	if (!tl_pd_is_main(pd) && pd->returned_us != 0) {
		now_us = pd->returned_us;
		pd->returned_us = 0;
	}
	*now = (struct timeval){
		.tv_sec = (time_t)(now_us / TL_PD_US_PER_S), .tv_usec = (suseconds_t)(now_us % TL_PD_US_PER_S)};
	return (int)tl_pd_leave(pd, 0);
}

// ---- the table

static void pd_free(void *userdata)
{
	tl_pd_destroy(userdata);
}

__attribute__((visibility("default"))) void packetdrill_interface_init(
	const char *flags, struct packetdrill_interface *table)
{
	*table = (struct packetdrill_interface){
		.userdata = tl_pd_create(flags),
		.free = pd_free,
		.socket = pd_socket,
		.bind = pd_bind,
		.listen = pd_listen,
		.accept = pd_accept,
		.connect = pd_connect,
		.read = tl_pd_read,
		.readv = tl_pd_readv,
		.recv = tl_pd_recv,
		.recvfrom = tl_pd_recvfrom,
		.recvmsg = tl_pd_recvmsg,
		.write = tl_pd_write,
		.writev = tl_pd_writev,
		.send = tl_pd_send,
		.sendto = tl_pd_sendto,
		.sendmsg = tl_pd_sendmsg,
		.fcntl = pd_fcntl,
		.ioctl = pd_ioctl,
		.close = pd_close,
		.shutdown = pd_shutdown,
		.getsockopt = pd_getsockopt,
		.setsockopt = pd_setsockopt,
		.poll = pd_poll,
		.netdev_send = pd_netdev_send,
		.netdev_receive = pd_netdev_receive,
		.usleep = pd_usleep,
		.gettimeofday = pd_gettimeofday,
		.epoll_create = pd_epoll_create,
		.epoll_ctl = pd_epoll_ctl,
		.epoll_wait = pd_epoll_wait,
		.pipe = pd_pipe,
		.splice = pd_splice,
	};
}
