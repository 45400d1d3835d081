// SPDX-License-Identifier: BSD-3-Clause
// udp: what most programs do. The frame passes the whole stack (Ethernet, routing, IP, socket lookup) before its
// payload is queued at the socket, and each datagram takes a system call and a copy.

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include "ladder_priv.h"

struct lane {
	struct ladder_lane base;
	uint8_t payload[2048];
};

static int open_socket(struct lane *lane, struct tl_err *err)
{
	const struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(TL_LADDER_UDP_PORT),
		.sin_addr.s_addr = htonl(TL_LADDER_RX_IP)};

	lane->base.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (lane->base.fd < 0 || bind(lane->base.fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return tl_fail(err, -errno, "UDP socket: %s", strerror(errno));
	return 0;
}

static int open_lane(void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	int rc = open_socket(arg, err);

	return rc == 0 ? ladder_buffer(arg, cfg->buffer_bytes, err) : rc;
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		ssize_t bytes = recv(lane->base.fd, lane->payload, sizeof(lane->payload), 0);
		if (bytes >= 0)
			tl_ladder_take_payload(
				sink, lane->payload, (uint32_t)bytes, (uint32_t)bytes + TL_LADDER_HEADERS);
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return 0;
}

static uint64_t dropped(void *arg)
{
	struct lane *lane = arg;
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t bytes = sizeof(info);

	return getsockopt(lane->base.fd, SOL_SOCKET, SO_MEMINFO, info, &bytes) == 0 ? info[SK_MEMINFO_DROPS] : 0;
}

const struct tl_ladder_ops ladder_udp = {sizeof(struct lane), open_lane, NULL, receive, dropped, ladder_close_socket};
