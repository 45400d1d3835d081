// SPDX-License-Identifier: BSD-3-Clause
// Echo of messages, and their residence time.

#include "echo_priv.h"

#include <errno.h>

static void count_received(struct tl_echo *echo, uint32_t len)
{
	tl_count(&echo->stats.received_msgs, 1);
	tl_count(&echo->stats.received_bytes, len);
}

// Count a message accepted by the stack; it leaves with the next flush unless a window holds it back.
static void count_echoed(struct tl_echo *echo, uint32_t len, bool held_back)
{
	tl_count(&echo->stats.echoed_msgs, 1);
	tl_count(&echo->stats.echoed_bytes, len);
	echo->pending_msgs += !held_back;
}

// Count a datagram that was not sent at once.
static __attribute__((noinline)) void count_not_sent(struct tl_echo *echo, uint32_t len, int rc)
{
	count_received(echo, len);
	if (rc == TL_TCP_HELD_BACK) {
		count_echoed(echo, len, true);
	} else if (rc == -ENOTCONN) {
		tl_count(&echo->stats.drop_no_conn_msgs, 1);
	} else {
		tl_count(&echo->stats.drop_full_msgs, 1);
		if (echo->cfg.on_full == TL_ECHO_FULL_RESET)
			tl_tcp_abort(echo->conn);
	}
}

// Echo a datagram; messages that leave at once are counted after the send call.
void tl_echo_mcast_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct tl_echo *echo = ctx;
	uint32_t len = d->len;
	int rc = TL_LIKELY(echo->conn != NULL) ? tl_tcp_send_held(echo->conn, d->payload, len) : -ENOTCONN;

	if (TL_UNLIKELY(rc != TL_TCP_SENT)) {
		count_not_sent(echo, len, rc);
		return;
	}
	echo->pending_msgs++;
	echo->pending_bytes += len;
}

void tl_echo_udp_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct tl_echo *echo = ctx;

	count_received(echo, d->len);
	if (TL_UNLIKELY(tl_echo_would_loop(echo->host, d->src_port_be))) {
		tl_count(&echo->stats.refused_msgs, 1);
		return;
	}
	int rc = tl_udp_send(echo->udp, d->src_ip_be, d->src_port_be, d->payload, d->len);
	if (TL_LIKELY(rc == 0))
		count_echoed(echo, d->len, false);
	else if (rc != TL_UDP_HELD)
		tl_count(&echo->stats.drop_tx_msgs, 1);
}

// Count a held reply; it has no residence time.
void tl_echo_held_datagram(void *ctx, uint16_t len, bool left)
{
	struct tl_echo *echo = ctx;

	if (left)
		count_echoed(echo, len, true);
	else
		tl_count(&echo->stats.drop_tx_msgs, 1);
}

// Echo data. The advertised window follows the room in the send buffer, so there is room for what arrives; if not,
// reset the connection rather than omit bytes.
void tl_echo_tcp_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct tl_echo *echo = ctx;
	int rc = tl_tcp_send_held(c, data, len);

	count_received(echo, len);
	if (TL_LIKELY(rc >= 0)) {
		count_echoed(echo, len, rc == TL_TCP_HELD_BACK);
		return;
	}
	tl_count(rc == -ENOBUFS ? &echo->stats.drop_full_msgs : &echo->stats.drop_no_conn_msgs, 1);
	tl_tcp_abort(c);
}

void tl_echo_listed_mcast_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	tl_echo_pend(ctx);
	tl_echo_mcast_datagram(ctx, d);
}

void tl_echo_listed_udp_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	tl_echo_pend(ctx);
	tl_echo_udp_datagram(ctx, d);
}

void tl_echo_listed_tcp_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	tl_echo_pend(ctx);
	tl_echo_tcp_data(ctx, c, data, len);
}

void tl_echo_rx(void *ctx, struct tl_burst *burst)
{
	struct tl_echo_host *host = ctx;

	if (TL_UNLIKELY(burst->n > 1)) {
		tl_echo_input(host, burst, burst, 0);
		return;
	}
	tl_echo_parse_at(burst, 0);
	tl_net_input(host->net, burst);
}

