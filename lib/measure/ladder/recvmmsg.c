// SPDX-License-Identifier: BSD-3-Clause
// recvmmsg: several frames per system call. The entry into the kernel is shared by a batch; the skb, the queue's lock
// and the copy of each frame are not. With MSG_WAITFORONE a call sleeps only while nothing has arrived.

#include <errno.h>
#include <sys/socket.h>

#include "ladder_priv.h"

#define BATCH 64

struct lane {
	struct ladder_lane base;
	struct mmsghdr message[BATCH];
	struct iovec room[BATCH];
	uint8_t frame[BATCH][2048];
};

static int set_up(void *arg, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	struct lane *lane = arg;

	for (unsigned i = 0; i < BATCH; i++) {
		lane->room[i] = (struct iovec){lane->frame[i], sizeof(lane->frame[i])};
		lane->message[i].msg_hdr = (struct msghdr){.msg_iov = &lane->room[i], .msg_iovlen = 1};
	}
	return ladder_buffer(&lane->base, cfg->buffer_bytes, err);
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		int n = recvmmsg(lane->base.fd, lane->message, BATCH, MSG_WAITFORONE | MSG_TRUNC, NULL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			tl_ladder_take(sink, lane->frame[i], lane->message[i].msg_len);
	}
	return 0;
}

const struct tl_ladder_ops ladder_recvmmsg = {
	sizeof(struct lane), ladder_open_packet, set_up, receive, ladder_dropped, ladder_close_socket};
