// SPDX-License-Identifier: BSD-3-Clause
// The calls packetdrill makes: one lock, one clock, and the wait of those that block.
//
// packetdrill's main thread hands a call that is to block to its other thread, and goes on. Before a call of the main
// thread returns, the one that waits has seen what changed. So a script runs the same way each time.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pd_interface.h"
#include "pd_socket.h"

#define US_PER_S 1000000
#define NEVER UINT64_MAX
#define FLAGS_KNOWN (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK)

struct pd {
	struct tl_pd_host host;
	pthread_mutex_t lock;
	pthread_t main_thread;
	pthread_cond_t changed; // look again
	pthread_cond_t looked;
	unsigned waiting;	  // calls that block, 0 or 1
	uint64_t wait_until_us;	  // of that call
	uint64_t news, news_seen; // how often something changed, and what the call that waits has seen of it
	uint64_t returned_us;	  // when the last call that may block did; 0: that has been asked
};

// ---- every call

static struct pd *enter(void *userdata)
{
	struct pd *pd = userdata;

	pthread_mutex_lock(&pd->lock);
	tl_pd_stack_work(&pd->host.stack);
	return pd;
}

static bool is_main(const struct pd *pd)
{
	return pthread_equal(pthread_self(), pd->main_thread);
}

// What waits on the other thread looks, and waits again or is gone.
static void settle(struct pd *pd)
{
	if (pd->waiting == 0 || (!pd->host.news && pd->host.stack.now_us < pd->wait_until_us))
		return;
	pd->host.news = false;
	pd->news++;
	pthread_cond_broadcast(&pd->changed);
	while (pd->waiting > 0 && pd->news_seen != pd->news)
		pthread_cond_wait(&pd->looked, &pd->lock);
}

static ssize_t leave(struct pd *pd, ssize_t rc)
{
	tl_pd_stack_work(&pd->host.stack);
	if (is_main(pd))
		settle(pd);
	pthread_mutex_unlock(&pd->lock);
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

static ssize_t not_supported(void *userdata)
{
	return leave(enter(userdata), -ENOSYS);
}

// ---- calls that block

// One look at what is waited for: -EAGAIN, or the result.
struct look {
	ssize_t (*fn)(struct look *look);
	struct tl_pd_socket *s;
	struct tl_pd_host *host;
	void *to;
	const uint8_t *from;
	size_t len, done;
	bool peek;
	struct sockaddr *addr;
	socklen_t *addr_len;
	struct pollfd *fds;
	nfds_t n;
};

// The main thread has nobody to wait for but the stack's own timers.
static ssize_t wait_alone(struct pd *pd, struct look *look, uint64_t until_us)
{
	uint64_t patience_us = pd->host.stack.now_us + (uint64_t)pd->host.flags.patience_s * US_PER_S;
	ssize_t rc;

	while ((rc = look->fn(look)) == -EAGAIN) {
		if (pd->host.stack.now_us >= until_us)
			return -EAGAIN;
		if (pd->host.stack.now_us >= patience_us)
			return -EDEADLK;
		tl_pd_stack_step(&pd->host.stack, until_us);
	}
	return rc;
}

// The other thread sleeps until there is news.
static ssize_t wait_for_news(struct pd *pd, struct look *look, uint64_t until_us)
{
	ssize_t rc;

	pd->waiting++;
	pd->wait_until_us = until_us;
	while ((rc = look->fn(look)) == -EAGAIN && pd->host.stack.now_us < until_us) {
		tl_pd_stack_work(&pd->host.stack);
		pd->news_seen = pd->news;
		pthread_cond_signal(&pd->looked);
		pthread_cond_wait(&pd->changed, &pd->lock);
	}
	pd->returned_us = pd->host.stack.now_us;
	pd->waiting--;
	pthread_cond_signal(&pd->looked);
	return rc;
}

static ssize_t wait_for(struct pd *pd, struct look *look, uint64_t until_us)
{
	return is_main(pd) ? wait_alone(pd, look, until_us) : wait_for_news(pd, look, until_us);
}

static ssize_t on_socket(void *userdata, int fd, struct look *look, int flags)
{
	struct pd *pd = enter(userdata);
	ssize_t rc = -EBADF;

	look->s = tl_pd_socket_find(&pd->host, fd);
	if (look->s != NULL && (flags & ~FLAGS_KNOWN) != 0)
		rc = -EOPNOTSUPP;
	else if (look->s != NULL)
		rc = wait_for(pd, look, look->s->nonblocking || (flags & MSG_DONTWAIT) != 0 ? 0 : NEVER);
	return leave(pd, rc);
}

static ssize_t look_accept(struct look *look)
{
	return tl_pd_socket_accept(look->s, look->addr, look->addr_len);
}

static ssize_t look_connected(struct look *look)
{
	return tl_pd_socket_connected(look->s);
}

static ssize_t look_read(struct look *look)
{
	return tl_pd_socket_read(look->s, look->to, look->len, look->peek);
}

// All of it, or if the socket does not block what there is room for.
static ssize_t look_write(struct look *look)
{
	while (look->done < look->len) {
		ssize_t n = tl_pd_socket_write(look->s, look->from + look->done, look->len - look->done);
		if (n == -EAGAIN && look->s->nonblocking && look->done > 0)
			break;
		if (n < 0)
			return n;
		look->done += (size_t)n;
	}
	return (ssize_t)look->done;
}

static ssize_t look_poll(struct look *look)
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

// ---- the table: opening and closing

static int pd_socket(void *userdata, int domain, int type, int protocol)
{
	struct pd *pd = enter(userdata);

	if (domain != AF_INET)
		return (int)leave(pd, -EAFNOSUPPORT);
	if ((type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return (int)leave(pd, -ESOCKTNOSUPPORT);
	return (int)leave(pd, tl_pd_socket_open(&pd->host, (type & SOCK_NONBLOCK) != 0));
}

static int pd_bind(void *userdata, int fd, const struct sockaddr *addr, socklen_t len)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)leave(pd, s != NULL ? tl_pd_socket_bind(s, addr, len) : -EBADF);
}

static int pd_listen(void *userdata, int fd, int backlog)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)leave(pd, s != NULL ? tl_pd_socket_listen(s, backlog) : -EBADF);
}

