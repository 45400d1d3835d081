// SPDX-License-Identifier: BSD-3-Clause
// Set up a queue of a kernel interface that is also sent to: its ring of slots (TPACKET_V2), its socket's options for
// sending.

#include "port_priv.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rte_malloc.h>

#define RING_BYTES (16u << 20) // 8192 short frames
#define BLOCK_BYTES (64u << 10)
#define SEND_BUFFER_BYTES (4 << 20) // as many short frames as the longest TX ring of a NIC holds

// Frames skip the queueing discipline, which would drop some without an error, and the host's other recorders.
static int prepare_sending(struct tl_port *port, int fd, struct tl_err *err)
{
	const int on = 1, bytes = SEND_BUFFER_BYTES;
	const struct tl_packet_option option = {
		"sending past the queueing discipline", SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)};

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	return tl_packet_set_options(port, fd, &option, 1, err);
}

int tl_slot_open(struct tl_port *port, uint16_t queue, int fd, struct tl_err *err)
{
	uint32_t slot_bytes = tl_kernel_frame_bytes(&port->cfg);
	const struct tpacket_req3 request = {.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = RING_BYTES / BLOCK_BYTES,
		.tp_frame_size = slot_bytes,
		.tp_frame_nr = RING_BYTES / slot_bytes};
	struct tl_slot_queue *s = rte_zmalloc_socket("tl_slot_queue", sizeof(*s), TL_CACHE_LINE, port->cfg.socket_id);
	void *ring;

	if (s == NULL)
		return tl_fail(err, -ENOMEM, "port %s: out of memory", port->name);
	port->rxq[queue].backend = s;
	int rc = tl_packet_make_ring(port, fd, TPACKET_V2, &request, &ring, err);
	if (rc != 0)
		return rc;
	*s = (struct tl_slot_queue){
		.ring = ring, .pool = port->pool, .slots = RING_BYTES / slot_bytes, .slot_bytes = slot_bytes, .fd = fd};
	return prepare_sending(port, fd, err);
}

void tl_slot_close(struct tl_slot_queue *s)
{
	if (s != NULL && s->ring != NULL)
		munmap(s->ring, RING_BYTES);
	rte_free(s);
}
