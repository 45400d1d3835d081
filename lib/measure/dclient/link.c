// SPDX-License-Identifier: BSD-3-Clause
// Client link over the own stack: sending, and reading the inbox.

#include "dclient_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_units.h>

#define CLOSE_PATIENCE_NS TL_NS_PER_S
#define ACCEPTED_MAX 4 // the current connection, and those lost by the peer

static struct tl_dclient_link *port_link(struct tl_client_link *link)
{
	return (struct tl_dclient_link *)link;
}

static bool has_mail(const struct tl_dclient_link *l)
{
	return l->inbox.next < l->inbox.n;
}

// ---- open and close

static void on_datagram(void *ctx, const struct tl_udp_datagram *datagram)
{
	struct tl_dclient *host = ctx;
	const struct tl_dclient_link *l = host->link;

	// Without room it is lost, and counted as lost.
	if (l != NULL && l->link.cfg->mode == TL_CLIENT_UDP && datagram->src_ip_be == l->to_be &&
		datagram->src_port_be == l->to_port_be)
		(void)tl_dclient_deliver(host, datagram->payload, datagram->len);
}

static const char *arrivals_of(enum tl_client_timestamps timestamps)
{
	switch (timestamps) {
	case TL_CLIENT_STAMPS_NIC:
		return tl_ts_source_name(TL_TS_NIC_RX);
	case TL_CLIENT_STAMPS_USER:
		return "user";
	default:
		return tl_client_timestamps_name(timestamps);
	}
}

static struct tl_client_sources sources_of(const struct tl_dclient *host, enum tl_client_timestamps timestamps)
{
	struct tl_port_stamps stamps;

	tl_port_stamps(host->cfg.port, &stamps);
	return (struct tl_client_sources){
		.transport = tl_dclient_ops.name,
		.departures = timestamps == TL_CLIENT_STAMPS_USER ? "user" : tl_ts_source_name(TL_TS_TSC),
		.arrivals = arrivals_of(timestamps),
		.departure_unit_ns = 1,
		.arrival_unit_ns = stamps.unit_ns,
		.departure_bound_ns = tl_clock_bound_ns(host->cfg.clock),
		.arrival_bound_ns = stamps.has_bound ? stamps.bound_ns : 0,
		.realtime = true,
	};
}

static int open_sockets(struct tl_dclient_link *l, struct tl_err *err)
{
	struct tl_dclient *host = l->host;
	const struct tl_client_cfg *cfg = l->link.cfg;
	const struct tl_tcp_opts opts = {.recv_window_bytes = TL_DCLIENT_WINDOW_BYTES};
	int rc = 0;

	if (cfg->mode != TL_CLIENT_TCP) {
		rc = tl_udp_open(host->net, 0, 0, htons(host->next_port), on_datagram, host, &l->udp);
		host->next_port = host->next_port == UINT16_MAX ? TL_DCLIENT_FIRST_PORT : host->next_port + 1;
	}
	if (rc == 0 && cfg->mode == TL_CLIENT_MULTICAST)
		rc = tl_tcp_listen(
			host->net, cfg->peer.port_be, ACCEPTED_MAX, &tl_dclient_stream_ops, host, &opts, &l->listener);
	return rc == 0 ? 0 : tl_fail(err, rc, "the stack of the port has no socket for it (%s)", strerror(-rc));
}

static void port_close(struct tl_client_link *link)
{
	struct tl_dclient_link *l = port_link(link);
	struct tl_dclient *host = l->host;
	uint64_t until_ns = tl_mono_ns() + CLOSE_PATIENCE_NS;

	host->link = NULL;
	if (l->udp != NULL)
		tl_udp_close(l->udp);
	if (l->listener != NULL)
		tl_tcp_unlisten(l->listener);
	tl_tcp_close_all(host->net, false);
	tl_dclient_flush(host);
	while (tl_tcp_in_use(host->net, NULL) > 0 && tl_mono_ns() < until_ns)
		tl_dclient_turn(host);
	tl_tcp_close_all(host->net, true);
	tl_dclient_flush(host);
	free(l);
}

