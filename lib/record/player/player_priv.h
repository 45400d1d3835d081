// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// player_priv: declarations shared by the files of this module.
//
//   player.c  which session begins when
//   play.c    one session: its steps, the stack's callbacks, its row
//   queue.c   plays that wait for a send buffer
//   answers.c answers beside the recorded ones
//   live.c    sessions that are still open in the recording
//   udp.c     one UDP flow
//   udp_live.c  UDP flows that are still open in the recording
//   nets.c    the stacks, one per address
//   ledger.c  the ledger's names and identity

#include <sys/queue.h>

#include <tl_heap.h>
#include <tl_player.h>
#include <tl_tcp.h>

// A session in progress.
struct play {
	struct tl_player *player;
	const struct tl_session *session;
	struct tl_tcp *c;   // NULL: closed, or a UDP flow
	struct tl_udp *udp; // NULL: TCP
	uint32_t net;	    // its stack
	uint32_t slot, copy;
	uint32_t step;			 // next one
	uint32_t answers, awaited;	 // UDP: datagrams of the target; those to wait for up to the step
	uint32_t answer_step;		 // UDP: step of the next answer, or one before it
	uint64_t unresolved_ns;		 // UDP: since when the next hop is awaited; 0: it is not
	uint16_t udp_port_be;		 // UDP: own port, also while it is given up; 0: none yet
	uint64_t step_sent;		 // bytes of that step sent
	uint64_t sent, received, needed; // bytes; needed: of answers, up to the step; UDP: received as recorded
	uint64_t datagram_bytes;	 // UDP: received
	uint64_t begin_ns, moved_ns;	 // start; last progress
	uint64_t asked_ns;		 // end of a request whose answer has not begun; 0: none
	uint64_t recorded_ns;		 // response time of the recorded server to it
	uint64_t differs_at;		 // UINT64_MAX: it does not
	bool opened, peer_closed, closing;
	bool fin_taken;	 // the step of the recorded server's FIN
	bool is_queued;	 // for a send buffer
	bool is_resting; // a UDP flow that waits for the rest of the recording
	TAILQ_ENTRY(play) link;
	enum tl_player_row verdict; // row in case of tl_tcp_abort()
	// Of a session that was open when the play began:
	LIST_ENTRY(play) growing; // of the same bucket
	bool is_linked;
	bool starved;		   // no step is left, and the session is open
	bool closed;		   // for this reason; the row depends on the rest of the recording
	enum tl_tcp_reason reason; // then
	uint64_t asked_early_ns;   // asked_ns of a request whose recorded answer is not known yet; 0: none
	uint8_t *held;		   // answers beyond the recording, from held_at on
	uint64_t held_at;
	uint32_t held_bytes, held_room;
	uint32_t missed; // UDP: datagrams after those held, which did not fit
};

TAILQ_HEAD(play_queue, play);
LIST_HEAD(play_list, play);
#define PLAYER_BUCKETS 1024u // a power of two

struct tl_player {
	struct tl_player_cfg cfg;
	uint32_t *targets_be;	   // per stack: the address, or its number
	struct play_queue *queues; // per stack: plays that wait for a send buffer, the first one longest
	struct play_queue *rests;  // per stack, behind them: resting flows with a port, the first one longest
	uint64_t now_ns, origin_ns;
	const struct tl_session **order; // a ring of those to be played, in the order of their times
	uint64_t room;			 // places in it
	uint64_t n_order, next;		 // sessions so far; next one to begin
	uint64_t waiting_bytes;		 // contents of those in the ring
	uint32_t next_copy;
	uint16_t udp_port;		  // own one, of the last UDP flow
	uint64_t turn;			  // plays begun: chooses the stack of the next one
	bool begun, resolved, has_waited; // has_waited: the next one has been counted
	struct play *plays;		  // slots: cfg.at_a_time + cfg.resting
	uint32_t slots;
	uint32_t *free_slots;
	uint32_t n_free;
	uint32_t n_resting;
	struct tl_heap due;			  // of plays, by slot
	struct tl_burst one;			  // a frame of a burst, for its stack
	struct play_list growing[PLAYER_BUCKETS]; // of open sessions, by session number
	uint64_t held_bytes;			  // memory of all plays for answers beyond the recording
	struct tl_hist *target, *recorded;
	struct tl_player_stats stats;
	struct tl_player_failure *failures;
	size_t n_failures;
};

// Recorded time ns_in_recording after the start, at the speed of the run; at most 146 years.
static inline uint64_t player_scaled(const struct tl_player *player, uint64_t ns_in_recording)
{
	unsigned __int128 ns = (unsigned __int128)ns_in_recording * TL_PLAYER_MILLION / player->cfg.speed;

	return ns < INT64_MAX / 2 ? (uint64_t)ns : INT64_MAX / 2;
}

