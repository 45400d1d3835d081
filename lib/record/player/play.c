// SPDX-License-Identifier: BSD-3-Clause
// A session in progress. The stack's callbacks record what happened and make the play due; its steps are taken outside
// of them.

#include "player_priv.h"

#include <errno.h>
#include <string.h>

#define CHUNK_BYTES 16384u	  // per send call
#define WINDOW_BYTES (256u << 10) // receive window
#define CONNECT_TIMEOUT_MS_MAX 60000
#define LOOK_NS TL_NS_PER_MS // at acknowledged bytes

static const struct tl_tcp_ops play_ops;

// ---- due times

void play_set_due(struct play *play, uint64_t due_ns)
{
	tl_heap_set(&play->player->due, play->slot, due_ns);
}

void play_touch(struct play *play)
{
	play->moved_ns = play->player->now_ns;
	play_set_due(play, play->moved_ns);
}

// ---- begin and end

void play_release(struct play *play)
{
	struct tl_player *player = play->player;

	play_set_due(play, TL_HEAP_NEVER);
	play_queue(play, false);
	play_unlink(play);
	player->stats.active--;
	player->free_slots[player->n_free++] = play->slot;
	player_played(player, play->session, 1);
	play->session = NULL;
	play->c = NULL;
}

static uint32_t connect_timeout_ms(const struct tl_player *player)
{
	return (uint32_t)tl_max_u64(1, tl_min_u64(player->cfg.timeout_ns / TL_NS_PER_MS, CONNECT_TIMEOUT_MS_MAX));
}

bool play_begin(struct tl_player *player, const struct tl_session *session, uint32_t copy)
{
	const struct tl_player_cfg *cfg = &player->cfg;
	const struct tl_tcp_opts opts = {
		.recv_window_bytes = WINDOW_BYTES, .connect_timeout_ms = connect_timeout_ms(player)};
	uint16_t port_be = cfg->target_port_be != 0 ? cfg->target_port_be : session->end[TL_SESSION_SERVER].port_be;
	uint32_t slot = player->free_slots[player->n_free - 1];
	struct play *play = &player->plays[slot];

	*play = (struct play){.player = player,
		.session = session,
		.slot = slot,
		.copy = copy,
		.net = (uint32_t)(player->turn % cfg->n_nets),
		.begin_ns = player->now_ns,
		.differs_at = UINT64_MAX};
	int rc = session->is_udp ? play_udp_open(play)
				 : tl_tcp_connect(cfg->nets[play->net], player->targets_be[play->net], port_be,
					   &play_ops, play, &opts, &play->c);
	if (rc == -ENOSPC || rc == -EADDRNOTAVAIL) {
		play->session = NULL;
		return false;
	}
	player->n_free--;
	player->turn++;
	player->stats.active++;
	if (rc == 0) {
		play_link(play);
		play_touch(play);
	} else {
		player_count(player, TL_PLAYER_UNREACHABLE, play, strerrordesc_np(-rc));
		play_release(play);
	}
	return true;
}

void play_abort(struct play *play, enum tl_player_row row)
{
	if (play->session->is_udp) {
		play_udp_end(play, row, "");
		return;
	}
	play->verdict = row;
	if (play->closed)
		play_conclude(play, TL_TCP_ABORTED);
	else
		tl_tcp_abort(play->c); // ends in on_closed()
}

// True if only answers that have come and the recorded server's RST are left of the script.
static bool awaits_reset(const struct play *play)
{
	const struct tl_session *s = play->session;
	uint32_t step = play->step;

	while (step + 1 < s->n_steps && s->steps[step].side == TL_SESSION_SERVER &&
		s->steps[step].event == TL_SESSION_DATA)
		step++;
	return step + 1 == s->n_steps && s->steps[step].side == TL_SESSION_SERVER &&
	       s->steps[step].event == TL_SESSION_RST && play->received == s->bytes[TL_SESSION_SERVER];
}

