// SPDX-License-Identifier: BSD-3-Clause
// The path of a delayed message: from the stack into the wheel, and from there to the stack.

#include "delay.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include <tl_random.h>

#define DELAY_BURST 32 // messages per turn of the lcore, and send call

// ---- blocks

static void delay_free(struct tl_echo_delay *d, struct delay_block *msg)
{
	while (msg != NULL) {
		struct delay_block *next = msg->next;
		msg->next = d->free;
		d->free = msg;
		d->n_free++;
		msg = next;
	}
}

// Copy a message into blocks. NULL: too few are free.
static struct delay_block *delay_copy(struct tl_echo_delay *d, const uint8_t *payload, uint32_t len)
{
	struct delay_block *msg = NULL, **end = &msg;

	if (TL_UNLIKELY(len > DELAY_BYTES_MAX || d->n_free * (uint64_t)DELAY_DATA_BYTES < len || d->free == NULL))
		return NULL;
	do {
		struct delay_block *block = d->free;
		uint32_t n = (uint32_t)tl_min_u64(len, DELAY_DATA_BYTES);
		d->free = block->next;
		d->n_free--;
		memcpy(block->data, payload, n);
		*end = block;
		end = &block->next;
		payload += n;
		len -= n;
	} while (len > 0);
	*end = NULL;
	return msg;
}

// Return the bytes of a message in one piece.
static const uint8_t *delay_payload(struct tl_echo_delays *all, const struct delay_block *msg)
{
	uint32_t done = 0;

	if (TL_LIKELY(msg->next == NULL))
		return msg->data;
	for (const struct delay_block *block = msg; block != NULL; block = block->next) {
		uint32_t n = (uint32_t)tl_min_u64(msg->len - done, DELAY_DATA_BYTES);
		memcpy(all->whole + done, block->data, n);
		done += n;
	}
	return all->whole;
}

// ---- in

// Draw a delay: a random point of its distribution function, linear between two quantiles.
static uint64_t delay_draw(struct tl_echo_delay *d)
{
	uint64_t random = tl_random_next(&d->random);
	const uint64_t *from = &d->after_ns[random % DELAY_POINTS];

	return from[0] + ((from[1] - from[0]) * (random >> 40) >> 24);
}

static void delay_count_received(struct tl_echo *echo, uint32_t len)
{
	tl_count(&echo->stats.received_msgs, 1);
	tl_count(&echo->stats.received_bytes, len);
}

// Have a message wait, behind those of its stream. NULL: it is dropped and counted.
static struct delay_block *delay_hold(
	struct tl_echo *echo, struct delay_stream *stream, const uint8_t *payload, uint32_t len)
{
	struct tl_echo_delays *all = echo->host->delays;
	struct delay_block *msg = TL_LIKELY(!echo->host->closing) ? delay_copy(echo->delay, payload, len) : NULL;
	uint64_t now_ns = tl_net_now(echo->host->net);

	if (TL_UNLIKELY(msg == NULL)) {
		tl_count(&echo->stats.drop_delay_msgs, 1);
		return NULL;
	}
	uint64_t due_ns = now_ns + delay_draw(echo->delay);
	if (stream != NULL) {
		due_ns = stream->last_ns = tl_max_u64(due_ns, stream->last_ns);
		msg->life = stream->life;
	}
	msg->echo = echo;
	msg->stream = stream;
	msg->received_ns = now_ns;
	msg->len = len;
	if (all->wheel.levels == 0) // few digits differ from a time close ahead
		all->wheel.now_ns = tl_max_u64(now_ns, all->wheel.now_ns);
	tl_wheel_insert(&all->wheel, &msg->wait, tl_max_u64(due_ns, all->wheel.now_ns));
	tl_count(&echo->stats.waiting_msgs, 1);
	return msg;
}

void tl_delay_mcast_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct tl_echo *echo = ctx;

	delay_count_received(echo, d->len);
	(void)delay_hold(echo, &echo->delay->all, d->payload, d->len);
}

