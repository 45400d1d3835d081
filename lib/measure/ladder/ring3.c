// SPDX-License-Identifier: BSD-3-Clause
// RX_RING, TPACKET_V3: the kernel packs frames of any size into blocks and hands over a block when it is full, or after
// a timeout. The program is woken and the status is exchanged once per block, and small frames waste no memory. The
// price is latency: at a low rate a frame waits for the timeout of its block.

#include <linux/if_packet.h>

#include "ladder_priv.h"

#define BLOCK_BYTES (256u << 10)
#define RETIRE_MS 4

static int set_up(void *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	const struct tpacket_req3 req = {.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = cfg->buffer_bytes / BLOCK_BYTES,
		.tp_frame_size = 2048, // of no effect in V3, but checked
		.tp_frame_nr = cfg->buffer_bytes / 2048,
		.tp_retire_blk_tov = RETIRE_MS};

	return ladder_ring_map(lane, TPACKET_V3, &req, sizeof(req), BLOCK_BYTES, err);
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

// Take the blocks that are handed over.
static void take_blocks(struct ladder_ring *ring, struct tl_ladder_sink *sink)
{
	for (;;) {
		struct tpacket_block_desc *block = ladder_ring_next(ring);
		if ((__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			return;
		take_block(&block->hdr.bh1, sink);
		__atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		ladder_ring_advance(ring);
	}
}

static int receive(void *lane, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	return ladder_ring_receive(lane, take_blocks, sink, stop);
}

const struct tl_ladder_ops ladder_ring3 = {
	sizeof(struct ladder_ring), ladder_open_packet, set_up, receive, ladder_dropped, ladder_ring_close};
