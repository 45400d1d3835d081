// SPDX-License-Identifier: BSD-3-Clause
// Stamps of sent frames.

#include <tl_departure.h>

#include <string.h>
#include <time.h>

#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#include <tl_base.h>

#define CONTROL_BYTES 512

// Of struct scm_timestamping, [0] is the kernel's stamp and [2] the NIC's; only the requested one is set.
uint64_t tl_departure_stamp_ns(const struct cmsghdr *cmsg)
{
	struct scm_timestamping stamps;

	if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_TIMESTAMPING)
		return 0;
	memcpy(&stamps, CMSG_DATA(cmsg), sizeof(stamps));
	const struct timespec *ts = &stamps.ts[stamps.ts[2].tv_sec != 0 || stamps.ts[2].tv_nsec != 0 ? 2 : 0];
	return (uint64_t)ts->tv_sec * TL_NS_PER_S + (uint64_t)ts->tv_nsec;
}

static bool is_error(const struct cmsghdr *cmsg)
{
	return (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_RECVERR) ||
	       (cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_RECVERR) ||
	       (cmsg->cmsg_level == SOL_PACKET && cmsg->cmsg_type == PACKET_TX_TIMESTAMP);
}

bool tl_departure_read(int fd, struct tl_departure *out)
{
	_Alignas(struct cmsghdr) char control[CONTROL_BYTES];
	struct msghdr msg = {.msg_control = control, .msg_controllen = sizeof(control)};
	struct sock_extended_err error = {0};

	*out = (struct tl_departure){0};
	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg != NULL; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		out->stamp_ns = tl_max_u64(out->stamp_ns, tl_departure_stamp_ns(cmsg));
		if (is_error(cmsg))
			memcpy(&error, CMSG_DATA(cmsg), sizeof(error));
	}
	if (error.ee_origin != SO_EE_ORIGIN_TIMESTAMPING || error.ee_info != SCM_TSTAMP_SND)
		out->stamp_ns = 0;
	out->id = error.ee_data;
	return true;
}
