// SPDX-License-Identifier: BSD-3-Clause
// Carrier of an interface, and the number of times that it was lost, by rtnetlink(7).

#include <tl_iface.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_BYTES 16384 // attributes of an interface, without those of virtual functions

struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
};

// Find carrier and count in a reply. Return 0 or -errno.
static int find_carrier(struct nlmsghdr *head, size_t bytes, struct tl_iface_carrier *out)
{
	bool counted = false;

	*out = (struct tl_iface_carrier){.on = true};
	if (!NLMSG_OK(head, bytes) || head->nlmsg_type != RTM_NEWLINK)
		return -EPROTO;
	struct rtattr *attribute = IFLA_RTA(NLMSG_DATA(head));
	int left = (int)IFLA_PAYLOAD(head);
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type == IFLA_CARRIER && RTA_PAYLOAD(attribute) == 1)
			out->on = *(const uint8_t *)RTA_DATA(attribute) != 0;
		if (attribute->rta_type != IFLA_CARRIER_DOWN_COUNT || RTA_PAYLOAD(attribute) != sizeof(out->downs))
			continue;
		memcpy(&out->downs, RTA_DATA(attribute), sizeof(out->downs));
		counted = true;
	}
	return counted ? 0 : -ENOTSUP;
}

static int ask(int fd, int ifindex, struct tl_iface_carrier *out)
{
	struct request request = {
		.head = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
		.link = {.ifi_index = ifindex}};
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];

	if (send(fd, &request, sizeof(request), 0) < 0)
		return -errno;
	ssize_t bytes = recv(fd, reply, sizeof(reply), 0);
	return bytes < 0 ? -errno : find_carrier((struct nlmsghdr *)(void *)reply, (size_t)bytes, out);
}

int tl_iface_carrier(const char *iface, struct tl_iface_carrier *out)
{
	unsigned ifindex = if_nametoindex(iface);
	int fd = ifindex != 0 ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) : -1;

	if (fd < 0)
		return -errno;
	int rc = ask(fd, (int)ifindex, out);
	close(fd);
	return rc;
}
