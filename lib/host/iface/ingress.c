// SPDX-License-Identifier: BSD-3-Clause
// Removal of the ingress queueing discipline, by rtnetlink(7).

#include <tl_iface.h>

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

static int ask(int fd, int ifindex)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = {.head = {.nlmsg_len = sizeof(request),
			     .nlmsg_type = RTM_DELQDISC,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.tc = {.tcm_ifindex = ifindex, .tcm_parent = TC_H_INGRESS, .tcm_handle = TC_H_MAKE(TC_H_INGRESS, 0)}};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr answer;
		char request[256];
	} reply;

	if (send(fd, &request, sizeof(request), 0) < 0)
		return -errno;
	ssize_t bytes = recv(fd, &reply, sizeof(reply), 0);
	if (bytes < 0)
		return -errno;
	return bytes >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && reply.head.nlmsg_type == NLMSG_ERROR
		       ? reply.answer.error
		       : -EPROTO;
}

int tl_iface_remove_ingress(const char *iface)
{
	unsigned ifindex = if_nametoindex(iface);
	int fd = ifindex != 0 ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) : -1;

	if (fd < 0)
		return -errno;
	int rc = ask(fd, (int)ifindex);
	close(fd);
	return rc;
}
