// SPDX-License-Identifier: BSD-3-Clause
// State and socket drops of kernel interfaces, which DPDK's drivers for them do not report.

#include "port_priv.h"

#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <tl_iface.h>

#define FRAME_BYTES_MIN 2048u
#define FRAME_BYTES_MAX 32768u
#define VLAN_TAGS_BYTES 8u
#define SEND_BYTES_MAX (65536u + TL_ETHER_LEN) // the loopback's default MTU
#define PACKET_RING_HEAD_BYTES 128 // TPACKET_V2's header, sockaddr_ll and alignment before the frame, rounded up

// Issue one interface ioctl on a temporary socket. Return 0 or -errno.
static int interface_ioctl(const char *iface, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	*ifr = (struct ifreq){0};
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%.*s", IF_NAMESIZE - 1, iface);
	if (ioctl(fd, request, ifr) != 0)
		rc = -errno;
	close(fd);
	return rc;
}

uint32_t tl_kernel_frame_max(const char *iface)
{
	struct ifreq ifr;
	uint32_t mtu = interface_ioctl(iface, SIOCGIFMTU, &ifr) == 0 ? (uint32_t)ifr.ifr_mtu : 1500;

	return mtu + TL_ETHER_LEN + VLAN_TAGS_BYTES;
}

uint32_t tl_kernel_frame_bytes(const struct tl_port_cfg *cfg)
{
	uint32_t frame = cfg->mtu + TL_ETHER_LEN + VLAN_TAGS_BYTES;
	uint32_t size = FRAME_BYTES_MIN;

	frame = (uint32_t)tl_max_u64(frame, tl_kernel_frame_max(cfg->spec.arg));
	while (size < FRAME_BYTES_MAX && size < frame + PACKET_RING_HEAD_BYTES)
		size *= 2;
	return size;
}

static uint32_t xdp_room(uint32_t mtu)
{
	return mtu + TL_ETHER_LEN + VLAN_TAGS_BYTES + XDP_PACKET_HEADROOM;
}

uint32_t tl_kernel_xdp_room(const struct tl_port_cfg *cfg)
{
	uint32_t iface_mtu = tl_kernel_frame_max(cfg->spec.arg) - TL_ETHER_LEN - VLAN_TAGS_BYTES;

	return xdp_room((uint32_t)tl_max_u64(cfg->mtu, iface_mtu));
}

// True if the kernel takes mbufs of this room as buffers of AF_XDP: each within a page (net/xdp/xdp_umem.c).
static bool fits_page(uint32_t room)
{
	uint32_t bytes = (uint32_t)sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM + room;

	return rte_mempool_calc_obj_size(bytes, 0, NULL) <= (uint32_t)sysconf(_SC_PAGESIZE);
}

static int check_xdp_mtu(const struct tl_port_cfg *cfg, struct tl_err *err)
{
	const char *iface = cfg->spec.arg;
	uint32_t mtu = (uint32_t)sysconf(_SC_PAGESIZE);

	if (fits_page(tl_kernel_xdp_room(cfg)))
		return 0;
	while (!fits_page(xdp_room(mtu)))
		mtu--;
	return tl_fail(err, -EINVAL,
		"port %s: frames of interface %s do not fit a page, as AF_XDP requires: `ip link set %s mtu %u`, or use %s "
		"without xdp:",
		cfg->name, iface, iface, mtu, iface);
}

uint32_t tl_kernel_send_limit(const struct tl_port_cfg *cfg)
{
	return (uint32_t)tl_min_u64(tl_kernel_frame_max(cfg->spec.arg) - VLAN_TAGS_BYTES, SEND_BYTES_MAX);
}

int tl_kernel_mac(const struct tl_port_cfg *cfg, uint8_t mac[TL_ETHER_ADDR_LEN], struct tl_err *err)
{
	struct ifreq ifr;
	int rc = interface_ioctl(cfg->spec.arg, SIOCGIFHWADDR, &ifr);

	if (rc != 0)
		return tl_fail(err, rc, "port %s: cannot read the address of interface %s (%s)", cfg->name,
			cfg->spec.arg, strerror(-rc));
	if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER && ifr.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK)
		return tl_fail(err, -ENOTSUP,
			"port %s: interface %s carries no Ethernet frames (link type %u): other link types are not supported",
			cfg->name, cfg->spec.arg, ifr.ifr_hwaddr.sa_family);
	memcpy(mac, ifr.ifr_hwaddr.sa_data, TL_ETHER_ADDR_LEN);
	return 0;
}

bool tl_kernel_link(const char *iface, bool *up)
{
	struct ifreq ifr;
	bool known = interface_ioctl(iface, SIOCGIFFLAGS, &ifr) == 0;

	*up = known && (ifr.ifr_flags & IFF_RUNNING) != 0;
	return known;
}

