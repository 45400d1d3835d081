// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_like: what scripts written for another stack take for granted and no RFC prescribes: the order of a SYN's options,
// and what its socket buffers measure.
//
// Threads: any. Memory: none.

#include <stddef.h>
#include <stdint.h>

enum tl_pd_like { TL_PD_LIKE_NONE, TL_PD_LIKE_LINUX, TL_PD_LIKE_FREEBSD };

#define TL_PD_LIKE_ROOM 24 // bytes that a packet may grow by

// Put the options of a SYN into the order of that stack, and widen a window that only FreeBSD's larger buffer would
// keep open; other packets stay. Returns the packet's length. The IP header has no options.
size_t tl_pd_like_packet(uint8_t *packet, size_t len, enum tl_pd_like like);

// The size of a receive buffer as that stack tells it, of a connection with that MSS (0: none yet).
int tl_pd_like_rcvbuf(uint16_t mss, enum tl_pd_like like);
