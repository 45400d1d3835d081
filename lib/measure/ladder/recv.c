// SPDX-License-Identifier: BSD-3-Clause
// recv: the plainest way. Per frame the kernel queues an skb at the socket, under a lock, and wakes the thread; the
// thread enters the kernel, which copies the frame out. A frame costs about a microsecond, most of it in the kernel.

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ladder_priv.h"

struct lane {
	int fd;
	uint64_t drops;
	uint8_t frame[2048];
};

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	if (lane->fd >= 0)
		close(lane->fd);
	free(lane);
}

static int open_lane(const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, void **out, struct tl_err *err)
{
	struct lane *lane = calloc(1, sizeof(*lane));

	if (lane == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int rc = lane->fd = ladder_socket(err);
	if (rc >= 0)
		rc = ladder_buffer(lane->fd, cfg->buffer_bytes, err);
	if (rc == 0)
		rc = ladder_bind(lane->fd, rung, cfg, err);
	if (rc != 0) {
		close_lane(lane);
		return rc;
	}
	*out = lane;
	return 0;
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		ssize_t bytes = recv(lane->fd, lane->frame, sizeof(lane->frame), MSG_TRUNC); // the length on the wire
		if (bytes >= 0)
			tl_ladder_take(sink, lane->frame, (uint32_t)bytes);
		else if (errno != EAGAIN && errno != EINTR) // EAGAIN: SO_RCVTIMEO has passed
			return -errno;
	}
	return 0;
}

static uint64_t dropped(void *arg)
{
	struct lane *lane = arg;

	return ladder_packet_drops(lane->fd, &lane->drops);
}

const struct tl_ladder_ops ladder_recv = {open_lane, receive, dropped, close_lane};
