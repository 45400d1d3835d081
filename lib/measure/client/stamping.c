// SPDX-License-Identifier: BSD-3-Clause
// Stamps of a socket (Documentation/networking/timestamping.rst of Linux): of arrivals by control messages, of
// departures from the error queue.

#include "kernel_priv.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONTROL_BYTES 512
#define AWAIT_TRIES 2000 // of at least a millisecond each
#define AWAIT_MS 100

struct control {
	_Alignas(struct cmsghdr) char bytes[CONTROL_BYTES];
};

int tl_client_stamping_enable(int fd, enum tl_client_timestamps source, bool sends, bool receives)
{
	bool nic = source == TL_CLIENT_STAMPS_NIC;
	int flags = nic ? SOF_TIMESTAMPING_RAW_HARDWARE : SOF_TIMESTAMPING_SOFTWARE;

	if (sends)
		flags |= SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY |
			 (nic ? SOF_TIMESTAMPING_TX_HARDWARE : SOF_TIMESTAMPING_TX_SOFTWARE);
	if (receives)
		flags |= nic ? SOF_TIMESTAMPING_RX_HARDWARE : SOF_TIMESTAMPING_RX_SOFTWARE;
	if (receives) // other data waiting in the stream; sockets other than streams reject it
		tl_client_set_option(fd, IPPROTO_TCP, TCP_INQ, 1);
	return tl_client_set_option(fd, SOL_SOCKET, SO_TIMESTAMPING, flags) == 0 ? 0 : -errno;
}

// Send datagrams to the socket itself until one has a stamp.
static void await_stamp(int fd, const struct sockaddr_in *own)
{
	struct tl_client_arrival arrival = {0};
	uint8_t byte = 0;

	for (int i = 0; i < AWAIT_TRIES && arrival.stamp_ns == 0; i++) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		if (sendto(fd, &byte, 1, MSG_DONTWAIT, (const struct sockaddr *)own, sizeof(*own)) != 1)
			return;
		(void)poll(&ready, 1, AWAIT_MS);
		if (tl_client_stamping_receive(fd, &byte, 1, &arrival) == 1 && arrival.stamp_ns == 0)
			(void)poll(NULL, 0, 1);
	}
}

int tl_client_stamping_await(void)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(own);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&own, len) == 0 &&
		getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
		tl_client_stamping_enable(fd, TL_CLIENT_STAMPS_KERNEL, false, true) == 0)
		await_stamp(fd, &own);
	return fd;
}

// Return a stamp: of struct scm_timestamping, [0] is the kernel's and [2] the NIC's; only the requested one is set.
static uint64_t stamp_of(const struct cmsghdr *cmsg)
{
	struct scm_timestamping stamps;

	memcpy(&stamps, CMSG_DATA(cmsg), sizeof(stamps));
	const struct timespec *ts = &stamps.ts[stamps.ts[2].tv_sec != 0 || stamps.ts[2].tv_nsec != 0 ? 2 : 0];
	return (uint64_t)ts->tv_sec * TL_NS_PER_S + (uint64_t)ts->tv_nsec;
}

static bool is_stamp(const struct cmsghdr *cmsg)
{
	return cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_TIMESTAMPING;
}

// True for the bytes of the stream still waiting after the read.
static bool is_inq(const struct cmsghdr *cmsg)
{
	return cmsg->cmsg_level == IPPROTO_TCP && cmsg->cmsg_type == TCP_CM_INQ;
}

ssize_t tl_client_stamping_receive(int fd, void *data, size_t room, struct tl_client_arrival *arrival)
{
	struct control control;
	struct iovec iov = {.iov_base = data, .iov_len = room};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};

	*arrival = (struct tl_client_arrival){0};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg != NULL; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		int waiting = 0;
		if (is_stamp(cmsg))
			arrival->stamp_ns = stamp_of(cmsg);
		if (is_inq(cmsg))
			memcpy(&waiting, CMSG_DATA(cmsg), sizeof(waiting));
		arrival->shared |= waiting > 0;
	}
	return n;
}

static bool is_error(const struct cmsghdr *cmsg)
{
	return (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_RECVERR) ||
	       (cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_RECVERR);
}

bool tl_client_stamping_departed(int fd, struct tl_client_departure *departure)
{
	struct control control;
	struct msghdr msg = {.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
	struct sock_extended_err error = {0};

	*departure = (struct tl_client_departure){0};
	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg != NULL; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (is_stamp(cmsg))
			departure->stamp_ns = stamp_of(cmsg);
		if (is_error(cmsg))
			memcpy(&error, CMSG_DATA(cmsg), sizeof(error));
	}
	if (error.ee_origin != SO_EE_ORIGIN_TIMESTAMPING || error.ee_info != SCM_TSTAMP_SND)
		departure->stamp_ns = 0; // of another source
	departure->id = error.ee_data;
	return true;
}