void tl_delay_udp_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct tl_echo *echo = ctx;

	delay_count_received(echo, d->len);
	if (TL_UNLIKELY(tl_echo_would_loop(echo->host, d->src_port_be))) {
		tl_count(&echo->stats.refused_msgs, 1);
		return;
	}
	struct delay_block *msg = delay_hold(echo, NULL, d->payload, d->len);
	if (TL_LIKELY(msg != NULL)) {
		msg->src_ip6 = (struct tl_ip6){0};
		(void)tl_net_ip6_of(echo->host->net, d->src_ip_be, &msg->src_ip6);
		msg->src_ip_be = d->src_ip_be;
		msg->src_port_be = d->src_port_be;
	}
}

// A connection that loses bytes is reset, as without a delay.
void tl_delay_tcp_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct delay_stream *stream = ctx;
	struct tl_echo *echo = stream->echo;

	delay_count_received(echo, len);
	if (TL_UNLIKELY(!tl_tcp_reserve(c, len))) {
		tl_count(&echo->stats.drop_full_msgs, 1);
		tl_tcp_abort(c);
	} else if (TL_UNLIKELY(delay_hold(echo, stream, data, len) == NULL)) {
		tl_tcp_abort(c);
	} else {
		stream->waiting++;
	}
}

// ---- connections

// One stream per connection that the listener permits.
void tl_delay_stream_open(struct tl_echo *echo, struct tl_tcp *c)
{
	struct delay_stream *stream = echo->delay->free_stream;

	echo->delay->free_stream = stream->next_free;
	stream->conn = c;
	stream->ended = false;
	stream->waiting = 0;
	stream->last_ns = 0;
	tl_tcp_set_ctx(c, stream);
}

void tl_delay_stream_close(struct delay_stream *stream)
{
	stream->life++;
	stream->conn = NULL;
	stream->next_free = stream->echo->delay->free_stream;
	stream->echo->delay->free_stream = stream;
}

void tl_delay_peer_closed(void *ctx, struct tl_tcp *c)
{
	struct delay_stream *stream = ctx;

	stream->ended = true;
	if (stream->waiting == 0)
		tl_tcp_close(c);
}

// ---- out

// Return the connection of a message; NULL: it ended.
static struct tl_tcp *delay_conn(const struct delay_block *msg)
{
	if (msg->echo->cfg.kind == TL_ECHO_KIND_MCAST_TO_TCP)
		return msg->echo->conn;
	return msg->life == msg->stream->life ? msg->stream->conn : NULL;
}

static void delay_count_echoed(struct tl_echo *echo, uint32_t len)
{
	tl_count(&echo->stats.echoed_msgs, 1);
	tl_count(&echo->stats.echoed_bytes, len);
}

// Send a UDP reply. Return whether it is in the send queue. One that waits for its next hop is counted by
// tl_echo_held_datagram().
static bool delay_reply(struct tl_echo *echo, const struct delay_block *msg, const uint8_t *payload)
{
	uint32_t src_ip_be =
		tl_ip6_is_set(&msg->src_ip6) ? tl_net_ip6_passing(echo->host->net, &msg->src_ip6) : msg->src_ip_be;
	int rc = tl_udp_send(echo->udp, src_ip_be, msg->src_port_be, payload, (uint16_t)msg->len);

	if (TL_LIKELY(rc == 0))
		delay_count_echoed(echo, msg->len);
	else if (rc != TL_UDP_HELD)
		tl_count(&echo->stats.drop_tx_msgs, 1);
	return rc == 0;
}

static void delay_count_not_sent(struct tl_echo *echo, struct tl_tcp *c, int rc)
{
	bool is_full = rc == -ENOBUFS;

	tl_count(is_full ? &echo->stats.drop_full_msgs : &echo->stats.drop_no_conn_msgs, 1);
	if (c != NULL && (echo->cfg.kind == TL_ECHO_KIND_TCP || (is_full && echo->cfg.on_full == TL_ECHO_FULL_RESET)))
		tl_tcp_abort(c);
}

// Give a message to its connection. Return whether all of it is in the send queue.
static bool delay_append(struct tl_echo *echo, const struct delay_block *msg, const uint8_t *payload)
{
	struct delay_stream *stream = msg->stream;
	struct tl_tcp *c = delay_conn(msg);
	int rc = -ENOTCONN;

	if (c != NULL && echo->cfg.kind == TL_ECHO_KIND_TCP)
		tl_tcp_unreserve(c, msg->len);
	if (TL_LIKELY(c != NULL))
		rc = tl_tcp_send(c, payload, msg->len);
	if (TL_UNLIKELY(rc != 0)) {
		delay_count_not_sent(echo, c, rc);
		return false;
	}
	delay_count_echoed(echo, msg->len);
	bool left = tl_tcp_unsent_bytes(c) == 0;
	if (echo->cfg.kind == TL_ECHO_KIND_TCP && --stream->waiting == 0 && stream->ended)
		tl_tcp_close(c);
	return left;
}

