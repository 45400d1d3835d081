// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// player: plays the client side of recorded TCP sessions and UDP flows (tl_session.h) against a target, over our own
// stack.
//
//   script ── connect, send, wait for the answer, close as recorded ──▶ tl_net ──▶ target; its answer is compared
//
// A play is a session, or a copy of it, with a connection of its own. Plays begin in the order of the recording, and at
// its distances unless cfg.at_once. Each session ends in exactly one row of the ledger.
//
// A response time is the time from the last byte of a request given to the stack, until the first byte of the answer is
// delivered by it; in the recording, between the segments with these bytes. It is recorded for both where the script
// has an answer after a request, and nothing of the answer came earlier.
//
// A session that is still open in the recording is played as far as it is known. Its connection can end earlier; then
// its row, and its slot, wait for the rest of the recording. An open session that becomes incomplete is reset, and ends
// in the row of its class. Answers that come before they are recorded are held, up to a limit, and
// compared later. A UDP flow that waits for the recording takes no place of cfg.at_a_time. When a stack has no free
// port, the flow that has waited longest gives up its own, and gets it, or another one, when it goes on.
//
// Threads: the one that owns the stacks. Memory: create/destroy; sessions and stacks are borrowed until destroy. Time:
// the caller passes monotonic ns.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_hist.h>
#include <tl_net.h>
#include <tl_session.h>

struct tl_err;
struct tl_player; // opaque

#define TL_PLAYER_MILLION UINT64_C(1000000)
#define TL_PLAYER_FAILURES_MAX 64

// When the client's next bytes are sent, or its side is closed.
enum tl_player_wait {
	TL_PLAYER_BYTES, // when as many bytes of answers, or datagrams, have come as in the recording
	TL_PLAYER_TIME,	 // at the recorded time after the start of the session
};

struct tl_player_cfg {
	// Stacks on one port, of consecutive addresses from first_be or first6 on; the plays take turns. Borrowed until
	// destroy.
	struct tl_net *const *nets;
	uint32_t n_nets;
	uint32_t first_be;
	struct tl_ip6 first6;		       // used instead when target6 is set
	const struct tl_session_set *sessions; // finished; NULL: they come by tl_player_add()
	uint32_t target_be;
	struct tl_ip6 target6;	 // used instead when set
	uint16_t target_port_be; // 0: that of each session
	uint32_t plays;		 // of each session, at least 1
	uint32_t at_a_time;	 // connections, and flows in progress
	enum tl_player_wait wait;
	uint64_t speed;	     // of the recorded times, in millionths
	bool at_once;	     // begin sessions as soon as a connection is free
	bool opaque;	     // play TLS sessions, too
	bool lengths_only;   // compare the length of answers, not their bytes
	uint64_t timeout_ns; // for a play without progress: a step, or a byte sent, acknowledged or received
	// Without sessions:
	uint32_t backlog;	// sessions that may wait for a connection, from 1
	uint64_t backlog_bytes; // of their contents, as new sessions come
	uint32_t held_bytes;	// of the answers to a play, received before they were recorded; in all 64 MiB
	uint32_t resting;	// UDP flows that may wait for the rest of their recording
	// Called when as many plays of a session have ended, or will not begin: with cfg.plays in all. May be NULL.
	void (*played)(void *ctx, const struct tl_session *session, uint32_t plays);
	void *ctx;
};

// Rows of the ledger: what became of a session.
enum tl_player_row {
	TL_PLAYER_COMPLETED,	   // to the recorded end, with the recorded answers
	TL_PLAYER_DIVERGED,	   // the target answered otherwise, whatever came then
	TL_PLAYER_REFUSED,	   // the target refused the connection
	TL_PLAYER_UNREACHABLE,	   // no reply to ARP or neighbour solicitation, or reported unreachable
	TL_PLAYER_RESET_BY_TARGET, // reset where the recorded server did not
	TL_PLAYER_TIMEOUT,	   // no progress; reset by us
	TL_PLAYER_UNANSWERED,	   // UDP: a recorded answer did not come
	TL_PLAYER_STOPPED,	   // interrupted by tl_player_stop(); reset by us
	TL_PLAYER_UNSENT,	   // not begun before that
	TL_PLAYER_DROPPED,	   // not begun: the backlog was full
	TL_PLAYER_TLS,		   // not played: see cfg.opaque
	TL_PLAYER_INCOMPLETE,	   // not played, or not to an end: the first of TL_SESSION_CLASSES - 1 rows, from
				   // TL_SESSION_NO_SYN on
	TL_PLAYER_ROWS = TL_PLAYER_INCOMPLETE + TL_SESSION_CLASSES - 1,
};

