// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ladder internals: AF_PACKET sockets and fanout, shared by several rungs.

#include "tl_ladder.h"

extern const struct tl_ladder_ops ladder_recv, ladder_recvmmsg, ladder_ring2, ladder_ring3, ladder_pcap, ladder_udp,
	ladder_uring, ladder_xdp, ladder_dpdk;

enum { LADDER_BUFFERED, LADDER_IMMEDIATE };					// mode of ladder_pcap
enum { LADDER_XDP_SKB, LADDER_XDP_COPY, LADDER_XDP_ZEROCOPY, LADDER_XDP_BUSY }; // mode of ladder_xdp
enum { LADDER_DPDK_PACKET, LADDER_DPDK_XDP, LADDER_DPDK_MEMORY };		// mode of ladder_dpdk

// Create an AF_PACKET socket that receives nothing yet. Return the descriptor or -errno.
int ladder_socket(struct tl_err *err);

// Begin to receive what arrives at the interface, and join the rung's fanout group. Return 0 or -errno.
int ladder_bind(int fd, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err);

// Set the size of the socket's buffer, beyond net.core.rmem_max, and a timeout of receive calls.
int ladder_buffer(int fd, uint32_t bytes, struct tl_err *err);

// Add the socket's new drops to *total, which is returned: the kernel's counter restarts with each reading.
uint64_t ladder_packet_drops(int fd, uint64_t *total);
