// SPDX-License-Identifier: BSD-3-Clause
// RX_RING, TPACKET_V2: the kernel's softirq copies each frame to a slot of a ring that the program has mapped, and sets
// the slot's status; the program reads the frame there and gives the slot back. No system call but poll(2) when the
// ring is empty. Each slot has room for the largest frame: small frames waste most of the ring.

#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ladder_priv.h"

#define SLOT_BYTES 2048u
#define BLOCK_BYTES (64u << 10)

struct lane {
	int fd;
	uint64_t drops;
	uint8_t *ring;
	uint32_t slots, next;
	size_t ring_bytes;
};

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	if (lane->ring != NULL)
		munmap(lane->ring, lane->ring_bytes);
	if (lane->fd >= 0)
		close(lane->fd);
	free(lane);
}

static int map_ring(struct lane *lane, uint32_t bytes, struct tl_err *err)
{
	const struct tpacket_req req = {BLOCK_BYTES, bytes / BLOCK_BYTES, SLOT_BYTES, bytes / SLOT_BYTES};
	int version = TPACKET_V2;

	if (setsockopt(lane->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
		setsockopt(lane->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) != 0)
		return tl_fail(err, -errno, "setsockopt(PACKET_RX_RING): %s", strerror(errno));
	void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lane->fd, 0);
	if (ring == MAP_FAILED)
		return tl_fail(err, -errno, "mmap of the ring: %s", strerror(errno));
	lane->ring = ring;
	lane->ring_bytes = bytes;
	lane->slots = bytes / SLOT_BYTES;
	return 0;
}

static int open_lane(const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, void **out, struct tl_err *err)
{
	struct lane *lane = calloc(1, sizeof(*lane));

	if (lane == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int rc = lane->fd = ladder_socket(err);
	if (rc >= 0)
		rc = map_ring(lane, cfg->buffer_bytes, err);
	if (rc == 0)
		rc = ladder_bind(lane->fd, rung, cfg, err);
	if (rc != 0) {
		close_lane(lane);
		return rc;
	}
	*out = lane;
	return 0;
}

static void take_slots(struct lane *lane, struct tl_ladder_sink *sink)
{
	for (;;) {
		struct tpacket2_hdr *slot =
			(struct tpacket2_hdr *)(void *)(lane->ring + (size_t)lane->next * SLOT_BYTES);
		if ((__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			return;
		tl_ladder_take(sink, (uint8_t *)slot + slot->tp_mac, slot->tp_len);
		__atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		lane->next = lane->next + 1 == lane->slots ? 0 : lane->next + 1;
	}
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;
	struct pollfd wait = {.fd = lane->fd, .events = POLLIN};

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		take_slots(lane, sink);
		if (poll(&wait, 1, TL_LADDER_WAIT_MS) < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

static uint64_t dropped(void *arg)
{
	struct lane *lane = arg;

	return ladder_packet_drops(lane->fd, &lane->drops);
}

const struct tl_ladder_ops ladder_ring2 = {open_lane, receive, dropped, close_lane};
