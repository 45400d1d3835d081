// SPDX-License-Identifier: BSD-3-Clause
// A UDP flow in progress: a socket, whose datagrams are counted against the recorded answers. Nothing is sent again.

#include "player_priv.h"

#include <errno.h>
#include <string.h>

#define FIRST_PORT 49152u // RFC 6335, section 6
#define PORTS 16384u
#define RETRY_NS TL_NS_PER_MS // for an mbuf, or a port

static uint16_t target_port_be(const struct play *play)
{
	const struct tl_player_cfg *cfg = &play->player->cfg;

	return cfg->target_port_be != 0 ? cfg->target_port_be : play->session->end[TL_SESSION_SERVER].port_be;
}

// Find the step of the next answer; NULL: the recording has no more.
static const struct tl_session_step *next_answer(struct play *play)
{
	const struct tl_session *s = play->session;

	while (play->answer_step < s->n_steps && s->steps[play->answer_step].side != TL_SESSION_SERVER)
		play->answer_step++;
	return play->answer_step < s->n_steps ? &s->steps[play->answer_step++] : NULL;
}

// Compare an answer with the recorded one. Return the offset in the recorded answers of the first difference.
static uint64_t compare(const struct play *play, const uint8_t *data, uint16_t len, uint64_t recorded_bytes)
{
	uint64_t both = tl_min_u64(len, recorded_bytes);
	uint64_t at = both != 0 ? play_compare(play, data, (uint32_t)both) : UINT64_MAX;

	return at == UINT64_MAX && len != recorded_bytes ? play->received + both : at;
}

bool play_udp_answer(struct play *play, const uint8_t *data, uint16_t len)
{
	const struct tl_session_step *step = next_answer(play);

	if (step == NULL)
		return false;
	if (play->differs_at == UINT64_MAX && data != NULL)
		play->differs_at = compare(play, data, len, step->bytes);
	play->received += step->bytes;
	return true;
}

static void on_datagram(void *ctx, const struct tl_udp_datagram *datagram)
{
	struct play *play = ctx;

	if (datagram->src_ip_be != play->player->targets_be[play->net] || datagram->src_port_be != target_port_be(play))
		return;
	play_answered(play);
	if (!play_udp_answer(play, datagram->payload, datagram->len))
		play_udp_surplus(play, datagram);
	play->answers++;
	play->datagram_bytes += datagram->len;
	play->player->stats.received_bytes += datagram->len;
	play_touch(play);
}

static int open_port(struct play *play, uint16_t port_be)
{
	struct tl_net *net = play->player->cfg.nets[play->net];
	int rc = tl_udp_open(net, 0, 0, port_be, on_datagram, play, &play->udp);

	if (rc == -ENOSPC && player_udp_give_up(play->player, play->net))
		rc = tl_udp_open(net, 0, 0, port_be, on_datagram, play, &play->udp);
	play->udp_port_be = rc == 0 ? port_be : play->udp_port_be;
	return rc;
}

// A flow that goes on gets its port again, unless another one has it.
int play_udp_open(struct play *play)
{
	struct tl_player *player = play->player;
	int rc = play->udp_port_be != 0 ? open_port(play, play->udp_port_be) : -EADDRINUSE;

	for (uint32_t i = 0; i < PORTS && rc == -EADDRINUSE; i++) {
		player->udp_port = (uint16_t)((player->udp_port + 1u) % PORTS);
		rc = open_port(play, tl_be16((uint16_t)(FIRST_PORT + player->udp_port)));
	}
	return rc;
}

void play_udp_end(struct play *play, enum tl_player_row row, const char *reason)
{
	play_udp_wake(play);
	if (play->udp != NULL)
		tl_udp_close(play->udp);
	play->udp = NULL;
	if (row != TL_PLAYER_STOPPED && play->differs_at != UINT64_MAX)
		row = TL_PLAYER_DIVERGED;
	player_count(play->player, row, play, reason);
	play_release(play);
}

// ---- steps

// Resolve the next hop: the stack would keep only the last of the datagrams that wait for it.
static enum progress resolve(struct play *play)
{
	struct tl_player *player = play->player;
	int rc = tl_net_resolve(player->cfg.nets[play->net], player->targets_be[play->net]);

	if (rc == 0) {
		play->unresolved_ns = 0;
		return NEXT;
	}
	if (play->unresolved_ns == 0)
		play->unresolved_ns = player->now_ns;
	if (rc == -EAGAIN && player->now_ns - play->unresolved_ns < player->cfg.timeout_ns)
		return WAITS_FOR_TIME;
	play_udp_end(play, TL_PLAYER_UNREACHABLE, strerrordesc_np(EHOSTUNREACH));
	return CLOSED;
}

static enum progress send_datagram(struct play *play, const struct tl_session_step *step)
{
	const uint8_t *data = play->session->data[TL_SESSION_CLIENT];
	int rc = tl_udp_send(play->udp, play->player->targets_be[play->net], target_port_be(play),
		data != NULL ? data + play->sent : (const uint8_t *)"", (uint16_t)step->bytes);

	if (rc == -ENOBUFS)
		return WAITS_FOR_TIME;
	if (rc < 0) {
		play_udp_end(play, TL_PLAYER_UNREACHABLE, strerrordesc_np(-rc));
		return CLOSED;
	}
	play->sent += step->bytes;
	play->player->stats.sent_bytes += step->bytes;
	play_ask(play, step, play->player->now_ns);
	return NEXT;
}

static enum progress take_step(struct play *play, uint64_t *due_ns)
{
	const struct tl_player *player = play->player;
	const struct tl_session_step *step = &play->session->steps[play->step];

	*due_ns = player->now_ns + RETRY_NS;
	if (step->side == TL_SESSION_SERVER) {
		if (player->cfg.wait == TL_PLAYER_BYTES && play->answers <= play->awaited)
			return WAITS_FOR_TARGET;
		play->awaited++;
		play->needed += step->bytes;
		return NEXT;
	}
	if (player->cfg.wait == TL_PLAYER_TIME && play_step_due_ns(play, step) > player->now_ns) {
		*due_ns = play_step_due_ns(play, step);
		return WAITS_FOR_TIME;
	}
	enum progress progress = resolve(play);
	return progress == NEXT ? send_datagram(play, step) : progress;
}

static enum progress take_steps(struct play *play, uint64_t *due_ns)
{
	enum progress progress = NEXT;

	while (progress == NEXT && play->step < play->session->n_steps) {
		progress = take_step(play, due_ns);
		if (progress == NEXT) {
			play->step++;
			play->moved_ns = play->player->now_ns;
		}
	}
	return progress;
}

void play_udp_advance(struct play *play)
{
	struct tl_player *player = play->player;
	uint64_t due_ns = 0;

	play_udp_wake(play);
	if (play->udp == NULL && play->step < play->session->n_steps && play_udp_open(play) != 0) {
		play_set_due(play, player->now_ns + RETRY_NS);
		return;
	}
	enum progress progress = take_steps(play, &due_ns);
	if (progress == CLOSED)
		return;
	if (progress == NEXT && play->session->is_open) {
		play_udp_rest(play);
		return;
	}
	if (progress == NEXT && play->answers >= play->awaited) {
		play_udp_end(play, TL_PLAYER_COMPLETED, "");
		return;
	}
	if (progress != WAITS_FOR_TIME)
		due_ns = play->moved_ns + player->cfg.timeout_ns;
	if (progress != WAITS_FOR_TIME && due_ns <= player->now_ns)
		play_udp_end(play, TL_PLAYER_UNANSWERED, "");
	else
		play_set_due(play, due_ns);
}
