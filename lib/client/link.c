// SPDX-License-Identifier: BSD-3-Clause
// Opens the client's sockets and keeps its connection up.

#include "link_priv.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <tl_units.h>

#define RETRY_NS (50 * TL_NS_PER_MS)
#define UDP_RCVBUF_BYTES (4 << 20)

uint64_t tl_client_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

static socklen_t socket_address(struct tl_client_endpoint at, struct sockaddr_storage *out)
{
	const struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_addr.s_addr = at.ip_be, .sin_port = at.port_be};
	struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_port = at.port_be};

	memcpy(&ip6.sin6_addr, &at.ip6, sizeof(ip6.sin6_addr));
	if (tl_ip6_is_set(&at.ip6))
		memcpy(out, &ip6, sizeof(ip6));
	else
		memcpy(out, &ip4, sizeof(ip4));
	return tl_ip6_is_set(&at.ip6) ? sizeof(ip6) : sizeof(ip4);
}

static int bind_to(int fd, struct tl_client_endpoint at)
{
	struct sockaddr_storage address;
	socklen_t len = socket_address(at, &address);

	return bind(fd, (struct sockaddr *)&address, len);
}

static int connect_to(int fd, struct tl_client_endpoint to)
{
	struct sockaddr_storage address;
	socklen_t len = socket_address(to, &address);

	return connect(fd, (struct sockaddr *)&address, len);
}

// Where what is sent comes from; nowhere in particular: the kernel chooses.
static int bind_source(int fd, const struct tl_client_cfg *cfg)
{
	if (cfg->source.ip_be == 0 && !tl_ip6_is_set(&cfg->source.ip6))
		return 0;
	return bind_to(fd, cfg->source);
}

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static int open_socket(const struct tl_client_cfg *cfg, int type)
{
	return socket(tl_ip6_is_set(&cfg->peer.ip6) ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

// The interface that has the address; 0: none.
static unsigned interface_of(const struct tl_ip6 *ip)
{
	struct ifaddrs *all = NULL;
	unsigned index = 0;

	if (getifaddrs(&all) != 0)
		return 0;
	for (const struct ifaddrs *a = all; a != NULL && index == 0; a = a->ifa_next) {
		const struct sockaddr_in6 *address = (const struct sockaddr_in6 *)(const void *)a->ifa_addr;
		if (address != NULL && address->sin6_family == AF_INET6 &&
			memcmp(&address->sin6_addr, ip, sizeof(*ip)) == 0)
			index = if_nametoindex(a->ifa_name);
	}
	freeifaddrs(all);
	return index;
}

static int choose_multicast_interface6(int fd, const struct tl_client_cfg *cfg)
{
	if (set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface_of(&cfg->source.ip6)) != 0)
		return -1;
	if (set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, (int)cfg->ttl) != 0)
		return -1;
	return set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
}

static int choose_multicast_interface(int fd, const struct tl_client_cfg *cfg)
{
	struct in_addr interface = {.s_addr = cfg->source.ip_be};

	if (tl_ip6_is_set(&cfg->source.ip6))
		return choose_multicast_interface6(fd, cfg);
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof(interface)) != 0)
		return -1;
	if (set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, (int)cfg->ttl) != 0)
		return -1;
	return set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
}

char *tl_client_endpoint_text(struct tl_client_endpoint at, char buf[TL_ENDPOINT6_TEXT])
{
	if (tl_ip6_is_set(&at.ip6))
		return tl_format_endpoint6(&at.ip6, at.port_be, buf);
	return tl_format_endpoint(at.ip_be, at.port_be, buf);
}

static int open_udp(struct tl_client_link *link, struct tl_client_endpoint to, struct tl_err *err)
{
	const struct tl_client_cfg *cfg = link->cfg;
	char source[TL_IPV6_TEXT], target[TL_ENDPOINT6_TEXT];

	if (tl_ip6_is_set(&cfg->source.ip6))
		tl_format_ipv6(&cfg->source.ip6, source);
	else
		tl_format_ipv4(cfg->source.ip_be, source);
	tl_client_endpoint_text(to, target);

	link->udp_fd = open_socket(cfg, SOCK_DGRAM);
	if (link->udp_fd < 0)
		return tl_fail(err, -errno, "cannot open a UDP socket: %s", strerror(errno));
	// A larger buffer spares losses of our own making; the kernel may grant less.
	set_option(link->udp_fd, SOL_SOCKET, SO_RCVBUF, UDP_RCVBUF_BYTES);
	if (bind_source(link->udp_fd, cfg) != 0)
		return tl_fail(err, -errno, "cannot send from %s: %s; it must be an address of this host", source,
			strerror(errno));
	if (cfg->mode == TL_CLIENT_MULTICAST && choose_multicast_interface(link->udp_fd, cfg) != 0)
		return tl_fail(
			err, -errno, "cannot send multicast from the interface of %s: %s", source, strerror(errno));
	if (connect_to(link->udp_fd, to) != 0)
		return tl_fail(
			err, -errno, "cannot send to %s: %s; check the routes of this host", target, strerror(errno));
	return 0;
}