int tl_kernel_check(const struct tl_port_cfg *cfg, struct tl_err *err)
{
	const char *iface = cfg->spec.arg;
	struct ifreq ifr;

	if (if_nametoindex(iface) == 0)
		return tl_fail(err, -ENODEV, "port %s: no interface %s in this network namespace (see `ip link`)",
			cfg->name, iface);
	if (interface_ioctl(iface, SIOCGIFFLAGS, &ifr) == 0 && (ifr.ifr_flags & IFF_UP) == 0)
		return tl_fail(
			err, -ENETDOWN, "port %s: interface %s is down: `ip link set %s up`", cfg->name, iface, iface);
	if (cfg->tx_queues != 0 && interface_ioctl(iface, SIOCGIFMTU, &ifr) == 0 && ifr.ifr_mtu < cfg->mtu)
		return tl_fail(err, -EINVAL,
			"port %s: mtu %u is more than the %d of interface %s: `ip link set %s mtu %u`", cfg->name,
			cfg->mtu, ifr.ifr_mtu, iface, iface, cfg->mtu);
	if (tl_port_traits(&cfg->spec)->bpf && !cfg->take &&
		(tl_iface_has_default_route("", iface) || tl_iface_carries_login(iface)))
		return tl_fail(err, -EPERM,
			"port %s: xdp:%s would take the interface of the default route or of your login away from the kernel: "
			"use %s without xdp:, or allow it with \"take\": true (--take)",
			cfg->name, iface, iface);
	return tl_port_traits(&cfg->spec)->bpf ? check_xdp_mtu(cfg, err) : 0;
}

int tl_kernel_socket_domain(const struct tl_port_spec *spec)
{
	const char *driver = spec->arg + strcspn(spec->arg, "_"); // "net_af_packet0,…", of old "eth_af_packet0,…"

	if (!tl_port_traits(spec)->devargs)
		return tl_port_traits(spec)->bpf ? AF_XDP : AF_UNSPEC;
	return strncmp(driver, "_af_packet", 10) == 0 ? AF_PACKET
	       : strncmp(driver, "_af_xdp", 7) == 0   ? AF_XDP
						      : AF_UNSPEC;
}

void tl_kernel_list_sockets(int domain, struct tl_kernel_sockets *out)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	*out = (struct tl_kernel_sockets){0};
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name);
		int found = 0;
		socklen_t len = sizeof(found);

		if (entry->d_name[0] == '.' || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &found, &len) != 0)
			continue;
		if (found == domain && out->n < TL_PORT_QUEUES_MAX)
			out->fd[out->n++] = fd;
	}
	closedir(dir);
}

void tl_kernel_new_sockets(struct tl_kernel_sockets *after, const struct tl_kernel_sockets *before)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < after->n; i++) {
		bool old = false;
		for (unsigned j = 0; j < before->n; j++)
			old |= before->fd[j] == after->fd[i];
		if (!old)
			after->fd[kept++] = after->fd[i];
	}
	after->n = kept;
}

void tl_kernel_sample_packet(struct tl_kernel_sockets *sockets)
{
	for (unsigned i = 0; i < sockets->n; i++) {
		struct tpacket_stats stats = {0};
		socklen_t len = sizeof(stats);

		// tp_packets includes tp_drops; both restart at 0 with every read (packet(7)).
		if (getsockopt(sockets->fd[i], SOL_PACKET, PACKET_STATISTICS, &stats, &len) != 0)
			continue;
		sockets->seen += stats.tp_packets;
		sockets->dropped[i] += stats.tp_drops;
	}
}

void tl_kernel_sample_xdp(struct tl_kernel_sockets *sockets)
{
	for (unsigned i = 0; i < sockets->n; i++) {
		struct xdp_statistics stats = {0};
		socklen_t len = sizeof(stats);

		// Cumulative. A frame dropped because of an empty fill ring is also in rx_dropped: it is not added
		// twice.
		if (getsockopt(sockets->fd[i], SOL_XDP, XDP_STATISTICS, &stats, &len) == 0)
			sockets->dropped[i] = stats.rx_dropped + stats.rx_ring_full;
	}
}

void tl_kernel_admit_packet(const struct tl_kernel_sockets *sockets)
{
	int unused = 0;

	for (unsigned i = 0; i < sockets->n; i++)
		(void)setsockopt(sockets->fd[i], SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}

bool tl_kernel_refuse_packets(int fd)
{
	// "ret 0": a frame rejected by the socket's filter is neither queued nor counted.
	struct sock_filter refuse_all = {.code = BPF_RET | BPF_K, .k = 0};
	struct sock_fprog program = {.len = 1, .filter = &refuse_all};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

void tl_kernel_open_spare(struct tl_kernel_sockets *sockets)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	sockets->spare_fd = fd > 0 ? fd : 0;
}

void tl_kernel_close_spare(struct tl_kernel_sockets *sockets)
{
	if (sockets->spare_fd > 0)
		close(sockets->spare_fd);
	sockets->spare_fd = 0;
}

int tl_kernel_set_promisc(const struct tl_kernel_sockets *sockets, const char *iface)
{
	struct packet_mreq promisc = {.mr_ifindex = (int)if_nametoindex(iface), .mr_type = PACKET_MR_PROMISC};

	return setsockopt(sockets->spare_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc)) == 0
		       ? 0
		       : -errno;
}

// Wait until no CPU is processing a frame that passed the previous filter: closing a packet socket waits for that
// (synchronize_net() in the kernel's packet_release()). Without the spare socket this has already been done, or the
// process may still open one.
static void wait_for_frames_on_their_way(struct tl_kernel_sockets *sockets)
{
	if (sockets->spare_fd == 0)
		tl_kernel_open_spare(sockets);
	tl_kernel_close_spare(sockets);
}

bool tl_kernel_quiesce_packet(struct tl_kernel_sockets *sockets)
{
	for (unsigned i = 0; i < sockets->n; i++)
		if (!tl_kernel_refuse_packets(sockets->fd[i]))
			return false;
	wait_for_frames_on_their_way(sockets);
	return sockets->n != 0;
}
