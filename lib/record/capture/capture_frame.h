// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// capture_frame: hot functions of a tap for one frame, shared by the recordings with and without classes.

#include "capture_priv.h"

#include <string.h>

#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#define PREFETCH_AHEAD 4

// Copy; 32 to 64 bytes, the most frequent, as two overlapping pieces.
static inline void copy(uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (TL_LIKELY(len - 32 <= 32)) {
		memcpy(to, from, 32);
		memcpy(to + len - 32, from + len - 32, 32);
	} else {
		rte_memcpy(to, from, len);
	}
}

static inline void copy_frame(uint8_t *to, const struct rte_mbuf *m, uint32_t len)
{
	for (;;) {
		uint32_t part = len < m->data_len ? len : m->data_len;
		copy(to, rte_pktmbuf_mtod(m, const uint8_t *), part);
		to += part;
		len -= part;
		if (len == 0)
			return;
		m = m->next;
	}
}

static inline void leave_trigger(const struct tl_tap *tap, enum tl_trigger reason, uint64_t mono_ns)
{
	atomic_store_explicit(&tap->capture->trigger.slots[reason], mono_ns, memory_order_relaxed);
}

// Encode a frame into the slab, snaplen bytes at most. Return false if there is no room.
static inline bool encode(struct tl_tap *tap, const struct rte_mbuf *m, uint32_t snaplen, enum tl_dir dir,
	struct tl_pcapng_epb *epb, uint64_t mono_ns)
{
	epb->cap_bytes = m->pkt_len < snaplen ? m->pkt_len : snaplen;
	epb->dropped = tap->dropped;
	epb->flags = tap->flags[dir];
	uint32_t len = tl_pcapng_epb_bytes(epb->cap_bytes, epb->flags, epb->dropped);
	void *room = tl_slab_reserve(tap->ring, len, mono_ns);
	if (TL_UNLIKELY(room == NULL)) {
		tap->dropped++;
		if (tap->capture->cfg.trigger.on_drop)
			leave_trigger(tap, TL_TRIGGER_DROP, mono_ns);
		return false;
	}
	copy_frame(tl_pcapng_put_epb(room, epb), m, epb->cap_bytes);
	tl_slab_commit(tap->ring, len, dir);
	tap->dropped = 0;
	return true;
}

// Direction of a frame: a kernel interface returns sent frames among received ones.
static inline enum tl_dir direction(const struct tl_burst *b, uint16_t i, enum tl_dir burst_dir)
{
	return TL_UNLIKELY((b->sent >> i & 1) != 0) ? TL_DIR_TX : burst_dir;
}

// True if frame i is within the cut-off of its flow. ids is NULL without a cut-off.
static inline bool within_cutoff(
	const struct tl_tap *tap, const struct tl_flow_id *ids, const struct tl_burst *b, uint16_t i)
{
	return ids == NULL || tl_flow_keep(tap->flows, &ids[i], b->wire_bytes[i], b->ts_ns[i]);
}

// Count the whole before its parts: see sample_queue().
static inline void count_flow(struct tl_tap_flow *to, const struct tl_tap_flow *burst)
{
#define COUNT(name) tl_count(&to->name, burst->name);
	COUNT(offered_pkts)
	TL_TAP_PARTS(COUNT)
}

// Check the trigger filter on all frames of the configured directions, recorded or not.
static inline void watch(const struct tl_tap *tap, const struct tl_burst *b, enum tl_dir burst_dir)
{
	for (uint16_t i = 0; i < b->n; i++) {
		const struct rte_mbuf *m = b->pkts[i];
		if (!tap->dir[direction(b, i, burst_dir)] || !tl_filter_match(tap->trigger_filter, m, b->wire_bytes[i]))
			continue;
		leave_trigger(tap, TL_TRIGGER_FILTER, b->mono_ns);
		return;
	}
}

// Identify the flows of all frames first, to prefetch their entries together.
static inline void identify(const struct tl_tap *tap, const struct tl_burst *b, struct tl_flow_id ids[TL_BURST])
{
	for (uint16_t i = 0; i < b->n; i++) {
		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		const struct rte_mbuf *m = b->pkts[i];
		tl_flow_identify(tap->flows, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &ids[i]);
	}
}
