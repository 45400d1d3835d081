// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// match_priv: shared by the files of this module.
//
//   match.c frames one by one; progress of time
//   frame.c payload and connection of a frame
//   stream.c TCP streams, reassembled by sequence number
//   streams.c the table of streams
//   trigger.c the triggers within some windows, in their order
//   choose.c choice among those of the same bytes
//   index.c lookup by bytes
//   message.c replies from bytes: by payload, sequence or position
//
// Threads: one. Memory: all of struct tl_match; triggers and streams are freed after some windows.

#include <stddef.h>

#include <tl_match.h>
#include <tl_wire.h>

#define MATCH_BASE UINT64_C(0x9e3779b97f4a7c15) // of the polynomial that represents a string of bytes, modulo 2^64
#define MATCH_BEGINNING 4u			// bytes
#define MATCH_BEGINNINGS (1u << 14)

// Triggers of the same bytes, in order of arrival: a ring of places that count from 0, modulo 2^32.
struct match_group {
	struct match_group *next;    // in the bucket
	struct match_trigger **same; // trigger at each place, modulo room; &only while there is one
	struct match_trigger *only;
	uint32_t room;		 // a power of two
	uint32_t first, end;	 // places: of the oldest trigger, after the youngest
	uint32_t open;		 // all before this place do not wait for a reply
	uint64_t usual_ns;	 // decaying maximum of the unambiguous latencies
	uint64_t youngest_frame; // among the candidates of the last ambiguous reply
	uint32_t in_step;	 // consecutive ambiguous replies that would fit the youngest candidate
	uint32_t len;
	uint64_t hash;
};

struct match_trigger {
	struct match_trigger *next; // in order of arrival
	struct match_group *group;  // NULL: TL_MATCH_POSITION
	uint64_t ts_ns, frame;
	union {
		uint64_t latest_ns; // maximum of ts_ns up to here in the group, for binary search
		uint64_t sum;	    // TL_MATCH_POSITION: the polynomial of its bytes
	};
	union {
		uint64_t begin; // TL_MATCH_POSITION: position of its bytes in the stream
		struct {
			uint32_t place; // in the group
			uint32_t skip;	// when not waiting: none up to this place waits, either
		};
	};
	uint32_t len; // of the payload
	uint32_t key_len;
	uint32_t behind; // when given up: so are all from here to before this place
	bool answered;
	bool given_up; // its reply was lost: younger ones have theirs
	bool again;    // as in struct match_payload
	bool cut;      // as in struct match_payload
	uint8_t key[]; // bytes to find in replies
};

// Keys of one length in the index.
struct match_length {
	uint32_t len;
	uint64_t power; // MATCH_BASE to the len-th
	uint64_t triggers;
};

struct match_index {
	struct match_group **bucket;
	uint64_t buckets, groups;    // a power of two
	uint64_t disorder_ns;	     // largest lead of an earlier trigger's stamp over a later one's
	struct match_length *length; // longest first
	uint32_t lengths;
	size_t lengths_room;
	uint32_t short_keys; // shorter than a beginning
	uint32_t beginning[MATCH_BEGINNINGS];
};

// Segment of the bytes up to end.
struct match_mark {
	uint64_t end;
	uint64_t ts_ns, frame;
	uint32_t back; // as in struct match_payload
	bool again;
};

// Complete reply: the segment that completed it, and the number of its segments.
struct match_reply {
	uint64_t ts_ns, frame;
	uint32_t segments;
	uint32_t bytes; // TL_MATCH_POSITION: without a hole, from its first one on
	uint64_t sum;	// their polynomial
	bool again;	// of any of its segments
	bool cut;	// of any of its segments
};

// Bytes of replies that are not decided yet.
struct match_text {
	uint8_t *data;
	uint64_t *sum; // [i]: polynomial of the first i bytes; one entry more than bytes
	uint32_t at, len, room;
	uint32_t rest;	   // TL_MATCH_SEQUENCE, replies of a given length: bytes to the next reply
	bool rest_counted; // the stretch that these belong to is counted
	struct match_mark *mark;
	uint32_t mark_at, marks; // mark_at: index of the mark of the byte at
	size_t marks_room;
	bool skipping; // the byte before belongs to no trigger, and came with the same segment
};

// Piece of a stream that arrived before its predecessors.
struct match_piece {
	struct match_piece *next;
	uint64_t at, ts_ns, frame;
	uint32_t len, back;
	bool again, cut;
	uint8_t data[];
};

struct match_stream_key {
	struct tl_ip6 src, dst; // IPv4: in the first four bytes
	uint16_t src_port_be, dst_port_be;
	uint8_t is_ip6 : 1;
	uint8_t in_front : 7; // number of bytes in front of the connection's first ones in the capture
	uint8_t is_trigger;
	uint16_t vlan_id;
};

struct match_stream {
	struct match_stream *next;	   // in the bucket
	struct match_stream *next_waiting; // with undecided bytes
	struct match_stream_key key;
	bool begun, from_syn;
	bool waiting;	    // is in that list
	uint32_t first_seq; // of the connection
	uint32_t base_seq;  // of byte 0
	uint64_t begin;	    // position of its first reply
	uint64_t expected;  // first byte not seen
	uint64_t last_ns;
	struct match_piece *held;      // by position, without overlap
	struct match_piece *last_held; // last of these
	struct match_piece *put_held;  // the last one inserted between others; NULL: unknown
	uint64_t held_bytes;
	struct match_text text;
};

