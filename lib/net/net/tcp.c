// SPDX-License-Identifier: BSD-3-Clause
// User calls: connect, listen, close, abort. Reports from ICMP and ARP.

#include <errno.h>

#include "tcp_output.h"
#include "tcp_secret.h"
#include "tcp_seg.h"
#include "tcp_table.h"

static const struct tl_tcp_opts DEFAULT_OPTS;

// ---- open

int tl_tcp_connect(struct tl_net *net, uint32_t dst_ip_be, uint16_t dst_port_be, const struct tl_tcp_ops *ops,
	void *ctx, const struct tl_tcp_opts *opts, struct tl_tcp **out)
{
	if (ops == NULL || ops->closed == NULL || dst_port_be == 0 || tl_ip_is_mcast(dst_ip_be))
		return -EINVAL;
	if (!tl_ip_reachable(net, dst_ip_be))
		return -EHOSTUNREACH;
	uint16_t port_be = tl_tcp_local_port(net, dst_ip_be, dst_port_be);
	if (port_be == 0)
		return -EADDRNOTAVAIL;

	tl_tcp_settle(net);
	tl_tcp_enter(net->tcp);
	struct tl_tcp *c = tl_tcp_take(
		net, tl_tcp_key(dst_ip_be, dst_port_be, port_be), ops, ctx, opts != NULL ? opts : &DEFAULT_OPTS);
	if (c != NULL) {
		c->reported = true;
		c->offer_scale = true;
		c->sack = true;
		c->stamped = true;
		c->stamp_offset = tl_tcp_stamp_offset(net, c->key);
		c->state = TL_TCPS_SYN_SENT;
		tl_tcp_connecting(c);
		tl_tcp_start_sequence(c, tl_tcp_isn(net, c->key));
		tl_count(&net->stats.tcp_active_opens, 1);
		tl_tcp_send_syn(c);
		*out = c;
	}
	tl_tcp_leave(net->tcp);
	return c != NULL ? 0 : -ENOSPC;
}

int tl_tcp_listen(struct tl_net *net, uint16_t port_be, uint32_t max_conns, const struct tl_tcp_ops *ops, void *ctx,
	const struct tl_tcp_opts *opts, struct tl_tcp_listener **out)
{
	if (ops == NULL || ops->closed == NULL || port_be == 0)
		return -EINVAL;
	if (tl_tcp_find_listener(net->tcp, port_be) != NULL)
		return -EADDRINUSE;
	for (uint32_t i = 0; i < net->cfg.listeners; i++) {
		struct tl_tcp_listener *l = &net->tcp->listener[i];
		if (l->port_be != 0)
			continue;
		*l = (struct tl_tcp_listener){
			.net = net,
			.ops = ops,
			.ctx = ctx,
			.opts = opts != NULL ? *opts : DEFAULT_OPTS,
			.max_conns = max_conns,
			.port_be = port_be,
			.next = *tl_tcp_listening(net->tcp, port_be),
		};
		*tl_tcp_listening(net->tcp, port_be) = l;
		*out = l;
		return 0;
	}
	return -ENOSPC;
}

// Abort the handshake of c, whose listener is closing (RFC 9293, section 3.10.4).
static void detach(struct tl_tcp *c)
{
	tl_tcp_opening_end(c);
	c->listener->conns--;
	c->listener = NULL;
	if (c->state != TL_TCPS_SYN_RECEIVED)
		return;
	tl_tcp_send_rst(c);
	tl_tcp_end(c, TL_TCP_ABORTED);
}

static void unlink_listener(struct tl_tcp_table *table, struct tl_tcp_listener *listener)
{
	struct tl_tcp_listener **link = tl_tcp_listening(table, listener->port_be);

	while (*link != listener)
		link = &(*link)->next;
	*link = listener->next;
}

void tl_tcp_unlisten(struct tl_tcp_listener *listener)
{
	struct tl_net *net = listener->net;
	struct tl_tcp_table *table = net->tcp;

	tl_tcp_settle(net);
	tl_tcp_enter(table);
	for (uint32_t i = 0; i < net->cfg.max_conns + TL_TCP_SPARE && listener->conns != 0; i++) {
		if (table->conns[i].listener == listener)
			detach(&table->conns[i]);
	}
	unlink_listener(table, listener);
	listener->port_be = 0;
	tl_tcp_leave(table);
}

// ---- close

static bool is_opening(const struct tl_tcp *c)
{
	return c->state == TL_TCPS_SYN_SENT || c->state == TL_TCPS_SYN_RECEIVED;
}

static void close_stream(struct tl_tcp *c, enum tl_tcp_state next)
{
	c->fin_queued = true;
	c->state = next;
	tl_tcp_ready_stop(c);
	tl_tcp_output(c);
}

void tl_tcp_close(struct tl_tcp *c)
{
	struct tl_tcp_table *table = c->net->tcp;

	tl_tcp_settle(c->net);
	tl_tcp_enter(table);
	switch (c->state) {
	case TL_TCPS_SYN_SENT:
		tl_tcp_end(c, TL_TCP_DONE);
		break;
	case TL_TCPS_SYN_RECEIVED: // the FIN follows the handshake
		c->fin_queued = true;
		break;
	case TL_TCPS_ESTABLISHED:
		close_stream(c, TL_TCPS_FIN_WAIT_1);
		break;
	case TL_TCPS_CLOSE_WAIT:
		close_stream(c, TL_TCPS_LAST_ACK);
		break;
	default:
		break;
	}
	tl_tcp_leave(table);
}

