// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Pacing: departure times of the segments of a connection, see tl_tcp.h (tcp_pace.c, tcp_pace_dp.c).
//
// Threads: the lcore that owns the net.

#include "tcp_conn.h"

// Of pace_step and pace_part: the time of the longest frame at the lowest rate takes 64 bits.
#define TL_TCP_PACE_SHIFT 30

// Set the rate of a connection without segments, bit/s; 0: not paced. Raises a user timeout of less than four frames.
void tl_tcp_pace_set(struct tl_tcp *c, uint64_t bps);

// HOT. True if the next segment has to wait for its departure time.
static inline bool tl_tcp_pace_holds(const struct tl_tcp *c)
{
	return TL_UNLIKELY(c->paced) && c->net->now_ns < c->pace_at_ns;
}

// HOT. Have a connection with such a segment wait in the wheel.
void tl_tcp_pace_wait(struct tl_tcp *c);

// HOT. Set the departure time of the next segment: after a frame of that many bytes, untagged, that leaves now.
void tl_tcp_pace_charge(struct tl_tcp *c, uint32_t bytes);

// Remove a connection from the wheel.
void tl_tcp_pace_stop(struct tl_tcp *c);
