// SPDX-License-Identifier: BSD-3-Clause
// A bad wire between two kernel interfaces: frames are lost, come twice, late and out of order, as a seed says.
//
//   relay [--seed N] [--lose PPM] [--double PPM] [--late PPM] [--late-us N] [--delay-us N] IF_A IF_B
//
// PPM: of a million frames. Each frame takes --delay-us; a late one takes up to --late-us more, and is overtaken by
// what comes meanwhile. Says "relay: up" on stderr; on SIGTERM one line of JSON on stdout tells what became of the
// frames of each way: received + doubled = lost + sent + refused + held.

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64u
#define FRAME_BYTES 2048u
#define HELD_MAX 8192u // of one way; what comes while it holds so many is left in the socket
#define SOCKET_BYTES (16 << 20)
#define MILLION 1000000u

enum knob { SEED, LOSE, DOUBLE, LATE, LATE_US, DELAY_US, OPTIONS };

static const char *const names[OPTIONS] = {"seed", "lose", "double", "late", "late-us", "delay-us"};

struct held {
	uint64_t due_ns;
	uint64_t number; // in the order of arrival
	uint16_t len;
	uint8_t bytes[FRAME_BYTES];
};

// One direction: from one socket to the other.
struct way {
	int from, to;
	uint64_t numbers;      // given so far
	uint64_t highest_sent; // number
	uint64_t received, lost, doubled, late, reordered, sent, refused;
	uint32_t n;
	struct held *heap[HELD_MAX]; // the next that is due first; from n on: free ones
};

struct relay {
	uint64_t option[OPTIONS];
	uint64_t rng;
	uint64_t now_ns;
	struct way way[2];
};

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

// Steele and Vigna's SplitMix64.
static uint64_t next_random(struct relay *r)
{
	uint64_t z = r->rng += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static bool happens(struct relay *r, enum knob ppm)
{
	return next_random(r) % MILLION < r->option[ppm];
}

// ---- the frames on their way: a binary heap

static bool is_before(const struct held *a, const struct held *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void swap(struct way *way, uint32_t i, uint32_t j)
{
	struct held *held = way->heap[i];

	way->heap[i] = way->heap[j];
	way->heap[j] = held;
}

// The first free frame, filled in, takes its place.
static void push(struct way *way)
{
	for (uint32_t i = way->n++; i > 0 && is_before(way->heap[i], way->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(way, i, (i - 1) / 2);
}

// The frame that is due becomes the first free one, and is returned.
static struct held *pop(struct way *way)
{
	swap(way, 0, --way->n);
	for (uint32_t i = 0, child = 1; child < way->n; i = child, child = 2 * i + 1) {
		if (child + 1 < way->n && is_before(way->heap[child + 1], way->heap[child]))
			child++;
		if (!is_before(way->heap[child], way->heap[i]))
			break;
		swap(way, i, child);
	}
	return way->heap[way->n];
}

// ---- what happens to a frame

static void hold(struct relay *r, struct way *way, const uint8_t *bytes, uint16_t len)
{
	struct held *held = way->heap[way->n];
	uint64_t late_us = 0;

	if (happens(r, LATE)) {
		way->late++;
		late_us = next_random(r) % (r->option[LATE_US] + 1);
	}
	held->due_ns = r->now_ns + (r->option[DELAY_US] + late_us) * 1000;
	held->number = ++way->numbers;
	held->len = len;
	memcpy(held->bytes, bytes, len);
	push(way);
}

static void take(struct relay *r, struct way *way, const uint8_t *bytes, uint16_t len)
{
	way->received++;
	if (happens(r, LOSE)) {
		way->lost++;
		return;
	}
	hold(r, way, bytes, len);
	if (happens(r, DOUBLE)) {
		way->doubled++;
		hold(r, way, bytes, len);
	}
}

// Takes in what there is, as long as each frame has room for itself and its double.
static void receive(struct relay *r, struct way *way)
{
	static uint8_t bytes[BATCH][FRAME_BYTES];
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];
	uint32_t room = (HELD_MAX - way->n) / 2;

	memset(message, 0, sizeof(message));
	for (unsigned i = 0; i < BATCH; i++) {
		io[i] = (struct iovec){bytes[i], FRAME_BYTES};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &io[i], .msg_iovlen = 1};
	}
	int n = recvmmsg(way->from, message, room < BATCH ? room : BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		take(r, way, bytes[i], (uint16_t)message[i].msg_len);
}

static void note_sent(struct way *way, const struct held *held)
{
	way->sent++;
	if (held->number < way->highest_sent)
		way->reordered++;
	else
		way->highest_sent = held->number;
}

static void send_frames(struct way *way, struct held *const *frames, unsigned n)
{
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];

	memset(message, 0, sizeof(message));
	for (unsigned i = 0; i < n; i++) {
		io[i] = (struct iovec){frames[i]->bytes, frames[i]->len};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &io[i], .msg_iovlen = 1};
	}
	for (unsigned begin = 0; begin < n;) {
		int sent = sendmmsg(way->to, message + begin, n - begin, 0);
		if (sent <= 0) { // the first of them has no way out
			way->refused++;
			begin++;
			continue;
		}
		for (int i = 0; i < sent; i++)
			note_sent(way, frames[begin + (unsigned)i]);
		begin += (unsigned)sent;
	}
}

static void send_due(struct relay *r, struct way *way)
{
	struct held *frames[BATCH];
	unsigned n = 0;

	while (way->n > 0 && way->heap[0]->due_ns <= r->now_ns) {
		frames[n++] = pop(way);
		if (n == BATCH) {
			send_frames(way, frames, n);
			n = 0;
		}
	}
	send_frames(way, frames, n);
}

// ---- set-up, loop, end

static int open_socket(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface)};
	struct packet_mreq promiscuous = {.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
	const int bytes = SOCKET_BYTES, on = 1;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) != 0 ||
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

// Until the next frame is due; without one, until something comes.
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
				receive(r, &r->way[w]);
			send_due(r, &r->way[w]);
		}
	}
}

// What the kernel had no room for in the socket is lost, too, but not by our doing.
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
		printf("%s\"from_%s\": {\"received\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"doubled\": %" PRIu64
		       ", \"late\": %" PRIu64 ", \"reordered\": %" PRIu64 ", \"sent\": %" PRIu64
		       ", \"refused\": %" PRIu64 ", \"held\": %" PRIu32 ", \"overrun\": %" PRIu32 "}",
			w == 0 ? "" : ", ", interfaces[w], way->received, way->lost, way->doubled, way->late,
			way->reordered, way->sent, way->refused, way->n, overrun(way));
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
