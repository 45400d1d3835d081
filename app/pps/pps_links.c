// SPDX-License-Identifier: BSD-3-Clause
// Read the kernel's interfaces and their counters: rtnetlink(7), RTM_GETLINK with IFLA_STATS64. One dump has all of
// them, of this network namespace; /proc/net/dev adds the missed frames to the dropped ones.

#include "pps.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DUMP_BYTES 65536 // the kernel fills at most 32 KiB
#define DUMP_WAIT_S 5

static bool is_wanted(const struct pps_want *want, const struct pps_iface *iface, unsigned flags)
{
	for (size_t i = 0; i < want->n; i++)
		if (pps_is_called(iface, want->names[i]))
			return true;
	return want->n == 0 && (flags & IFF_UP) != 0 && (flags & IFF_LOOPBACK) == 0;
}

static void take_stats(const struct rtnl_link_stats64 *stats, struct pps_row *row)
{
	pps_count(row, PPS_RX_PKTS, stats->rx_packets);
	pps_count(row, PPS_RX_BYTES, stats->rx_bytes);
	pps_count(row, PPS_TX_PKTS, stats->tx_packets);
	pps_count(row, PPS_TX_BYTES, stats->tx_bytes);
	pps_count(row, PPS_RX_DROPPED, stats->rx_dropped);
	pps_count(row, PPS_RX_MISSED, stats->rx_missed_errors);
	pps_count(row, PPS_RX_FIFO, stats->rx_fifo_errors);
	pps_count(row, PPS_TX_DROPPED, stats->tx_dropped);
}

// Add the alternative names in a list of properties, as far as there is room.
static void take_altnames(const struct rtattr *list, struct pps_iface *iface)
{
	size_t used = strlen(iface->altnames);
	int left = (int)RTA_PAYLOAD(list);

	for (const struct rtattr *part = RTA_DATA(list); RTA_OK(part, left); part = RTA_NEXT(part, left)) {
		int chars = (int)strnlen(RTA_DATA(part), RTA_PAYLOAD(part));
		if (part->rta_type != IFLA_ALT_IFNAME || used + (size_t)chars + 1 >= PPS_ALTNAMES)
			continue;
		used += (size_t)snprintf(
			iface->altnames + used, PPS_ALTNAMES - used, "%.*s ", chars, (const char *)RTA_DATA(part));
	}
}

static void take_attribute(const struct rtattr *part, struct pps_iface *iface)
{
	struct rtnl_link_stats64 stats = {0};
	size_t bytes = RTA_PAYLOAD(part);

	switch (part->rta_type & NLA_TYPE_MASK) {
	case IFLA_IFNAME:
		snprintf(iface->name, IF_NAMESIZE, "%.*s", (int)bytes, (const char *)RTA_DATA(part));
		break;
	case IFLA_STATS64: // it has grown, and will
		memcpy(&stats, RTA_DATA(part), tl_min_u64(bytes, sizeof(stats)));
		take_stats(&stats, &iface->total);
		break;
	case IFLA_PROP_LIST:
		take_altnames(part, iface);
		break;
	}
}

static int take_link(const struct nlmsghdr *message, const struct pps_want *want, struct pps_sample *out)
{
	const struct ifinfomsg *info = NLMSG_DATA(message);
	int left = (int)message->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*info));

	if (left < 0)
		return -EPROTO;
	struct pps_iface *iface = pps_add_iface(out, "");
	if (iface == NULL)
		return -ENOMEM;
	iface->index = (uint32_t)info->ifi_index;
	for (const struct rtattr *part = IFLA_RTA(info); RTA_OK(part, left); part = RTA_NEXT(part, left))
		take_attribute(part, iface);
	if (iface->name[0] == '\0' || !is_wanted(want, iface, info->ifi_flags))
		out->n--;
	return 0;
}

int pps_take_links(const void *messages, size_t bytes, const struct pps_want *want, struct pps_sample *out)
{
	ssize_t left = (ssize_t)bytes; // signed: NLMSG_NEXT takes the padding of the last message off it, too
	int rc = 0;

	for (const struct nlmsghdr *message = messages; rc == 0 && NLMSG_OK(message, left);
		message = NLMSG_NEXT(message, left)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return 1;
		if (message->nlmsg_type == NLMSG_ERROR)
			return message->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr))
				       ? -EPROTO
				       : ((const struct nlmsgerr *)NLMSG_DATA(message))->error;
		if (message->nlmsg_type == RTM_NEWLINK)
			rc = take_link(message, want, out);
	}
	return rc;
}

static int receive_links(int fd, const struct pps_want *want, struct pps_sample *out)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} request = {.head = {.nlmsg_len = sizeof(request),
			     .nlmsg_type = RTM_GETLINK,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
	static const struct timeval wait = {.tv_sec = DUMP_WAIT_S};
	_Alignas(struct nlmsghdr) char dump[DUMP_BYTES];
	int rc = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0 ||
		send(fd, &request, sizeof(request), 0) < 0)
		return -errno;
	while (rc == 0) {
		ssize_t bytes = recv(fd, dump, sizeof(dump), 0);
		if (bytes <= 0)
			return bytes == 0 ? -EPROTO : -errno;
		rc = pps_take_links(dump, (size_t)bytes, want, out);
	}
	return rc < 0 ? rc : 0;
}

int pps_read_links(const struct pps_want *want, struct pps_sample *out)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	int rc = receive_links(fd, want, out);
	close(fd);
	return rc;
}
