// SPDX-License-Identifier: BSD-3-Clause
// Each relay forwards all bytes in order, also through a socket with partial writes, and ends with the stream.

#include "tl_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include <tl_relay.h>

#define BYTES 400000u
#define QUIET_POLLS 1000 // of 10 ms: the relay is idle
#define READ_BYTES 3001u // less than the relay's next write, so that its socket fills up repeatedly

struct job {
	const struct tl_relay *relay;
	int in, out;
	int rc;
	atomic_bool done;
};

static void *job_main(void *arg)
{
	struct job *job = arg;

	job->rc = job->relay->run(job->in, job->out);
	atomic_store(&job->done, true);
	return NULL;
}

static uint8_t byte_at(uint32_t i)
{
	return (uint8_t)(i * 2654435761u >> 24);
}

static uint32_t send_some(int fd, uint32_t from)
{
	uint8_t part[50000];
	uint32_t n = (uint32_t)tl_min_u64(sizeof(part), BYTES - from);

	for (uint32_t i = 0; i < n; i++)
		part[i] = byte_at(from + i);
	ssize_t sent = send(fd, part, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent > 0 ? (uint32_t)sent : 0;
}

// Return the number of bytes read; *wrong counts those that differ from the sent ones.
static uint32_t receive_some(int fd, uint32_t from, uint32_t *wrong)
{
	uint8_t part[READ_BYTES];
	ssize_t n = recv(fd, part, sizeof(part), MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++)
		*wrong += part[i] != byte_at(from + (uint32_t)i);
	return n > 0 ? (uint32_t)n : 0;
}

// Send through the relay, read slowly, then end the stream.
static void exchange(struct job *job, int to, int from)
{
	uint32_t sent = 0, received = 0, wrong = 0;
	unsigned quiet = 0;

	while (received < BYTES && quiet < QUIET_POLLS && !atomic_load(&job->done)) {
		if (sent < BYTES)
			sent += send_some(to, sent);
		struct pollfd wait = {.fd = from, .events = POLLIN};
		(void)poll(&wait, 1, 10);
		uint32_t n = receive_some(from, received, &wrong);
		quiet = n > 0 ? 0 : quiet + 1;
		received += n;
	}
	CU_ASSERT_EQUAL_FATAL(received, atomic_load(&job->done) ? received : BYTES);
	shutdown(to, SHUT_WR);
	CU_ASSERT_FATAL(tl_test_until(atomic_load(&job->done)));
	if (job->rc == -ENOSYS || job->rc == -EPERM) // container without io_uring
		return;
	CU_ASSERT_EQUAL(job->rc, 0);
	CU_ASSERT_EQUAL(received, BYTES);
	CU_ASSERT_EQUAL(wrong, 0);
}

static void run(const struct tl_relay *relay, bool one_socket)
{
	int a[2], b[2], small = 4096;
	struct job job = {.relay = relay};
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, b), 0);
	job.in = a[1];
	job.out = one_socket ? a[1] : b[1];
	setsockopt(job.out, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, job_main, &job), 0);
	exchange(&job, a[0], one_socket ? a[0] : b[0]);
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < 2; i++) {
		close(a[i]);
		close(b[i]);
	}
}

TL_TEST("each relay returns a stream through a full socket")
{
	unsigned n;
	const struct tl_relay *relays = tl_relays(&n);

	for (unsigned i = 0; i < n; i++)
		run(&relays[i], true);
}

TL_TEST("each relay forwards from one socket to another")
{
	unsigned n;
	const struct tl_relay *relays = tl_relays(&n);

	for (unsigned i = 0; i < n; i++)
		run(&relays[i], false);
}

TL_TEST("each relay is compared with an earlier one")
{
	unsigned n;
	const struct tl_relay *relays = tl_relays(&n);

	CU_ASSERT(n >= 4);
	CU_ASSERT_PTR_NULL(relays[0].than);
	for (unsigned i = 1; i < n; i++) {
		unsigned found = 0;
		for (unsigned k = 0; k < i; k++)
			found += strcmp(relays[k].name, relays[i].than) == 0;
		CU_ASSERT_EQUAL(found, 1);
	}
}

int main(void)
{
	return tl_test_run("relay");
}
