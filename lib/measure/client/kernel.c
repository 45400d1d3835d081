// SPDX-License-Identifier: BSD-3-Clause
// Transport over kernel sockets, all non-blocking: a UDP socket, a stream connection, or both; connects, accepts and
// reconnects.

#include "kernel_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <tl_units.h>

#define RETRY_NS (50 * TL_NS_PER_MS)

struct kernel_link {
	struct tl_client_link link; // first member: the base for all transports
	int udp_fd;		    // -1 in TCP mode
	int listen_fd;		    // -1 except in MULTICAST mode
	int conn_fd;		    // -1 without a connection
	int stamping_fd;	    // keeps the stamps of arrivals enabled; -1: none
	bool connecting;
	bool stamps_departures; // of the socket that sends messages
	bool has_errors;	// poll() reported an error queue entry
	uint64_t retry_at_ns;	// time of the next connection attempt
	struct tl_client_nic nic;
};

static struct kernel_link *kernel(struct tl_client_link *link)
{
	return (struct kernel_link *)link;
}

static bool is_stream(const struct kernel_link *k)
{
	return k->link.cfg->mode != TL_CLIENT_UDP;
}

static bool stamps(const struct kernel_link *k)
{
	return k->link.cfg->timestamps != TL_CLIENT_STAMPS_USER;
}

static int stream_fd(const struct kernel_link *k)
{
	return k->connecting ? -1 : k->conn_fd;
}

static int send_fd(const struct kernel_link *k)
{
	return k->link.cfg->mode == TL_CLIENT_TCP ? stream_fd(k) : k->udp_fd;
}

static int recv_fd(const struct kernel_link *k)
{
	return is_stream(k) ? stream_fd(k) : k->udp_fd;
}

// ---- open and close

static void kernel_close(struct tl_client_link *link)
{
	struct kernel_link *k = kernel(link);

	tl_client_close_fd(&k->conn_fd);
	tl_client_close_fd(&k->listen_fd);
	tl_client_close_fd(&k->udp_fd);
	tl_client_close_fd(&k->stamping_fd);
	tl_client_nic_end(&k->nic);
	free(k);
}

// Enable stamps. The identifiers of sent packets start at 0 with this call.
static int enable_stamps(struct kernel_link *k, int fd, bool sends, bool receives)
{
	if (!stamps(k))
		return 0;
	k->stamps_departures |= sends;
	return tl_client_stamping_enable(fd, k->link.cfg->timestamps, sends, receives);
}

static int open_sockets(struct kernel_link *k, struct tl_err *err)
{
	const struct tl_client_cfg *cfg = k->link.cfg;
	bool multicast = cfg->mode == TL_CLIENT_MULTICAST;
	int ret = 0;

	if (cfg->timestamps == TL_CLIENT_STAMPS_NIC)
		ret = tl_client_nic_begin(&k->nic, cfg, err);
	if (ret != 0 || cfg->mode == TL_CLIENT_TCP)
		return ret; // the connection is made by poll(), with retries
	if (multicast)
		ret = tl_client_open_listener(cfg, &k->listen_fd, err);
	if (ret == 0)
		ret = tl_client_open_udp(cfg, multicast ? cfg->group : cfg->peer, &k->udp_fd, err);
	if (ret != 0)
		return ret;
	ret = enable_stamps(k, k->udp_fd, true, !multicast);
	return ret == 0 ? 0 : tl_fail(err, ret, "the kernel stamps no packets of UDP; use --timestamps user");
}

static struct tl_client_sources sources_of(enum tl_client_timestamps timestamps)
{
	bool nic = timestamps == TL_CLIENT_STAMPS_NIC;
	const char *name = tl_client_timestamps_name(timestamps);

	return (struct tl_client_sources){
		.transport = tl_client_kernel.name,
		.departures = nic ? "nic-tx" : name,
		.arrivals = nic ? "nic-rx" : name,
		// For a NIC's stamps the kernel reports neither unit nor bound.
		.departure_unit_ns = !nic,
		.arrival_unit_ns = !nic,
		.realtime = !nic,
	};
}

