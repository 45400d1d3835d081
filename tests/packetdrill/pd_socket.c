// SPDX-License-Identifier: BSD-3-Clause
// Sockets of the library's callers, over the callbacks of TCP.

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pd_like.h"
#include "pd_socket.h"
#include "tcp_table.h"

static struct tl_pd_socket *new_socket(struct tl_pd_host *host)
{
	struct tl_pd_socket *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	s->host = host;
	s->fd = -1;
	TAILQ_INIT(&s->accepted);
	return s;
}

static void free_socket(struct tl_pd_socket *s)
{
	free(s->data);
	free(s->held);
	free(s);
}

// A socket with a closed descriptor exists until its connection ends.
static bool is_orphan(const struct tl_pd_socket *s)
{
	return s->fd < 0 && s->write_shut;
}

// ---- callbacks of TCP

static int error_of(enum tl_tcp_reason reason)
{
	switch (reason) {
	case TL_TCP_REFUSED:
		return ECONNREFUSED;
	case TL_TCP_RESET:
		return ECONNRESET;
	case TL_TCP_TIMEOUT:
		return ETIMEDOUT;
	case TL_TCP_UNREACHABLE:
		return EHOSTUNREACH;
	case TL_TCP_ABORTED:
		return ECONNABORTED;
	default:
		return 0;
	}
}

static const struct tl_tcp_ops CONNECTION_OPS;

// ctx: the listener's socket for a passive open, and from then on the connection's.
static void opened_passively(void *ctx, struct tl_tcp *c)
{
	struct tl_pd_socket *listener = ctx;
	struct tl_pd_socket *s = new_socket(listener->host);

	s->tcp = c;
	s->last_mss = c->mss;
	s->opts = listener->opts;
	s->opened = true;
	TAILQ_INSERT_TAIL(&listener->accepted, s, link);
	tl_tcp_set_ctx(c, s);
	s->host->news = true;
}

static void opened_actively(void *ctx, struct tl_tcp *c)
{
	struct tl_pd_socket *s = ctx;

	s->opened = true;
	s->last_mss = c->mss;
	s->host->news = true;
}

static void took_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct tl_pd_socket *s = ctx;

	if (is_orphan(s) || (s->read_shut && s->host->flags.like != TL_PD_LIKE_LINUX))
		return;
	s->data = realloc(s->data, s->len + len);
	if (s->data == NULL)
		abort();
	memcpy(s->data + s->len, data, len);
	s->len += len;
	s->host->news = true;
}

static void got_room(void *ctx, struct tl_tcp *c)
{
	struct tl_pd_socket *s = ctx;

	s->host->news = true;
}

static void peer_closed(void *ctx, struct tl_tcp *c)
{
	struct tl_pd_socket *s = ctx;

	s->at_end = true;
	s->host->news = true;
}

static void closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct tl_pd_socket *s = ctx;

	s->tcp = NULL;
	s->at_end = true;
	s->error = error_of(reason);
	s->host->news = true;
	if (is_orphan(s))
		free_socket(s);
}

static const struct tl_tcp_ops LISTENER_OPS = {
	.opened = opened_passively,
	.data = took_data,
	.room = got_room,
	.peer_closed = peer_closed,
	.closed = closed,
};

static const struct tl_tcp_ops CONNECTION_OPS = {
	.opened = opened_actively,
	.data = took_data,
	.room = got_room,
	.peer_closed = peer_closed,
	.closed = closed,
};

// ---- open and close

