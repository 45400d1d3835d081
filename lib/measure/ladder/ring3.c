// SPDX-License-Identifier: BSD-3-Clause
// RX_RING, TPACKET_V3: the kernel packs frames of any size into blocks and hands over a block when it is full, or after
// a timeout. The program is woken and the status is exchanged once per block, and small frames waste no memory. The
// price is latency: at a low rate a frame waits for the timeout of its block.

#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ladder_priv.h"

#define BLOCK_BYTES (256u << 10)
#define RETIRE_MS 4

struct lane {
	int fd;
	uint64_t drops;
	uint8_t *ring;
	uint32_t blocks, next;
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
	const struct tpacket_req3 req = {.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = bytes / BLOCK_BYTES,
		.tp_frame_size = 2048, // of no effect in V3, but checked
		.tp_frame_nr = bytes / 2048,
		.tp_retire_blk_tov = RETIRE_MS};
	int version = TPACKET_V3;

	if (setsockopt(lane->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
		setsockopt(lane->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) != 0)
		return tl_fail(err, -errno, "setsockopt(PACKET_RX_RING): %s", strerror(errno));
	void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lane->fd, 0);
	if (ring == MAP_FAILED)
		return tl_fail(err, -errno, "mmap of the ring: %s", strerror(errno));
	lane->ring = ring;
	lane->ring_bytes = bytes;
	lane->blocks = req.tp_block_nr;
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

static void take_block(const struct tpacket_hdr_v1 *block, struct tl_ladder_sink *sink)
{
	const uint8_t *frame =
		(const uint8_t *)block - offsetof(struct tpacket_block_desc, hdr) + block->offset_to_first_pkt;

	for (uint32_t i = 0; i < block->num_pkts; i++) {
		const struct tpacket3_hdr *header = (const struct tpacket3_hdr *)(const void *)frame;
		tl_ladder_take(sink, frame + header->tp_mac, header->tp_len);
		frame += header->tp_next_offset;
	}
}

static void take_blocks(struct lane *lane, struct tl_ladder_sink *sink)
{
	for (;;) {
		struct tpacket_block_desc *block =
			(struct tpacket_block_desc *)(void *)(lane->ring + (size_t)lane->next * BLOCK_BYTES);
		if ((__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			return;
		take_block(&block->hdr.bh1, sink);
		__atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		lane->next = lane->next + 1 == lane->blocks ? 0 : lane->next + 1;
	}
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;
	struct pollfd wait = {.fd = lane->fd, .events = POLLIN};

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		take_blocks(lane, sink);
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

const struct tl_ladder_ops ladder_ring3 = {open_lane, receive, dropped, close_lane};