static int pd_accept(void *userdata, int fd, struct sockaddr *addr, socklen_t *len)
{
	struct look look = {.fn = look_accept, .addr = addr, .addr_len = len};

	return (int)on_socket(userdata, fd, &look, 0);
}

static int pd_connect(void *userdata, int fd, const struct sockaddr *addr, socklen_t len)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);
	ssize_t rc = s != NULL ? tl_pd_socket_connect(s, addr, len) : -EBADF;

	if (rc == 0) {
		struct look look = {.fn = look_connected, .s = s};
		rc = wait_for(pd, &look, s->nonblocking ? 0 : NEVER);
		if (rc == -EAGAIN)
			rc = -EINPROGRESS;
	}
	return (int)leave(pd, rc);
}

static int pd_close(void *userdata, int fd)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)leave(pd, s != NULL ? tl_pd_socket_close(s) : -EBADF);
}

static int pd_shutdown(void *userdata, int fd, int how)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)leave(pd, s != NULL ? tl_pd_socket_shutdown(s, how) : -EBADF);
}

// ---- data in

static ssize_t pd_recv(void *userdata, int fd, void *buf, size_t len, int flags)
{
	struct look look = {.fn = look_read, .to = buf, .len = len, .peek = (flags & MSG_PEEK) != 0};

	return on_socket(userdata, fd, &look, flags);
}

static ssize_t pd_read(void *userdata, int fd, void *buf, size_t len)
{
	return pd_recv(userdata, fd, buf, len, 0);
}

static ssize_t pd_recvfrom(
	void *userdata, int fd, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len)
{
	if (addr_len != NULL)
		*addr_len = 0; // a stream has none to tell
	return pd_recv(userdata, fd, buf, len, flags);
}

