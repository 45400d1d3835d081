// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Out-of-order segments of a connection, held until the gap before them is filled (tcp_ooo.c).
//
// Threads: the lcore that owns the net.

#include "tcp_seg.h"

struct tl_tcp_held {
	struct rte_mbuf *m; // owns one reference
	const uint8_t *payload;
	uint32_t seq;
	uint32_t arrival; // arrival number, increasing
	uint16_t len;
	bool fin;
};

static inline uint32_t tl_tcp_held_end(const struct tl_tcp_held *held)
{
	return held->seq + held->len + held->fin;
}

// Hold a segment beyond rcv_nxt, if there is room.
void tl_tcp_ooo_hold(struct tl_tcp *c, const struct tl_tcp_seg *seg);
// Remove the first segment at or below rcv_nxt, trimmed to rcv_nxt; the caller frees its mbuf. False: none.
bool tl_tcp_ooo_next(struct tl_tcp *c, struct tl_tcp_held *out);
void tl_tcp_ooo_purge(struct tl_tcp *c);
