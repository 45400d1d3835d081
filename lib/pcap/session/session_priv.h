// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// session_priv: declarations shared by the files of this module.
//
//   session.c   frames, memory, create and destroy
//   table.c     connections by addresses and ports, and their sessions
//   stream.c    a side by sequence number, and the steps
//   classify.c  the verdict on a session
//   live.c      sessions one by one, while frames are added

#include <sys/queue.h>

#include <tl_session.h>

// Addresses and ports of a connection, the lower end first. Hashed and compared as bytes.
struct session_key {
	struct tl_session_end end[2];
	uint32_t kind;
};

// Kind of a connection: flags, and VLAN IDs, which have 12 bits.
#define SESSION_IP6 1u
#define SESSION_UDP 2u
#define SESSION_VLAN_SHIFT 8
#define SESSION_INNER_SHIFT 20

// A segment.
struct session_segment {
	const uint8_t *data;
	uint32_t len;  // payload
	uint32_t have; // captured of it
	uint32_t seq;  // of the first payload byte
	uint32_t ack;
	uint8_t flags;
	uint64_t ts_ns;
};

// Bytes after a hole.
struct session_piece {
	struct session_piece *next;
	uint64_t at, ts_ns;
	uint32_t len;
	uint8_t data[];
};

// One side of a session. Positions count payload bytes from 0.
struct session_stream {
	bool known;    // the SYN was seen
	uint32_t base; // sequence number of position 0
	uint64_t expected;
	uint64_t sent;	 // highest position that the other side acknowledged, or of the RST; a FIN counts one
	uint64_t fin_at; // UINT64_MAX: no FIN seen
	bool fin_done;	 // it is in the script
	uint8_t *data;
	uint64_t room;
	struct session_piece *held, *last_held; // in order, without overlap
	uint64_t held_bytes;
	uint32_t pieces;
};

struct session {
	struct tl_session pub; // first member
	struct session *next;  // older, of the same bucket
	struct session_key key;
	bool client_is_first; // end[0] of the key is the client
	bool empty;	      // content was given up: the class is final
	bool reset;	      // a RST was seen
	bool opened;	      // a segment was seen that follows a SYN
	struct session_stream stream[2];
	struct tl_session_step *steps;
	uint32_t steps_room;
	// Of a set with cfg.idle_ns:
	TAILQ_ENTRY(session) recent;   // by last frame, until it is retired
	STAILQ_ENTRY(session) waiting; // to be taken
	uint64_t last_ns;	       // of its last frame, by the set's clock
	uint64_t place;		       // in the list
	uint32_t uses;		       // of its content, by the caller
	uint32_t taken_steps;	       // these are final
	uint64_t taken_bytes;
	bool ended, taken, queued; // queued: among those waiting
	bool retired;		   // not found any more
};

struct tl_session_set {
	struct tl_session_cfg cfg;
	struct tl_session_stats stats;
	struct session **bucket;
	uint64_t buckets; // a power of two
	struct session **list;
	uint64_t n, room;
	bool full;	// there was no memory for a session
	uint64_t begun; // sessions
	// With cfg.idle_ns:
	TAILQ_HEAD(, session) recent;
	STAILQ_HEAD(, session) waiting;
	uint64_t clock_ns, latest_ns; // the recording's time without its steps; latest timestamp
	uint8_t scratch[TL_CAPTURED_MAX];
};

// ---- session.c

// Allocate within the limit, or change the size of p from old_bytes. NULL with *rc 0: beyond the limit; with -ENOMEM:
// the host has none.
void *session_realloc(struct tl_session_set *set, void *p, uint64_t old_bytes, uint64_t bytes, int *rc);
void session_free(struct tl_session_set *set, void *p, uint64_t bytes);

// Give up the content of a session.
void session_empty(struct tl_session_set *set, struct session *s, enum tl_session_class class);

// ---- table.c

// Find the latest session of the connection; NULL: none.
struct session *session_find(const struct tl_session_set *set, const struct session_key *key);

// Begin a session. Return 0 with *out NULL if it is beyond the limit, or -ENOMEM.
int session_begin(struct tl_session_set *set, const struct session_key *key, bool client_is_first, uint64_t ts_ns,
	struct session **out);

// Forget a session's addresses and ports.
void session_unlink(struct tl_session_set *set, struct session *s);

// ---- live.c: for sets with cfg.idle_ns

// Note a frame of a session.
void session_note(struct tl_session_set *set, struct session *s);

// Advance the clock to a timestamp, and retire sessions without a frame for too long.
void session_tick(struct tl_session_set *set, uint64_t ts_ns);

// End a session, if it has not ended; it is not found any more.
void session_retire(struct tl_session_set *set, struct session *s);

// ---- stream.c

// Process a segment of this side. Return 0 or -ENOMEM.
int session_segment(struct tl_session_set *set, struct session *s, enum tl_session_side side,
	const struct session_segment *segment);

// Process a datagram of this side, of which have bytes were captured. Return 0 or -ENOMEM.
int session_datagram(struct tl_session_set *set, struct session *s, enum tl_session_side side,
	const struct session_segment *datagram);

// True if the sequence number is at most a window before or after the expected one.
bool session_is_near(const struct session_stream *stream, uint32_t seq);

void session_free_held(struct tl_session_set *set, struct session_stream *stream);

// ---- classify.c

// True for a session that has ended in the recording.
bool session_has_ended(const struct session *s);

// The same, or if its content was given up.
bool session_is_over(const struct session *s);

void session_classify(struct tl_session_set *set, struct session *s);

// True if the bytes so far tell whether the session is one of TLS.
bool session_is_tls_known(const struct session *s);

// Show the content so far to the caller.
void session_publish(struct session *s);
