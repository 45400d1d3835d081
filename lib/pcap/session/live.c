// SPDX-License-Identifier: BSD-3-Clause
// Sessions one by one, while frames are added: each is taken when it has ended, and forgotten some time after its last
// frame.

#include "session_priv.h"

#define STEP_NS (10 * TL_NS_PER_S) // longer ones, forward or backward, are no passage of time

static bool is_given_up(const struct session *s)
{
	return s->taken && s->uses == 0;
}

// ---- end of a session

static void queue(struct tl_session_set *set, struct session *s)
{
	if (s->queued)
		return;
	s->queued = true;
	STAILQ_INSERT_TAIL(&set->waiting, s, waiting);
}

static void end(struct tl_session_set *set, struct session *s)
{
	s->ended = true;
	session_classify(set, s);
	queue(set, s);
}

// Free a session that is neither found nor in use.
static void try_free(struct tl_session_set *set, struct session *s)
{
	if (!s->retired || !is_given_up(s) || s->queued)
		return;
	struct session *last = set->list[--set->n];
	set->list[s->place] = last;
	last->place = s->place;
	session_free(set, s, sizeof(*s));
}

void session_retire(struct tl_session_set *set, struct session *s)
{
	TAILQ_REMOVE(&set->recent, s, recent);
	session_unlink(set, s);
	s->retired = true;
	if (!s->ended)
		end(set, s);
	try_free(set, s);
}

// True if a session that has not ended can be taken, and has steps that were not.
static bool is_offered(const struct tl_session_set *set, const struct session *s)
{
	bool opened = s->pub.is_udp || (s->stream[TL_SESSION_CLIENT].known && s->stream[TL_SESSION_SERVER].known);

	if (set->cfg.offer == TL_SESSION_AT_END || !opened)
		return false;
	if (s->taken)
		return s->pub.n_steps > s->taken_steps;
	return s->pub.is_udp || set->cfg.offer == TL_SESSION_AT_SYN || session_is_tls_known(s);
}

// ---- time

void session_note(struct tl_session_set *set, struct session *s)
{
	if (set->cfg.idle_ns == 0)
		return;
	s->last_ns = set->clock_ns;
	TAILQ_REMOVE(&set->recent, s, recent);
	TAILQ_INSERT_TAIL(&set->recent, s, recent);
	if (s->ended)
		return;
	if (session_is_over(s))
		end(set, s);
	else if (is_offered(set, s))
		queue(set, s);
}

void session_tick(struct tl_session_set *set, uint64_t ts_ns)
{
	struct session *oldest;

	if (ts_ns > set->latest_ns) {
		set->clock_ns += tl_min_u64(ts_ns - set->latest_ns, STEP_NS);
		set->latest_ns = ts_ns;
	} else if (set->latest_ns - ts_ns > STEP_NS) {
		set->latest_ns = ts_ns;
	}
	while ((oldest = TAILQ_FIRST(&set->recent)) != NULL && set->clock_ns - oldest->last_ns > set->cfg.idle_ns)
		session_retire(set, oldest);
}

// ---- the caller

// Remove the first waiting session that was not given up; NULL: none.
static struct session *next_waiting(struct tl_session_set *set)
{
	struct session *s;

	while ((s = STAILQ_FIRST(&set->waiting)) != NULL) {
		STAILQ_REMOVE_HEAD(&set->waiting, waiting);
		s->queued = false;
		if (!is_given_up(s))
			return s;
		try_free(set, s);
	}
	return NULL;
}

const struct tl_session *tl_session_take(struct tl_session_set *set, uint32_t uses)
{
	struct session *s = next_waiting(set);

	if (s == NULL)
		return NULL;
	session_publish(s);
	s->pub.is_open = !s->ended;
	s->pub.is_again = s->taken;
	s->pub.taken_bytes = s->taken_bytes;
	s->taken_bytes = s->pub.bytes[TL_SESSION_CLIENT] + s->pub.bytes[TL_SESSION_SERVER];
	s->taken_steps = s->pub.n_steps;
	s->uses = s->taken ? s->uses : uses;
	s->taken = true;
	return &s->pub;
}

void tl_session_release(struct tl_session_set *set, const struct tl_session *session, uint32_t uses)
{
	struct session *s = set->list[((const struct session *)session)->place];

	s->uses -= uses;
	if (s->uses != 0)
		return;
	session_empty(set, s, s->pub.class);
	if (!s->ended) // nobody is interested in the rest
		session_classify(set, s);
	s->ended = true;
	try_free(set, s);
	set->full = false;
}

void tl_session_end(struct tl_session_set *set)
{
	struct session *s;

	while ((s = TAILQ_FIRST(&set->recent)) != NULL) {
		s->pub.may_go_on = s->pub.is_udp;
		session_retire(set, s);
	}
}
