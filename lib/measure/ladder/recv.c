// SPDX-License-Identifier: BSD-3-Clause
// recv: the plainest way. Per frame the kernel queues an skb at the socket, under a lock, and wakes the thread; the
// thread enters the kernel, which copies the frame out. A frame costs about a microsecond, most of it in the kernel.

#include <errno.h>
#include <sys/socket.h>

#include "ladder_priv.h"

struct lane {
	struct ladder_lane base;
	uint8_t frame[2048];
};

static int set_up(void *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	return ladder_buffer(lane, cfg->buffer_bytes, err);
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		ssize_t bytes =
			recv(lane->base.fd, lane->frame, sizeof(lane->frame), MSG_TRUNC); // the length on the wire
		if (bytes >= 0)
			tl_ladder_take(sink, lane->frame, (uint32_t)bytes);
		else if (errno != EAGAIN && errno != EINTR) // EAGAIN: SO_RCVTIMEO has passed
			return -errno;
	}
	return 0;
}

const struct tl_ladder_ops ladder_recv = {
	sizeof(struct lane), ladder_open_packet, set_up, receive, ladder_dropped, ladder_close_socket};
