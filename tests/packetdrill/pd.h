// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd: state shared by the calls of the table: one lock, and the wait of blocking calls.
//
// packetdrill's main thread passes a blocking call to its other thread and continues. Before a call of the main thread
// returns, the waiting thread has processed its effects. Therefore a script runs the same way each time.
//
// Threads: two; between enter and leave one. Memory: create to destroy.

#include <poll.h>
#include <pthread.h>
#include <sys/types.h>

#include "pd_socket.h"

#define TL_PD_US_PER_S 1000000
#define TL_PD_NEVER UINT64_MAX

struct tl_pd {
	struct tl_pd_host host;
	pthread_mutex_t lock;
	pthread_t main_thread;
	pthread_cond_t changed; // check again
	pthread_cond_t looked;
	unsigned waiting;	  // calls that block, 0 or 1
	uint64_t wait_until_us;	  // end of the wait of that call
	uint64_t news, news_seen; // number of changes; number seen by the waiting call
	uint64_t returned_us;	  // time of the last return of a call that may block; 0: already queried
};

struct tl_pd *tl_pd_create(const char *flags);
void tl_pd_destroy(struct tl_pd *pd);

// Reply for pd to queries of packetdrill about its sockets past the table; NULL: no longer.
void tl_pd_answer_for(struct tl_pd *pd);

// Every call begins and ends with these: userdata is the pd; rc becomes the result, or -1 and errno.
struct tl_pd *tl_pd_enter(void *userdata);
ssize_t tl_pd_leave(struct tl_pd *pd, ssize_t rc);

bool tl_pd_is_main(const struct tl_pd *pd);

// Waiter on the other thread: check, then wait again or end.
void tl_pd_settle(struct tl_pd *pd);

// Check the condition: -EAGAIN, or the result.
struct tl_pd_look {
	ssize_t (*fn)(struct tl_pd_look *look);
	struct tl_pd_socket *s;
	struct tl_pd_host *host;
	void *to;
	const uint8_t *from;
	size_t len, done;
	bool peek;
	bool more; // MSG_MORE
	bool blocks;
	struct sockaddr *addr;
	socklen_t *addr_len;
	struct pollfd *fds;
	nfds_t n;
};

// Poll until there is a result, or until until_us: -EAGAIN. -EDEADLK: a wait on the main thread could not end.
ssize_t tl_pd_wait(struct tl_pd *pd, struct tl_pd_look *look, uint64_t until_us);

// Run a whole call: enter, try the socket with this descriptor as long as it blocks, leave. flags are those of recv(),
// send().
ssize_t tl_pd_on_socket(void *userdata, int fd, struct tl_pd_look *look, int flags);
