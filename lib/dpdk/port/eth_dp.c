// SPDX-License-Identifier: BSD-3-Clause
// Receive from and send to a DPDK device.

#include "port_priv.h"

#include <rte_ethdev.h>

uint16_t tl_eth_burst(struct tl_rxq *q, struct tl_burst *b)
{
	uint16_t n = rte_eth_rx_burst(q->port_id, q->queue_id, b->pkts, TL_BURST);
	uint64_t bytes = 0;

	b->n = n;
	b->tsc = rte_rdtsc();
	b->mono_ns = tl_clock_mono_ns(q->clock, b->tsc);
	if (n == 0)
		return 0;
	uint64_t wall_ns = tl_clock_wall_ns(q->clock, b->tsc);
	for (uint16_t i = 0; i < n; i++) {
		b->ts_ns[i] = wall_ns;
		b->wire_bytes[i] = b->pkts[i]->pkt_len;
		bytes += b->pkts[i]->pkt_len;
	}
	tl_count(&q->stats.rx_pkts, n);
	tl_count(&q->stats.rx_bytes, bytes);
	return n;
}

// Return the length of the frame before it was cut: that of its IPv4 header, else the length present.
static uint32_t whole_bytes(const struct rte_mbuf *m)
{
	const struct tl_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct tl_ether_hdr *);
	const struct tl_ipv4_hdr *ip = (const struct tl_ipv4_hdr *)(eth + 1);

	if (m->data_len < TL_ETHER_LEN + TL_IPV4_LEN || eth->type_be != tl_be16(TL_ETHERTYPE_IPV4))
		return m->pkt_len;
	uint32_t bytes = TL_ETHER_LEN + tl_be16(ip->total_len_be);
	return bytes > m->pkt_len ? bytes : m->pkt_len;
}

// True if the host sent the frame: DPDK's driver does not report that, so the interface's own source address decides.
static bool is_own(const struct tl_rxq *q, const struct rte_mbuf *m)
{
	const struct tl_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct tl_ether_hdr *);

	return m->data_len >= TL_ETHER_LEN && memcmp(eth->src, q->port->mac, TL_ETHER_ADDR_LEN) == 0;
}

uint16_t tl_kernel_burst(struct tl_rxq *q, struct tl_burst *b)
{
	uint16_t n = tl_eth_burst(q, b);

	b->sent = 0;
	for (uint16_t i = 0; i < n; i++) {
		b->wire_bytes[i] = whole_bytes(b->pkts[i]);
		b->sent |= (uint64_t)is_own(q, b->pkts[i]) << i;
		if (TL_UNLIKELY(b->wire_bytes[i] > q->frame_max || b->wire_bytes[i] > b->pkts[i]->pkt_len))
			tl_count(&q->stats.altered_pkts, 1);
	}
	return n;
}

// Replace the time of the poll by the stamps that the frames carry.
static uint16_t take_stamps(struct tl_rxq *q, struct tl_burst *b)
{
	struct tl_clock_stamps stamps;
	uint64_t unstamped = 0;

	if (b->n == 0)
		return 0;
	tl_clock_track_load(q->track, &stamps);
	for (uint16_t i = 0; i < b->n; i++) {
		uint64_t ticks;
		if (TL_LIKELY(tl_rxq_ticks(q, b->pkts[i], &ticks)))
			b->ts_ns[i] = tl_clock_stamps_ns(&stamps, ticks);
		else
			unstamped |= UINT64_C(1) << i;
	}
	b->unstamped = unstamped;
	if (TL_UNLIKELY(unstamped != 0))
		tl_count(&q->stats.unstamped_pkts, (uint64_t)__builtin_popcountll(unstamped));
	return b->n;
}

uint16_t tl_eth_stamped_burst(struct tl_rxq *q, struct tl_burst *b)
{
	tl_eth_burst(q, b);
	return take_stamps(q, b);
}

uint16_t tl_kernel_stamped_burst(struct tl_rxq *q, struct tl_burst *b)
{
	tl_kernel_burst(q, b);
	return take_stamps(q, b);
}

// Take a reference to each of the first n frames for the recording, before the driver may free it.
static void hold(struct tl_txq *q, uint16_t n)
{
	struct tl_burst *sent = q->sent;

	if (sent->n + n > TL_BURST)
		tl_txq_record_sent(q);
	for (uint16_t i = 0; i < n; i++) {
		rte_mbuf_refcnt_update(q->pkts[i], 1);
		sent->pkts[sent->n + i] = q->pkts[i];
	}
}

// Record the first n of the held frames as sent.
static void keep_accepted(struct tl_txq *q, uint16_t held, uint16_t n)
{
	struct tl_burst *sent = q->sent;
	uint64_t wall_ns = tl_clock_wall_ns(q->clock, q->end_tsc);

	for (uint16_t i = sent->n; i < sent->n + n; i++) {
		sent->ts_ns[i] = wall_ns;
		sent->wire_bytes[i] = sent->pkts[i]->pkt_len;
	}
	if (n < held)
		rte_pktmbuf_free_bulk(&sent->pkts[sent->n + n], held - n);
	sent->n += n;
	sent->tsc = q->end_tsc;
	sent->mono_ns = tl_clock_mono_ns(q->clock, q->end_tsc);
}

// Keep the frames after the first n for the next flush; drop the last ones if they are too many. A TX stamp of a
// delayed frame would not have the time that its requester assumes, so the request is removed.
static __attribute__((noinline)) void keep_waiting(struct tl_txq *q, uint16_t n)
{
	uint16_t waiting = q->n - n;

	if (waiting == TL_TXQ_MAX) {
		rte_pktmbuf_free(q->pkts[--waiting]);
		tl_count(&q->drop_tx_pkts, 1);
	}
	for (uint16_t i = 0; i < waiting; i++) {
		q->pkts[i] = q->pkts[n + i];
		q->pkts[i]->ol_flags &= ~RTE_MBUF_F_TX_IEEE1588_TMST;
	}
	q->n = waiting;
}

void tl_eth_flush(struct tl_txq *q)
{
	uint16_t offered = TL_LIKELY(q->n <= TL_BURST) ? q->n : TL_BURST;
	uint64_t bytes = 0;

	for (uint16_t i = 0; i < offered; i++)
		bytes += q->pkts[i]->pkt_len;
	if (q->on_sent != NULL)
		hold(q, offered);
	q->begin_tsc = rte_rdtsc();
	uint16_t n = rte_eth_tx_burst(q->port_id, q->queue_id, q->pkts, offered);
	q->end_tsc = rte_rdtsc();
	if (q->on_sent != NULL)
		keep_accepted(q, offered, n);
	for (uint16_t i = n; TL_UNLIKELY(i < offered); i++)
		bytes -= q->pkts[i]->pkt_len;
	tl_count(&q->tx_pkts, n);
	tl_count(&q->tx_bytes, bytes);
	if (TL_UNLIKELY(n < q->n))
		keep_waiting(q, n);
	else
		q->n = 0;
}
