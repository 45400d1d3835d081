// SPDX-License-Identifier: BSD-3-Clause
// Table of the relays, and their sockets.

#include "relay_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_MS 2

static const struct tl_relay relays[] = {
	{"blocking", NULL,
		"the kernel's stack twice; per message a wake-up, a system call that receives and one that sends, and two "
		"copies",
		relay_blocking},
	{"epoll", "blocking", "one more system call per message, which reports readable sockets", relay_epoll},
	{"epoll-busy", "epoll", "the thread never sleeps: no wake-up, but a dedicated CPU", relay_epoll_busy},
	{"io_uring", "epoll", "one system call per message sends it, requests the next and sleeps; the wake-up remains",
		relay_uring},
};

const struct tl_relay *tl_relays(unsigned *n)
{
	*n = TL_ARRAY_LEN(relays);
	return relays;
}

static struct sockaddr_in address(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
}

static int give_up(int fd, const char *call, struct tl_err *err)
{
	int rc = tl_fail(err, -errno, "%s: %s", call, strerror(errno));

	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_bound(int type, struct sockaddr_in at, struct tl_err *err)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0)
		return give_up(fd, "socket, bind", err);
	return fd;
}

static int open_group(const struct tl_relay_cfg *cfg, struct tl_err *err)
{
	const struct ip_mreqn membership = {
		.imr_multiaddr.s_addr = htonl(cfg->group), .imr_ifindex = (int)if_nametoindex(cfg->ifname)};
	int fd = open_bound(SOCK_DGRAM, address(cfg->group, cfg->udp_port), err);

	if (fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof(membership)) != 0)
		return give_up(fd, "setsockopt(IP_ADD_MEMBERSHIP)", err);
	return fd;
}

// Connect, and wait for a server that does not listen yet. Return the descriptor or -errno.
static int connect_to(const struct tl_relay_cfg *cfg, struct tl_err *err)
{
	const struct sockaddr_in to = address(cfg->peer, cfg->tcp_port);

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
			return fd;
		if (fd < 0 || errno != ECONNREFUSED)
			return give_up(fd, "connect", err);
		close(fd);
		(void)poll(NULL, 0, RETRY_MS);
	}
}

static int accept_one(const struct tl_relay_cfg *cfg, void (*ready)(void), struct tl_err *err)
{
	int listener = open_bound(SOCK_STREAM, address(INADDR_ANY, cfg->tcp_port), err);

	if (listener < 0)
		return listener;
	if (listen(listener, 1) != 0)
		return give_up(listener, "listen", err);
	ready();
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return give_up(listener, "accept", err);
	close(listener);
	return fd;
}

int tl_relay_run(const struct tl_relay *relay, const struct tl_relay_cfg *cfg, void (*ready)(void), struct tl_err *err)
{
	int on = 1, group = cfg->group != 0 ? open_group(cfg, err) : -1;

	if (cfg->group != 0 && group < 0)
		return group;
	if (group >= 0)
		ready();
	int out = group >= 0 ? connect_to(cfg, err) : accept_one(cfg, ready, err), rc = out;
	if (out >= 0) {
		(void)setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		rc = relay->run(group >= 0 ? group : out, out);
		close(out);
		if (rc != 0)
			(void)tl_fail(err, rc, "%s", strerror(-rc));
	}
	if (group >= 0)
		close(group);
	return rc;
}
