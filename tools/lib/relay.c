// SPDX-License-Identifier: BSD-3-Clause
// Best-case kernel relay, for comparison by tools/demo.sh: receives UDP multicast and forwards each payload over TCP,
// through sockets, without ever sleeping. usage: relay INTERFACE GROUP UDP_PORT IP TCP_PORT

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX 2048
#define BUSY_POLL_US 50 // for drivers with NAPI busy polling
#define CONNECT_TRIES 100
#define CONNECT_GAP_US 100000

static struct sockaddr_in address(const char *ip, const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

	inet_pton(AF_INET, ip, &a.sin_addr);
	return a;
}

static int open_receiver(const char *interface, const char *group, const char *port)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), on = 1, busy_us = BUSY_POLL_US;
	struct sockaddr_in to = address(group, port);
	struct ip_mreqn membership = {.imr_multiaddr = to.sin_addr, .imr_ifindex = (int)if_nametoindex(interface)};

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
		setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof(membership)) != 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &busy_us, sizeof(busy_us)); // fails without CAP_NET_ADMIN
	return fd;
}

static int connect_to(const char *ip, const char *port)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in to = address(ip, port);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0)
		return fd;
	close(fd);
	return -1;
}

// Connect, and try again while the listener of the other host has not started.
static int open_sender(const char *ip, const char *port)
{
	int fd = -1;

	for (int tries = 0; tries < CONNECT_TRIES && (fd = connect_to(ip, port)) < 0; tries++)
		usleep(CONNECT_GAP_US);
	return fd;
}

// Relay until the connection ends.
static void relay(int from, int to)
{
	char message[MESSAGE_MAX];

	for (;;) {
		ssize_t n = recv(from, message, sizeof(message), 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		for (ssize_t sent = 0, part; n > 0 && sent < n; sent += part)
			if ((part = send(to, message + sent, (size_t)(n - sent), MSG_NOSIGNAL)) <= 0)
				return;
	}
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: relay INTERFACE GROUP UDP_PORT IP TCP_PORT\n");
		return 2;
	}
	int from = open_receiver(argv[1], argv[2], argv[3]);
	int to = from >= 0 ? open_sender(argv[4], argv[5]) : -1;
	if (to < 0) {
		perror("relay");
		return 1;
	}
	relay(from, to);
	return 0;
}
