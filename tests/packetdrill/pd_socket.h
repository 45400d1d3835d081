// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_socket: stream sockets over Tapline's TCP. No function blocks: a call that would block returns -EAGAIN, and is
// repeated after a change. All return 0 or more, or -errno.
//
// Threads: one at a time. Memory: a socket is freed when it is closed, from an accept queue or by its descriptor.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <tl_tcp.h>

#include "pd_stack.h"

TAILQ_HEAD(tl_pd_queue, tl_pd_socket);

struct tl_pd_host {
	struct tl_pd_flags flags;
	struct tl_pd_stack stack;
	struct tl_pd_queue sockets; // sockets with a descriptor
	bool news;		    // a waiting call should be repeated
};

struct tl_pd_socket {
	TAILQ_ENTRY(tl_pd_socket) link; // in the host's list, or an accept queue
	struct tl_pd_host *host;
	int fd; // a real descriptor, to reserve its number; -1: not accepted yet
	struct tl_tcp *tcp;
	struct tl_tcp_listener *listener;
	struct tl_pd_queue accepted; // accept queue of a listener, by arrival
	struct tl_tcp_opts opts;     // for the connections to be opened
	uint16_t port_be;	     // bound
	uint16_t mss;		     // TCP_MAXSEG; 0: not set
	uint16_t last_mss;	     // MSS of the current or last connection
	uint64_t idle_ns;	     // TCP_KEEPIDLE; 0: not set
	bool corked, more;	     // TCP_CORK; the last send had MSG_MORE
	uint8_t *held;		     // written while corked, less than a segment
	size_t n_held;
	bool nonblocking, opened, at_end, read_shut, write_shut, reset_on_close;
	int error;     // errno for the next call, positive
	uint8_t *data; // received and not read
	size_t len;
};

int tl_pd_socket_open(struct tl_pd_host *host, bool nonblocking); // the descriptor
struct tl_pd_socket *tl_pd_socket_find(struct tl_pd_host *host, int fd);
int tl_pd_socket_bind(struct tl_pd_socket *s, const struct sockaddr *addr, socklen_t len);
int tl_pd_socket_listen(struct tl_pd_socket *s, int backlog);
int tl_pd_socket_accept(struct tl_pd_socket *s, struct sockaddr *addr, socklen_t *len);
int tl_pd_socket_connect(struct tl_pd_socket *s, const struct sockaddr *addr, socklen_t len);
int tl_pd_socket_connected(struct tl_pd_socket *s); // result of the connect
ssize_t tl_pd_socket_read(struct tl_pd_socket *s, void *buf, size_t len, bool peek);
ssize_t tl_pd_socket_write(struct tl_pd_socket *s, const void *buf, size_t len); // possibly only a part
void tl_pd_socket_push(struct tl_pd_socket *s);					 // send a queued partial segment
int tl_pd_socket_ioctl(const struct tl_pd_socket *s, unsigned long request, int *out);
int tl_pd_socket_shutdown(struct tl_pd_socket *s, int how);
int tl_pd_socket_close(struct tl_pd_socket *s);
short tl_pd_socket_events(const struct tl_pd_socket *s); // poll() events

// pd_options.c
int tl_pd_socket_set(struct tl_pd_socket *s, int level, int name, const void *value, socklen_t len);
int tl_pd_socket_get(struct tl_pd_socket *s, int level, int name, void *value, socklen_t *len);
