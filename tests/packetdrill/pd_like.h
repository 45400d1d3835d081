// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_like: what scripts written for another stack take for granted and no RFC prescribes: the order of a SYN's options,
// PSH that is not on the end of the data, and what its socket buffers measure.
//
// Threads: any. Memory: none.

#include <stddef.h>
#include <stdint.h>

enum tl_pd_like { TL_PD_LIKE_NONE, TL_PD_LIKE_LINUX, TL_PD_LIKE_FREEBSD };

#define TL_PD_LIKE_ROOM 24 // bytes that a packet may grow by

// Put the options of a SYN into the order of that stack, and widen a window that only FreeBSD's larger buffer would
// keep open; other packets stay. Returns the packet's length. The IP header has no options.
size_t tl_pd_like_packet(uint8_t *packet, size_t len, enum tl_pd_like like);

// New data as far as it was sent, and when.
struct tl_pd_like_sent {
	uint64_t at_us;
	uint32_t end;
};

// Linux hands the segments of new data that leave together down as one, which has PSH (TSO): give it to the last of
// them. next: the packet behind it, NULL: none; next_at_us: when it left.
void tl_pd_like_push(
	struct tl_pd_like_sent *sent, uint8_t *packet, uint64_t at_us, const uint8_t *next, uint64_t next_at_us);

// Receive buffer size that the stack reports for a connection with that MSS (0: none yet).
int tl_pd_like_rcvbuf(uint16_t mss, enum tl_pd_like like);
