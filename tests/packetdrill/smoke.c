// SPDX-License-Identifier: BSD-3-Clause
// Load the library as packetdrill does, and run one handshake by hand: for hosts without packetdrill.

#include <arpa/inet.h>
#include <dlfcn.h>
#include <getopt.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_wire.h>

#include "pd_interface.h"

#define LOCAL "192.168.7.7"
#define REMOTE "192.0.2.1"

struct packet {
	struct tl_ipv4_hdr ip;
	struct tl_tcp_hdr tcp;
	uint8_t rest[1500];
} __attribute__((packed));

struct acceptor {
	struct packetdrill_interface *ifc;
	int listener, fd;
	char text[8];
	ssize_t len;
};

static void expect(bool ok, const char *what)
{
	if (ok)
		return;
	printf("not so: %s\n", what);
	exit(1);
}

static void *accept_and_read(void *ctx)
{
	struct acceptor *a = ctx;

	a->fd = a->ifc->accept(a->ifc->userdata, a->listener, NULL, NULL);
	a->len = a->ifc->read(a->ifc->userdata, a->fd, a->text, sizeof(a->text));
	return NULL;
}

static void give(struct packetdrill_interface *ifc, uint8_t flags, uint32_t seq, uint32_t ack, const char *text)
{
	uint16_t l4_len = (uint16_t)(TL_TCP_LEN + strlen(text));
	struct packet p = {
		.ip = {.version_ihl = 0x45,
			.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
			.ttl = 64,
			.proto = TL_IPPROTO_TCP,
			.src_be = inet_addr(REMOTE),
			.dst_be = inet_addr(LOCAL)},
		.tcp = {.src_port_be = htons(40000),
			.dst_port_be = htons(8080),
			.seq_be = tl_be32(seq),
			.ack_be = tl_be32(ack),
			.data_off = TL_TCP_LEN << 2,
			.flags = flags,
			.window_be = 0xffff},
	};

	memcpy(p.rest, text, strlen(text));
	tl_wire_ipv4_finish(&p.ip);
	uint32_t sum = tl_cksum_pseudo(p.ip.src_be, p.ip.dst_be, TL_IPPROTO_TCP, l4_len);
	p.tcp.cksum_be = tl_cksum_finish(tl_cksum_add(sum, &p.tcp, l4_len));
	expect(ifc->netdev_send(ifc->userdata, &p, TL_IPV4_LEN + l4_len) == 0, "a packet is taken");
}

static long long now_us(struct packetdrill_interface *ifc)
{
	struct timeval now;

	ifc->gettimeofday(ifc->userdata, &now, NULL);
	return now.tv_sec * 1000000LL + now.tv_usec;
}

static void check_clock(struct packetdrill_interface *ifc)
{
	long long before_us = now_us(ifc), after_us = now_us(ifc);

	expect(after_us > before_us, "time passes by asking");
	ifc->usleep(ifc->userdata, 2000000);
	expect(now_us(ifc) - after_us >= 2000000, "usleep moves the clock");
}

static void check_calls(struct packetdrill_interface *ifc)
{
	struct packetdrill_interface all;
	void *const *calls = (void *const *)(void *)ifc;

	for (size_t i = 0; i < sizeof(all) / sizeof(void *); i++)
		expect(calls[i] != NULL, "no call is missing");
}

static void shake_hands(struct packetdrill_interface *ifc)
{
	const struct sockaddr_in local = {
		.sin_family = AF_INET, .sin_port = htons(8080), .sin_addr.s_addr = inet_addr(LOCAL)};
	struct acceptor a = {.ifc = ifc, .listener = ifc->socket(ifc->userdata, AF_INET, SOCK_STREAM, IPPROTO_TCP)};
	struct packet p;
	size_t len = sizeof(p);
	long long at_us;
	pthread_t thread;

	expect(ifc->bind(ifc->userdata, a.listener, (const struct sockaddr *)&local, sizeof(local)) == 0, "bind");
	expect(ifc->listen(ifc->userdata, a.listener, 1) == 0, "listen");
	expect(pthread_create(&thread, NULL, accept_and_read, &a) == 0, "a second thread");
	give(ifc, TL_TCP_SYN, 1000, 0, "");
	ifc->netdev_receive(ifc->userdata, &p, &len, &at_us);
	expect(len >= TL_IPV4_LEN + TL_TCP_LEN && p.tcp.flags == (TL_TCP_SYN | TL_TCP_ACK), "a SYN is answered");
	expect(p.ip.dst_be == inet_addr(REMOTE) && tl_be32(p.tcp.ack_be) == 1001, "the answer is the right one");
	give(ifc, TL_TCP_ACK, 1001, tl_be32(p.tcp.seq_be) + 1, "");
	give(ifc, TL_TCP_ACK, 1001, tl_be32(p.tcp.seq_be) + 1, "hello");
	pthread_join(thread, NULL);
	expect(a.fd >= 0, "an accept that waits wakes");
	expect(a.len == 5 && memcmp(a.text, "hello", 5) == 0, "a read that waits gets what comes");
	expect(ifc->close(ifc->userdata, a.fd) == 0 && ifc->close(ifc->userdata, a.listener) == 0, "close");
}

// packetdrill uses getopt_long(): see pd_getopt.c.
int main(int argc, char **argv)
{
	static const struct option options[] = {{"library", required_argument, NULL, 'l'}, {0}};
	struct packetdrill_interface ifc = {0};

	expect(getopt_long(argc, argv, "", options, NULL) == 'l', "the call: --library FILE");
	void *library = dlopen(optarg, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_DEEPBIND);
	if (library == NULL)
		printf("%s\n", dlerror());
	expect(library != NULL, "the library can be loaded");
	void (*init)(const char *, struct packetdrill_interface *) =
		(void (*)(const char *, struct packetdrill_interface *))dlsym(library, "packetdrill_interface_init");
	init("window_bytes=10000,mtu=1400", &ifc);
	check_calls(&ifc);
	check_clock(&ifc);
	shake_hands(&ifc);
	ifc.free(ifc.userdata);
	return 0;
}
