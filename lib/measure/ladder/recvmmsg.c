// SPDX-License-Identifier: BSD-3-Clause
// recvmmsg: several frames per system call. The entry into the kernel is shared by a batch; the skb, the queue's lock
// and the copy of each frame are not. With MSG_WAITFORONE a call sleeps only while nothing has arrived.

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ladder_priv.h"

#define BATCH 64

struct lane {
	int fd;
	uint64_t drops;
	struct mmsghdr message[BATCH];
	struct iovec room[BATCH];
	uint8_t frame[BATCH][2048];
};

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	if (lane->fd >= 0)
		close(lane->fd);
	free(lane);
}

static void prepare(struct lane *lane)
{
	for (unsigned i = 0; i < BATCH; i++) {
		lane->room[i] = (struct iovec){lane->frame[i], sizeof(lane->frame[i])};
		lane->message[i].msg_hdr = (struct msghdr){.msg_iov = &lane->room[i], .msg_iovlen = 1};
	}
}

static int open_lane(const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, void **out, struct tl_err *err)
{
	struct lane *lane = calloc(1, sizeof(*lane));

	if (lane == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	prepare(lane);
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
		int n = recvmmsg(lane->fd, lane->message, BATCH, MSG_WAITFORONE | MSG_TRUNC, NULL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			tl_ladder_take(sink, lane->frame[i], lane->message[i].msg_len);
	}
	return 0;
}

static uint64_t dropped(void *arg)
{
	struct lane *lane = arg;

	return ladder_packet_drops(lane->fd, &lane->drops);
}

const struct tl_ladder_ops ladder_recvmmsg = {open_lane, receive, dropped, close_lane};
