// SPDX-License-Identifier: BSD-3-Clause
// RX_RING: memory that the kernel's softirq fills and the program maps, for all versions. It is a ring of units, slots
// (V2) or blocks (V3), each with its own status word.

#include <errno.h>
#include <poll.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "ladder_priv.h"

int ladder_ring_map(struct ladder_ring *ring, int version, const void *req, socklen_t req_bytes, uint32_t unit_bytes,
	struct tl_err *err)
{
	struct tpacket_req size; // all versions of the request begin with it

	memcpy(&size, req, sizeof(size));
	size_t bytes = (size_t)size.tp_block_size * size.tp_block_nr;
	if (setsockopt(ring->base.fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
		setsockopt(ring->base.fd, SOL_PACKET, PACKET_RX_RING, req, req_bytes) != 0)
		return tl_fail(err, -errno, "setsockopt(PACKET_RX_RING): %s", strerror(errno));
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->base.fd, 0);
	if (map == MAP_FAILED)
		return tl_fail(err, -errno, "mmap of the ring: %s", strerror(errno));
	ring->map = map;
	ring->bytes = bytes;
	ring->unit_bytes = unit_bytes;
	return 0;
}

int ladder_ring_receive(struct ladder_ring *ring, void (*take)(struct ladder_ring *, struct tl_ladder_sink *),
	struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct pollfd wait = {.fd = ring->base.fd, .events = POLLIN};

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		take(ring, sink);
		if (poll(&wait, 1, TL_LADDER_WAIT_MS) < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

void ladder_ring_close(void *lane)
{
	struct ladder_ring *ring = lane;

	if (ring->map != NULL)
		munmap(ring->map, ring->bytes);
	ladder_close_socket(ring);
}
