// SPDX-License-Identifier: BSD-3-Clause
// Player: which session begins when.

#include "player_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <tl_err.h>

#define RESOLVE_NS (5 * TL_NS_PER_S)

// ---- set-up

static int by_time(const void *a_session, const void *b_session)
{
	const struct tl_session *a = *(const struct tl_session *const *)a_session;
	const struct tl_session *b = *(const struct tl_session *const *)b_session;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static bool has_room_for(const struct tl_player *player, const struct tl_session *s)
{
	return player->n_order - player->next < player->room &&
	       (player->cfg.sessions != NULL ||
		       player->waiting_bytes + player_content_bytes(s) <= player->cfg.backlog_bytes);
}

static void count_unplayed(struct tl_player *player, const struct tl_session *s, enum tl_player_row row)
{
	player_count(player, row, NULL, NULL);
	player_played(player, s, player->cfg.plays);
}

void tl_player_add(struct tl_player *player, const struct tl_session *s)
{
	struct tl_player_ledger *ledger = &player->stats.ledger;

	ledger->found_sessions++;
	if (s->class != TL_SESSION_COMPLETE) {
		count_unplayed(player, s, TL_PLAYER_INCOMPLETE + s->class - 1);
	} else if (s->is_tls && !player->cfg.opaque) {
		count_unplayed(player, s, TL_PLAYER_TLS);
	} else if (!has_room_for(player, s)) {
		count_unplayed(player, s, TL_PLAYER_DROPPED);
	} else {
		player->order[player->n_order++ % player->room] = s;
		player->waiting_bytes += player_content_bytes(s);
		ledger->copied_sessions += player->cfg.plays - 1;
	}
}

// Add the sessions of cfg.
static void add_all(struct tl_player *player)
{
	const struct tl_session_set *sessions = player->cfg.sessions;

	for (uint64_t i = 0; sessions != NULL && i < tl_session_count(sessions); i++)
		tl_player_add(player, tl_session_at(sessions, i));
	qsort(player->order, player->n_order, sizeof(*player->order), by_time);
}

static bool allocate(struct tl_player *player)
{
	uint32_t slots = player->slots = player->cfg.at_a_time + player->cfg.resting;

	player->targets_be = calloc(player->cfg.n_nets, sizeof(*player->targets_be));
	player->queues = calloc(2 * (size_t)player->cfg.n_nets, sizeof(*player->queues));
	player->order = calloc(player->room, sizeof(struct tl_session *));
	player->plays = calloc(slots, sizeof(*player->plays));
	player->free_slots = calloc(slots, sizeof(*player->free_slots));
	player->due.node = calloc(slots, sizeof(*player->due.node));
	player->due.place = calloc(slots, sizeof(*player->due.place));
	player->target = malloc(sizeof(*player->target));
	player->recorded = malloc(sizeof(*player->recorded));
	player->failures = calloc(TL_PLAYER_FAILURES_MAX, sizeof(*player->failures));
	for (uint32_t i = 0; player->queues != NULL && i < 2 * player->cfg.n_nets; i++)
		TAILQ_INIT(&player->queues[i]);
	player->rests = player->queues != NULL ? &player->queues[player->cfg.n_nets] : NULL;
	return player->targets_be != NULL && player->queues != NULL && player->order != NULL && player->plays != NULL &&
	       player->free_slots != NULL && player->due.node != NULL && player->due.place != NULL &&
	       player->target != NULL && player->recorded != NULL && player->failures != NULL;
}

int tl_player_create(const struct tl_player_cfg *cfg, struct tl_player **out, struct tl_err *err)
{
	struct tl_player *player = calloc(1, sizeof(*player));

	if (player == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	player->cfg = *cfg;
	player->room = cfg->sessions != NULL ? tl_session_count(cfg->sessions) + 1 : cfg->backlog;
	if (!allocate(player)) {
		tl_player_destroy(player);
		return tl_fail(err, -ENOMEM, "not enough memory");
	}
	player_nets_name_target(player);
	tl_hist_init(player->target);
	tl_hist_init(player->recorded);
	for (uint32_t i = 0; i < player->slots; i++)
		player->free_slots[player->n_free++] = player->slots - 1 - i;
	add_all(player);
	*out = player;
	return 0;
}

void tl_player_destroy(struct tl_player *player)
{
	if (player == NULL)
		return;
	free(player->targets_be);
	free(player->queues);
	free(player->order);
	free(player->plays);
	free(player->free_slots);
	free(player->due.node);
	free(player->due.place);
	free(player->target);
	free(player->recorded);
	free(player->failures);
	free(player);
}

// ---- the ledger

void player_count(struct tl_player *player, enum tl_player_row row, const struct play *play, const char *reason)
{
	player->stats.ledger.rows[row]++;
	if (play == NULL || row == TL_PLAYER_COMPLETED || player->n_failures == TL_PLAYER_FAILURES_MAX)
		return;
	player->failures[player->n_failures++] = (struct tl_player_failure){.session = *play->session,
		.copy = play->copy,
		.row = row,
		.sent_bytes = play->sent,
		.received_bytes = play->session->is_udp ? play->datagram_bytes : play->received,
		.differs_at = play->differs_at,
		.reason = reason};
}

// ---- the run

static uint64_t next_due_ns(const struct tl_player *player)
{
	if (player->cfg.at_once)
		return player->origin_ns;
	return player->origin_ns +
	       player_scaled(player, player_next_session(player)->first_ns - player->order[0]->first_ns);
}

static void leave_next(struct tl_player *player, uint64_t bytes)
{
	player->next_copy = 0;
	player->next++;
	player->waiting_bytes -= bytes;
}

// Count the plays of an open session that became incomplete before they began.
static void leave_incomplete(struct tl_player *player, const struct tl_session *session)
{
	uint32_t left = player->cfg.plays - player->next_copy;

	player->stats.ledger.rows[TL_PLAYER_INCOMPLETE + session->class - 1] += left;
	leave_next(player, player_content_bytes(session));
	player_played(player, session, left);
}

// True if another play may begin.
static bool has_place(const struct tl_player *player)
{
	return player->n_free != 0 && player->stats.active - player->n_resting < player->cfg.at_a_time;
}

// Begin the sessions that are due, and their copies.
static void begin_due(struct tl_player *player)
{
	while (player_is_any_left(player) && player->now_ns >= next_due_ns(player)) {
		const struct tl_session *session = player_next_session(player);
		uint64_t bytes = player_content_bytes(session);
		if (session->class != TL_SESSION_COMPLETE) {
			leave_incomplete(player, session);
			continue;
		}
		if (!has_place(player) || !play_begin(player, session, player->next_copy)) {
			player->stats.waited_sessions += !player->has_waited && !player->cfg.at_once;
			player->has_waited = true;
			return;
		}
		player->has_waited = false;
		if (++player->next_copy == player->cfg.plays)
			leave_next(player, bytes);
	}
}

static void run_due(struct tl_player *player)
{
	player_run_queues(player); // before those that could take a buffer now
	while (tl_heap_due(&player->due) <= player->now_ns)
		play_advance(&player->plays[tl_heap_first(&player->due)]);
}

// Resolve the next hop before the first session: of several SYNs that wait for it, the stack keeps one. A target that
// is not resolved in time gets its connections all the same, for a row each.
static bool is_resolved(struct tl_player *player)
{
	if (!player->resolved && player->begun) {
		bool in_time = player->now_ns - player->origin_ns < RESOLVE_NS;
		player->resolved = player_nets_resolved(player) || !in_time;
		if (player->resolved)
			player->origin_ns = player->now_ns;
	}
	return player->resolved;
}

void tl_player_begin(struct tl_player *player, uint64_t mono_ns)
{
	player->origin_ns = player->now_ns = mono_ns;
	player->begun = true;
}

void tl_player_input(struct tl_player *player, struct tl_burst *burst)
{
	player->now_ns = burst->mono_ns;
	player_nets_input(player, burst);
	run_due(player);
}

void tl_player_tick(struct tl_player *player, uint64_t mono_ns)
{
	player->now_ns = mono_ns;
	player_nets_tick(player, mono_ns);
	run_due(player);
	if (is_resolved(player))
		begin_due(player);
}

void tl_player_stop(struct tl_player *player)
{
	uint64_t left = player->n_order - player->next;

	for (uint32_t i = 0; i < player->slots; i++)
		if (player->plays[i].session != NULL)
			play_abort(&player->plays[i], TL_PLAYER_STOPPED);
	player->stats.ledger.rows[TL_PLAYER_UNSENT] += left * player->cfg.plays - player->next_copy;
	player->next = player->n_order;
	player->next_copy = 0;
}

uint64_t tl_player_next_in_ns(const struct tl_player *player)
{
	uint64_t due_ns = player_is_any_left(player) ? next_due_ns(player) : 0;

	return due_ns > player->now_ns ? due_ns - player->now_ns : 0;
}

bool tl_player_is_done(const struct tl_player *player)
{
	return !player_is_any_left(player) && player->stats.active == 0;
}

const struct tl_player_stats *tl_player_get_stats(const struct tl_player *player)
{
	return &player->stats;
}

const struct tl_hist *tl_player_target_times(const struct tl_player *player)
{
	return player->target;
}

const struct tl_hist *tl_player_recorded_times(const struct tl_player *player)
{
	return player->recorded;
}

size_t tl_player_failures(const struct tl_player *player, const struct tl_player_failure **out)
{
	*out = player->failures;
	return player->n_failures;
}
