// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ladder internals: AF_PACKET sockets, fanout and rings, shared by several rungs.

#include <sys/socket.h>

#include "tl_ladder.h"

extern const struct tl_ladder_ops ladder_recv, ladder_recvmmsg, ladder_ring2, ladder_ring3, ladder_ring3_copy,
	ladder_pcap, ladder_udp, ladder_uring, ladder_uring_zc, ladder_xdp, ladder_dpdk, ladder_nic;

enum { LADDER_BUFFERED, LADDER_IMMEDIATE, LADDER_DUMP };			// mode of ladder_pcap
enum { LADDER_XDP_SKB, LADDER_XDP_COPY, LADDER_XDP_ZEROCOPY, LADDER_XDP_BUSY }; // mode of ladder_xdp
enum { LADDER_DPDK_PACKET, LADDER_DPDK_XDP, LADDER_DPDK_MEMORY };		// mode of ladder_dpdk

// ---- socket.c: lanes with a socket

// First member of such a lane.
struct ladder_lane {
	int fd;
	uint64_t drops; // of the kernel's counter, which restarts with each reading
};

// tl_ladder_ops.open of AF_PACKET: create a socket that receives nothing yet, call set_up(), and bind the socket to the
// interface, in the rung's fanout group.
int ladder_open_packet(
	void *lane, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err);

// Have the socket receive nothing that the host sends: PACKET_IGNORE_OUTGOING has no effect in a fanout group.
int ladder_ignore_sent(int fd, struct tl_err *err);

// Set the size of the socket's buffer, beyond net.core.rmem_max, and a timeout of receive calls.
int ladder_buffer(const struct ladder_lane *lane, uint32_t bytes, struct tl_err *err);

// tl_ladder_ops.dropped of AF_PACKET, and tl_ladder_ops.close of a lane that holds nothing but the socket.
uint64_t ladder_dropped(void *lane);
void ladder_close_socket(void *lane);

// Add the socket's new drops to *total, which is returned.
uint64_t ladder_packet_drops(int fd, uint64_t *total);

// ---- ring.c: RX_RING

// Lane whose ring has units of one size, slots or blocks.
struct ladder_ring {
	struct ladder_lane base;
	uint8_t *map;
	size_t bytes, next; // next: offset of the unit to look at
	uint32_t unit_bytes;
};

// Request (struct tpacket_req of the version) and map the ring.
int ladder_ring_map(struct ladder_ring *ring, int version, const void *req, socklen_t req_bytes, uint32_t unit_bytes,
	struct tl_err *err);

// Return the unit to look at, and go on to the one behind it.
static inline void *ladder_ring_next(const struct ladder_ring *ring)
{
	return ring->map + ring->next;
}

static inline void ladder_ring_advance(struct ladder_ring *ring)
{
	ring->next = ring->next + ring->unit_bytes == ring->bytes ? 0 : ring->next + ring->unit_bytes;
}

// Call take() and sleep in turn until *stop. Return 0 or -errno.
int ladder_ring_receive(struct ladder_ring *ring, void (*take)(struct ladder_ring *, struct tl_ladder_sink *),
	struct tl_ladder_sink *sink, const atomic_bool *stop);

void ladder_ring_close(void *lane); // tl_ladder_ops.close
