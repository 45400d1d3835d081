// SPDX-License-Identifier: BSD-3-Clause
// Connections of an echo: listen, connect with backoff, orderly close.

#include "delay.h"
#include "police.h"

#include <errno.h>
#include <string.h>

#include <rte_pause.h>

#include <tl_units.h>

#define CLOSE_TIMEOUT_NS TL_NS_PER_S // timeout for peers to close their side when the appliance ends
#define HALF_CLOSED_TIMEOUT_NS (5 * TL_NS_PER_S)
#define USER_TIMEOUT_MS 20000
#define WARM_BYTES 16

static void set_state(struct tl_echo *echo, enum tl_echo_state state)
{
	atomic_store_explicit(&echo->state, (int)state, memory_order_relaxed);
}

static void on_opened(void *ctx, struct tl_tcp *c)
{
	struct tl_echo *echo = ctx;

	tl_count(&echo->stats.connects, 1);
	tl_count(&echo->stats.connections, 1);
	if (c != echo->conn)
		return; // accepted by the listener
	echo->backoff_ns = echo->cfg.reconnect_min_ns;
	set_state(echo, TL_ECHO_CONNECTED);
}

// Move unacknowledged messages from echoed to lost.
static void count_lost(struct tl_echo *echo, const struct tl_tcp *c)
{
	struct tl_tcp_unacked lost = tl_tcp_unacked(c);

	tl_count(&echo->stats.echoed_msgs, -(uint64_t)lost.msgs);
	tl_count(&echo->stats.echoed_bytes, -(uint64_t)lost.bytes);
	tl_count(&echo->stats.lost_unacked_msgs, lost.msgs);
}

static void on_accepted_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct tl_echo *echo = ctx;

	count_lost(echo, c);
	tl_count(&echo->stats.disconnects, 1);
	tl_count(&echo->stats.connections, UINT64_MAX); // minus one
}

static bool is_open(const struct tl_echo *echo)
{
	int state = atomic_load_explicit(&echo->state, memory_order_relaxed);

	return state == TL_ECHO_CONNECTED || state == TL_ECHO_HALF_CLOSED || state == TL_ECHO_CLOSING;
}

static void on_connected_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct tl_echo *echo = ctx;

	tl_echo_count_sent(echo);
	count_lost(echo, c);
	if (is_open(echo)) {
		tl_count(&echo->stats.disconnects, 1);
		tl_count(&echo->stats.connections, UINT64_MAX);
	}
	echo->conn = NULL;
	echo->retry_at_ns = 0; // set by the next tick
	set_state(echo, echo->host->closing ? TL_ECHO_CLOSED : TL_ECHO_WAITING);
}

// Discard data from the peer, to keep our window open.
static void ignore_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
}

// Keep sending to a peer that has half-closed: it may still receive.
static void on_half_closed(void *ctx, struct tl_tcp *c)
{
	struct tl_echo *echo = ctx;

	echo->acked_at_fin = tl_tcp_acked(c);
	echo->retry_at_ns = 0;
	set_state(echo, TL_ECHO_HALF_CLOSED);
}

// Close our side, too, after the queued data.
static void on_peer_closed(void *ctx, struct tl_tcp *c)
{
	tl_tcp_close(c);
}

static void on_paced(void *ctx, struct tl_tcp *c)
{
	struct tl_echo *echo = ctx;

	tl_count(&echo->stats.paced_waits, 1);
}

static const struct tl_tcp_ops connect_ops = {.opened = on_opened,
	.data = ignore_data,
	.paced = on_paced,
	.peer_closed = on_half_closed,
	.closed = on_connected_closed};
static const struct tl_tcp_ops accept_ops = {.opened = on_opened,
	.data = tl_echo_tcp_data,
	.paced = on_paced,
	.peer_closed = on_peer_closed,
	.closed = on_accepted_closed};
static const struct tl_tcp_ops listed_accept_ops = {.opened = on_opened,
	.data = tl_echo_listed_tcp_data,
	.paced = on_paced,
	.peer_closed = on_peer_closed,
	.closed = on_accepted_closed};