void tl_tcp_abort(struct tl_tcp *c)
{
	struct tl_tcp_table *table = c->net->tcp;

	if (!tl_tcp_alive(c))
		return;
	tl_tcp_settle(c->net);
	tl_tcp_enter(table);
	if (c->state != TL_TCPS_SYN_SENT) // RFC 9293, section 3.10.5
		tl_tcp_send_rst(c);
	tl_tcp_end(c, TL_TCP_ABORTED);
	tl_tcp_leave(table);
}

void tl_tcp_close_all(struct tl_net *net, bool at_once)
{
	struct tl_tcp_table *table = net->tcp;
	uint32_t slots = net->cfg.max_conns + TL_TCP_SPARE;

	for (uint32_t i = 0; i < slots; i++)
		table->conns[i].marked = tl_tcp_alive(&table->conns[i]);
	tl_tcp_settle(net);
	tl_tcp_enter(table);
	for (uint32_t i = 0; i < slots; i++) { // second pass: closed() may open others
		struct tl_tcp *c = &table->conns[i];
		if (c->marked && (at_once || is_opening(c)))
			tl_tcp_abort(c);
		else if (c->marked)
			tl_tcp_close(c);
	}
	tl_tcp_leave(table);
}

// ---- reports from ICMP and ARP

enum { ICMP_PROTOCOL_UNREACHABLE = 2, ICMP_PORT_UNREACHABLE = 3 };

void tl_tcp_unreachable(
	struct tl_net *net, uint8_t code, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be, uint32_t seq)
{
	struct tl_tcp_table *table = net->tcp;
	struct tl_tcp *c = tl_tcp_find(net, tl_tcp_key(dst_be, dst_port_be, src_port_be));

	tl_tcp_settle(net);
	if (c == NULL || tl_seq_lt(seq, c->snd_una) || !tl_seq_lt(seq, c->snd_max)) // RFC 5927, section 4.1
		return;
	c->soft_error = true;
	// An ICMP error ends no established connection (RFC 5461, section 4). Which errors are hard before: RFC 1122,
	// section 4.2.3.9.
	if (!is_opening(c) || (code != ICMP_PROTOCOL_UNREACHABLE && code != ICMP_PORT_UNREACHABLE))
		return;
	tl_tcp_enter(table);
	tl_tcp_end(c, TL_TCP_UNREACHABLE);
	tl_tcp_leave(table);
}

static bool uses_hop(const struct tl_net *net, const struct tl_tcp *c, uint32_t next_hop_be)
{
	return tl_ip_next_hop_be(net, c->key.peer_be) == next_hop_be;
}

// Move the connections that use the hop to the head of the queue, marked. Only opening ones: a table may have a million
// others.
static void mark_by_hop(struct tl_tcp_queue *queue, uint32_t next_hop_be)
{
	struct tl_tcp *c, *next;

	for (c = TAILQ_FIRST(queue); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		c->marked = uses_hop(c->net, c, next_hop_be);
		if (!c->marked)
			continue;
		TAILQ_REMOVE(queue, c, link);
		TAILQ_INSERT_HEAD(queue, c, link);
	}
}

static void end_marked(struct tl_tcp_queue *queue)
{
	struct tl_tcp *c;

	while ((c = TAILQ_FIRST(queue)) != NULL && c->marked)
		tl_tcp_end(c, TL_TCP_UNREACHABLE);
}

void tl_tcp_arp_failed(struct tl_net *net, uint32_t next_hop_be)
{
	struct tl_tcp_table *table = net->tcp;

	tl_tcp_settle(net);
	tl_tcp_enter(table);
	mark_by_hop(&table->half_open, next_hop_be);
	mark_by_hop(&table->connecting, next_hop_be);
	end_marked(&table->half_open); // second pass: closed() may open others through the same hop
	end_marked(&table->connecting);
	tl_tcp_leave(table);
}

// ---- accessors

void tl_tcp_set_ctx(struct tl_tcp *c, void *ctx)
{
	c->ctx = ctx;
}

void tl_tcp_peer(const struct tl_tcp *c, uint32_t *ip_be, uint16_t *port_be)
{
	*ip_be = c->key.peer_be;
	*port_be = c->key.peer_port_be;
}

uint32_t tl_tcp_acked(const struct tl_tcp *c)
{
	return c->snd_una - c->iss;
}

bool tl_tcp_probes_window(const struct tl_tcp *c)
{
	return c->persisting;
}

const char *tl_tcp_reason_text(enum tl_tcp_reason reason)
{
	static const char *const TEXTS[] = {
		[TL_TCP_DONE] = "connection closed",
		[TL_TCP_REFUSED] = "connection refused",
		[TL_TCP_RESET] = "connection reset by peer",
		[TL_TCP_TIMEOUT] = "connection timed out",
		[TL_TCP_UNREACHABLE] = "host unreachable",
		[TL_TCP_ABORTED] = "connection aborted",
	};
	return TEXTS[reason];
}