// Times of a message that is in the send queue.
struct delay_sent {
	struct tl_echo *echo;
	uint64_t due_ns, received_ns;
};

// After the send call: a message of a flush that sent only a part has no times.
static void delay_note(struct tl_echo_host *host, const struct delay_sent *sent, uint32_t n, uint64_t since_tsc)
{
	const struct tl_txq *tx = host->tx;

	if (TL_UNLIKELY(tx->begin_tsc < since_tsc || tx->n != 0))
		return;
	uint64_t begin_ns = tl_clock_mono_ns(host->clock, tx->begin_tsc);
	uint64_t call_ns = tl_clock_span_ns(host->clock, tx->end_tsc - tx->begin_tsc);
	for (const struct delay_sent *s = sent; s < sent + n; s++) {
		uint64_t stay_ns = tl_max_u64(begin_ns, s->received_ns) - s->received_ns;
		tl_hist_record(&s->echo->delay->lateness, tl_max_u64(begin_ns, s->due_ns) - s->due_ns);
		tl_hist_record(&s->echo->residence, stay_ns);
		tl_hist_record(&s->echo->tx_call, call_ns);
		if (TL_UNLIKELY(stay_ns > host->alarm_ns))
			tl_echo_raise_alarms(host, stay_ns, begin_ns);
	}
}

// Take the earliest message that is due; NULL: none is.
static struct delay_block *delay_pop(struct tl_echo_delays *all, uint64_t now_ns)
{
	struct tl_wheel_node *wait = tl_wheel_pop(&all->wheel, now_ns);

	if (wait == NULL)
		return NULL;
	struct delay_block *msg = (void *)((char *)wait - offsetof(struct delay_block, wait));
	tl_count(&msg->echo->stats.waiting_msgs, UINT64_MAX); // minus one
	return msg;
}

// Send what is due and fits the queue. The rest waits for the next turn.
static __attribute__((noinline)) uint16_t delay_send_due(struct tl_echo_host *host, uint64_t mono_ns)
{
	struct delay_sent sent[DELAY_BURST];
	struct delay_block *msg;
	uint64_t since_tsc = rte_rdtsc();
	uint32_t n_sent = 0;
	uint16_t n = 0;

	tl_net_set_time(host->net, mono_ns);
	for (; n < DELAY_BURST && tl_txq_has_room(host->tx) && (msg = delay_pop(host->delays, mono_ns)) != NULL; n++) {
		struct tl_echo *echo = msg->echo;
		const uint8_t *payload = delay_payload(host->delays, msg);
		bool left = echo->cfg.kind == TL_ECHO_KIND_UDP ? delay_reply(echo, msg, payload)
							       : delay_append(echo, msg, payload);
		if (TL_LIKELY(left))
			sent[n_sent++] = (struct delay_sent){echo, msg->wait.when_ns, msg->received_ns};
		delay_free(echo->delay, msg);
	}
	tl_txq_flush(host->tx);
	delay_note(host, sent, n_sent, since_tsc);
	tl_net_sent(host->net);
	return n;
}

uint16_t tl_delay_poll(void *ctx, uint64_t mono_ns)
{
	struct tl_echo_host *host = ctx;

	return TL_LIKELY(mono_ns < host->delays->wheel.next_ns) ? 0 : delay_send_due(host, mono_ns);
}

uint64_t tl_delay_next_ns(void *ctx)
{
	return ((struct tl_echo_host *)ctx)->delays->wheel.next_ns;
}

void tl_delay_end(void *ctx)
{
	struct tl_echo_host *host = ctx;
	struct delay_block *msg;

	while ((msg = delay_pop(host->delays, TL_WHEEL_NEVER)) != NULL) {
		tl_count(&msg->echo->stats.drop_delay_msgs, 1);
		delay_free(msg->echo->delay, msg);
	}
}
