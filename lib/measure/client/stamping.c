// SPDX-License-Identifier: BSD-3-Clause
// Stamps of a socket (Documentation/networking/timestamping.rst of Linux): of arrivals by control messages, of
// departures from the error queue; and the configuration of a NIC for stamps of ordinary sockets.

#include "kernel_priv.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tl_departure.h>

// ---- stamps of a socket

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
		arrival->stamp_ns = tl_max_u64(arrival->stamp_ns, tl_departure_stamp_ns(cmsg));
		if (is_inq(cmsg))
			memcpy(&waiting, CMSG_DATA(cmsg), sizeof(waiting));
		arrival->shared |= waiting > 0;
	}
	return n;
}

bool tl_client_stamping_departed(int fd, struct tl_client_departure *departure)
{
	struct tl_departure read;
	bool found = tl_departure_read(fd, &read);

	*departure = (struct tl_client_departure){.id = read.id, .stamp_ns = read.stamp_ns};
	return found;
}

// ---- configuration of a NIC

#define NEEDED_FLAGS (SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE)

int tl_client_nic_check(const struct ethtool_ts_info *info, const char *name, struct tl_err *err)
{
	if ((info->so_timestamping & NEEDED_FLAGS) != NEEDED_FLAGS || (info->tx_types & 1u << HWTSTAMP_TX_ON) == 0)
		return tl_fail(err, -EOPNOTSUPP,
			"--timestamps nic: the driver of %s stamps no frames in hardware (`ethtool -T %s`); use "
			"--timestamps kernel",
			name, name);
	if ((info->rx_filters & 1u << HWTSTAMP_FILTER_ALL) == 0)
		return tl_fail(err, -EOPNOTSUPP,
			"--timestamps nic: %s stamps received frames of PTP only, not all (`ethtool -T %s`); use "
			"--timestamps kernel",
			name, name);
	return 0;
}

// Return the name of the interface that the kernel routes through.
static int find_interface(int fd, const struct tl_client_cfg *cfg, char name[IFNAMSIZ], struct tl_err *err)
{
	struct tl_client_endpoint local = cfg->source, to = cfg->peer;
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);
	char text[TL_ENDPOINT6_TEXT];

	if (cfg->mode != TL_CLIENT_MULTICAST) {
		if (tl_client_bind_source(fd, cfg) != 0 || tl_client_connect(fd, to) != 0 ||
			getsockname(fd, (struct sockaddr *)&address, &len) != 0)
			return tl_fail(err, -errno, "no route to %s: %s; check the routes of this host",
				tl_client_endpoint_text(to, text), strerror(errno));
		local = (struct tl_client_endpoint){0};
		if (address.ss_family == AF_INET6)
			memcpy(&local.ip6, &((struct sockaddr_in6 *)&address)->sin6_addr, sizeof(local.ip6));
		else
			local.ip_be = ((struct sockaddr_in *)&address)->sin_addr.s_addr;
	}
	if (if_indextoname(tl_client_interface_of(&local), name) == NULL)
		return tl_fail(err, -ENODEV, "no interface of this host has the address that messages are sent from");
	return 0;
}

static int configure(int fd, struct tl_client_nic *nic, struct tl_err *err)
{
	struct ethtool_ts_info info = {.cmd = ETHTOOL_GET_TS_INFO};
	struct hwtstamp_config wanted = {.tx_type = HWTSTAMP_TX_ON, .rx_filter = HWTSTAMP_FILTER_ALL};
	struct ifreq request = {.ifr_data = (char *)&info};

	memcpy(request.ifr_name, nic->name, sizeof(nic->name));
	if (ioctl(fd, SIOCETHTOOL, &request) != 0)
		info = (struct ethtool_ts_info){0}; // driver without support for stamps
	int ret = tl_client_nic_check(&info, nic->name, err);
	if (ret != 0)
		return ret;
	request.ifr_data = (char *)&nic->before;
	bool known = ioctl(fd, SIOCGHWTSTAMP, &request) == 0;
	if (known && nic->before.tx_type == HWTSTAMP_TX_ON && nic->before.rx_filter == HWTSTAMP_FILTER_ALL)
		return 0;
	request.ifr_data = (char *)&wanted;
	if (ioctl(fd, SIOCSHWTSTAMP, &request) != 0)
		return tl_fail(err, -errno,
			"cannot enable timestamps of %s: %s; run as root, or use --timestamps kernel", nic->name,
			strerror(errno));
	nic->changed = known;
	if (wanted.rx_filter != HWTSTAMP_FILTER_ALL)
		return tl_fail(
			err, -EOPNOTSUPP, "%s does not stamp all received frames; use --timestamps kernel", nic->name);
	return 0;
}

int tl_client_nic_begin(struct tl_client_nic *nic, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	*nic = (struct tl_client_nic){0};
	int fd = tl_client_socket(cfg, SOCK_DGRAM);
	if (fd < 0)
		return tl_fail(err, -errno, "cannot open a UDP socket: %s", strerror(errno));
	int ret = find_interface(fd, cfg, nic->name, err);
	if (ret == 0)
		ret = configure(fd, nic, err);
	close(fd);
	return ret;
}

void tl_client_nic_end(struct tl_client_nic *nic)
{
	struct ifreq request = {.ifr_data = (char *)&nic->before};
	int fd = nic->changed ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	memcpy(request.ifr_name, nic->name, sizeof(nic->name));
	ioctl(fd, SIOCSHWTSTAMP, &request);
	close(fd);
	nic->changed = false;
}