static enum tl_player_row row_of(const struct play *play, enum tl_tcp_reason reason)
{
	if (reason == TL_TCP_ABORTED && play->verdict == TL_PLAYER_STOPPED)
		return TL_PLAYER_STOPPED;
	if (play->differs_at != UINT64_MAX)
		return TL_PLAYER_DIVERGED;
	switch (reason) {
	case TL_TCP_DONE:
		return TL_PLAYER_COMPLETED;
	case TL_TCP_REFUSED:
		return TL_PLAYER_REFUSED;
	case TL_TCP_RESET:
		return awaits_reset(play) ? TL_PLAYER_COMPLETED : TL_PLAYER_RESET_BY_TARGET;
	case TL_TCP_TIMEOUT:
		return TL_PLAYER_TIMEOUT;
	case TL_TCP_UNREACHABLE:
		return TL_PLAYER_UNREACHABLE;
	case TL_TCP_ABORTED:
		break;
	}
	return play->verdict;
}

// ---- callbacks of the stack

static void on_opened(void *ctx, struct tl_tcp *c)
{
	struct play *play = ctx;

	play->opened = true;
	play_touch(play);
}

static void on_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct play *play = ctx;
	struct tl_player *player = play->player;

	play_answered(play);
	if (play->differs_at == UINT64_MAX)
		play->differs_at = play_compare(play, data, len);
	play_hold(play, data, len);
	play->received += len;
	player->stats.received_bytes += len;
	play_touch(play);
}

static void on_room(void *ctx, struct tl_tcp *c)
{
	play_touch(ctx);
}

static void on_peer_closed(void *ctx, struct tl_tcp *c)
{
	play_take_end(ctx);
	play_touch(ctx);
}

void play_conclude(struct play *play, enum tl_tcp_reason reason)
{
	bool ours = reason == TL_TCP_DONE || reason == TL_TCP_ABORTED;

	player_count(play->player, row_of(play, reason), play, ours ? "" : tl_tcp_reason_text(reason));
	play_release(play);
}

static void on_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct play *play = ctx;
	bool is_end = reason == TL_TCP_DONE || reason == TL_TCP_RESET;

	if (reason == TL_TCP_DONE)
		play_take_end(play); // after our FIN it is not reported otherwise
	if (!play->session->is_open || !is_end || play->differs_at != UINT64_MAX) {
		play_conclude(play, reason);
		return;
	}
	play_queue(play, false);
	play->closed = true; // the recorded session may end so, too
	play->reason = reason;
	play->c = NULL;
	play_set_due(play, TL_HEAP_NEVER);
}

static const struct tl_tcp_ops play_ops = {
	.opened = on_opened, .data = on_data, .room = on_room, .peer_closed = on_peer_closed, .closed = on_closed};

// ---- steps

// Nothing could be sent. With bytes of its own in flight on_room() follows; otherwise all send buffers are lent.
static enum progress await_room(const struct play *play)
{
	return tl_tcp_unacked(play->c).bytes != 0 ? WAITS_FOR_TARGET : WAITS_FOR_BUFFER;
}

static enum progress send_bytes(struct play *play, const struct tl_session_step *step)
{
	const uint8_t *data = play->session->data[TL_SESSION_CLIENT];

	while (play->step_sent < step->bytes) {
		uint64_t room = tl_max_u64(tl_tcp_room(play->c), 1); // without room the call gives the reason
		uint32_t len = (uint32_t)tl_min_u64(tl_min_u64(step->bytes - play->step_sent, CHUNK_BYTES), room);
		int rc = tl_tcp_send(play->c, data + play->sent, len);
		if (rc == -ENOBUFS)
			return await_room(play);
		if (rc != 0)
			return WAITS_FOR_TARGET; // on_closed() follows
		play->sent += len;
		play->step_sent += len;
		play->moved_ns = play->player->now_ns;
		play->player->stats.sent_bytes += len;
	}
	play->step_sent = 0;
	play_ask(play, step, play->player->now_ns);
	return NEXT;
}

// Send RST, once the target has all bytes: those that it has not acknowledged would be lost.
static enum progress reset(struct play *play)
{
	if (tl_tcp_unacked(play->c).bytes != 0)
		return WAITS_FOR_ACKS;
	if (play->differs_at == UINT64_MAX && play->received < play->needed)
		play->differs_at = play->received; // by time: the answer is missing
	play_abort(play, TL_PLAYER_COMPLETED);
	return CLOSED;
}

