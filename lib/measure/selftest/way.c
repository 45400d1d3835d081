// SPDX-License-Identifier: BSD-3-Clause
// Send and receive on a way, and read the accounts of its ports.

#include "selftest_priv.h"

#include <rte_mbuf.h>

bool tl_selftest_stopped(const struct tl_selftest *t)
{
	return t->cfg->stop != NULL && atomic_load_explicit(t->cfg->stop, memory_order_relaxed);
}

// Compare the clocks and check the links, about once a second.
static void look(struct tl_selftest *t)
{
	uint64_t now_ns = tl_clock_now_ns(t->cfg->clock);

	if (now_ns < t->next_look_ns)
		return;
	t->next_look_ns = now_ns + TL_NS_PER_S;
	tl_clock_discipline(t->cfg->clock);
	for (unsigned i = 0; i < t->cfg->n_ports; i++) {
		tl_port_discipline(t->cfg->ports[i]);
		(void)tl_port_watch(t->cfg->ports[i]);
	}
}

static uint32_t take_burst(struct tl_selftest *t, tl_selftest_take *take, void *ctx)
{
	struct tl_burst *b = &t->burst;
	uint32_t ours = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		struct tl_selftest_frame frame = {.queue = b->queue,
			.stamped = (b->unstamped >> i & 1) == 0,
			.ts_ns = b->ts_ns[i],
			.poll_tsc = b->tsc};
		if (tl_selftest_read(t, b->pkts[i], &frame)) {
			ours++;
			if (take != NULL)
				take(ctx, &frame);
		} else {
			t->out->foreign_pkts++;
		}
	}
	rte_pktmbuf_free_bulk(b->pkts, b->n);
	return ours;
}

uint32_t tl_selftest_poll(struct tl_selftest *t, tl_selftest_take *take, void *ctx)
{
	struct tl_port *port = t->way.rx_port;
	uint32_t ours = 0;

	for (uint16_t q = 0; q < tl_port_config(port)->rx_queues; q++) {
		struct tl_rxq *rxq = tl_port_rxq(port, q);
		t->burst.queue = q;
		t->burst.unstamped = 0;
		if (rxq->burst(rxq, &t->burst) != 0)
			ours += take_burst(t, take, ctx);
	}
	look(t);
	return ours;
}

uint32_t tl_selftest_await(struct tl_selftest *t, uint32_t n, tl_selftest_take *take, void *ctx)
{
	uint64_t until_ns = tl_clock_now_ns(t->cfg->clock) + t->cfg->silence_ns;
	uint32_t seen = 0;
	bool late = false;

	while (seen < n && !late && !tl_selftest_stopped(t)) {
		late = tl_clock_now_ns(t->cfg->clock) >=
		       until_ns; // before the poll: this thread may have been suspended
		uint32_t ours = tl_selftest_poll(t, take, ctx);
		if (ours == 0)
			continue;
		until_ns = tl_clock_now_ns(t->cfg->clock) + t->cfg->silence_ns;
		late = false;
		seen += ours;
	}
	return seen;
}

void tl_selftest_begin_phase(struct tl_selftest *t)
{
	t->way.phase++;
	for (unsigned empty = 0; empty < 3 && !tl_selftest_stopped(t);) {
		uint64_t before = t->out->foreign_pkts;
		tl_selftest_poll(t, NULL, NULL);
		empty = t->out->foreign_pkts == before ? empty + 1 : 0;
		t->out->foreign_pkts = before; // late frames of an earlier phase
	}
}

bool tl_selftest_send(struct tl_selftest *t, const struct tl_selftest_flow *flow, uint32_t number, uint32_t bytes)
{
	uint64_t until_ns = tl_clock_now_ns(t->cfg->clock) + t->cfg->silence_ns;
	struct tl_txq *tx = t->way.tx;
	struct rte_mbuf *m = NULL;

	while ((!tl_txq_has_room(tx) || (m = rte_pktmbuf_alloc(t->pool)) == NULL)) {
		if (tl_clock_now_ns(t->cfg->clock) > until_ns || tl_selftest_stopped(t))
			return false;
		tl_txq_flush(tx); // frees the mbufs of frames that have left
	}
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	tl_selftest_make(t, flow, number, bytes, rte_pktmbuf_mtod(m, uint8_t *));
	tl_txq_push(tx, m);
	while (tx->n != 0) {
		tl_txq_flush(tx);
		if (tx->n == 0 || tl_clock_now_ns(t->cfg->clock) > until_ns || tl_selftest_stopped(t))
			break;
	}
	if (tx->n == 0)
		return true;
	rte_pktmbuf_free_bulk(tx->pkts, tx->n); // the port accepts nothing
	tx->n = 0;
	return false;
}

// ---- accounts

void tl_selftest_account(const struct tl_selftest *t, struct tl_selftest_account *out)
{
	struct tl_port *port = t->way.rx_port;

	*out = (struct tl_selftest_account){
		.foreign_pkts = t->out->foreign_pkts, .tx_pkts = tl_count_read(&t->way.tx->tx_pkts)};
	tl_port_sample(port, &out->port);
	for (uint16_t q = 0; q < tl_port_config(port)->rx_queues; q++)
		out->rx_pkts += tl_count_read(&tl_port_rxq(port, q)->stats.rx_pkts);
}

uint64_t tl_selftest_drops(const struct tl_selftest_account *from, const struct tl_selftest_account *to)
{
	return tl_port_drops(&to->port) - tl_port_drops(&from->port);
}