static int give_fd(struct tl_pd_socket *s)
{
	s->fd = eventfd(0, EFD_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	TAILQ_INSERT_TAIL(&s->host->sockets, s, link);
	return s->fd;
}

int tl_pd_socket_open(struct tl_pd_host *host, bool nonblocking)
{
	const struct tl_pd_flags *flags = &host->flags;
	struct tl_pd_socket *s = new_socket(host);

	s->nonblocking = nonblocking;
	s->opts = (struct tl_tcp_opts){
		.recv_window_bytes = flags->window_bytes,
		.window_follows_room = flags->follow_room != 0,
		.keepalive_idle_ns = flags->keepalive_ms * TL_NS_PER_MS,
		.rto_min_us = flags->rto_min_us,
		.connect_timeout_ms = flags->connect_timeout_ms,
		.user_timeout_ms = flags->user_timeout_ms,
	};
	return give_fd(s);
}

struct tl_pd_socket *tl_pd_socket_find(struct tl_pd_host *host, int fd)
{
	struct tl_pd_socket *s;

	TAILQ_FOREACH (s, &host->sockets, link) {
		if (s->fd == fd)
			return s;
	}
	return NULL;
}

// Detach the application; the connection may close in its own time, unless data is lost (RFC 9293, section 3.6.1,
// SHLD-3).
static void let_go(struct tl_pd_socket *s)
{
	bool reset = s->reset_on_close || s->len > 0;

	s->fd = -1;
	s->write_shut = true;
	if (s->tcp == NULL)
		free_socket(s);
	else if (reset)
		tl_tcp_abort(s->tcp);
	else
		tl_tcp_close(s->tcp);
}

int tl_pd_socket_close(struct tl_pd_socket *s)
{
	struct tl_pd_socket *waiting;

	TAILQ_REMOVE(&s->host->sockets, s, link);
	close(s->fd);
	if (s->listener != NULL)
		tl_tcp_unlisten(s->listener);
	while ((waiting = TAILQ_FIRST(&s->accepted)) != NULL) {
		TAILQ_REMOVE(&s->accepted, waiting, link);
		waiting->reset_on_close = true; // its data will never be read
		let_go(waiting);
	}
	let_go(s);
	return 0;
}

int tl_pd_socket_shutdown(struct tl_pd_socket *s, int how)
{
	if (!s->opened || s->tcp == NULL)
		return -ENOTCONN;
	if (how != SHUT_WR)
		s->read_shut = true;
	if (how != SHUT_RD && !s->write_shut) {
		s->write_shut = true;
		tl_tcp_close(s->tcp);
	}
	return 0;
}

// ---- addresses

static int check_address(const struct sockaddr *addr, socklen_t len)
{
	if (len < sizeof(struct sockaddr_in) || addr->sa_family != AF_INET)
		return -EAFNOSUPPORT;
	return 0;
}

int tl_pd_socket_bind(struct tl_pd_socket *s, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)addr;
	int rc = check_address(addr, len);

	if (rc == 0)
		rc = tl_pd_stack_address(&s->host->stack, in->sin_addr.s_addr);
	if (rc == 0)
		s->port_be = in->sin_port;
	return rc;
}

int tl_pd_socket_listen(struct tl_pd_socket *s, int backlog)
{
	if (s->listener != NULL || s->tcp != NULL)
		return -EINVAL;
	int rc = tl_pd_stack_address(&s->host->stack, 0);
	if (rc != 0)
		return rc;
	return tl_tcp_listen(s->host->stack.net, s->port_be, backlog > 0 ? (uint32_t)backlog : 1, &LISTENER_OPS, s,
		&s->opts, &s->listener);
}

int tl_pd_socket_accept(struct tl_pd_socket *s, struct sockaddr *addr, socklen_t *len)
{
	struct tl_pd_socket *next = TAILQ_FIRST(&s->accepted);

	if (s->listener == NULL)
		return -EINVAL;
	if (next == NULL)
		return -EAGAIN;
	TAILQ_REMOVE(&s->accepted, next, link);
	if (addr != NULL && *len >= sizeof(struct sockaddr_in) && next->tcp != NULL) {
		struct sockaddr_in *in = (struct sockaddr_in *)(void *)addr;
		*in = (struct sockaddr_in){.sin_family = AF_INET};
		tl_tcp_peer(next->tcp, &in->sin_addr.s_addr, &in->sin_port);
		*len = sizeof(*in);
	}
	return give_fd(next);
}

// The stack chooses the port, regardless of the socket's binding.
int tl_pd_socket_connect(struct tl_pd_socket *s, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)addr;
	int rc = check_address(addr, len);

	if (rc == 0 && s->listener != NULL)
		rc = -EINVAL;
	if (rc == 0 && s->tcp != NULL)
		rc = s->opened ? -EISCONN : -EALREADY;
	if (rc == 0)
		rc = tl_pd_stack_address(&s->host->stack, 0);
	if (rc != 0)
		return rc;
	return tl_tcp_connect(
		s->host->stack.net, in->sin_addr.s_addr, in->sin_port, &CONNECTION_OPS, s, &s->opts, &s->tcp);
}

