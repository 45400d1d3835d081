// SPDX-License-Identifier: BSD-3-Clause
// Emulate a bad wire between two kernel interfaces: frames are dropped, duplicated, delayed and reordered by a seed.
//
//   relay [--seed N] [--lose PPM] [--double PPM] [--late PPM] [--late-us N] [--delay-us N] [--vlan ID] IF_A IF_B
//
// PPM: frames per million. Each frame takes --delay-us; a late one takes up to --late-us more, and later frames
// overtake it. With --vlan the relay is a switch as well: IF_A is a trunk, IF_B an access port of that VLAN, and frames
// that do not belong there are foreign. Prints "relay: up" on stderr; on SIGTERM prints the frame counts of each
// direction as one line of JSON on stdout: received + doubled = foreign + lost + sent + refused + held.

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "relay.h"

#define SOCKET_BYTES (16 << 20)

static const char *const names[OPTIONS] = {"seed", "lose", "double", "late", "late-us", "delay-us", "vlan"};

static void die(const char *what)
{
	fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int open_socket(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface)};
	struct packet_mreq promiscuous = {.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
	const int bytes = SOCKET_BYTES, on = 1;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) != 0 ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous)) != 0 ||
		bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die(interface);
	return fd;
}

static int open_signals(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	int fd = signalfd(-1, &ends, 0);
	if (fd < 0)
		die("signalfd");
	return fd;
}

static void set_up(struct relay *r, const char *a, const char *b)
{
	int fd[2] = {open_socket(a), open_socket(b)};

	r->rng = r->option[SEED];
	for (unsigned w = 0; w < 2; w++) {
		struct held *all = calloc(HELD_MAX, sizeof(*all));
		if (all == NULL)
			die("memory");
		r->way[w].from = fd[w];
		r->way[w].to = fd[1 - w];
		for (uint32_t i = 0; i < HELD_MAX; i++)
			r->way[w].heap[i] = &all[i];
	}
}

// Return the time until the next frame is due; *forever if no frame is held.
static struct timespec patience(const struct relay *r, bool *forever)
{
	uint64_t due_ns = UINT64_MAX;

	for (unsigned w = 0; w < 2; w++)
		if (r->way[w].n > 0 && r->way[w].heap[0]->due_ns < due_ns)
			due_ns = r->way[w].heap[0]->due_ns;
	*forever = due_ns == UINT64_MAX;
	uint64_t wait_ns = *forever || due_ns < r->now_ns ? 0 : due_ns - r->now_ns;
	return (struct timespec){(time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u)};
}

static bool has_room(const struct way *way)
{
	return way->n + 2 <= HELD_MAX;
}

static void run(struct relay *r, int signals)
{
	struct pollfd fds[3] = {{signals, POLLIN, 0}};

	while ((fds[0].revents & POLLIN) == 0) {
		bool forever;
		struct timespec wait = patience(r, &forever);
		for (unsigned w = 0; w < 2; w++)
			fds[1 + w] = (struct pollfd){r->way[w].from, has_room(&r->way[w]) ? POLLIN : 0, 0};
		if (ppoll(fds, 3, forever ? NULL : &wait, NULL) < 0)
			die("poll");
		r->now_ns = read_clock();
		for (unsigned w = 0; w < 2; w++) {
			if ((fds[1 + w].revents & POLLIN) != 0)
				relay_receive(r, &r->way[w]);
			relay_send(r, &r->way[w]);
		}
	}
}

// Return the kernel's socket drops: they are lost frames, too, but not dropped by the relay.
static uint32_t overrun(const struct way *way)
{
	struct tpacket_stats stats = {0};
	socklen_t len = sizeof(stats);

	getsockopt(way->from, SOL_PACKET, PACKET_STATISTICS, &stats, &len);
	return stats.tp_drops;
}

static void report(const struct relay *r, char *const *interfaces)
{
	putchar('{');
	for (unsigned w = 0; w < 2; w++) {
		const struct way *way = &r->way[w];
		printf("%s\"from_%s\": {\"received\": %" PRIu64 ", \"foreign\": %" PRIu64 ", \"lost\": %" PRIu64
		       ", \"doubled\": %" PRIu64 ", \"late\": %" PRIu64 ", \"reordered\": %" PRIu64
		       ", \"sent\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"held\": %" PRIu32 ", \"overrun\": %" PRIu32
		       "}",
			w == 0 ? "" : ", ", interfaces[w], way->received, way->foreign, way->lost, way->doubled,
			way->late, way->reordered, way->sent, way->refused, way->n, overrun(way));
	}
	puts("}");
}

static void usage(void)
{
	fputs("usage: relay [--seed N] [--lose PPM] [--double PPM] [--late PPM] [--late-us N] [--delay-us N] IF_A "
	      "IF_B\n",
		stderr);
	exit(2);
}

static void read_options(struct relay *r, int argc, char **argv)
{
	struct option options[OPTIONS + 1] = {{0}};
	int option;

	for (unsigned i = 0; i < OPTIONS; i++)
		options[i] = (struct option){names[i], required_argument, NULL, (int)i};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end;
		if (option < 0 || option >= OPTIONS)
			usage();
		r->option[option] = strtoull(optarg, &end, 10);
		if (*optarg == '\0' || *end != '\0')
			usage();
	}
	if (argc - optind != 2)
		usage();
}

int main(int argc, char **argv)
{
	static struct relay relay;

	read_options(&relay, argc, argv);
	int signals = open_signals();
	set_up(&relay, argv[optind], argv[optind + 1]);
	fputs("relay: up\n", stderr);
	run(&relay, signals);
	report(&relay, argv + optind);
	return 0;
}