// found + copied = the sum of the rows, once nothing is in progress.
struct tl_player_ledger {
	uint64_t found_sessions;  // in the recording
	uint64_t copied_sessions; // plays of sessions beyond the first
	uint64_t rows[TL_PLAYER_ROWS];
};

// Counters in the order above, with their names ("found_sessions").
#define TL_PLAYER_COUNTERS (2 + TL_PLAYER_ROWS)
#define TL_PLAYER_WHOLES 2
void tl_player_ledger_rows(const struct tl_player_ledger *ledger, struct tl_counter rows[TL_PLAYER_COUNTERS]);
bool tl_player_ledger_ok(const struct tl_player_ledger *ledger);
const char *tl_player_row_name(enum tl_player_row row); // "completed_sessions"

// A play that did not complete.
struct tl_player_failure {
	struct tl_session session; // without content
	uint32_t copy;		   // from 0
	enum tl_player_row row;
	uint64_t sent_bytes, received_bytes;
	uint64_t differs_at; // DIVERGED: offset of the first byte of the answers that differs, is missing or too many
	const char *reason;  // end of the connection, "" if it goes without saying. Static
};

struct tl_player_stats {
	struct tl_player_ledger ledger;
	uint64_t active;	  // plays in progress, those that wait for the recording included
	uint64_t waited_sessions; // begun late: cfg.at_a_time were in progress, or no port was free
	uint64_t sent_bytes, received_bytes;
	// Received before they were recorded, and neither held nor compared; to a UDP flow beyond the recorded answers.
	uint64_t uncompared_bytes;
};

// Create a player; nothing is sent. Return 0, or -errno with a message.
int tl_player_create(const struct tl_player_cfg *cfg, struct tl_player **out, struct tl_err *err);
void tl_player_destroy(struct tl_player *player);

// Play a session as soon as a connection is free, or count it. It stays valid until cfg.played() was called for all its
// plays. With cfg.at_once and without cfg.sessions.
void tl_player_add(struct tl_player *player, const struct tl_session *session);

// Continue with a session that was open when it was added, and has grown or ended: tl_session_take() returned it again.
void tl_player_update(struct tl_player *player, const struct tl_session *session);

// Start with the first session, once the next hop of the target is resolved, or 5 s later.
void tl_player_begin(struct tl_player *player, uint64_t mono_ns);

// Pass each frame of a parsed burst to the stack of its address, others to the first, and do what they permit. Frames
// are pushed to tx, not flushed.
void tl_player_input(struct tl_player *player, struct tl_burst *burst);

// tl_net_sent() of all stacks, after the flush.
void tl_player_sent(struct tl_player *player);

// Begin sessions and take steps that are due, and run the timers of the stacks. Call at least every millisecond.
void tl_player_tick(struct tl_player *player, uint64_t mono_ns);

// Reset all connections, and count the sessions not begun as unsent.
void tl_player_stop(struct tl_player *player);

// Return the time until the next session is due; 0: none is left, or one is due.
uint64_t tl_player_next_in_ns(const struct tl_player *player);

// True once every session so far has its row.
bool tl_player_is_done(const struct tl_player *player);

const struct tl_player_stats *tl_player_get_stats(const struct tl_player *player);
const struct tl_hist *tl_player_target_times(const struct tl_player *player);
const struct tl_hist *tl_player_recorded_times(const struct tl_player *player);

// List the first TL_PLAYER_FAILURES_MAX failures; return their number.
size_t tl_player_failures(const struct tl_player *player, const struct tl_player_failure **out);
