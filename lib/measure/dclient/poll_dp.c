// SPDX-License-Identifier: BSD-3-Clause
// Poll the port, pass the frames to the stack one by one, and record the times of arrivals and departures.

#include "dclient_priv.h"

#include <string.h>

#include <rte_mbuf.h>

#define TICK_NS (100 * TL_NS_PER_US)

bool tl_dclient_deliver(struct tl_dclient *host, const uint8_t *data, uint32_t len)
{
	struct tl_dclient_inbox *in = &host->link->inbox;
	struct tl_dclient_chunk *last = in->n > 0 ? &in->chunks[in->n - 1] : NULL;

	if (len > sizeof(in->bytes) - in->end)
		return false;
	if (host->has_handed_over && last != NULL && last->arrival.shared) {
		last->len += len;
	} else if (in->n < TL_DCLIENT_CHUNKS) {
		in->chunks[in->n++] = (struct tl_dclient_chunk){
			.len = len, .arrival = {.stamp_ns = host->arrival_ns, .shared = host->has_handed_over}};
	} else {
		return false;
	}
	host->has_handed_over = true;
	memcpy(in->bytes + in->end, data, len);
	in->end += len;
	return true;
}

void tl_dclient_depart(struct tl_dclient_link *link, uint64_t id, uint64_t stamp_ns)
{
	if (link->departure_end - link->departure_first == TL_DCLIENT_DEPARTURES)
		return; // without a stamp it is missing, and counted as missing
	link->departures[link->departure_end++ % TL_DCLIENT_DEPARTURES] =
		(struct tl_client_departure){.id = (uint32_t)id, .stamp_ns = stamp_ns};
}

// Stamp the ends of messages among the bytes sent since the last flush.
static void stamp_stream(struct tl_dclient_link *link, uint64_t stamp_ns)
{
	uint64_t unit = link->link.cfg->payload_bytes;
	uint64_t left = link->taken - tl_tcp_unsent_bytes(link->conn);

	while (link->left + unit <= left) {
		link->left += unit;
		tl_dclient_depart(link, link->left - 1, stamp_ns);
	}
}

// Update the bound of departures. A frame left during the send call, or after it: the error is at most the longest
// call.
static void bound_departures(struct tl_dclient *host)
{
	struct tl_client_sources *sources = &host->link->link.sources;
	uint64_t call_ns = tl_clock_span_ns(host->cfg.clock, host->tx->end_tsc - host->tx->begin_tsc);

	sources->departure_bound_ns = tl_max_u64(sources->departure_bound_ns, call_ns);
}

void tl_dclient_flush(struct tl_dclient *host)
{
	const struct tl_txq *tx = host->tx;
	struct tl_dclient_link *link = host->link;
	uint64_t waiting = tx->n;

	tl_txq_flush(host->tx);
	tl_txq_drop_waiting(host->tx); // at another time their measurement would be wrong
	tl_net_sent(host->net);
	// More frames than were waiting: some left in an earlier call, when the queue was full.
	bool is_sure = tx->tx_pkts + tx->drop_tx_pkts == host->flushed_pkts + waiting &&
		       tx->drop_tx_pkts == host->dropped_pkts;
	host->flushed_pkts = tx->tx_pkts + tx->drop_tx_pkts;
	host->dropped_pkts = tx->drop_tx_pkts;
	if (link != NULL && waiting != 0 && link->link.lead_ns == 0)
		bound_departures(host);
	if (link != NULL && link->conn != NULL && link->link.cfg->mode == TL_CLIENT_TCP && link->up)
		stamp_stream(link, is_sure ? tl_clock_wall_ns(host->cfg.clock, tx->end_tsc) : 0);
}

static void take_burst(struct tl_dclient *host)
{
	struct tl_burst *burst = &host->burst, *one = &host->one;

	one->n = 1;
	one->tsc = burst->tsc;
	one->mono_ns = burst->mono_ns;
	for (uint16_t i = 0; i < burst->n; i++) {
		one->pkts[0] = burst->pkts[i];
		tl_wire_parse(rte_pktmbuf_mtod(one->pkts[0], uint8_t *), one->pkts[0]->data_len, &one->pkt[0]);
		host->arrival_ns = (burst->unstamped >> i & 1) != 0 ? 0 : burst->ts_ns[i];
		host->has_handed_over = false;
		tl_net_input(host->net, one);
	}
	tl_dclient_flush(host);
	rte_pktmbuf_free_bulk(burst->pkts, burst->n);
}

uint16_t tl_dclient_turn(struct tl_dclient *host)
{
	uint16_t n = host->rxq->burst(host->rxq, &host->burst);
	uint64_t mono_ns = host->burst.mono_ns;

	if (n != 0)
		take_burst(host);
	if (mono_ns >= host->next_tick_ns) {
		host->next_tick_ns = mono_ns + TICK_NS;
		tl_net_tick(host->net, mono_ns);
		tl_dclient_flush(host);
	}
	if (TL_UNLIKELY(mono_ns >= host->next_look_ns))
		tl_dclient_look(host, mono_ns);
	return n;
}
