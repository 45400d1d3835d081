// SPDX-License-Identifier: BSD-3-Clause
// Encodes frames into slabs: filter, snap, one copy.

#include "capture_priv.h"

#include <rte_mbuf.h>

static void copy_frame(uint8_t *to, const struct rte_mbuf *m, uint32_t len)
{
	for (;;) {
		uint32_t part = len < m->data_len ? len : m->data_len;
		memcpy(to, rte_pktmbuf_mtod(m, const uint8_t *), part);
		to += part;
		len -= part;
		if (len == 0)
			return;
		m = m->next;
	}
}

// Claims one of the frames that --count allows. Several lcores share the count.
static bool claim(struct tl_capture *c)
{
	return !c->limited || atomic_fetch_sub_explicit(&c->left, 1, memory_order_relaxed) > 0;
}

static void unclaim(struct tl_capture *c)
{
	if (c->limited)
		atomic_fetch_add_explicit(&c->left, 1, memory_order_relaxed);
}

static void record(struct tl_tap *tap, const struct rte_mbuf *m, struct tl_pcapng_epb *epb, uint64_t mono_ns)
{
	struct tl_tap_flow *flow = &tap->flow[epb->dir];

	if (!claim(tap->capture)) {
		tl_count(&flow->cut_pkts, 1);
		return;
	}
	epb->cap_bytes = m->pkt_len < tap->snaplen ? m->pkt_len : tap->snaplen;
	epb->dropped = tap->dropped;
	uint32_t len = tl_pcapng_epb_bytes(epb->cap_bytes, epb->dropped);
	void *room = tl_slab_reserve(tap->ring, len, mono_ns);
	if (TL_UNLIKELY(room == NULL)) {
		unclaim(tap->capture);
		tap->dropped++;
		tl_count(&flow->drop_ring_pkts, 1);
		return;
	}
	epb->interface_id = tap->interface_id[epb->dir];
	copy_frame(tl_pcapng_put_epb(room, epb), m, epb->cap_bytes);
	tl_slab_commit(tap->ring, len, (enum tl_dir)epb->dir);
	tap->dropped = 0;
}

static enum tl_dir direction(const struct tl_tap *tap, const struct rte_mbuf *m, enum tl_dir burst_dir)
{
	const struct tl_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct tl_ether_hdr *);

	if (!tap->split_by_mac || m->data_len < TL_ETHER_LEN)
		return burst_dir;
	return memcmp(eth->src, tap->own_mac, TL_ETHER_ADDR_LEN) == 0 ? TL_DIR_TX : burst_dir;
}

static void tap_burst(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir burst_dir)
{
	bool expired = atomic_load_explicit(&tap->capture->expired, memory_order_relaxed);

	for (uint16_t i = 0; i < b->n; i++) {
		const struct rte_mbuf *m = b->pkts[i];
		enum tl_dir dir = direction(tap, m, burst_dir);
		if (!tap->dir[dir])
			continue;
		struct tl_tap_flow *flow = &tap->flow[dir];
		tl_count(&flow->offered_pkts, 1);
		if (TL_UNLIKELY(expired)) {
			tl_count(&flow->expired_pkts, 1);
			continue;
		}
		if (tap->filter != NULL && !tl_filter_match(tap->filter, m, b->wire_bytes[i])) {
			tl_count(&flow->filtered_pkts, 1);
			continue;
		}
		struct tl_pcapng_epb epb = {.wire_bytes = b->wire_bytes[i], .dir = dir, .ts_ns = b->ts_ns[i]};
		record(tap, m, &epb, b->mono_ns);
	}
}

void tl_tap_rx(void *tap, struct tl_burst *burst)
{
	tap_burst(tap, burst, TL_DIR_RX);
}

void tl_tap_sent(void *tap, struct tl_burst *burst)
{
	tap_burst(tap, burst, TL_DIR_TX);
}
