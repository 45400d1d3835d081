// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_flags: settings of --so_flags: "name=number,name=number".
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

struct tl_pd_flags {
	uint32_t mtu;
	uint32_t send_bytes;   // send buffer per connection, a power of two
	uint32_t window_bytes; // largest window advertised
	uint32_t follow_room;  // 1: advertise no more than the send buffer has room for
	uint32_t rto_min_us;   // 0: the stack's default, also below
	uint32_t connect_timeout_ms;
	uint32_t user_timeout_ms;
	uint32_t keepalive_ms; // idle time before the first probe
	uint32_t conns;	       // at a time, TIME-WAIT included
	uint32_t like;	       // enum tl_pd_like
	uint32_t patience_s;   // limit of virtual time before a packet that a script expects
};

// Set the defaults, then parse text (may be NULL). False: invalid; stderr has the reason.
bool tl_pd_flags_parse(const char *text, struct tl_pd_flags *out);