static const struct tl_tcp_ops marking_accept_ops = {.opened = on_opened,
	.data = tl_echo_marking_tcp_data,
	.paced = on_paced,
	.peer_closed = on_peer_closed,
	.closed = on_accepted_closed};

// ---- the same with a delay: the context of a connection is its stream

static void on_delayed_opened(void *ctx, struct tl_tcp *c)
{
	on_opened(ctx, c);
	tl_delay_stream_open(ctx, c);
}

static void on_delayed_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct delay_stream *stream = ctx;

	tl_delay_stream_close(stream);
	on_accepted_closed(stream->echo, c, reason);
}

static void on_delayed_paced(void *ctx, struct tl_tcp *c)
{
	on_paced(((struct delay_stream *)ctx)->echo, c);
}

static const struct tl_tcp_ops delayed_accept_ops = {.opened = on_delayed_opened,
	.data = tl_delay_tcp_data,
	.paced = on_delayed_paced,
	.peer_closed = tl_delay_peer_closed,
	.closed = on_delayed_closed};

// Callbacks of an echo.
struct conn_calls {
	void (*mcast)(void *echo, const struct tl_udp_datagram *datagram);
	void (*udp)(void *echo, const struct tl_udp_datagram *datagram);
	const struct tl_tcp_ops *accept;
};
static const struct conn_calls at_once = {tl_echo_mcast_datagram, tl_echo_udp_datagram, &accept_ops};
static const struct conn_calls listed = {
	tl_echo_listed_mcast_datagram, tl_echo_listed_udp_datagram, &listed_accept_ops};
static const struct conn_calls marking = {
	tl_echo_marking_mcast_datagram, tl_echo_marking_udp_datagram, &marking_accept_ops};
static const struct conn_calls delayed = {tl_delay_mcast_datagram, tl_delay_udp_datagram, &delayed_accept_ops};

// Return the callbacks of an echo; those of its policer come before its own.
static struct conn_calls calls_of(struct tl_echo *echo)
{
	struct conn_calls calls = echo->host->n_echoes > TL_ECHO_FEW ? listed : at_once;

	if (echo->delay != NULL)
		calls = delayed;
	else if (echo->host->tx_stamp != NULL)
		calls = marking;
	if (echo->police != NULL) {
		echo->police->mcast = calls.mcast;
		echo->police->udp = calls.udp;
		calls.mcast = tl_echo_policed_mcast_datagram;
		calls.udp = tl_echo_policed_udp_datagram;
	}
	return calls;
}

static struct tl_tcp_opts tcp_opts(const struct tl_echo *echo)
{
	return (struct tl_tcp_opts){.send_buffer_bytes = echo->cfg.send_buffer_bytes,
		.window_follows_room = echo->cfg.kind == TL_ECHO_KIND_TCP,
		.own_buffer = echo->cfg.kind == TL_ECHO_KIND_MCAST_TO_TCP,
		.without_cwnd = echo->cfg.without_cwnd,
		.keepalive_idle_ns = echo->cfg.keepalive_ns,
		.rto_min_us = echo->cfg.rto_min_us,
		.pace_bps = echo->cfg.pace_bps,
		.user_timeout_ms = echo->cfg.user_timeout_ms != 0 ? echo->cfg.user_timeout_ms : USER_TIMEOUT_MS,
		.user_timeout_option = echo->cfg.user_timeout_option,
		.connect_timeout_ms = 3000};
}

static void try_connect(struct tl_echo *echo)
{
	const struct tl_echo_cfg *cfg = &echo->cfg;
	struct tl_tcp_opts opts = tcp_opts(echo);

	set_state(echo, TL_ECHO_CONNECTING);
	if (tl_tcp_connect(echo->host->net, cfg->connect_ip_be, cfg->connect_port_be, &connect_ops, echo, &opts,
		    &echo->conn) != 0) {
		echo->conn = NULL;
		echo->retry_at_ns = 0;
		set_state(echo, TL_ECHO_WAITING);
	}
}

