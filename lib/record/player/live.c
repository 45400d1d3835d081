// SPDX-License-Identifier: BSD-3-Clause
// Plays of sessions that are still open in the recording. A play that has taken all steps waits for further ones. If
// the target answers before the recorded answer is known, the answer is held, and compared later. If the connection
// ends before the session, the rest of the recording decides about the row.

#include "player_priv.h"

#include <stdlib.h>
#include <string.h>

#define HELD_FIRST 4096u
#define HELD_SUM_MAX (UINT64_C(64) << 20) // of all plays

static struct play_list *bucket_of(struct tl_player *player, const struct tl_session *session)
{
	return &player->growing[session->number & (PLAYER_BUCKETS - 1)];
}

void play_link(struct play *play)
{
	play->is_linked = play->session->is_open;
	if (play->is_linked)
		LIST_INSERT_HEAD(bucket_of(play->player, play->session), play, growing);
}

void play_free_held(struct play *play)
{
	play->player->held_bytes -= play->held_room;
	free(play->held);
	play->held = NULL;
	play->held_bytes = play->held_room = 0;
}

void play_unlink(struct play *play)
{
	play_free_held(play);
	if (play->is_linked)
		LIST_REMOVE(play, growing);
	play->is_linked = false;
}

// ---- answers beyond the recording

bool play_has_room(struct play *play, uint64_t bytes)
{
	struct tl_player *player = play->player;
	uint64_t room = play->held_room != 0 ? play->held_room : HELD_FIRST;

	if (bytes > player->cfg.held_bytes)
		return false;
	while (room < bytes)
		room *= 2;
	if (room == play->held_room)
		return true;
	void *grown = player->held_bytes + room - play->held_room <= HELD_SUM_MAX ? realloc(play->held, room) : NULL;
	if (grown == NULL)
		return false;
	player->held_bytes += room - play->held_room;
	play->held = grown;
	play->held_room = (uint32_t)room;
	return true;
}

void play_hold(struct play *play, const uint8_t *data, uint64_t len)
{
	struct tl_player *player = play->player;
	uint64_t recorded = play->session->bytes[TL_SESSION_SERVER], at = tl_max_u64(play->received, recorded);

	if (!play->session->is_open || player->cfg.lengths_only || play->differs_at != UINT64_MAX ||
		play->received + len <= at)
		return;
	data += at - play->received;
	len -= at - play->received;
	if (play->held_bytes == 0)
		play->held_at = at;
	if (play->held_at + play->held_bytes != at || !play_has_room(play, play->held_bytes + len)) {
		player->stats.uncompared_bytes += len;
		return;
	}
	memcpy(play->held + play->held_bytes, data, len);
	play->held_bytes += (uint32_t)len;
}

// Compare what is held with what has been recorded now.
static void compare_held(struct play *play)
{
	const struct tl_session *s = play->session;
	uint64_t recorded = s->bytes[TL_SESSION_SERVER], n = 0;

	if (play->held_bytes != 0 && recorded > play->held_at)
		n = tl_min_u64(play->held_bytes, recorded - play->held_at);
	for (uint64_t i = 0; i < n && play->differs_at == UINT64_MAX; i++)
		if (play->held[i] != s->data[TL_SESSION_SERVER][play->held_at + i])
			play->differs_at = play->held_at + i;
	play->held_bytes -= (uint32_t)n;
	play->held_at += n;
	if (play->held_bytes == 0)
		play_free_held(play);
	else if (n != 0)
		memmove(play->held, play->held + n, play->held_bytes);
	if (!s->is_open && play->received > recorded && play->differs_at == UINT64_MAX && play_expects_all(play))
		play->differs_at = recorded;
}

// ---- growth

// Find the answer to a request that was the last step but for a FIN.
static void ask_again(struct play *play, const struct tl_session_step *request)
{
	uint64_t asked_ns = play->asked_early_ns;

	play->asked_early_ns = 0;
	if (asked_ns == 0)
		return;
	while (request->event == TL_SESSION_FIN)
		request--;
	play_ask(play, request, asked_ns);
}

// By time, a step that was recorded too late shifts those behind it.
void play_feed(struct play *play)
{
	struct tl_player *player = play->player;
	const struct tl_session_step *step = &play->session->steps[play->step];

	if (play->starved)
		play->moved_ns = player->now_ns;
	if (play->step == play->session->n_steps)
		return;
	ask_again(play, step - 1);
	uint64_t due_ns = play_step_due_ns(play, step);
	if (play->starved && due_ns < player->now_ns)
		play->begin_ns += player->now_ns - due_ns;
	play->starved = false;
}

static void grow(struct play *play)
{
	const struct tl_session *s = play->session;

	if (s->class != TL_SESSION_COMPLETE) {
		play_abort(play, TL_PLAYER_INCOMPLETE + s->class - 1);
		return;
	}
	if (s->is_udp) {
		play_udp_grow(play);
		return;
	}
	compare_held(play);
	if (play->peer_closed)
		play_take_end(play);
	if (!play->closed) {
		play_feed(play);
		play_set_due(play, play->player->now_ns);
	} else if (!s->is_open || play->differs_at != UINT64_MAX) {
		play_conclude(play, play->reason);
	}
}

void tl_player_update(struct tl_player *player, const struct tl_session *session)
{
	struct play *play = LIST_FIRST(bucket_of(player, session)), *next;
	uint64_t grown_bytes = player_content_bytes(session) - session->taken_bytes; // modulo 2^64: it may be given up
	bool waits = player_is_any_left(player) && player_next_session(player) == session, plays = false;

	for (; play != NULL; play = next) {
		next = LIST_NEXT(play, growing);
		if (play->session != session)
			continue;
		plays = true;
		grow(play);
	}
	if (waits || !plays)
		player->waiting_bytes += grown_bytes;
}
