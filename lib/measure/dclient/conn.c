// SPDX-License-Identifier: BSD-3-Clause
// Connections of a link: setup, end, and the stack's callbacks.

#include "dclient_priv.h"

#include <string.h>

#include <tl_units.h>

#define RETRY_NS (50 * TL_NS_PER_MS)

// ---- callbacks of the stack

static bool is_current(const struct tl_dclient *host, const struct tl_tcp *c)
{
	return host->link != NULL && host->link->conn == c;
}

// Start a stream. Unread and unsent data of the previous one is discarded.
static void begin_stream(struct tl_dclient_link *l, struct tl_tcp *c)
{
	l->conn = c;
	l->up = l->ended = l->broken = false;
	tl_dclient_empty(&l->inbox);
	if (l->link.cfg->mode != TL_CLIENT_TCP)
		return; // messages are not part of it
	l->taken = l->left = 0;
	l->departure_first = l->departure_end;
}

// Handle a new connection. A peer that connects again while the old connection exists has lost the old one.
static void on_opened(void *ctx, struct tl_tcp *c)
{
	const struct tl_dclient *host = ctx;
	struct tl_dclient_link *l = host->link;

	if (l == NULL)
		return;
	if (l->listener != NULL) {
		struct tl_tcp *old = l->conn;
		begin_stream(l, c);
		if (old != NULL)
			tl_tcp_abort(old);
	}
	l->up = true;
	l->link.connections++;
}

static void on_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct tl_dclient *host = ctx;

	// A stream with a hole is unusable; the inbox is large enough to avoid this.
	if (is_current(host, c) && !tl_dclient_deliver(host, data, len))
		host->link->broken = true;
}

static void on_peer_closed(void *ctx, struct tl_tcp *c)
{
	const struct tl_dclient *host = ctx;

	if (is_current(host, c))
		host->link->ended = true;
	else
		tl_tcp_close(c);
}

static void on_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct tl_dclient *host = ctx;
	struct tl_dclient_link *l = host->link;

	if (!is_current(host, c))
		return;
	l->link.why =
		reason == TL_TCP_UNREACHABLE ? "no ARP reply, or reported unreachable" : tl_tcp_reason_text(reason);
	l->broken |= l->up && !l->ended;
	l->conn = NULL;
	if (!l->up)
		l->retry_at_ns = tl_mono_ns() + RETRY_NS;
}

const struct tl_tcp_ops tl_dclient_stream_ops = {
	.opened = on_opened, .data = on_data, .peer_closed = on_peer_closed, .closed = on_closed};

// ---- requests of the client

void tl_dclient_lost(struct tl_dclient_link *l)
{
	struct tl_tcp *c = l->conn;

	begin_stream(l, NULL);
	l->retry_at_ns = tl_mono_ns() + RETRY_NS;
	if (c != NULL)
		tl_tcp_close(c);
	tl_dclient_flush(l->host);
}

static void try_connect(struct tl_dclient_link *l)
{
	const struct tl_tcp_opts opts = {.recv_window_bytes = TL_DCLIENT_WINDOW_BYTES, .connect_timeout_ms = 3000};
	struct tl_tcp *c = NULL;
	int rc = tl_tcp_connect(l->host->net, l->to_be, l->to_port_be, &tl_dclient_stream_ops, l->host, &opts, &c);

	begin_stream(l, rc == 0 ? c : NULL);
	if (rc != 0) {
		l->link.why = strerrordesc_np(-rc);
		l->retry_at_ns = tl_mono_ns() + RETRY_NS;
	}
	tl_dclient_flush(l->host);
}

static void find_way(struct tl_dclient_link *l)
{
	l->up = tl_net_resolve(l->host->net, l->to_be) == 0;
	l->link.why = "no ARP reply from it, or from the gateway";
	tl_dclient_flush(l->host);
}

void tl_dclient_get_up(struct tl_dclient_link *l)
{
	enum tl_client_mode mode = l->link.cfg->mode;

	if (mode == TL_CLIENT_UDP)
		find_way(l);
	else if (mode == TL_CLIENT_TCP && l->conn == NULL && !l->broken && !l->ended && tl_mono_ns() >= l->retry_at_ns)
		try_connect(l);
}