static int open_listener(struct tl_client_link *link, struct tl_err *err)
{
	struct tl_client_endpoint at = link->cfg->peer;
	char text[TL_ENDPOINT6_TEXT];

	tl_client_endpoint_text(at, text);
	link->listen_fd = open_socket(link->cfg, SOCK_STREAM);
	if (link->listen_fd < 0)
		return tl_fail(err, -errno, "cannot open a TCP socket: %s", strerror(errno));
	set_option(link->listen_fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind_to(link->listen_fd, at) != 0 || listen(link->listen_fd, 1) != 0)
		return tl_fail(err, -errno,
			"cannot listen on %s: %s; it must be an address of this host and a port nobody listens on",
			text, strerror(errno));
	return 0;
}

static int open_sockets(struct tl_client_link *link, struct tl_err *err)
{
	int ret;

	switch (link->cfg->mode) {
	case TL_CLIENT_MULTICAST:
		ret = open_listener(link, err);
		return ret != 0 ? ret : open_udp(link, link->cfg->group, err);
	case TL_CLIENT_UDP:
		return open_udp(link, link->cfg->peer, err);
	case TL_CLIENT_TCP:
		return 0; // by poll(), as often as it takes
	}
	return -EINVAL;
}

int tl_client_link_open(struct tl_client_link *link, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	*link = (struct tl_client_link){.cfg = cfg, .udp_fd = -1, .listen_fd = -1, .conn_fd = -1};

	int ret = open_sockets(link, err);
	if (ret != 0)
		tl_client_link_close(link);
	return ret;
}

void tl_client_link_close(struct tl_client_link *link)
{
	close_fd(&link->conn_fd);
	close_fd(&link->listen_fd);
	close_fd(&link->udp_fd);
}

static int stream_fd(const struct tl_client_link *link)
{
	return link->connecting ? -1 : link->conn_fd;
}

int tl_client_link_send_fd(const struct tl_client_link *link)
{
	return link->cfg->mode == TL_CLIENT_TCP ? stream_fd(link) : link->udp_fd;
}

int tl_client_link_recv_fd(const struct tl_client_link *link)
{
	return link->cfg->mode == TL_CLIENT_UDP ? link->udp_fd : stream_fd(link);
}

void tl_client_link_lost(struct tl_client_link *link)
{
	close_fd(&link->conn_fd);
	link->connecting = false;
	link->retry_at_ns = tl_client_now_ns() + RETRY_NS;
}

static void established(struct tl_client_link *link)
{
	set_option(link->conn_fd, IPPROTO_TCP, TCP_NODELAY, 1);
	link->connecting = false;
	link->connections++;
}

static void attempt_failed(struct tl_client_link *link, int error)
{
	link->last_error = error;
	tl_client_link_lost(link);
}

static void start_connect(struct tl_client_link *link)
{
	link->conn_fd = open_socket(link->cfg, SOCK_STREAM);
	if (link->conn_fd < 0 || bind_source(link->conn_fd, link->cfg) != 0)
		attempt_failed(link, errno);
	else if (connect_to(link->conn_fd, link->cfg->peer) == 0)
		established(link);
	else if (errno == EINPROGRESS)
		link->connecting = true;
	else
		attempt_failed(link, errno);
}

static void finish_connect(struct tl_client_link *link)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(link->conn_fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	if (error == 0)
		established(link);
	else
		attempt_failed(link, error);
}

// A peer that connects again while the old connection stands has forgotten the old one.
static void accept_connection(struct tl_client_link *link)
{
	int fd = accept4(link->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	close_fd(&link->conn_fd);
	link->conn_fd = fd;
	established(link);
}

void tl_client_link_poll(struct tl_client_link *link, uint64_t timeout_ns, bool want_write)
{
	uint64_t now = tl_client_now_ns();
	bool wants_connection = link->cfg->mode == TL_CLIENT_TCP && link->conn_fd < 0;

	if (wants_connection && now >= link->retry_at_ns)
		start_connect(link);
	else if (wants_connection)
		timeout_ns = tl_min_u64(timeout_ns, link->retry_at_ns - now);

	bool conn_writes = link->connecting || (want_write && link->cfg->mode == TL_CLIENT_TCP);
	bool udp_writes = want_write && link->cfg->mode != TL_CLIENT_TCP;
	short udp_events = (short)((link->cfg->mode == TL_CLIENT_UDP ? POLLIN : 0) | (udp_writes ? POLLOUT : 0));
	// ppoll() takes no notice of a negative descriptor, but reports errors of one without events.
	struct pollfd fds[] = {
		{.fd = link->conn_fd, .events = (short)(POLLIN | (conn_writes ? POLLOUT : 0))},
		{.fd = link->listen_fd, .events = POLLIN},
		{.fd = udp_events != 0 ? link->udp_fd : -1, .events = udp_events},
	};
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / TL_NS_PER_S),
		.tv_nsec = (long)(timeout_ns % TL_NS_PER_S),
	};
	if (ppoll(fds, TL_ARRAY_LEN(fds), &timeout, NULL) <= 0)
		return;
	if (link->connecting && fds[0].revents != 0)
		finish_connect(link);
	if (fds[1].revents != 0)
		accept_connection(link);
}
