// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_flags: what --so_flags sets: "name=number,name=number".
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

struct tl_pd_flags {
	uint32_t mtu;
	uint32_t send_bytes;   // of each connection's send buffer, a power of two
	uint32_t window_bytes; // most that is advertised
	uint32_t follow_room;  // 1: advertise no more than the send buffer has room for
	uint32_t rto_min_us;   // 0: the stack's default, as in what follows
	uint32_t connect_timeout_ms;
	uint32_t user_timeout_ms;
	uint32_t keepalive_ms; // idle time before the first probe
	uint32_t conns;	       // at once, TIME-WAIT included
	uint32_t like;	       // enum tl_pd_like
	uint32_t patience_s;   // how much virtual time may pass before a packet that a script waits for
};

// Sets the defaults, then what text (may be NULL) says. False: text is wrong, and stderr says how.
bool tl_pd_flags_parse(const char *text, struct tl_pd_flags *out);