static enum progress take_client_step(struct play *play, const struct tl_session_step *step)
{
	if (!play->opened)
		return WAITS_FOR_TARGET;
	switch (step->event) {
	case TL_SESSION_DATA:
		return send_bytes(play, step);
	case TL_SESSION_FIN:
		play->closing = true;
		tl_tcp_close(play->c);
		return play->session != NULL ? NEXT : CLOSED;
	case TL_SESSION_RST:
		break;
	}
	return reset(play);
}

static enum progress take_server_step(struct play *play, const struct tl_session_step *step)
{
	uint64_t needed = play->needed + step->bytes;

	if (step->event != TL_SESSION_DATA) {
		if (!play->peer_closed || play->fin_taken) // a RST follows the FIN
			return WAITS_FOR_TARGET;
		play->fin_taken = true;
		return NEXT;
	}
	if (play->player->cfg.wait == TL_PLAYER_BYTES && play->received < needed)
		return WAITS_FOR_TARGET;
	play->needed = needed;
	return NEXT;
}

uint64_t play_step_due_ns(const struct play *play, const struct tl_session_step *step)
{
	uint64_t after_ns = step->at_ns > play->session->first_ns ? step->at_ns - play->session->first_ns : 0;

	return play->begin_ns + player_scaled(play->player, after_ns);
}

static enum progress take_step(struct play *play, uint64_t *due_ns)
{
	const struct tl_player *player = play->player;
	const struct tl_session_step *step = &play->session->steps[play->step];

	*due_ns = TL_HEAP_NEVER;
	if (step->side == TL_SESSION_SERVER)
		return take_server_step(play, step);
	if (player->cfg.wait == TL_PLAYER_TIME && play_step_due_ns(play, step) > player->now_ns) {
		*due_ns = play_step_due_ns(play, step);
		return WAITS_FOR_TIME;
	}
	return take_client_step(play, step);
}

// True if the rest of the script cannot be played: the target has closed before it answered.
static bool is_cut_short(const struct play *play)
{
	return play->peer_closed && play->received < play->session->bytes[TL_SESSION_SERVER];
}

// Close after the last step, once the answers are complete.
static enum progress finish(struct play *play)
{
	if (play->closing || !play->opened)
		return WAITS_FOR_TARGET;
	if (play->received < play->session->bytes[TL_SESSION_SERVER] && !play->peer_closed)
		return WAITS_FOR_TARGET;
	play->closing = true;
	tl_tcp_close(play->c);
	return play->session != NULL ? WAITS_FOR_TARGET : CLOSED;
}

// Look again at the timeout. Of bytes acknowledged after our FIN no callback tells.
static void await(struct play *play, enum progress progress)
{
	const struct tl_player *player = play->player;
	uint64_t end_ns = play->moved_ns + player->cfg.timeout_ns;

	if (end_ns <= player->now_ns)
		play_abort(play, TL_PLAYER_TIMEOUT);
	else
		play_set_due(play, progress == WAITS_FOR_ACKS ? tl_min_u64(end_ns, player->now_ns + LOOK_NS) : end_ns);
}

static void advance(struct play *play)
{
	struct tl_player *player = play->player;
	const struct tl_session *s = play->session;
	enum progress progress = NEXT;
	uint64_t due_ns = 0;

	while (progress == NEXT && play->step < s->n_steps && !is_cut_short(play)) {
		progress = take_step(play, &due_ns);
		if (progress == NEXT) {
			play->step++;
			play->moved_ns = player->now_ns;
		}
	}
	if (progress == NEXT && s->is_open && !is_cut_short(play)) {
		play->starved = true;
		play_queue(play, false);
		play_set_due(play, TL_HEAP_NEVER);
		return;
	}
	if (progress == NEXT)
		progress = finish(play);
	if (progress == CLOSED)
		return;
	play_queue(play, progress == WAITS_FOR_BUFFER);
	if (progress == WAITS_FOR_TARGET || progress == WAITS_FOR_ACKS)
		await(play, progress);
	else
		play_set_due(play, due_ns);
}

void play_advance(struct play *play)
{
	if (play->session->is_udp)
		play_udp_advance(play);
	else
		advance(play);
}
