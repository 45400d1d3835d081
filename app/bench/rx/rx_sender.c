// SPDX-License-Identifier: BSD-3-Clause
// The sender of frames at a rate, on an interface or by a function. On an interface: sendmmsg on AF_PACKET, past the
// qdisc. The kernel copies each frame: a TX ring would be faster, but veth hands its pages to the receiver, who would
// see the next frame in them.

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rx_priv.h"

#define NAP_NS (200 * TL_NS_PER_US) // shorter waits are spun

struct rx_sender {
	int fd; // -1: frames leave by send()
	uint32_t (*send)(void *ctx, const struct iovec *frames, uint32_t n);
	void *ctx;
	uint32_t seq;
	struct sockaddr_ll to;
	struct mmsghdr message[RX_BATCH];
	struct iovec room[RX_BATCH];
	uint8_t frame[RX_BATCH][TL_LADDER_SIZE_MAX + 6]; // keeps marks aligned
};

static int open_socket(struct rx_sender *sender, unsigned ifindex, struct tl_err *err)
{
	int one = 1;

	sender->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (sender->fd < 0 || setsockopt(sender->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) != 0)
		return tl_fail(err, -errno, "sender: %s: run it as root", strerror(errno));
	sender->to = (struct sockaddr_ll){.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex, .sll_halen = 6};
	return 0;
}

int rx_sender_open(const struct rx_sender_cfg *cfg, struct rx_sender **out, struct tl_err *err)
{
	struct rx_sender *sender = calloc(1, sizeof(*sender));

	if (sender == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	sender->fd = -1;
	sender->send = cfg->send;
	sender->ctx = cfg->ctx;
	int rc = cfg->send == NULL ? open_socket(sender, cfg->ifindex, err) : 0;
	if (rc != 0) {
		rx_sender_close(sender);
		return rc;
	}
	for (unsigned i = 0; i < RX_BATCH; i++) {
		tl_ladder_frame(sender->frame[i], cfg->size_bytes, cfg->to, cfg->from);
		sender->room[i] = (struct iovec){sender->frame[i], cfg->size_bytes};
		sender->message[i].msg_hdr = (struct msghdr){.msg_name = &sender->to,
			.msg_namelen = sizeof(sender->to),
			.msg_iov = &sender->room[i],
			.msg_iovlen = 1};
	}
	*out = sender;
	return 0;
}

void rx_sender_close(struct rx_sender *sender)
{
	if (sender == NULL)
		return;
	if (sender->fd >= 0)
		close(sender->fd);
	free(sender);
}

// Send n frames; return the number sent. The others keep their sequence numbers.
static uint32_t send_batch(struct rx_sender *sender, uint32_t n, bool stamped)
{
	uint64_t stamp_ns = stamped ? tl_ladder_now_ns() : 0;

	for (uint32_t i = 0; i < n; i++)
		tl_ladder_number(sender->frame[i], sender->seq + i, stamp_ns);
	int sent = sender->send != NULL ? (int)sender->send(sender->ctx, sender->room, n)
					: sendmmsg(sender->fd, sender->message, n, 0);
	if (sent <= 0)
		return 0; // ENOBUFS: no memory for an skb at this moment
	sender->seq += (uint32_t)sent;
	return (uint32_t)sent;
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

void rx_sender_run(struct rx_sender *sender, const struct rx_load *load, const atomic_bool *stop, struct rx_sent *out)
{
	uint64_t begin_ns = tl_ladder_now_ns(), cpu_ns = thread_cpu_ns(), elapsed_ns = 0, sent = 0;

	sender->seq = 0;
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		elapsed_ns = tl_ladder_now_ns() - begin_ns;
		if ((load->duration_ns != 0 && elapsed_ns >= load->duration_ns) ||
			(load->pkts != 0 && sent >= load->pkts))
			break;
		uint32_t n = due(load, sent, elapsed_ns);
		if (n > 0)
			sent += send_batch(sender, n, load->stamped);
	}
	*out = (struct rx_sent){sent, tl_max_u64(elapsed_ns, 1), thread_cpu_ns() - cpu_ns, 0};
}
