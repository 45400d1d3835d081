// SPDX-License-Identifier: BSD-3-Clause
// UDP flows that are still open in the recording. A flow that has taken all steps rests: it takes no place among those
// in progress, and closes its port if the stack has no other for a flow that begins or goes on. Answers that come
// before they are recorded are held, each behind its length.

#include "player_priv.h"

#include <string.h>

// ---- rest

void play_udp_rest(struct play *play)
{
	play->starved = play->is_resting = true;
	play->player->n_resting++;
	if (play->udp != NULL)
		TAILQ_INSERT_TAIL(&play->player->rests[play->net], play, link);
	play_set_due(play, TL_HEAP_NEVER);
}

void play_udp_wake(struct play *play)
{
	if (!play->is_resting)
		return;
	play->is_resting = false;
	play->player->n_resting--;
	if (play->udp != NULL)
		TAILQ_REMOVE(&play->player->rests[play->net], play, link);
}

bool player_udp_give_up(struct tl_player *player, uint32_t net)
{
	struct play *play = TAILQ_FIRST(&player->rests[net]);

	if (play == NULL)
		return false;
	TAILQ_REMOVE(&player->rests[net], play, link);
	tl_udp_close(play->udp);
	play->udp = NULL;
	return true;
}

// ---- answers beyond the recording

// Return the bytes of an answer that are held.
static uint32_t kept(const struct play *play, uint16_t len)
{
	return play->player->cfg.lengths_only ? 0 : len;
}

// Behind one that does not fit, none is held: their order tells to which step they belong.
static void hold(struct play *play, const struct tl_udp_datagram *datagram)
{
	uint32_t bytes = kept(play, datagram->len), at = play->held_bytes;

	if (play->missed != 0 || !play_has_room(play, at + sizeof(datagram->len) + bytes)) {
		play->missed++;
		play->player->stats.uncompared_bytes += datagram->len;
		return;
	}
	memcpy(play->held + at, &datagram->len, sizeof(datagram->len));
	memcpy(play->held + at + sizeof(datagram->len), datagram->payload, bytes);
	play->held_bytes = at + (uint32_t)sizeof(datagram->len) + bytes;
}

// Note bytes that the recorded flow, which has ended, does not have. One that may go on may have them later.
static void note_surplus(struct play *play, uint64_t bytes)
{
	if (play->session->may_go_on)
		play->player->stats.uncompared_bytes += bytes;
	else if (play->differs_at == UINT64_MAX)
		play->differs_at = play->received;
}

void play_udp_surplus(struct play *play, const struct tl_udp_datagram *datagram)
{
	if (play->session->is_open)
		hold(play, datagram);
	else // if it came a little later the flow would have ended
		play->player->stats.uncompared_bytes += datagram->len;
}

// Return the payload bytes of the held answers.
static uint64_t count_held(const struct play *play)
{
	uint64_t sum = 0;
	uint16_t len;

	for (uint32_t at = 0; at < play->held_bytes; at += (uint32_t)sizeof(len) + kept(play, len)) {
		memcpy(&len, play->held + at, sizeof(len));
		sum += len;
	}
	return sum;
}

// Compare the held answers that have been recorded since.
static void take_held(struct play *play)
{
	uint32_t at = 0;
	uint16_t len;

	while (at < play->held_bytes) {
		memcpy(&len, play->held + at, sizeof(len));
		if (!play_udp_answer(play, play->held + at + sizeof(len), len))
			break;
		at += (uint32_t)sizeof(len) + kept(play, len);
	}
	play->held_bytes -= at;
	if (play->held_bytes == 0)
		play_free_held(play);
	else
		memmove(play->held, play->held + at, play->held_bytes);
	while (play->held_bytes == 0 && play->missed != 0 && play_udp_answer(play, NULL, 0))
		play->missed--;
	if (!play->session->is_open && play->held_bytes + play->missed != 0)
		note_surplus(play, count_held(play));
}

void play_udp_grow(struct play *play)
{
	take_held(play);
	play_feed(play);
	play_udp_advance(play);
}
