// SPDX-License-Identifier: BSD-3-Clause
// Selection of frames by the mark that the NIC gave them, without a look at their content.

#include "capture_frame.h"

static bool is_wanted(const struct tl_tap *tap, const struct rte_mbuf *m)
{
	return tap->marks[tl_frame_mark(m)];
}

static uint64_t select_marked(const struct tl_tap *tap, const struct tl_burst *b)
{
	uint64_t wanted = 0;

	for (uint16_t i = 0; i < b->n; i++)
		wanted |= (uint64_t)is_wanted(tap, b->pkts[i]) << i;
	return wanted;
}

// Copy the wanted frames of from, each once, into the empty burst to.
static void pick(struct tl_burst *to, const struct tl_burst *from, uint64_t wanted)
{
	for (uint64_t left = wanted; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		to->unstamped |= (from->unstamped >> i & 1) << to->n;
		to->pkts[to->n] = from->pkts[i];
		to->ts_ns[to->n] = from->ts_ns[i];
		to->wire_bytes[to->n++] = from->wire_bytes[i];
	}
}

void tl_tap_rx_with_marks(void *ctx, struct tl_burst *burst)
{
	struct tl_tap *tap = ctx;
	uint64_t wanted = select_marked(tap, burst);
	uint16_t others = burst->n - (uint16_t)__builtin_popcountll(wanted);
	struct tl_burst marked;

	if (others == 0) {
		tap->rx_marked(tap, burst);
		return;
	}
	count_flow(&tap->flow[TL_DIR_RX], &(struct tl_tap_flow){.offered_pkts = others, .filtered_pkts = others});
	if (wanted == 0)
		return;
	marked.n = 0;
	marked.queue = burst->queue;
	marked.unstamped = marked.sent = 0;
	marked.tsc = burst->tsc;
	marked.last_tsc = burst->last_tsc;
	marked.mono_ns = burst->mono_ns;
	pick(&marked, burst, wanted);
	tap->rx_marked(tap, &marked);
}