// Close a half-closed connection unless the peer acknowledges messages. A terminated process half-closes as well, and
// sends RST only for later data: without a message it looks like a peer that still receives. An ACK for a message sent
// after the FIN proves that the peer receives; without one in time the echo reconnects before the next message. While
// messages wait for a shut window, its probes decide: a peer that is alive answers them, RST says that it is not, and
// the user timeout ends a connection without either.
static void check_half_closed(struct tl_echo *echo, uint64_t mono_ns)
{
	if (echo->retry_at_ns == 0 || tl_tcp_probes_window(echo->conn)) {
		echo->retry_at_ns = mono_ns + HALF_CLOSED_TIMEOUT_NS;
	} else if (mono_ns >= echo->retry_at_ns && tl_tcp_acked(echo->conn) != echo->acked_at_fin) {
		echo->retry_at_ns = UINT64_MAX;
	} else if (mono_ns >= echo->retry_at_ns) {
		set_state(echo, TL_ECHO_CLOSING);
		tl_tcp_close(echo->conn);
	}
}

// Schedule the next attempt, then make it. The wait doubles up to reconnect_max_ns.
static void keep_connected(struct tl_echo *echo, uint64_t mono_ns)
{
	int state = atomic_load_explicit(&echo->state, memory_order_relaxed);

	if (state == TL_ECHO_IDLE) {
		try_connect(echo);
	} else if (state == TL_ECHO_HALF_CLOSED) {
		check_half_closed(echo, mono_ns);
	} else if (state == TL_ECHO_WAITING && echo->retry_at_ns == 0) {
		echo->retry_at_ns = mono_ns + echo->backoff_ns;
		echo->backoff_ns = tl_min_u64(2 * echo->backoff_ns, echo->cfg.reconnect_max_ns);
	} else if (state == TL_ECHO_WAITING && mono_ns >= echo->retry_at_ns) {
		try_connect(echo);
	}
}

static void close_ports(struct tl_echo *echo, bool replies)
{
	if (echo->udp != NULL && !replies) {
		tl_udp_close(echo->udp);
		echo->udp = NULL;
	}
	if (echo->listener != NULL) {
		tl_tcp_unlisten(echo->listener);
		echo->listener = NULL;
	}
}

// Close what no delayed reply needs any more.
static void shut(struct tl_echo_host *host)
{
	bool udp_waits = false, tcp_waits = false;

	for (uint32_t i = 0; i < host->n_echoes; i++) {
		struct tl_echo *echo = &host->echoes[i];
		bool waits = echo->stats.waiting_msgs != 0, by_udp = echo->cfg.kind == TL_ECHO_KIND_UDP;
		udp_waits |= waits && by_udp;
		tcp_waits |= waits && !by_udp;
		close_ports(echo, waits && by_udp);
	}
	if (!tcp_waits && !host->hung_up) {
		host->hung_up = true;
		tl_tcp_close_all(host->net, false);
	}
	host->shut = !udp_waits && !tcp_waits;
}

// Reset connections whose peers do not close in time.
static void reset_closing(struct tl_echo_host *host, uint64_t mono_ns)
{
	if (host->reset_at_ns == 0)
		host->reset_at_ns = mono_ns + CLOSE_TIMEOUT_NS;
	else if (mono_ns >= host->reset_at_ns)
		tl_tcp_close_all(host->net, true);
}

// Keep the send path in the cache between messages.
static void keep_warm(struct tl_echo *echo)
{
	static const uint8_t message[WARM_BYTES];

	if (echo->cfg.warm && echo->conn != NULL)
		(void)tl_tcp_warm(echo->conn, message, sizeof(message));
}

static void announce_after_link_up(struct tl_echo_host *host, uint64_t mono_ns)
{
	uint32_t ups = atomic_load_explicit(&host->link_ups, memory_order_relaxed);

	if (ups == host->announced_ups)
		return;
	host->announced_ups = ups;
	tl_net_announce_again(host->net, mono_ns);
}

// Work on some echoes in turn: on all, if they are few.
static void tick_echoes(struct tl_echo_host *host, uint64_t mono_ns)
{
	for (uint64_t n = tl_min_u64(host->n_echoes, TL_ECHO_TURN); n > 0; n--) {
		struct tl_echo *echo = &host->echoes[host->next_tick];
		host->next_tick = host->next_tick + 1 < host->n_echoes ? host->next_tick + 1 : 0;
		if (echo->cfg.kind != TL_ECHO_KIND_MCAST_TO_TCP)
			continue;
		keep_connected(echo, mono_ns);
		keep_warm(echo);
	}
}