static int kernel_open(const struct tl_client_cfg *cfg, struct tl_client_link **out, struct tl_err *err)
{
	struct kernel_link *k = malloc(sizeof(*k));

	if (k == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	*k = (struct kernel_link){
		.link = {.ops = &tl_client_kernel, .cfg = cfg, .sources = sources_of(cfg->timestamps)},
		.udp_fd = -1,
		.listen_fd = -1,
		.conn_fd = -1,
		.stamping_fd = cfg->timestamps == TL_CLIENT_STAMPS_KERNEL ? tl_client_stamping_await() : -1};
	int ret = open_sockets(k, err);
	if (ret == 0)
		*out = &k->link;
	else
		kernel_close(&k->link);
	return ret;
}

// ---- send and receive

static bool kernel_is_up(const struct tl_client_link *link)
{
	return recv_fd((const struct kernel_link *)link) >= 0;
}

static ssize_t kernel_send(struct tl_client_link *link, const void *data, size_t len)
{
	struct kernel_link *k = kernel(link);
	int fd = send_fd(k);
	// MSG_EOR keeps later data out of this segment: a segment has one stamp only.
	int flags = link->cfg->mode == TL_CLIENT_TCP && k->stamps_departures ? MSG_EOR : 0;

	if (fd < 0)
		return -ENOTCONN;
	ssize_t n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
	if (n >= 0)
		return n;
	int ret = errno == EINTR ? -EAGAIN : -errno;
	// Some kernel versions use up an identifier for a rejected datagram, others do not: drop the stamps rather
	// than assign them to the wrong datagram.
	if (fd == k->udp_fd && k->stamps_departures) {
		tl_client_stamping_enable(fd, link->cfg->timestamps, false, link->cfg->mode == TL_CLIENT_UDP);
		k->stamps_departures = false;
	}
	return ret;
}

static ssize_t kernel_receive(struct tl_client_link *link, void *data, size_t room, struct tl_client_arrival *arrival)
{
	struct kernel_link *k = kernel(link);
	int fd = recv_fd(k);

	if (fd < 0)
		return -EAGAIN;
	ssize_t n = tl_client_stamping_receive(fd, data, room, arrival);
	return n == -EINTR ? -EAGAIN : n;
}

static bool kernel_departed(struct tl_client_link *link, bool expected, struct tl_client_departure *departure)
{
	struct kernel_link *k = kernel(link);
	int fd = send_fd(k);

	if (fd < 0 || (!expected && !k->has_errors))
		return false;
	k->has_errors = tl_client_stamping_departed(fd, departure);
	return k->has_errors;
}

// ---- connections

static void kernel_lost(struct tl_client_link *link)
{
	struct kernel_link *k = kernel(link);

	tl_client_close_fd(&k->conn_fd);
	k->connecting = false;
	k->retry_at_ns = tl_mono_ns() + RETRY_NS;
}

static void established(struct kernel_link *k)
{
	tl_client_set_option(k->conn_fd, IPPROTO_TCP, TCP_NODELAY, 1);
	enable_stamps(k, k->conn_fd, k->link.cfg->mode == TL_CLIENT_TCP, true);
	k->connecting = false;
	k->link.connections++;
}

static void attempt_failed(struct kernel_link *k, int error)
{
	k->link.why = strerrordesc_np(error);
	kernel_lost(&k->link);
}

static void start_connect(struct kernel_link *k)
{
	const struct tl_client_cfg *cfg = k->link.cfg;

	k->conn_fd = tl_client_socket(cfg, SOCK_STREAM);
	if (k->conn_fd < 0 || tl_client_bind_source(k->conn_fd, cfg) != 0)
		attempt_failed(k, errno);
	else if (tl_client_connect(k->conn_fd, cfg->peer) == 0)
		established(k);
	else if (errno == EINPROGRESS)
		k->connecting = true;
	else
		attempt_failed(k, errno);
}

static void finish_connect(struct kernel_link *k)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(k->conn_fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	if (error == 0)
		established(k);
	else
		attempt_failed(k, error);
}

// Accept a connection. A peer that connects again while the old connection exists has lost the old one.
static void accept_connection(struct kernel_link *k)
{
	int fd = accept4(k->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	tl_client_close_fd(&k->conn_fd);
	k->conn_fd = fd;
	established(k);
}

static void kernel_poll(struct tl_client_link *link, uint64_t timeout_ns, bool want_write)
{
	struct kernel_link *k = kernel(link);
	uint64_t now = tl_mono_ns();
	bool tcp = link->cfg->mode == TL_CLIENT_TCP;
	bool wants_connection = tcp && k->conn_fd < 0;

	if (wants_connection && now >= k->retry_at_ns)
		start_connect(k);
	else if (wants_connection)
		timeout_ns = tl_min_u64(timeout_ns, k->retry_at_ns - now);

	bool conn_writes = k->connecting || (want_write && tcp);
	short udp_events = (short)((is_stream(k) ? 0 : POLLIN) | (want_write && !tcp ? POLLOUT : 0));
	// ppoll() ignores a negative descriptor, but reports errors of one without events.
	struct pollfd fds[] = {
		{.fd = k->conn_fd, .events = (short)(POLLIN | (conn_writes ? POLLOUT : 0))},
		{.fd = k->listen_fd, .events = POLLIN},
		{.fd = udp_events != 0 ? k->udp_fd : -1, .events = udp_events},
	};
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / TL_NS_PER_S),
		.tv_nsec = (long)(timeout_ns % TL_NS_PER_S),
	};
	if (ppoll(fds, TL_ARRAY_LEN(fds), &timeout, NULL) <= 0)
		return;
	k->has_errors |= ((fds[0].revents | fds[2].revents) & POLLERR) != 0;
	if (k->connecting && fds[0].revents != 0)
		finish_connect(k);
	if (fds[1].revents != 0)
		accept_connection(k);
}

const struct tl_client_ops tl_client_kernel = {
	.name = "kernel",
	.open = kernel_open,
	.close = kernel_close,
	.is_up = kernel_is_up,
	.send = kernel_send,
	.receive = kernel_receive,
	.departed = kernel_departed,
	.lost = kernel_lost,
	.poll = kernel_poll,
};
