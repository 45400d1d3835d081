// SPDX-License-Identifier: BSD-3-Clause
// Callbacks of echoes on a port with NIC stamps for replies: on request the next reply that leaves at once is marked,
// and published after the send call.

#include "echo_priv.h"

#include <rte_mbuf.h>

#include <tl_port.h>

// True for a frame with payload: not a neighbour request, not an RST.
static bool has_data(const struct rte_mbuf *m)
{
	struct tl_pkt pkt;

	tl_wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &pkt);
	uint8_t kind = pkt.kind == TL_PKT_IP6 ? pkt.ip6_kind : pkt.kind;
	return (kind == TL_PKT_UDP || kind == TL_PKT_TCP) && pkt.payload_len != 0;
}

// Mark the reply if it is a single frame and, on a connection, nothing is queued behind it: it then carries the
// message's last byte.
static void mark(struct tl_echo_host *host, const uint8_t *payload, uint16_t before, const struct tl_tcp *c)
{
	struct tl_txq *tx = host->tx;

	if (tx->n != before + 1 || !has_data(tx->pkts[before]) || (c != NULL && tl_tcp_unsent_bytes(c) != 0) ||
		!tl_tx_stamp_take(host->tx_stamp, tx->pkts[before]))
		return;
	host->marked = (struct tl_echo_marked){
		.payload = payload, .sent_pkts = tx->tx_pkts, .dropped_pkts = tx->drop_tx_pkts, .open = true};
}

// ---- callbacks; the rare marking is kept out of line

static bool is_wanted(const struct tl_echo *echo)
{
	return TL_UNLIKELY(tl_tx_stamp_is_offered(echo->host->tx_stamp));
}

static __attribute__((noinline)) void mark_mcast(struct tl_echo *echo, const struct tl_udp_datagram *d)
{
	uint16_t before = echo->host->tx->n;

	tl_echo_listed_mcast_datagram(echo, d);
	if (echo->conn != NULL)
		mark(echo->host, d->payload, before, echo->conn);
}

void tl_echo_marking_mcast_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	if (is_wanted(ctx))
		mark_mcast(ctx, d);
	else
		tl_echo_listed_mcast_datagram(ctx, d);
}

static __attribute__((noinline)) void mark_udp(struct tl_echo *echo, const struct tl_udp_datagram *d)
{
	uint16_t before = echo->host->tx->n;

	tl_echo_listed_udp_datagram(echo, d);
	mark(echo->host, d->payload, before, NULL);
}

void tl_echo_marking_udp_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	if (is_wanted(ctx))
		mark_udp(ctx, d);
	else
		tl_echo_listed_udp_datagram(ctx, d);
}

static __attribute__((noinline)) void mark_tcp(
	struct tl_echo *echo, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	uint16_t before = echo->host->tx->n;

	tl_echo_listed_tcp_data(echo, c, data, len);
	mark(echo->host, data, before, c);
}

void tl_echo_marking_tcp_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	if (is_wanted(ctx))
		mark_tcp(ctx, c, data, len);
	else
		tl_echo_listed_tcp_data(ctx, c, data, len);
}

// ---- after the send call

// Find the frame with the payload; NULL: it was reassembled, or held in the stack.
static const struct rte_mbuf *frame_of(const struct tl_burst *burst, const uint8_t *payload)
{
	for (uint16_t i = 0; i < burst->n; i++) {
		const uint8_t *data = rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *);
		if (payload >= data && payload < data + burst->pkts[i]->data_len)
			return burst->pkts[i];
	}
	return NULL;
}

// True if it left with the only flush since the marking. A full queue causes an additional flush.
static bool has_left(const struct tl_echo_host *host, const struct tl_burst *burst)
{
	const struct tl_txq *tx = host->tx;

	return tx->tx_pkts - host->marked.sent_pkts <= TL_BURST && tx->drop_tx_pkts == host->marked.dropped_pkts &&
	       tx->n == 0 && tx->begin_tsc >= burst->tsc;
}

void tl_echo_publish_marked(struct tl_echo_host *host, const struct tl_burst *burst)
{
	const struct rte_mbuf *m = frame_of(burst, host->marked.payload);
	const struct tl_rxq *q = tl_port_rxq(host->port, 0); // all queues have stamps of one kind
	struct tl_tx_stamp_facts facts = {.left = m != NULL && has_left(host, burst),
		.poll_tsc = burst->tsc,
		.poll_ns = tl_clock_wall_ns(host->clock, burst->tsc),
		.begin_tsc = host->tx->begin_tsc};

	if (m != NULL && tl_rxq_ticks(q, m, &facts.rx_ticks)) {
		facts.stamped = true;
		facts.rx_ns = tl_clock_track_ns(q->track, facts.rx_ticks);
	}
	host->marked.open = false;
	tl_tx_stamp_publish(host->tx_stamp, &facts);
}