void tl_echo_tick(void *ctx, uint64_t mono_ns)
{
	struct tl_echo_host *host = ctx;

	announce_after_link_up(host, mono_ns);
	if (host->copies != NULL)
		tl_echo_take_copies(host, mono_ns);
	tl_net_tick(host->net, mono_ns);
	if (host->closing && !host->shut)
		shut(host);
	if (host->closing)
		reset_closing(host, mono_ns);
	if (!host->closing)
		tick_echoes(host, mono_ns);
}

// Number of the IPv6 address if it is set, else the IPv4 address.
static uint32_t number_of(struct tl_net *net, const struct tl_ip6 *ip6, uint32_t ip_be)
{
	return tl_ip6_is_set(ip6) ? tl_net_ip6(net, ip6) : ip_be;
}

static void number_addresses(struct tl_net *net, struct tl_echo_cfg *cfg)
{
	cfg->group_be = number_of(net, &cfg->group6, cfg->group_be);
	cfg->source_be = number_of(net, &cfg->source6, cfg->source_be);
	cfg->connect_ip_be = number_of(net, &cfg->connect_ip6, cfg->connect_ip_be);
}

// Count a reply that the send queue dropped.
static void count_dropped_reply(void *ctx, uint16_t len)
{
	struct tl_echo *echo = ctx;

	tl_count(&echo->stats.echoed_msgs, UINT64_MAX); // minus one
	tl_count(&echo->stats.echoed_bytes, -(uint64_t)len);
	tl_count(&echo->stats.drop_tx_msgs, 1);
}

int tl_echo_open(struct tl_echo *echo, struct tl_err *err)
{
	struct tl_net *net = echo->host->net;
	const struct tl_echo_cfg *cfg = &echo->cfg;
	struct tl_tcp_opts opts = tcp_opts(echo);
	const struct conn_calls calls = calls_of(echo);
	int rc;

	echo->backoff_ns = echo->cfg.reconnect_min_ns;
	number_addresses(net, &echo->cfg);
	if (cfg->kind == TL_ECHO_KIND_MCAST_TO_TCP) {
		rc = tl_udp_open_groups(net, cfg->group_be, cfg->n_groups != 0 ? cfg->n_groups : 1, cfg->source_be,
			cfg->udp_port_be, calls.mcast, echo, &echo->udp);
	} else if (cfg->kind == TL_ECHO_KIND_UDP) {
		rc = tl_udp_open(net, 0, 0, cfg->listen_port_be, calls.udp, echo, &echo->udp);
		if (rc == 0)
			tl_udp_watch(echo->udp, tl_echo_held_datagram, count_dropped_reply);
		set_state(echo, TL_ECHO_LISTENING);
	} else {
		rc = tl_tcp_listen(
			net, cfg->listen_port_be, cfg->max_connections, calls.accept, echo, &opts, &echo->listener);
		set_state(echo, TL_ECHO_LISTENING);
	}
	return rc == 0 ? 0 : tl_fail(err, rc, "echo %s: cannot open its port (%s)", echo->name, strerror(-rc));
}

void tl_echo_close(void *ctx)
{
	struct tl_echo_host *host = ctx;

	host->closing = true;
	shut(host);
}

bool tl_echo_closed(void *ctx)
{
	const struct tl_echo_host *host = ctx;

	return host->shut && tl_tcp_in_use(host->net, NULL) == 0;
}

// Hand over no more, and process what the other lcores hand over until they have ended.
void tl_echo_finish(void *ctx)
{
	struct tl_echo_host *host = ctx;
	uint64_t mono_ns = tl_clock_mono_ns(host->clock, rte_rdtsc());
	bool last;

	tl_steer_end(host->steer);
	do {
		last = tl_steer_all_ended(host->steer); // before the last poll
		while ((host->is_staged ? tl_echo_staged_poll : tl_echo_poll)(host, mono_ns) != 0)
			tl_txq_record_sent(host->tx);
		rte_pause();
	} while (!last);
}