static size_t iov_bytes(const struct iovec *iov, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

static ssize_t receive_into(void *userdata, int fd, const struct iovec *iov, size_t n, int flags)
{
	size_t len = iov_bytes(iov, n);
	uint8_t *bytes = malloc(len + 1);
	ssize_t rc = bytes != NULL ? pd_recv(userdata, fd, bytes, len, flags) : -1;

	for (size_t i = 0, at = 0; rc > 0 && i < n && at < (size_t)rc; at += iov[i++].iov_len) {
		size_t left = (size_t)rc - at;
		memcpy(iov[i].iov_base, bytes + at, left < iov[i].iov_len ? left : iov[i].iov_len);
	}
	free(bytes);
	return rc;
}

static ssize_t pd_readv(void *userdata, int fd, const struct iovec *iov, int n)
{
	return receive_into(userdata, fd, iov, (size_t)n, 0);
}

static ssize_t pd_recvmsg(void *userdata, int fd, struct msghdr *msg, int flags)
{
	msg->msg_namelen = 0;
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	return receive_into(userdata, fd, msg->msg_iov, msg->msg_iovlen, flags);
}

// ---- data out

static ssize_t pd_send(void *userdata, int fd, const void *buf, size_t len, int flags)
{
	struct look look = {.fn = look_write, .from = buf, .len = len};

	return on_socket(userdata, fd, &look, flags);
}

static ssize_t pd_write(void *userdata, int fd, const void *buf, size_t len)
{
	return pd_send(userdata, fd, buf, len, 0);
}

static ssize_t pd_sendto(
	void *userdata, int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr, socklen_t addr_len)
{
	return pd_send(userdata, fd, buf, len, flags); // a stream knows where it goes
}

static ssize_t send_from(void *userdata, int fd, const struct iovec *iov, size_t n, int flags)
{
	size_t len = iov_bytes(iov, n);
	uint8_t *bytes = malloc(len + 1);
	size_t at = 0;

	if (bytes == NULL)
		return -1;
	for (size_t i = 0; i < n; at += iov[i++].iov_len)
		memcpy(bytes + at, iov[i].iov_base, iov[i].iov_len);
	ssize_t rc = pd_send(userdata, fd, bytes, len, flags);
	free(bytes);
	return rc;
}

static ssize_t pd_writev(void *userdata, int fd, const struct iovec *iov, int n)
{
	return send_from(userdata, fd, iov, (size_t)n, 0);
}

static ssize_t pd_sendmsg(void *userdata, int fd, const struct msghdr *msg, int flags)
{
	return send_from(userdata, fd, msg->msg_iov, msg->msg_iovlen, flags);
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
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);
	int argument = 0;
	va_list args;

	va_start(args, command);
	if (command == F_SETFL)
		argument = va_arg(args, int);
	va_end(args);
	return (int)leave(pd, s != NULL ? control(s, command, argument) : -EBADF);
}

static int pd_ioctl(void *userdata, int fd, unsigned long request, ...)
{
	return (int)not_supported(userdata);
}

static int pd_getsockopt(void *userdata, int fd, int level, int name, void *value, socklen_t *len)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)leave(pd, s != NULL ? tl_pd_socket_get(s, level, name, value, len) : -EBADF);
}

static int pd_setsockopt(void *userdata, int fd, int level, int name, const void *value, socklen_t len)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_socket *s = tl_pd_socket_find(&pd->host, fd);

	return (int)leave(pd, s != NULL ? tl_pd_socket_set(s, level, name, value, len) : -EBADF);
}

static int pd_poll(void *userdata, struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct pd *pd = enter(userdata);
	struct look look = {.fn = look_poll, .host = &pd->host, .fds = fds, .n = n};
	uint64_t until_us = timeout_ms < 0 ? NEVER : pd->host.stack.now_us + (uint64_t)timeout_ms * 1000;
	ssize_t rc = wait_for(pd, &look, until_us);

	return (int)leave(pd, rc == -EAGAIN ? 0 : rc);
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
	struct pd *pd = enter(userdata);
	const struct tl_ipv4_hdr *ip = packet;

	if (len < sizeof(*ip) || ip->version_ihl >> 4 != 4)
		return (int)leave(pd, -EAFNOSUPPORT);
	int rc = 0;
	if (pd->host.stack.net == NULL)
		rc = tl_pd_stack_address(&pd->host.stack, ip->dst_be);
	if (rc == 0)
		rc = tl_pd_stack_give(&pd->host.stack, packet, len);
	return (int)leave(pd, rc);
}