struct tl_match {
	struct tl_match_cfg cfg;
	struct tl_match_stats stats;
	uint64_t now_ns;  // replies still to come are not much older
	uint64_t tick_ns; // time of the next check of streams
	struct match_trigger *first, *last;
	struct match_index index;
	struct match_stream **bucket; // of streams
	uint64_t buckets, streams;
	struct match_stream *waiting, *last_waiting; // those with undecided bytes
	uint64_t idle_tick_ns;			     // time of the next check for idle streams
	struct match_text datagram;		     // of the current UDP reply

	struct match_stream *only;     // TL_MATCH_POSITION: the stream of replies
	struct match_trigger *awaited; // first trigger whose last byte has not arrived
	struct match_reply reply;      // the bytes so far of the reply that ends at byte reply_end of the stream
	uint64_t reply_end;	       // 0: none yet
	uint64_t begin;		       // position of the next trigger's bytes
	uint8_t scratch[TL_CAPTURED_MAX];
};

// Payload of a frame.
struct match_payload {
	const uint8_t *data;
	uint32_t len, have; // bytes; those captured
	uint64_t ts_ns, frame;
	bool is_tcp, syn;
	bool again;		     // the segment repeats bytes already seen, or arrived after later bytes
	bool cut;		     // the capture lacks bytes of the frame's payload
	uint32_t back;		     // bytes of others between these and the segment's previous ones; 0: none
	uint32_t seq;		     // of the first byte of data
	struct match_stream_key key; // of TCP
};

static inline uint64_t match_extend(uint64_t sum, uint8_t byte)
{
	return sum * MATCH_BASE + byte + 1;
}

static inline struct match_trigger *match_at(const struct match_group *group, uint32_t place)
{
	return group->same[place & (group->room - 1)];
}

static inline uint32_t match_beginning(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word * UINT32_C(0x9e3779b1) >> 18;
}

// True if a key is possible here.
static inline bool match_may_begin(const struct match_index *index, const uint8_t *bytes, uint32_t len)
{
	return index->short_keys != 0 || (len >= MATCH_BEGINNING && index->beginning[match_beginning(bytes)] != 0);
}

// frame.c
enum match_use {
	MATCH_USED,
	MATCH_IGNORED, // neither UDP nor TCP, or malformed
	MATCH_CUT,     // the capture lacks even its headers
};
enum match_use match_read_frame(struct tl_match *match, const struct tl_match_frame *frame, struct match_payload *out);

// trigger.c
int match_trigger_add(struct tl_match *match, const struct match_payload *payload);
void match_triggers_retire(struct tl_match *match, uint64_t until_ns);

// choose.c
struct match_answer {
	struct match_trigger *trigger; // NULL: none
	bool again;		       // it has a reply already
	bool ambiguous;		       // another trigger waits, too; or has a reply, too
};
// Choose the trigger of the group that a reply at this time answers.
struct match_answer match_choose(struct tl_match *match, struct match_group *group, uint64_t reply_ns);
// Return the oldest trigger of the group that waits; if none does, the oldest.
const struct match_trigger *match_oldest(struct tl_match *match, struct match_group *group);
// Check whether trigger and reply are at most a window apart.
bool match_is_in_sight(const struct tl_match *match, const struct match_trigger *trigger, uint64_t reply_ns);
// Count a reply to a trigger that has one.
void match_repeat(struct tl_match *match, const struct match_answer *answer);
int match_link(struct tl_match *match, struct match_trigger *trigger, bool ambiguous, const struct match_reply *reply);

// index.c
// Add the trigger to its group. Return 0 or -ENOMEM.
int match_index_add(struct match_index *index, struct match_trigger *trigger, uint64_t hash);
void match_index_remove(struct match_index *index, struct match_trigger *trigger); // trigger: first of its group
struct match_group *match_find(const struct match_index *index, uint64_t hash, const uint8_t *key, uint32_t len);
void match_index_free(struct match_index *index);

// stream.c
int match_stream_take(struct tl_match *match, const struct match_payload *segment);
// Decide everything that waits for bytes that should have arrived by now; UINT64_MAX: everything.
int match_stream_settle(struct tl_match *match, struct match_stream *stream, uint64_t now_ns);

// streams.c
// Return the stream of this key, a new one if there is none or it has been idle for long; NULL: no memory.
struct match_stream *match_stream_get(struct tl_match *match, const struct match_stream_key *key);
// Register a stream with undecided bytes; it is checked until it has none.
void match_stream_add_pending(struct tl_match *match, struct match_stream *stream);
int match_streams_settle(struct tl_match *match, uint64_t now_ns);
void match_streams_free(struct tl_match *match);

// message.c
int match_text_put(struct match_text *text, const struct match_payload *bytes);
void match_text_free(struct match_text *text);
// Decide bytes up to now_ns: those older than the window get no more followers.
int match_text_decide(struct tl_match *match, struct match_text *text, uint64_t now_ns);
int match_datagram(struct tl_match *match, const struct match_payload *payload);
// TL_MATCH_POSITION: match the bytes of the stream from this position on.
int match_position(struct tl_match *match, uint64_t at, const struct match_payload *bytes);
