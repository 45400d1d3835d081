// SPDX-License-Identifier: BSD-3-Clause
// A step of a run: send due messages, receive echoes.

#include "session_priv.h"

#include <errno.h>

static bool stamps(const struct tl_client_session *s)
{
	return s->cfg->timestamps != TL_CLIENT_STAMPS_USER;
}

// ---- connections

static void end_stream(struct tl_client_session *s)
{
	s->echoes_read += s->stream_bytes / s->cfg->payload_bytes;
	s->stream_bytes = 0;
	s->part_ns = 0;
	tl_client_framer_reset(&s->framer);
}

// Reset the state of a connection, if it is a new one.
static void new_connection(struct tl_client_session *s)
{
	if (s->connections_framed == s->link->connections)
		return;
	s->connections_framed = s->link->connections;
	end_stream(s);
	s->cold_left = s->cfg->cold;
	if (stamps(s) && s->cfg->mode == TL_CLIENT_TCP)
		tl_client_stamps_begin(&s->stamps, s->next);
}

// ---- sending

uint64_t tl_client_due_ns(const struct tl_client_session *s, uint64_t seq)
{
	uint64_t rate = s->cfg->rate_pps;
	seq -= seq % tl_client_burst(s->cfg);
	return s->start_ns + seq / rate * TL_NS_PER_S + seq % rate * TL_NS_PER_S / rate;
}

static void prepare_next(struct tl_client_session *s)
{
	s->next++;
	s->out_left = s->cfg->payload_bytes;
	if (s->next < s->account.planned)
		tl_client_payload_make(s->out, s->out_left, s->cfg->seed, s->next);
}

static void message_failed(struct tl_client_session *s)
{
	s->send_errors++;
	prepare_next(s);
}

// Account for a sent message. With a lead it leaves at its due time, after now.
static void message_sent(struct tl_client_session *s, uint64_t now)
{
	s->last_send_ns = tl_max_u64(now, s->link->due_ns);
	if (s->account.sent == 0)
		s->first_send_ns = s->last_send_ns;
	tl_client_account_sent(&s->account, s->next);
	s->sent_ns = tl_mono_ns();
	tl_client_host_ran_here(&s->host);
	prepare_next(s);
}

static bool is_cut(const struct tl_client_session *s)
{
	return s->out_left < s->cfg->payload_bytes;
}

bool tl_client_all_sent(const struct tl_client_session *s)
{
	return s->next == s->account.planned;
}

bool tl_client_is_due(const struct tl_client_session *s, uint64_t now)
{
	return !tl_client_all_sent(s) && now + s->link->lead_ns >= tl_client_due_ns(s, s->next) && now < s->give_up_ns;
}

static bool send_one(struct tl_client_session *s, uint64_t now)
{
	if (!tl_client_is_due(s, now))
		return false;

	new_connection(s);
	size_t len = s->cfg->payload_bytes;
	s->link->due_ns = tl_client_due_ns(s, s->next);
	ssize_t n = s->link->ops->send(s->link, s->out + len - s->out_left, s->out_left);
	if (n == -EAGAIN)
		return false;
	if (n < 0) {
		message_failed(s);
		return true;
	}
	if (!is_cut(s))
		tl_hist_record(&s->late, tl_client_since_ns(s->link->due_ns, now));
	s->out_left -= (size_t)n;
	if (stamps(s))
		tl_client_stamps_sent(
			&s->stamps, s->next, s->cfg->mode == TL_CLIENT_TCP ? (uint64_t)n : 1, s->out_left == 0);
	if (s->out_left == 0)
		message_sent(s, now);
	return true;
}

bool tl_client_send_due(struct tl_client_session *s, uint64_t now)
{
	bool sent = send_one(s, now), more = sent;

	while (more && s->next % tl_client_burst(s->cfg) != 0)
		more = send_one(s, tl_mono_ns());
	return sent;
}

// ---- receiving

static void take_echo(struct tl_client_session *s, const uint8_t *echo, size_t len,
	const struct tl_client_arrival *arrival, uint64_t now)
{
	uint64_t seq = 0;
	bool intact = len == s->cfg->payload_bytes && tl_client_payload_check(echo, len, s->cfg->seed, &seq);

	if (tl_client_account_echo(&s->account, seq, intact) == TL_CLIENT_RECEIVED)
		tl_client_take_sample(s, seq, arrival, now);
}

static void connection_lost(struct tl_client_session *s)
{
	s->link->ops->lost(s->link);
	end_stream(s);
	if (s->cfg->mode == TL_CLIENT_TCP && is_cut(s))
		message_failed(s);
}

// Take data of a stream. An echo is complete when the last of its parts has arrived: its stamp is the latest of theirs.
// If the part read last has no stamp, the echo has none.
static void take_stream(struct tl_client_session *s, const uint8_t *data, size_t len,
	const struct tl_client_arrival *arrival, uint64_t now)
{
	struct tl_client_arrival whole = *arrival;
	const uint8_t *echo;

	if (whole.stamp_ns != 0)
		whole.stamp_ns = tl_max_u64(whole.stamp_ns, s->part_ns);
	s->stream_bytes += len;
	while ((echo = tl_client_framer_next(&s->framer, &data, &len)) != NULL) {
		take_echo(s, echo, s->cfg->payload_bytes, &whole, now);
		whole = *arrival;
		s->part_ns = 0;
	}
	if (s->framer.have_bytes != 0)
		s->part_ns = tl_max_u64(s->part_ns, whole.stamp_ns);
}

// Return the size of the next read, at most TL_CLIENT_IN_BYTES. A read has one stamp: with stamps it must not extend
// beyond the end of an echo.
static size_t read_room(const struct tl_client_session *s)
{
	if (s->cfg->mode == TL_CLIENT_UDP || !stamps(s))
		return TL_CLIENT_IN_BYTES;
	return tl_min_u64(s->cfg->payload_bytes - s->framer.have_bytes, TL_CLIENT_IN_BYTES);
}

bool tl_client_receive(struct tl_client_session *s)
{
	bool stream = s->cfg->mode != TL_CLIENT_UDP;
	struct tl_client_arrival arrival;

	new_connection(s);
	ssize_t n = s->link->ops->receive(s->link, s->in, read_room(s), &arrival);
	uint64_t now = tl_mono_ns();
	if (n < 0 &&
		(!stream || n == -EAGAIN)) { // a UDP socket reports errors of earlier sends: those messages stay lost
		s->look_ns = now;
		return false;
	}
	if (stream && n <= 0) {
		connection_lost(s);
	} else if (stream) {
		take_stream(s, s->in, (size_t)n, &arrival, now);
	} else {
		s->echoes_read++;
		take_echo(s, s->in, (size_t)n, &arrival, now);
	}
	return true;
}

void tl_client_traffic_end(struct tl_client_session *s)
{
	end_stream(s);
	if (is_cut(s))
		s->send_errors++;
}
