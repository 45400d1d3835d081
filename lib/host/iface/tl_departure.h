// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// departure: stamps of frames that a socket has sent (Documentation/networking/timestamping.rst of Linux), of which
// SO_TIMESTAMPING puts copies into the socket's error queue.
//
// Threads: any; also another one than that which sends. Memory: none is kept.

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct tl_departure {
	uint32_t id;	   // with SOF_TIMESTAMPING_OPT_ID
	uint64_t stamp_ns; // since 1970; 0: of another event than the departure
};

// Return the stamp in a control message, the NIC's if there is one; 0: it has none.
uint64_t tl_departure_stamp_ns(const struct cmsghdr *cmsg);

// Take the next stamp from the error queue. False: it is empty.
bool tl_departure_read(int fd, struct tl_departure *out);
