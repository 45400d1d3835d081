// SPDX-License-Identifier: BSD-3-Clause
// The sender of frames at a rate, on an interface or by a function. On an interface: sendmmsg on AF_PACKET, past the
// qdisc. The kernel copies each frame: a TX ring would be faster, but veth hands its pages to the receiver, who would
// see the next frame in them.

#include <errno.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench_rig.h"
#include "rx_priv.h"

#define NAP_NS (200 * TL_NS_PER_US) // shorter waits are spun

// One thread's.
struct way {
	int fd; // -1: frames leave by send()
	uint32_t (*send)(void *ctx, const struct iovec *frames, uint32_t n);
	void *ctx;
	uint32_t seq;
	struct sockaddr_ll to;
	struct mmsghdr message[RX_BATCH];
	struct iovec room[RX_BATCH];
	uint8_t frame[RX_BATCH][TL_LADDER_SIZE_MAX + 6]; // keeps marks aligned
	pthread_t thread;
	unsigned cpu;
	struct rx_load load; // part of this thread
	const atomic_bool *stop;
	struct rx_sent sent;
	int rc; // error that ended the load
};

struct rx_sender {
	uint32_t n;
	struct way ways[];
};

static int open_socket(struct way *way, unsigned ifindex, struct tl_err *err)
{
	int one = 1;

	way->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (way->fd < 0 || setsockopt(way->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) != 0)
		return tl_fail(err, -errno, "sender: %s: run it as root", strerror(errno));
	way->to = (struct sockaddr_ll){.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex, .sll_halen = 6};
	return 0;
}

static int open_way(const struct rx_sender_cfg *cfg, struct way *way, struct tl_err *err)
{
	way->send = cfg->send;
	way->ctx = cfg->ctx;
	for (unsigned i = 0; i < RX_BATCH; i++) {
		tl_ladder_frame(way->frame[i], cfg->size_bytes, cfg->to, cfg->from);
		way->room[i] = (struct iovec){way->frame[i], cfg->size_bytes};
		way->message[i].msg_hdr = (struct msghdr){.msg_name = &way->to,
			.msg_namelen = sizeof(way->to),
			.msg_iov = &way->room[i],
			.msg_iovlen = 1};
	}
	return cfg->send == NULL ? open_socket(way, cfg->ifindex, err) : 0;
}

int rx_sender_open(const struct rx_sender_cfg *cfg, struct rx_sender **out, struct tl_err *err)
{
	uint32_t n = cfg->send == NULL ? cfg->threads : 1;
	struct rx_sender *sender = calloc(1, sizeof(*sender) + n * sizeof(sender->ways[0]));
	int rc = 0;

	if (sender == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	sender->n = n;
	for (uint32_t i = 0; i < n; i++)
		sender->ways[i].fd = -1;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		sender->ways[i].cpu = n > 1 ? tl_bench_cpu(cfg->cpus, i) : 0;
		rc = open_way(cfg, &sender->ways[i], err);
	}
	if (rc != 0) {
		rx_sender_close(sender);
		return rc;
	}
	*out = sender;
	return 0;
}

void rx_sender_close(struct rx_sender *sender)
{
	for (uint32_t i = 0; sender != NULL && i < sender->n; i++)
		if (sender->ways[i].fd >= 0)
			close(sender->ways[i].fd);
	free(sender);
}

// Check for a shortage that passes: of memory for an skb, or of room at the device.
static bool passes(int error)
{
	return error == ENOBUFS || error == ENOMEM || error == EAGAIN || error == EINTR;
}

// Send n frames; return the number sent, or -errno. The others keep their sequence numbers.
static int send_batch(struct way *way, uint32_t n)
{
	uint64_t stamp_ns = way->load.stamped ? tl_ladder_now_ns() : 0;

	for (uint32_t i = 0; i < n; i++)
		tl_ladder_number(way->frame[i], way->seq + i, stamp_ns);
	int sent = way->send != NULL ? (int)way->send(way->ctx, way->room, n) : sendmmsg(way->fd, way->message, n, 0);
	if (sent < 0)
		return passes(errno) ? 0 : -errno;
	way->seq += (uint32_t)sent;
	return sent;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

// Return the number of frames that are due and unsent, up to a batch; 0 after a short sleep if the next is far.
static uint32_t due(const struct rx_load *load, uint64_t sent, uint64_t elapsed_ns)
{
	uint64_t left = load->pkts != 0 ? load->pkts - sent : RX_BATCH;

	if (load->pps == 0)
		return (uint32_t)tl_min_u64(left, RX_BATCH);
	double target = load->pps * (double)elapsed_ns / (double)TL_NS_PER_S + 1;
	if (target >= (double)sent + 1)
		return (uint32_t)tl_min_u64(tl_min_u64(left, RX_BATCH), (uint64_t)(target - (double)sent));
	if (((double)sent + 1 - target) / load->pps * (double)TL_NS_PER_S > (double)NAP_NS)
		nanosleep(&(struct timespec){.tv_nsec = (long)(NAP_NS / 2)}, NULL);
	return 0;
}

static void run_way(struct way *way)
{
	const struct rx_load *load = &way->load;
	uint64_t begin_ns = tl_ladder_now_ns(), cpu_ns = thread_cpu_ns(), elapsed_ns = 0, sent = 0;

	way->seq = 0;
	way->rc = 0;
	while (!atomic_load_explicit(way->stop, memory_order_relaxed)) {
		elapsed_ns = tl_ladder_now_ns() - begin_ns;
		if ((load->duration_ns != 0 && elapsed_ns >= load->duration_ns) ||
			(load->pkts != 0 && sent >= load->pkts))
			break;
		uint32_t n = due(load, sent, elapsed_ns);
		int rc = n > 0 ? send_batch(way, n) : 0;
		if (rc < 0) {
			way->rc = rc;
			break;
		}
		sent += (uint64_t)rc;
	}
	way->sent = (struct rx_sent){sent, tl_max_u64(elapsed_ns, 1), thread_cpu_ns() - cpu_ns, 0};
}

static void *way_main(void *arg)
{
	struct way *way = arg;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(way->cpu, &cpu);
	(void)sched_setaffinity(0, sizeof(cpu), &cpu);
	run_way(way);
	return NULL;
}

int rx_sender_run(struct rx_sender *sender, const struct rx_load *load, const atomic_bool *stop, struct rx_sent *out)
{
	uint32_t n = load->stamped || load->pkts != 0 ? 1 : sender->n, started = 1;

	for (uint32_t i = 0; i < n; i++) {
		sender->ways[i].load = *load;
		sender->ways[i].load.pps /= n;
		sender->ways[i].stop = stop;
	}
	while (started < n &&
		pthread_create(&sender->ways[started].thread, NULL, way_main, &sender->ways[started]) == 0)
		started++;
	run_way(&sender->ways[0]);
	*out = sender->ways[0].sent;
	int rc = sender->ways[0].rc;
	for (uint32_t i = 1; i < started; i++) {
		pthread_join(sender->ways[i].thread, NULL);
		out->pkts += sender->ways[i].sent.pkts;
		out->cpu_ns += sender->ways[i].sent.cpu_ns;
		out->elapsed_ns = tl_max_u64(out->elapsed_ns, sender->ways[i].sent.elapsed_ns);
		rc = rc != 0 ? rc : sender->ways[i].rc;
	}
	return rc;
}
