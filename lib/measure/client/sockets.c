// SPDX-License-Identifier: BSD-3-Clause
// Sockets of the kernel for a run.

#include "kernel_priv.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tl_units.h>

#define UDP_RCVBUF_BYTES (4 << 20)

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

int tl_client_connect(int fd, struct tl_client_endpoint to)
{
	struct sockaddr_storage address;
	socklen_t len = socket_address(to, &address);

	return connect(fd, (struct sockaddr *)&address, len);
}

// Bind the source address; unspecified: the kernel chooses.
int tl_client_bind_source(int fd, const struct tl_client_cfg *cfg)
{
	if (cfg->source.ip_be == 0 && !tl_ip6_is_set(&cfg->source.ip6))
		return 0;
	return bind_to(fd, cfg->source);
}

int tl_client_set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

int tl_client_socket(const struct tl_client_cfg *cfg, int type)
{
	return socket(tl_ip6_is_set(&cfg->peer.ip6) ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

void tl_client_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

// True if the interface has this address.
static bool is_address(const struct sockaddr *address, const struct tl_client_endpoint *at)
{
	if (address == NULL)
		return false;
	if (tl_ip6_is_set(&at->ip6))
		return address->sa_family == AF_INET6 &&
		       memcmp(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, &at->ip6,
			       sizeof(at->ip6)) == 0;
	return address->sa_family == AF_INET &&
	       ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == at->ip_be;
}

unsigned tl_client_interface_of(const struct tl_client_endpoint *at)
{
	struct ifaddrs *all = NULL;
	unsigned index = 0;

	if (getifaddrs(&all) != 0)
		return 0;
	for (const struct ifaddrs *a = all; a != NULL && index == 0; a = a->ifa_next)
		if (is_address(a->ifa_addr, at))
			index = if_nametoindex(a->ifa_name);
	freeifaddrs(all);
	return index;
}

static int choose_multicast_interface6(int fd, const struct tl_client_cfg *cfg)
{
	if (tl_client_set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)tl_client_interface_of(&cfg->source)) != 0)
		return -1;
	if (tl_client_set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, (int)cfg->ttl) != 0)
		return -1;
	return tl_client_set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
}

static int choose_multicast_interface(int fd, const struct tl_client_cfg *cfg)
{
	struct in_addr interface = {.s_addr = cfg->source.ip_be};

	if (tl_ip6_is_set(&cfg->source.ip6))
		return choose_multicast_interface6(fd, cfg);
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof(interface)) != 0)
		return -1;
	if (tl_client_set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, (int)cfg->ttl) != 0)
		return -1;
	return tl_client_set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
}

int tl_client_open_udp(const struct tl_client_cfg *cfg, struct tl_client_endpoint to, int *out, struct tl_err *err)
{
	char source[TL_IPV6_TEXT], target[TL_ENDPOINT6_TEXT];

	if (tl_ip6_is_set(&cfg->source.ip6))
		tl_format_ipv6(&cfg->source.ip6, source);
	else
		tl_format_ipv4(cfg->source.ip_be, source);
	tl_client_endpoint_text(to, target);

	*out = tl_client_socket(cfg, SOCK_DGRAM);
	if (*out < 0)
		return tl_fail(err, -errno, "cannot open a UDP socket: %s", strerror(errno));
	// A larger buffer avoids losses in the client itself; the kernel may grant less.
	tl_client_set_option(*out, SOL_SOCKET, SO_RCVBUF, UDP_RCVBUF_BYTES);
	if (tl_client_bind_source(*out, cfg) != 0)
		return tl_fail(err, -errno, "cannot send from %s: %s; it must be an address of this host", source,
			strerror(errno));
	if (cfg->mode == TL_CLIENT_MULTICAST && choose_multicast_interface(*out, cfg) != 0)
		return tl_fail(
			err, -errno, "cannot send multicast from the interface of %s: %s", source, strerror(errno));
	if (tl_client_connect(*out, to) != 0)
		return tl_fail(
			err, -errno, "cannot send to %s: %s; check the routes of this host", target, strerror(errno));
	return 0;
}

int tl_client_open_listener(const struct tl_client_cfg *cfg, int *out, struct tl_err *err)
{
	struct tl_client_endpoint at = cfg->peer;
	char text[TL_ENDPOINT6_TEXT];

	tl_client_endpoint_text(at, text);
	*out = tl_client_socket(cfg, SOCK_STREAM);
	if (*out < 0)
		return tl_fail(err, -errno, "cannot open a TCP socket: %s", strerror(errno));
	tl_client_set_option(*out, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind_to(*out, at) != 0 || listen(*out, 1) != 0)
		return tl_fail(err, -errno,
			"cannot listen on %s: %s; it must be an address of this host and an unused port", text,
			strerror(errno));
	return 0;
}
