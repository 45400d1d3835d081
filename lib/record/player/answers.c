// SPDX-License-Identifier: BSD-3-Clause
// Answers of the target beside the recorded ones: their bytes, and the times until they begin.

#include "player_priv.h"

bool play_expects_all(const struct play *play)
{
	const struct tl_session *s = play->session;
	const struct tl_session_step *last = &s->steps[s->n_steps - 1]; // it has ended

	if (last->side != TL_SESSION_CLIENT || last->event != TL_SESSION_RST)
		return true;
	for (const struct tl_session_step *step = s->steps + play->step; step < last; step++)
		if (step->side == TL_SESSION_CLIENT && step->event == TL_SESSION_DATA)
			return true;
	return false;
}

uint64_t play_compare(const struct play *play, const uint8_t *data, uint32_t len)
{
	uint64_t recorded = play->session->bytes[TL_SESSION_SERVER], at = play->received;
	uint64_t same = at < recorded ? tl_min_u64(len, recorded - at) : 0;

	for (uint64_t i = 0; i < same && !play->player->cfg.lengths_only; i++)
		if (data[i] != play->session->data[TL_SESSION_SERVER][at + i])
			return at + i;
	return same < len && !play->session->is_open && play_expects_all(play) ? recorded : UINT64_MAX;
}

void play_answered(struct play *play)
{
	struct tl_player *player = play->player;

	if (play->asked_ns == 0)
		return;
	tl_hist_record(player->target, player->now_ns - play->asked_ns);
	tl_hist_record(player->recorded, play->recorded_ns);
	play->asked_ns = 0;
}

// The target has sent its FIN: recorded answers that have not come are missing.
void play_take_end(struct play *play)
{
	play->peer_closed = true;
	if (play->differs_at == UINT64_MAX && play->received < play->session->bytes[TL_SESSION_SERVER])
		play->differs_at = play->received;
}

void play_ask(struct play *play, const struct tl_session_step *step, uint64_t ns)
{
	const struct tl_session *s = play->session;
	const struct tl_session_step *answer = step + 1;

	while (answer != s->steps + s->n_steps && answer->side == TL_SESSION_CLIENT && answer->event == TL_SESSION_FIN)
		answer++;
	if (answer == s->steps + s->n_steps) {
		play->asked_early_ns = s->is_open ? ns : 0;
		return;
	}
	if (answer->side != TL_SESSION_SERVER || answer->event != TL_SESSION_DATA || play->received != play->needed)
		return; // another answer has begun, or is to come
	play->asked_ns = ns;
	play->recorded_ns = answer->at_ns > step->last_ns ? answer->at_ns - step->last_ns : 0;
}
