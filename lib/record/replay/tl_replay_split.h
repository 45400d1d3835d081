// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_split: which of two ports sends a frame. Side 0 is the first port, side 1 the second.
//
//   epb             outbound by epb_flags of pcapng: side 0, inbound: side 1; undecided without the flags
//   interface[:N]   interface N (default 0) of its pcapng section: side 0, others: side 1
//   mac:MAC[,MAC]   source address in the list: side 0, others: side 1
//   filter:EXPR     frames that match: side 0, others: side 1
//   clients         frames of clients: side 0, of servers: side 1; each address is one of them for a whole loop
//
// An address becomes a client or a server by the first of these, as with tcpprep: it sends a SYN (client); it sends a
// SYN with ACK (server); its SYN, or SYN with ACK, was sent to the other (the opposite); it sends to, or looks for by
// ARP, a known address (the opposite); it sends UDP (client, and the destination is a server). Undecided frames go to
// side 0.
//
// Threads: one. Memory: the caller's.

#include <stdint.h>

#include <tl_wire.h>

struct tl_err;

enum tl_replay_split_by {
	TL_REPLAY_BY_NOTHING,
	TL_REPLAY_BY_EPB,
	TL_REPLAY_BY_INTERFACE,
	TL_REPLAY_BY_MAC,
	TL_REPLAY_BY_FILTER,
	TL_REPLAY_BY_CLIENTS,
};

#define TL_REPLAY_SPLIT_MACS 64
#define TL_REPLAY_SPLIT_HOSTS 65536 // addresses known by TL_REPLAY_BY_CLIENTS; frames of others are undecided

// Zero-initialize: all frames are of side 0.
struct tl_replay_split {
	enum tl_replay_split_by by;
	uint32_t interface_id;
	uint32_t n_macs;
	uint8_t macs[TL_REPLAY_SPLIT_MACS][TL_ETHER_ADDR_LEN];
	const char *filter; // points into the text
};

// Parse --split; text is borrowed. Return 0, or -EINVAL with a message.
int tl_replay_split_parse(const char *text, struct tl_replay_split *out, struct tl_err *err);
