// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// peer: the scripted peer: a separate TCP, which sends and acknowledges a text, and sometimes misbehaves. Offsets count
// bytes of a stream, from 0.
//
// Threads: main. Memory: sim_peer_create() to sim_peer_destroy().

#include "sim.h"
#include "tcp_seg.h"

struct sim_peer {
	struct sim *sim;
	uint64_t rng;
	uint16_t own_port_be, their_port_be; // 0: unknown
	uint32_t own_isn, their_isn;
	bool open;  // the stack's SYN has arrived
	bool heard; // its SYN-ACK arrived, with the ACK of ours
	bool reset;
	bool sack;
	uint16_t mss; // largest segment it sends, even
	// Send side. fin_offset, one after the last byte, is even: so are the ends of its segments.
	uint32_t acked, next, sent; // offsets; sent: maximum so far
	uint32_t edge;		    // right edge of the stack's window
	uint32_t chunk_most;
	bool urgent;
	uint64_t resend_ns;
	// Receive side.
	uint8_t *has;	  // 1 for each byte
	uint32_t got;	  // contiguous bytes
	uint32_t last_at; // start of the last segment
	uint32_t seen;	  // end of the data sent by the stack so far
	bool fin_got;
	bool ack_due;
	uint64_t shut_ns; // end of the time with a closed window
	// Turns.
	uint64_t wake_ns, pause_ns;
};

// A segment; zero fields are regular.
struct sim_peer_segment {
	uint8_t flags;
	uint32_t offset;    // offset in its text
	int64_t ack_beyond; // acknowledgment beyond its data
	uint32_t window;
	uint16_t len, urgent;
	const uint8_t *data; // NULL: the text at that offset
	uint8_t n_blocks;
	struct tl_tcp_range block[TL_TCP_SACK_BLOCKS]; // offsets
};

void sim_peer_send(struct sim_peer *peer, const struct sim_peer_segment *segment);
void sim_peer_ack(struct sim_peer *peer);
uint32_t sim_peer_window(const struct sim_peer *peer);
uint32_t sim_peer_bytes(const struct sim_peer *peer);  // bytes to send
uint32_t sim_peer_to_get(const struct sim_peer *peer); // bytes to receive

// ---- tricks.c

// Run one random enabled trick.
void sim_peer_trick(struct sim_peer *peer);
// Return true if the peer ends by RST.
bool sim_peer_is_rude(const struct sim_peer *peer);