static int port_open(const struct tl_client_cfg *cfg, struct tl_client_link **out, struct tl_err *err)
{
	struct tl_dclient *host = cfg->transport_ctx;
	struct tl_dclient_link *l = calloc(1, sizeof(*l));
	const struct tl_client_endpoint *to = cfg->mode == TL_CLIENT_MULTICAST ? &cfg->group : &cfg->peer;

	if (l == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	l->link = (struct tl_client_link){
		.ops = &tl_dclient_ops, .cfg = cfg, .sources = sources_of(host, cfg->timestamps)};
	l->host = host;
	tl_dclient_schedule_begin(l);
	l->to_be = to->ip_be;
	l->to_port_be = to->port_be;
	int rc = open_sockets(l, err);
	if (rc != 0) {
		port_close(&l->link);
		return rc;
	}
	host->link = l;
	*out = &l->link;
	return 0;
}

// ---- send and receive

static bool port_is_up(const struct tl_client_link *link)
{
	return ((const struct tl_dclient_link *)link)->up;
}

// Send a datagram. Without a MAC address the stack would queue it, and send it at another time.
static ssize_t send_datagram(struct tl_dclient_link *l, const void *data, size_t len)
{
	struct tl_dclient *host = l->host;
	uint64_t refused_pkts = host->tx->drop_tx_pkts;
	bool has_way = l->link.cfg->mode == TL_CLIENT_MULTICAST || tl_net_resolve(host->net, l->to_be) == 0;
	bool at_a_time = l->link.lead_ns != 0;
	uint64_t stamp_ns = 0;

	int rc = has_way ? tl_udp_send(l->udp, l->to_be, l->to_port_be, data, (uint16_t)len) : -EAGAIN;
	if (rc == 0 && at_a_time)
		stamp_ns = tl_dclient_schedule(l);
	tl_dclient_flush(host);
	if (rc != 0)
		return rc;
	if (host->tx->drop_tx_pkts != refused_pkts)
		return -ENOBUFS;
	if (!at_a_time)
		stamp_ns = tl_clock_wall_ns(host->cfg.clock, host->tx->end_tsc);
	tl_dclient_depart(l, l->taken++, stamp_ns);
	return (ssize_t)len;
}

static ssize_t send_stream(struct tl_dclient_link *l, const void *data, size_t len)
{
	if (l->conn == NULL || !l->up)
		return -ENOTCONN;
	int rc = tl_tcp_send(l->conn, data, (uint32_t)len);
	if (rc != 0)
		return rc == -ENOBUFS ? -EAGAIN : rc;
	l->taken += len;
	tl_dclient_flush(l->host);
	return (ssize_t)len;
}

static ssize_t port_send(struct tl_client_link *link, const void *data, size_t len)
{
	struct tl_dclient_link *l = port_link(link);

	return link->cfg->mode == TL_CLIENT_TCP ? send_stream(l, data, len) : send_datagram(l, data, len);
}

// Read from one chunk, which has one time. The part of a datagram that does not fit is discarded.
static ssize_t take_mail(struct tl_dclient_link *l, void *data, size_t room, struct tl_client_arrival *arrival)
{
	struct tl_dclient_inbox *in = &l->inbox;
	struct tl_dclient_chunk *chunk = &in->chunks[in->next];
	uint32_t n = (uint32_t)tl_min_u64(room, chunk->len);

	*arrival = chunk->arrival;
	memcpy(data, in->bytes + in->begin, n);
	uint32_t gone = l->link.cfg->mode == TL_CLIENT_UDP ? chunk->len : n;
	in->begin += gone;
	chunk->len -= gone;
	if (chunk->len == 0)
		in->next++;
	if (!has_mail(l))
		tl_dclient_empty(&l->inbox);
	return (ssize_t)n;
}

static ssize_t port_receive(struct tl_client_link *link, void *data, size_t room, struct tl_client_arrival *arrival)
{
	struct tl_dclient_link *l = port_link(link);

	if (!has_mail(l))
		tl_dclient_turn(l->host);
	if (has_mail(l))
		return take_mail(l, data, room, arrival);
	if (l->broken)
		return -ECONNRESET;
	return l->ended ? 0 : -EAGAIN;
}

static bool port_departed(struct tl_client_link *link, bool expected, struct tl_client_departure *departure)
{
	struct tl_dclient_link *l = port_link(link);

	(void)expected;
	if (l->departure_first == l->departure_end)
		return false;
	*departure = l->departures[l->departure_first++ % TL_DCLIENT_DEPARTURES];
	return true;
}

static bool has_room(const struct tl_dclient_link *l)
{
	return l->link.cfg->mode != TL_CLIENT_TCP ||
	       (l->conn != NULL && tl_tcp_room(l->conn) >= l->link.cfg->payload_bytes);
}

static void port_lost(struct tl_client_link *link)
{
	tl_dclient_lost(port_link(link));
}

// Wait for data. Unread data ends the wait at once: nothing more is received before it is read.
static void port_poll(struct tl_client_link *link, uint64_t timeout_ns, bool want_write)
{
	struct tl_dclient_link *l = port_link(link);
	uint64_t until_ns = tl_mono_ns() + timeout_ns;
	bool was_up = l->up;

	while (!has_mail(l) && !l->broken && !l->ended && l->up == was_up) {
		if (!l->up)
			tl_dclient_get_up(l);
		tl_dclient_turn(l->host);
		if (tl_mono_ns() >= until_ns || (want_write && has_room(l)))
			return;
	}
}

const struct tl_client_ops tl_dclient_ops = {
	.name = "port",
	.open = port_open,
	.close = port_close,
	.is_up = port_is_up,
	.send = port_send,
	.receive = port_receive,
	.departed = port_departed,
	.finish = tl_dclient_schedule_end,
	.lost = port_lost,
	.poll = port_poll,
};
