// SPDX-License-Identifier: BSD-3-Clause
// Plays that found all send buffers of their stack lent. They get the next ones in the order in which they came:
// without it a play may be overtaken until the end of the run, and its target may not wait so long for the rest of a
// request.

#include "player_priv.h"

void play_queue(struct play *play, bool waits)
{
	struct play_queue *queue = &play->player->queues[play->net];

	if (waits && !play->is_queued)
		TAILQ_INSERT_TAIL(queue, play, link);
	else if (!waits && play->is_queued)
		TAILQ_REMOVE(queue, play, link);
	play->is_queued = waits;
}

void player_run_queues(struct tl_player *player)
{
	for (uint32_t i = 0; i < player->cfg.n_nets; i++) {
		struct play *play;
		while ((play = TAILQ_FIRST(&player->queues[i])) != NULL && tl_tcp_room(play->c) != 0)
			play_advance(play); // it sends, and leaves
	}
}
