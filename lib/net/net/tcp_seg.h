// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Segments and their options: a received segment, options in and out (tcp_opts.c), timestamps (tcp_stamp.c).
//
// Threads: the lcore that owns the net.

#include "tcp_conn.h"

#define TL_TCP_SACK_BLOCKS 4 // limit by the option space

// A received segment, trimmed to the window by the state machine.
struct tl_tcp_seg {
	struct rte_mbuf *m;
	const uint8_t *payload;
	const struct tl_tcp_hdr *hdr;
	uint32_t src_be;
	uint32_t seq, ack;
	uint32_t window;      // unscaled
	uint32_t stamp, echo; // TSval and TSecr, if stamped
	uint16_t len;	      // payload bytes
	uint8_t flags;
	bool made_room;	   // its ACK freed bytes of the send ring
	bool stamped;	   // timestamps present
	bool more_options; // options besides timestamps
	bool dsack;	   // reports a duplicate
};

struct tl_tcp_options {
	uint16_t mss; // 0: absent
	bool has_scale;
	uint8_t scale;
	bool sack_permitted;
	bool has_stamp;
	uint32_t stamp, echo;	 // TSval and TSecr
	uint32_t user_timeout_s; // 0: absent
	uint8_t n_blocks;
	struct tl_tcp_range block[TL_TCP_SACK_BLOCKS]; // SACK blocks
};

// ---- tcp_opts.c

void tl_tcp_options_parse(const struct tl_tcp_hdr *hdr, struct tl_tcp_options *out);
// Write the options of our SYN, without the timestamps that precede them in every segment; returns their length, a
// multiple of 4.
#define TL_TCP_OPTIONS_MAX 40
uint8_t tl_tcp_options_write(const struct tl_tcp *c, uint8_t buf[TL_TCP_OPTIONS_MAX]);
// Apply MSS, window scale, SACK, timestamps and user timeout of the peer's SYN.
void tl_tcp_options_apply(struct tl_tcp *c, const struct tl_tcp_hdr *peer_syn);

// ---- tcp_stamp.c: timestamps (RFC 7323)

#define TL_TCP_STAMP_LEN 12
#define TL_TCP_STAMP_WORD UINT32_C(0x0101080a)
#define TL_TCP_STAMP_SHIFT 20 // 1.05 ms per tick of our clock (section 5.4: 1 ms to 1 s)

// The option with the padding of RFC 7323, appendix A.
struct tl_tcp_stamp_option {
	uint32_t word_be;	    // NOP, NOP, kind, length
	uint32_t stamp_be, echo_be; // TSval, TSecr
} __attribute__((packed));

// Clock offset, the same for the same addresses and ports: a peer in TIME-WAIT distinguishes old from new
// (section 7.1).
uint32_t tl_tcp_stamp_offset(const struct tl_net *net, struct tl_tcp_key key);

// HOT. Our clock (TSval).
static inline uint32_t tl_tcp_stamp_at(const struct tl_tcp *c, uint64_t now_ns)
{
	return (uint32_t)(now_ns >> TL_TCP_STAMP_SHIFT) + c->stamp_offset;
}

static inline uint32_t tl_tcp_stamp_now(const struct tl_tcp *c)
{
	return tl_tcp_stamp_at(c, c->net->now_ns);
}

// HOT. Store TS.Recent.
static inline void tl_tcp_stamp_take(struct tl_tcp *c, uint32_t stamp)
{
	c->stamp_recent = stamp;
	c->recent_at = tl_tcp_stamp_now(c);
}

// Find the timestamps of a segment that does not begin with the usual option word.
void tl_tcp_stamp_find(struct tl_tcp_seg *seg);

// True if TS.Recent is too old for the PAWS check (section 5.5).
bool tl_tcp_stamp_aged(const struct tl_tcp *c);

// Take an RTT sample from TSecr, if it is plausible.
void tl_tcp_stamp_sample(struct tl_tcp *c, uint32_t echo);
