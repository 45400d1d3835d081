// SPDX-License-Identifier: BSD-3-Clause
// RX_RING, TPACKET_V2: the kernel's softirq copies each frame to a slot of a ring that the program has mapped, and sets
// the slot's status; the program reads the frame there and gives the slot back. No system call but poll(2) when the
// ring is empty. Each slot has room for the largest frame: small frames waste most of the ring.

#include <linux/if_packet.h>

#include "ladder_priv.h"

#define SLOT_BYTES 2048u
#define BLOCK_BYTES (64u << 10)

static int set_up(void *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	uint32_t bytes = cfg->buffer_bytes;
	const struct tpacket_req req = {BLOCK_BYTES, bytes / BLOCK_BYTES, SLOT_BYTES, bytes / SLOT_BYTES};

	return ladder_ring_map(lane, TPACKET_V2, &req, sizeof(req), SLOT_BYTES, err);
}

// Take the slots that are filled.
static void take_slots(struct ladder_ring *ring, struct tl_ladder_sink *sink)
{
	for (;;) {
		struct tpacket2_hdr *slot = ladder_ring_next(ring);
		if ((__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			return;
		tl_ladder_take(sink, (uint8_t *)slot + slot->tp_mac, slot->tp_len);
		__atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		ladder_ring_advance(ring);
	}
}

static int receive(void *lane, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	return ladder_ring_receive(lane, take_slots, sink, stop);
}

const struct tl_ladder_ops ladder_ring2 = {
	sizeof(struct ladder_ring), ladder_open_packet, set_up, receive, ladder_dropped, ladder_ring_close};