// Time passes until the host says something, or patience ends.
static int pd_netdev_receive(void *userdata, void *packet, size_t *len, long long *at_us)
{
	struct pd *pd = enter(userdata);
	struct tl_pd_stack *stack = &pd->host.stack;
	uint64_t until_us = stack->now_us + (uint64_t)pd->host.flags.patience_s * US_PER_S;
	struct tl_pd_packet *next;

	while ((next = tl_pd_stack_take(stack)) == NULL && stack->now_us < until_us) {
		tl_pd_stack_step(stack, until_us);
		settle(pd);
	}
	*at_us = (long long)(next != NULL ? next->at_us : stack->now_us);
	if (next == NULL || next->len > *len) {
		*len = 0;
	} else {
		memcpy(packet, next->bytes, next->len);
		*len = next->len;
	}
	free(next);
	return (int)leave(pd, 0);
}

static int pd_usleep(void *userdata, useconds_t us)
{
	struct pd *pd = enter(userdata);
	uint64_t until_us = pd->host.stack.now_us + us;

	while (pd->host.stack.now_us < until_us) {
		tl_pd_stack_step(&pd->host.stack, until_us);
		settle(pd);
	}
	return (int)leave(pd, 0);
}

// Who waits for a time asks again and again, so time passes by asking. After a call that blocked the other thread asks
// when it returned, and must hear just that, however far the main thread has come.
static int pd_gettimeofday(void *userdata, struct timeval *now, struct timezone *zone)
{
	struct pd *pd = enter(userdata);
	uint64_t now_us = ++pd->host.stack.now_us;

	if (!is_main(pd) && pd->returned_us != 0) {
		now_us = pd->returned_us;
		pd->returned_us = 0;
	}
	*now = (struct timeval){.tv_sec = (time_t)(now_us / US_PER_S), .tv_usec = (suseconds_t)(now_us % US_PER_S)};
	return (int)leave(pd, 0);
}

// ---- life

static void pd_free(void *userdata)
{
	struct pd *pd = userdata;
	struct tl_pd_socket *s;

	while ((s = TAILQ_FIRST(&pd->host.sockets)) != NULL)
		tl_pd_socket_close(s);
	tl_pd_stack_fini(&pd->host.stack);
	pthread_mutex_destroy(&pd->lock);
	pthread_cond_destroy(&pd->changed);
	pthread_cond_destroy(&pd->looked);
	free(pd);
}

static struct pd *new_pd(const char *flags)
{
	struct pd *pd = calloc(1, sizeof(*pd));

	if (pd == NULL)
		abort();
	if (!tl_pd_flags_parse(flags, &pd->host.flags))
		exit(2);
	TAILQ_INIT(&pd->host.sockets);
	pthread_mutex_init(&pd->lock, NULL);
	pthread_cond_init(&pd->changed, NULL);
	pthread_cond_init(&pd->looked, NULL);
	pd->main_thread = pthread_self();
	tl_pd_stack_init(&pd->host.stack, &pd->host.flags);
	return pd;
}

__attribute__((visibility("default"))) void packetdrill_interface_init(
	const char *flags, struct packetdrill_interface *table)
{
	*table = (struct packetdrill_interface){
		.userdata = new_pd(flags),
		.free = pd_free,
		.socket = pd_socket,
		.bind = pd_bind,
		.listen = pd_listen,
		.accept = pd_accept,
		.connect = pd_connect,
		.read = pd_read,
		.readv = pd_readv,
		.recv = pd_recv,
		.recvfrom = pd_recvfrom,
		.recvmsg = pd_recvmsg,
		.write = pd_write,
		.writev = pd_writev,
		.send = pd_send,
		.sendto = pd_sendto,
		.sendmsg = pd_sendmsg,
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
