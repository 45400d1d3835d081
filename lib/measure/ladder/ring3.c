// SPDX-License-Identifier: BSD-3-Clause
// RX_RING, TPACKET_V3: the kernel packs frames of any size into blocks and hands over a block when it is full, or after
// a timeout. The program is woken and the status is exchanged once per block, and small frames waste no memory. The
// price is latency: at a low rate a frame waits for the timeout of its block.
//
// ring-v3 reads the beginning of a frame. ring-v3-copy keeps it, as any recorder does: it copies the whole frame as a
// pcap record into memory of its own, which no one takes.

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>

#include "ladder_priv.h"

#define BLOCK_BYTES (256u << 10)
#define RETIRE_MS 4
#define KEPT_BYTES (1u << 20)

struct lane {
	struct ladder_ring ring;
	uint8_t *kept; // KEPT_BYTES of records; NULL: frames are not kept
	uint32_t at;   // end of the last record
};

static int set_up(void *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	const struct tpacket_req3 req = {.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = cfg->buffer_bytes / BLOCK_BYTES,
		.tp_frame_size = 2048, // of no effect in V3, but checked
		.tp_frame_nr = cfg->buffer_bytes / 2048,
		.tp_retire_blk_tov = RETIRE_MS};

	return ladder_ring_map(&((struct lane *)lane)->ring, TPACKET_V3, &req, sizeof(req), BLOCK_BYTES, err);
}

static int set_up_copy(void *arg, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	struct lane *lane = arg;

	lane->kept = malloc(KEPT_BYTES);
	return lane->kept != NULL ? set_up(lane, cfg, err) : tl_fail(err, -ENOMEM, "not enough memory");
}

// Copy a frame as a pcap record behind the last one; at the end, begin anew.
static const uint8_t *keep(struct lane *lane, const struct tpacket3_hdr *header)
{
	const uint32_t record[4] = {header->tp_sec, header->tp_nsec, header->tp_snaplen, header->tp_len};

	if (lane->at + sizeof(record) + header->tp_snaplen > KEPT_BYTES)
		lane->at = 0;
	uint8_t *frame = lane->kept + lane->at + sizeof(record);
	memcpy(lane->kept + lane->at, record, sizeof(record));
	memcpy(frame, (const uint8_t *)header + header->tp_mac, header->tp_snaplen);
	lane->at += (uint32_t)sizeof(record) + header->tp_snaplen;
	return frame;
}

static void take_block(struct lane *lane, const struct tpacket_hdr_v1 *block, struct tl_ladder_sink *sink)
{
	const uint8_t *frame =
		(const uint8_t *)block - offsetof(struct tpacket_block_desc, hdr) + block->offset_to_first_pkt;

	for (uint32_t i = 0; i < block->num_pkts; i++) {
		const struct tpacket3_hdr *header = (const struct tpacket3_hdr *)(const void *)frame;
		tl_ladder_take(sink, lane->kept != NULL ? keep(lane, header) : frame + header->tp_mac, header->tp_len);
		frame += header->tp_next_offset;
	}
}

// Take the blocks that are handed over.
static void take_blocks(struct ladder_ring *ring, struct tl_ladder_sink *sink)
{
	struct lane *lane = (struct lane *)(void *)ring; // its first member

	for (;;) {
		struct tpacket_block_desc *block = ladder_ring_next(ring);
		if ((__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			return;
		take_block(lane, &block->hdr.bh1, sink);
		__atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		ladder_ring_advance(ring);
	}
}

static int receive(void *lane, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	return ladder_ring_receive(lane, take_blocks, sink, stop);
}

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	ladder_ring_close(&lane->ring);
	free(lane->kept);
}

const struct tl_ladder_ops ladder_ring3 = {
	sizeof(struct lane), ladder_open_packet, set_up, receive, ladder_dropped, close_lane};
const struct tl_ladder_ops ladder_ring3_copy = {
	sizeof(struct lane), ladder_open_packet, set_up_copy, receive, ladder_dropped, close_lane};
