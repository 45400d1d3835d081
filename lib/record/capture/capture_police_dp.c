// SPDX-License-Identifier: BSD-3-Clause
// Recording by classes: filter and cut off the frames of a burst, colour the others, encode those that their class
// keeps.

#include "capture_frame.h"

// Count frame i as offered. Return true if its class decides, false if it is counted as not recorded.
static bool is_wanted(const struct tl_tap *tap, const struct tl_burst *b, uint16_t i, const struct tl_flow_id *ids,
	int state, struct tl_tap_flow *flow)
{
	flow->offered_pkts++;
	if (TL_UNLIKELY(state == TL_CAPTURE_PAUSED))
		flow->paused_pkts++;
	else if (TL_UNLIKELY(state == TL_CAPTURE_EXPIRED))
		flow->expired_pkts++;
	else if (tap->filter != NULL && !tl_filter_match(tap->filter, b->pkts[i], b->wire_bytes[i]))
		flow->filtered_pkts++;
	else if (!within_cutoff(tap, ids, b, i))
		flow->cut_pkts++;
	else
		return true;
	return false;
}

static uint64_t select_wanted(
	struct tl_tap *tap, const struct tl_burst *b, const struct tl_flow_id *ids, enum tl_dir burst_dir)
{
	int state = atomic_load_explicit(&tap->capture->state, memory_order_relaxed);
	struct tl_tap_flow flow[TL_DIRS] = {{0}};
	uint64_t wanted = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		enum tl_dir dir = direction(b, i, burst_dir);
		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		if (tap->dir[dir] && is_wanted(tap, b, i, ids, state, &flow[dir]))
			wanted |= UINT64_C(1) << i;
	}
	for (int dir = 0; dir < TL_DIRS; dir++)
		if (flow[dir].offered_pkts != 0)
			count_flow(&tap->flow[dir], &flow[dir]);
	return wanted;
}

// Encode a frame that its class keeps.
static void encode_kept(
	struct tl_tap *tap, const struct tl_burst *b, unsigned i, enum tl_dir burst_dir, uint32_t snaplen)
{
	enum tl_dir dir = direction(b, (uint16_t)i, burst_dir);
	bool stamped = burst_dir == TL_DIR_RX && (b->unstamped >> i & 1) == 0;
	struct tl_pcapng_epb epb = {.interface_id = stamped ? tap->interface_id : tap->tsc_interface_id,
		.wire_bytes = b->wire_bytes[i],
		.ts_ns = b->ts_ns[i]};

	if (snaplen > tap->snaplen)
		snaplen = tap->snaplen;
	if (TL_UNLIKELY(!encode(tap, b->pkts[i], snaplen, dir, &epb, b->mono_ns)))
		tl_count(&tap->flow[dir].drop_ring_pkts, 1);
}

// Offered frames are counted before the classes count them: the check of their identity relies on it.
__attribute__((flatten)) static void record_policed(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir burst_dir)
{
	struct tl_police_verdict verdict;
	struct tl_flow_id ids[TL_BURST];

	if (tap->flows != NULL)
		identify(tap, b, ids);
	uint64_t wanted = select_wanted(tap, b, tap->flows != NULL ? ids : NULL, burst_dir);
	tl_police_burst(tap->police, b, wanted, &verdict);
	for (uint64_t left = wanted; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		struct tl_tap_policed *policed = &tap->policed[direction(b, (uint16_t)i, burst_dir)];
		if ((verdict.red >> i & 1) != 0) {
			tl_count(&policed->policed_pkts, 1);
			continue;
		}
		if (verdict.snaplen[i] != UINT32_MAX)
			tl_count(&policed->yellow_pkts, 1);
		encode_kept(tap, b, i, burst_dir, verdict.snaplen[i]);
	}
}

static void watch_and_police(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	if (tap->trigger_filter != NULL)
		watch(tap, b, dir);
	record_policed(tap, b, dir);
}

void tl_tap_rx_policed(void *tap, struct tl_burst *burst)
{
	watch_and_police(tap, burst, TL_DIR_RX);
}

void tl_tap_sent_policed(void *tap, struct tl_burst *burst)
{
	watch_and_police(tap, burst, TL_DIR_TX);
}
