// SPDX-License-Identifier: BSD-3-Clause
// Encoding of frames into slabs: filter, cut off, snap, one copy.

#include "capture_frame.h"

// Claim one of the frames that --count allows. The lcores share the count.
static bool claim(struct tl_capture *c)
{
	return !c->limited || atomic_fetch_sub_explicit(&c->left, 1, memory_order_relaxed) > 0;
}

static void unclaim(struct tl_capture *c)
{
	if (c->limited)
		atomic_fetch_add_explicit(&c->left, 1, memory_order_relaxed);
}

// Filter, snap and encode frame i of the burst; count the outcome in *flow.
static void take(struct tl_tap *tap, const struct tl_burst *b, uint16_t i, const struct tl_flow_id *ids,
	enum tl_dir dir, uint32_t interface_id, struct tl_tap_flow *flow)
{
	const struct rte_mbuf *m = b->pkts[i];
	struct tl_pcapng_epb epb = {.interface_id = interface_id, .wire_bytes = b->wire_bytes[i], .ts_ns = b->ts_ns[i]};

	flow->offered_pkts++;
	if (tap->filter != NULL && !tl_filter_match(tap->filter, m, b->wire_bytes[i])) {
		flow->filtered_pkts++;
	} else if (!within_cutoff(tap, ids, b, i) || !claim(tap->capture)) {
		flow->cut_pkts++;
	} else if (TL_UNLIKELY(!encode(tap, m, tap->snaplen, dir, &epb, b->mono_ns))) {
		unclaim(tap->capture);
		flow->drop_ring_pkts++;
	}
}

// Record a burst. Bit i of unstamped: frame i lacks the timestamp of the others.
static void tap_burst(struct tl_tap *tap, const struct tl_burst *b, const struct tl_flow_id *ids, enum tl_dir burst_dir,
	uint64_t unstamped)
{
	int state = atomic_load_explicit(&tap->capture->state, memory_order_relaxed);
	uint32_t interface_id = burst_dir == TL_DIR_RX ? tap->interface_id : tap->tsc_interface_id;
	struct tl_tap_flow flow[TL_DIRS] = {{0}};

	for (uint16_t i = 0; i < b->n; i++) {
		if (i + PREFETCH_AHEAD < b->n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		enum tl_dir dir = direction(b, i, burst_dir);
		if (!tap->dir[dir])
			continue;
		if (TL_UNLIKELY(state != TL_CAPTURE_RECORDING)) {
			flow[dir].offered_pkts++;
			flow[dir].paused_pkts += state == TL_CAPTURE_PAUSED;
			flow[dir].expired_pkts += state == TL_CAPTURE_EXPIRED;
			continue;
		}
		take(tap, b, i, ids, dir, (unstamped >> i & 1) != 0 ? tap->tsc_interface_id : interface_id, &flow[dir]);
	}
	for (int dir = 0; dir < TL_DIRS; dir++)
		if (flow[dir].offered_pkts != 0)
			count_flow(&tap->flow[dir], &flow[dir]);
}

__attribute__((noinline)) static void record_unstamped(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	tap_burst(tap, b, NULL, dir, b->unstamped);
}

// True if every frame of the burst is recorded, and in the same direction.
static bool is_plain(const struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	const struct tl_capture *c = tap->capture;

	return tap->filter == NULL && b->sent == 0 && tap->dir[dir] && !c->limited &&
	       atomic_load_explicit(&c->state, memory_order_relaxed) == TL_CAPTURE_RECORDING;
}

// Encode frames into the open slab, from number i on, up to one that has several segments or finds no room. Return
// its number.
static uint16_t encode_run(struct tl_tap *tap, const struct tl_burst *b, uint16_t i, enum tl_dir dir)
{
	const uint16_t from = i, n = b->n;
	struct tl_pcapng_epb epb = {
		.interface_id = dir == TL_DIR_RX ? tap->interface_id : tap->tsc_interface_id, .flags = tap->flags[dir]};
	uint8_t *begin, *at, *end;
	uint32_t room = tl_slab_room(tap->ring, &begin);

	if (TL_UNLIKELY(tap->dropped != 0 || room == 0))
		return i;
	at = begin;
	end = begin + room;
	for (; i < n; i++) {
		const struct rte_mbuf *m = b->pkts[i];
		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(b->pkts[i + PREFETCH_AHEAD], void *));
		epb.cap_bytes = m->pkt_len < tap->snaplen ? m->pkt_len : tap->snaplen;
		uint8_t *next = at + tl_pcapng_epb_bytes(epb.cap_bytes, epb.flags, 0);
		if (TL_UNLIKELY(next > end || epb.cap_bytes > m->data_len))
			break;
		epb.wire_bytes = b->wire_bytes[i];
		epb.ts_ns = b->ts_ns[i];
		copy(tl_pcapng_put_epb(at, &epb), rte_pktmbuf_mtod(m, const uint8_t *), epb.cap_bytes);
		at = next;
	}
	tl_slab_commit_records(tap->ring, (uint32_t)(at - begin), dir, i - from);
	return i;
}

__attribute__((flatten, noinline)) static void record_plain(
	struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	uint32_t interface_id = dir == TL_DIR_RX ? tap->interface_id : tap->tsc_interface_id;
	struct tl_tap_flow flow = {0};

	for (uint16_t i = 0, from = 0; from < b->n; from = i + 1) {
		i = encode_run(tap, b, from, dir);
		flow.offered_pkts += i - from;
		if (TL_UNLIKELY(i < b->n))
			take(tap, b, i, NULL, dir, interface_id, &flow);
	}
	count_flow(&tap->flow[dir], &flow);
}

// Flattened into one function, without code for cut-off and missing stamps.
__attribute__((flatten)) static void record_stamped(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	tap_burst(tap, b, NULL, dir, 0);
}

static void record(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	if (TL_UNLIKELY(b->unstamped != 0))
		record_unstamped(tap, b, dir);
	else if (is_plain(tap, b, dir))
		record_plain(tap, b, dir);
	else
		record_stamped(tap, b, dir);
}

static void record_within_cutoff(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	struct tl_flow_id ids[TL_BURST];

	identify(tap, b, ids);
	tap_burst(tap, b, ids, dir, b->unstamped);
}

void tl_tap_rx(void *tap, struct tl_burst *burst)
{
	record(tap, burst, TL_DIR_RX);
}

void tl_tap_sent(void *tap, struct tl_burst *burst)
{
	record(tap, burst, TL_DIR_TX);
}

void tl_tap_rx_cutoff(void *tap, struct tl_burst *burst)
{
	record_within_cutoff(tap, burst, TL_DIR_RX);
}

void tl_tap_sent_cutoff(void *tap, struct tl_burst *burst)
{
	record_within_cutoff(tap, burst, TL_DIR_TX);
}

static void watch_and_record(struct tl_tap *tap, const struct tl_burst *b, enum tl_dir dir)
{
	watch(tap, b, dir);
	if (tap->flows != NULL)
		record_within_cutoff(tap, b, dir);
	else
		record(tap, b, dir);
}

void tl_tap_rx_watched(void *tap, struct tl_burst *burst)
{
	watch_and_record(tap, burst, TL_DIR_RX);
}

void tl_tap_sent_watched(void *tap, struct tl_burst *burst)
{
	watch_and_record(tap, burst, TL_DIR_TX);
}
