// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of the benchmark. The private namespace has no name: the kernel removes it, and the pair, with the
// last process in it.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tl_iface.h>

#include "rx_priv.h"

#define RX_IF "rx0"
#define TX_IF "tx0"

static int request(const char *ifname, unsigned long number, struct ifreq *req)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(req->ifr_name, sizeof(req->ifr_name), "%s", ifname);
	int rc = fd >= 0 && ioctl(fd, number, req) == 0 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int look_up(const char *ifname, unsigned *ifindex, uint8_t mac[6], struct tl_err *err)
{
	struct ifreq req = {0};

	*ifindex = if_nametoindex(ifname);
	int rc = *ifindex == 0 ? -errno : request(ifname, SIOCGIFHWADDR, &req);
	if (rc != 0)
		return tl_fail(err, rc, "interface %s: %s; `ip link` lists the interfaces", ifname, strerror(-rc));
	memcpy(mac, req.ifr_hwaddr.sa_data, 6);
	return 0;
}

// Frames of the kernel itself would count as foreign.
static void silence_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; // no IPv6
	(void)!write(fd, "1", 1);
	close(fd);
}

// A single queue each, so that AF_XDP reads every frame.
static int make_pair(struct tl_err *err)
{
	FILE *ip = popen("ip -batch - >&2", "we");

	if (ip == NULL)
		return tl_fail(err, -errno, "ip(8): %s", strerror(errno));
	fputs("link add " RX_IF " numrxqueues 1 numtxqueues 1 type veth peer name " TX_IF
	      " numrxqueues 1 numtxqueues 1\n"
	      "address add 10.99.0.1/24 dev " RX_IF "\n"
	      "link set " RX_IF " up\n"
	      "link set " TX_IF " up\n",
		ip);
	return pclose(ip) == 0 ? 0
			       : tl_fail(err, -EIO, "`ip link add` failed: is iproute2 installed, and veth allowed?");
}

static int begin_own(struct rx_net *net, struct tl_err *err)
{
	if (unshare(CLONE_NEWNET) != 0)
		return tl_fail(err, -errno, "a private network namespace: %s: run it as root", strerror(errno));
	silence_ipv6();
	int rc = make_pair(err);
	snprintf(net->ifname, sizeof(net->ifname), RX_IF);
	if (rc == 0)
		rc = look_up(RX_IF, &net->ifindex, net->mac, err);
	if (rc == 0)
		rc = look_up(TX_IF, &net->sender_ifindex, net->sender_mac, err);
	return rc;
}

// The kernel ends the mode with the socket, so also if this process is killed.
static int hold_promiscuous(struct rx_net *net, struct tl_err *err)
{
	const struct packet_mreq mode = {.mr_ifindex = (int)net->ifindex, .mr_type = PACKET_MR_PROMISC};

	net->promiscuous_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (net->promiscuous_fd < 0 ||
		setsockopt(net->promiscuous_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mode, sizeof(mode)) != 0)
		return tl_fail(err, -errno, "interface %s: promiscuous mode: %s: run it as root", net->ifname,
			strerror(errno));
	return 0;
}

int rx_net_begin(struct rx_net *net, const char *ifname, struct tl_err *err)
{
	*net = (struct rx_net){.own = ifname == NULL, .promiscuous_fd = -1};
	if (net->own)
		return begin_own(net, err);
	snprintf(net->ifname, sizeof(net->ifname), "%s", ifname);
	int rc = look_up(ifname, &net->ifindex, net->mac, err);
	return rc == 0 ? hold_promiscuous(net, err) : rc;
}

void rx_net_end(struct rx_net *net)
{
	if (net->promiscuous_fd >= 0)
		close(net->promiscuous_fd);
}

// Columns of /proc/net/dev: rx bytes, packets, errs, drop.
uint64_t rx_net_drops(const struct rx_net *net)
{
	char line[512], name[32];
	uint64_t drops = 0, value;
	FILE *file = fopen("/proc/self/net/dev", "re");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, " %31[^:]: %*u %*u %*u %" SCNu64, name, &value) == 2 && strcmp(name, net->ifname) == 0)
			drops = value;
	if (file != NULL)
		fclose(file);
	return drops;
}

void rx_net_driver(const struct rx_net *net, char *text, size_t size)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	snprintf(text, size, "%s", tl_iface_ethtool(net->ifname, &info) == 0 ? info.driver : "unknown");
}
