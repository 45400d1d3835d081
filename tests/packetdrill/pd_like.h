// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_like: behaviour that scripts written for another stack assume and no RFC prescribes: the order of a SYN's options,
// PSH within the data, and the sizes of its socket buffers.
//
// Threads: any. Memory: none.

#include <stddef.h>
#include <stdint.h>

enum tl_pd_like { TL_PD_LIKE_NONE, TL_PD_LIKE_LINUX, TL_PD_LIKE_FREEBSD };

#define TL_PD_LIKE_ROOM 24 // maximum growth of a packet

// Put the options of a SYN into the order of that stack, and widen a window that only FreeBSD's larger buffer would
// keep open; other packets are unchanged. Return the packet's length. The IP header has no options.
size_t tl_pd_like_packet(uint8_t *packet, size_t len, enum tl_pd_like like);

// End of the new data sent, and its time.
struct tl_pd_like_sent {
	uint64_t at_us;
	uint32_t end;
};

// Linux passes segments of new data that are sent together to the device as one, which has PSH (TSO): set PSH on the
// last of them. next: the following packet, NULL: none; next_at_us: its time.
void tl_pd_like_push(
	struct tl_pd_like_sent *sent, uint8_t *packet, uint64_t at_us, const uint8_t *next, uint64_t next_at_us);

// Return the receive buffer size that the stack reports for a connection with that MSS (0: none yet).
int tl_pd_like_rcvbuf(uint16_t mss, enum tl_pd_like like);