// Split the burst by owner first.
void tl_echo_steered_rx(void *ctx, struct tl_burst *burst)
{
	struct tl_echo_host *host = ctx;

	tl_echo_parse(burst, 0, burst->n);
	if (host->is_staged)
		tl_echo_stamp(&host->staged.parsed_tsc);
	struct tl_burst *own = tl_steer_split(host->steer, burst);
	tl_echo_input(host, own, burst, own->n);
}

void tl_echo_raise_alarms(const struct tl_echo_host *host, uint64_t stay_ns, uint64_t mono_ns)
{
	for (uint32_t i = 0; i < host->n_alarms; i++)
		if (stay_ns > host->alarms[i].above_ns)
			atomic_store_explicit(host->alarms[i].at_ns, mono_ns, memory_order_relaxed);
}

void tl_echo_count_sent(struct tl_echo *echo)
{
	tl_count(&echo->stats.received_msgs, echo->pending_msgs);
	tl_count(&echo->stats.received_bytes, echo->pending_bytes);
	tl_count(&echo->stats.echoed_msgs, echo->pending_msgs);
	tl_count(&echo->stats.echoed_bytes, echo->pending_bytes);
	echo->pending_msgs = 0;
	echo->pending_bytes = 0;
}

static void account_one(struct tl_echo_host *host, struct tl_echo *echo, const struct tl_burst *burst, bool sent)
{
	if (echo->pending_msgs == 0)
		return;
	if (TL_LIKELY(sent)) {
		uint64_t stay_ns = tl_clock_span_ns(host->clock, host->tx->begin_tsc - burst->tsc);
		uint64_t call_ns = tl_clock_span_ns(host->clock, host->tx->end_tsc - host->tx->begin_tsc);
		tl_hist_record_n(&echo->residence, stay_ns, echo->pending_msgs);
		tl_hist_record_n(&echo->tx_call, call_ns, echo->pending_msgs);
		if (TL_UNLIKELY(stay_ns > host->alarm_ns))
			tl_echo_raise_alarms(host, stay_ns, burst->mono_ns);
	}
	if (echo->cfg.kind == TL_ECHO_KIND_MCAST_TO_TCP)
		tl_echo_count_sent(echo);
	echo->pending_msgs = 0;
}

static void account_listed(struct tl_echo_host *host, const struct tl_burst *burst, bool sent)
{
	struct tl_echo *end = &host->echoes[host->n_echoes], *echo = host->pending, *next;

	for (host->pending = end; echo != end; echo = next) {
		next = echo->next_pending;
		echo->next_pending = NULL;
		account_one(host, echo, burst, sent);
	}
}

// Messages held back by a window have no residence time, nor those of a flush that sent only a part.
void tl_echo_account(struct tl_echo_host *host, const struct tl_burst *burst)
{
	bool sent = host->tx->begin_tsc >= burst->tsc && host->tx->n == 0;

	if (TL_UNLIKELY(host->marked.open))
		tl_echo_publish_marked(host, burst);
	if (host->n_echoes > TL_ECHO_FEW)
		account_listed(host, burst, sent);
	else
		for (uint32_t i = 0; i < host->n_echoes; i++)
			account_one(host, &host->echoes[i], burst, sent);
}

void tl_echo_after_tx(void *ctx, struct tl_burst *burst)
{
	struct tl_echo_host *host = ctx;

	tl_echo_account(host, burst);
	tl_net_sent(host->net);
}

uint16_t tl_echo_poll(void *ctx, uint64_t mono_ns)
{
	struct tl_echo_host *host = ctx;
	struct tl_burst *handed = tl_steer_take(host->steer, mono_ns);

	if (handed == NULL)
		return 0;
	tl_echo_input(host, handed, handed, handed->n);
	tl_txq_flush(host->tx);
	tl_echo_after_tx(host, handed);
	rte_pktmbuf_free_bulk(handed->pkts, handed->n);
	return handed->n;
}