static int take_error(struct tl_pd_socket *s)
{
	int error = s->error;

	s->error = 0;
	return -error;
}

int tl_pd_socket_connected(struct tl_pd_socket *s)
{
	if (s->opened)
		return 0;
	return s->tcp != NULL ? -EAGAIN : take_error(s);
}

// ---- data

ssize_t tl_pd_socket_read(struct tl_pd_socket *s, void *buf, size_t len, bool peek)
{
	size_t n = len < s->len ? len : s->len;

	if (!s->opened)
		return s->error != 0 ? take_error(s) : -ENOTCONN;
	if (s->len == 0 && s->error != 0)
		return take_error(s);
	if (s->len == 0 && !s->at_end && !s->read_shut && len > 0)
		return -EAGAIN;
	if (buf != NULL)
		memcpy(buf, s->data, n);
	if (!peek) {
		s->len -= n;
		memmove(s->data, s->data + n, s->len);
	}
	return (ssize_t)n;
}

static int send_held(struct tl_pd_socket *s, size_t n)
{
	if (n == 0)
		return 0;
	int rc = tl_tcp_send(s->tcp, s->held, (uint32_t)n);
	if (rc != 0)
		return rc;
	s->n_held -= n;
	memmove(s->held, s->held + n, s->n_held);
	return 0;
}

// Append to the queued data; send whole segments, and the rest if it is not corked.
static ssize_t write_held(struct tl_pd_socket *s, const void *buf, size_t len)
{
	s->held = realloc(s->held, s->n_held + len);
	if (s->held == NULL)
		abort();
	memcpy(s->held + s->n_held, buf, len);
	s->n_held += len;
	int rc = send_held(s, s->corked || s->more ? s->n_held - s->n_held % s->tcp->mss : s->n_held);
	return rc != 0 ? rc : (ssize_t)len;
}

ssize_t tl_pd_socket_write(struct tl_pd_socket *s, const void *buf, size_t len)
{
	if (s->error != 0)
		return take_error(s);
	if (s->write_shut || (s->opened && s->tcp == NULL))
		return -EPIPE;
	if (s->tcp == NULL)
		return -ENOTCONN;
	if (s->corked || s->more || s->n_held > 0)
		return write_held(s, buf, len);
	uint32_t room = tl_tcp_room(s->tcp);
	if (room == 0)
		return -EAGAIN;
	uint32_t n = len < room ? (uint32_t)len : room;
	int rc = tl_tcp_send(s->tcp, buf, n);
	return rc != 0 ? rc : (ssize_t)n;
}

void tl_pd_socket_push(struct tl_pd_socket *s)
{
	if (s->tcp != NULL)
		(void)send_held(s, s->n_held);
}

int tl_pd_socket_ioctl(const struct tl_pd_socket *s, unsigned long request, int *out)
{
	if (request == SIOCINQ)
		*out = (int)s->len;
	else if (request == SIOCOUTQ)
		*out = s->tcp != NULL ? (int)(tl_tcp_queued(s->tcp) + s->n_held) : 0;
	else if (request == SIOCOUTQNSD)
		*out = s->tcp != NULL ? (int)(tl_tcp_unsent_bytes(s->tcp) + s->n_held) : 0;
	else
		return -ENOTTY;
	return 0;
}

short tl_pd_socket_events(const struct tl_pd_socket *s)
{
	short events = 0;

	if (s->listener != NULL)
		return TAILQ_EMPTY(&s->accepted) ? 0 : POLLIN | POLLRDNORM;
	if (s->len > 0 || s->at_end || s->read_shut)
		events |= POLLIN | POLLRDNORM;
	if (s->at_end || s->read_shut)
		events |= POLLRDHUP;
	if (s->opened && (s->tcp == NULL || s->write_shut || tl_tcp_room(s->tcp) > 0))
		events |= POLLOUT | POLLWRNORM;
	if (s->tcp == NULL || (s->at_end && s->write_shut))
		events |= POLLHUP;
	if (s->error != 0)
		events |= POLLERR;
	return events;
}