// ---- nets.c

// Give each stack the target's address.
void player_nets_name_target(struct tl_player *player);

// Pass a burst to the stacks.
void player_nets_input(struct tl_player *player, struct tl_burst *burst);
void player_nets_tick(struct tl_player *player, uint64_t mono_ns);

// True once every stack has a usable address and the MAC address of the next hop, or knows that there is none.
bool player_nets_resolved(struct tl_player *player);

// ---- play.c

// Connect. False: the stack has no connection or port free; try later.
bool play_begin(struct tl_player *player, const struct tl_session *session, uint32_t copy);

// Take the steps that are possible now, and check the timeout.
void play_advance(struct play *play);

enum progress { NEXT, WAITS_FOR_TARGET, WAITS_FOR_ACKS, WAITS_FOR_TIME, WAITS_FOR_BUFFER, CLOSED };

void play_set_due(struct play *play, uint64_t due_ns);

// Record progress, and take steps soon.
void play_touch(struct play *play);

// Free the slot of a play that has its row.
void play_release(struct play *play);

// Start to measure the answer to a request that has been sent at this time; record it when it begins.
void play_ask(struct play *play, const struct tl_session_step *step, uint64_t ns);
void play_answered(struct play *play);

// Note what is missing after the target's FIN.
void play_take_end(struct play *play);

// Reset the connection; the session ends in this row.
void play_abort(struct play *play, enum tl_player_row row);

// Count the play in its row: its connection is closed.
void play_conclude(struct play *play, enum tl_tcp_reason reason);

// False once the client's RST is due: the recording lacks what the server would have sent later, so that further
// answers do not differ.
bool play_expects_all(const struct play *play);

// Offset of the first byte that differs from the recorded answers, at play->received; UINT64_MAX: none so far.
uint64_t play_compare(const struct play *play, const uint8_t *data, uint32_t len);

// Due time of a step with TL_PLAYER_TIME.
uint64_t play_step_due_ns(const struct play *play, const struct tl_session_step *step);

// ---- queue.c

// Append a play that waits for a send buffer, or remove one that does not.
void play_queue(struct play *play, bool waits);

// Let those that wait longest continue while their stack has send buffers.
void player_run_queues(struct tl_player *player);

// ---- live.c

// Find the play when its session grows.
void play_link(struct play *play);

// Forget it, and free what it holds.
void play_unlink(struct play *play);

// Hold answers beyond the recording, at play->received, to be compared later.
void play_hold(struct play *play, const uint8_t *data, uint64_t len);

// Make room for this many held bytes. False: the limits or the host do not permit it.
bool play_has_room(struct play *play, uint64_t bytes);
void play_free_held(struct play *play);

// Take up a script that has new steps.
void play_feed(struct play *play);

// ---- udp.c

// Open a socket. Return 0; -ENOSPC: none is free; or another error of tl_udp_open().
int play_udp_open(struct play *play);
void play_udp_advance(struct play *play);

// Take the next answer, which has these bytes; NULL: they are not known. False: the recording has none.
bool play_udp_answer(struct play *play, const uint8_t *data, uint16_t len);

// End the flow in this row.
void play_udp_end(struct play *play, enum tl_player_row row, const char *reason);

// ---- udp_live.c

// Take an answer that is not recorded: hold it while the recording goes on, otherwise count it.
void play_udp_surplus(struct play *play, const struct tl_udp_datagram *datagram);

// Continue with what has been recorded since, or end.
void play_udp_grow(struct play *play);

// Wait for the recording, and go on.
void play_udp_rest(struct play *play);
void play_udp_wake(struct play *play);

// Close the port of the flow that has rested longest on this stack. False: there is none.
bool player_udp_give_up(struct tl_player *player, uint32_t net);

// ---- player.c

static inline uint64_t player_content_bytes(const struct tl_session *s)
{
	return s->bytes[TL_SESSION_CLIENT] + s->bytes[TL_SESSION_SERVER];
}

static inline bool player_is_any_left(const struct tl_player *player)
{
	return player->next < player->n_order;
}

static inline const struct tl_session *player_next_session(const struct tl_player *player)
{
	return player->order[player->next % player->room];
}

// Report that plays of a session have ended, or will not begin.
static inline void player_played(const struct tl_player *player, const struct tl_session *session, uint32_t plays)
{
	if (player->cfg.played != NULL)
		player->cfg.played(player->cfg.ctx, session, plays);
}

// Count a session in its row. play: what is known of it; NULL: it was not played.
void player_count(struct tl_player *player, enum tl_player_row row, const struct play *play, const char *reason);
