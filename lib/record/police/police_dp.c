// SPDX-License-Identifier: BSD-3-Clause
// Classes and colours of the frames of a burst.

#include "police_priv.h"

#include <rte_mbuf.h>

#include <tl_link.h>

// Classes of the frames of a burst, and hashes of the flows or sources that have meters of their own.
struct police_marks {
	uint8_t cls[TL_BURST];
	uint64_t print[TL_BURST]; // 0: none
};

static inline struct police_meter *police_group(const struct police_class *c, uint64_t print)
{
	return &c->table[(print & c->group_mask) * POLICE_WAYS];
}

static inline uint32_t police_classify(const struct tl_police *p, const struct rte_mbuf *m, uint32_t wire_bytes)
{
	for (uint32_t i = 0; i < p->n_classes; i++)
		if (p->classes[i].filter == NULL || tl_filter_match(p->classes[i].filter, m, wire_bytes))
			return i;
	return p->n_classes;
}

// Hash the flow or source of a frame, and prefetch the group of its meter.
static inline uint64_t police_print(const struct tl_police *p, const struct police_class *c, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint64_t print = c->per == TL_POLICE_PER_FLOW ? tl_flow_print(&p->hash, p->inner, frame, m->data_len)
						      : tl_flow_source_print(&p->hash, p->inner, frame, m->data_len);
	const struct police_meter *group = police_group(c, print);

	__builtin_prefetch(group, 1);
	__builtin_prefetch((const uint8_t *)group + TL_CACHE_LINE, 1);
	return print;
}

// Mark all frames first, so that the groups of their meters are prefetched together.
static void police_mark(struct tl_police *p, const struct tl_burst *b, uint64_t wanted, struct police_marks *out)
{
	for (uint64_t left = wanted; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		uint32_t cls = police_classify(p, b->pkts[i], b->wire_bytes[i]);
		struct police_class *c = &p->classes[cls];
		tl_count(&c->stats.matched_pkts, 1);
		out->cls[i] = (uint8_t)cls;
		out->print[i] = c->table != NULL ? police_print(p, c, b->pkts[i]) : 0;
	}
}

// True if the meter is free, or was not used for a time that fills its buckets. In unsigned arithmetic, times more than
// TL_POLICE_STEP_NS ahead, from before a step of the clock, count as such.
static inline bool police_is_unused(const struct police_class *c, const struct police_meter *m, uint64_t now_ns)
{
	return m->print == 0 || now_ns + TL_POLICE_STEP_NS - m->state.time_ns >= c->reuse_ns;
}

// Take a place for a new meter; without one return the shared meter.
static struct tl_meter_state *police_begin(struct police_class *c, uint64_t print, uint64_t now_ns)
{
	struct police_meter *group = police_group(c, print);

	for (unsigned i = 0; i < POLICE_WAYS; i++) {
		if (!police_is_unused(c, &group[i], now_ns))
			continue;
		group[i] = (struct police_meter){.print = print, .state = c->meter.state};
		tl_count(&c->stats.meters, 1);
		return &group[i].state;
	}
	tl_count(&c->stats.overflow_pkts, 1);
	return &c->shared;
}

static inline struct tl_meter_state *police_find(struct police_class *c, uint64_t print, uint64_t now_ns)
{
	struct police_meter *group = police_group(c, print);

	for (unsigned i = 0; i < POLICE_WAYS; i++)
		if (group[i].print == print)
			return &group[i].state;
	return police_begin(c, print, now_ns);
}

// Colour of a frame on arrival. Not inline: only colour-aware classes need it.
static __attribute__((noinline)) enum tl_meter_colour police_arrival(const struct rte_mbuf *m)
{
	return tl_meter_colour_of_dscp(
		tl_link_dscp(TL_LINK_ETHERNET, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len));
}

static inline enum tl_meter_colour police_colour(
	struct police_class *c, uint64_t print, uint64_t now_ns, const struct rte_mbuf *m, uint32_t wire_bytes)
{
	enum tl_meter_colour arrival = TL_UNLIKELY(c->aware) ? police_arrival(m) : TL_METER_GREEN;
	struct tl_meter_state *state = print != 0 ? police_find(c, print, now_ns) : &c->shared;

	if (TL_UNLIKELY(state->time_ns > now_ns + TL_POLICE_STEP_NS))
		state->time_ns = now_ns;
	enum tl_meter_colour colour = tl_meter_colour_state(&c->meter, state, now_ns, wire_bytes, arrival);
	tl_count(&c->stats.pkts[colour], 1);
	tl_count(&c->stats.bytes[colour], wire_bytes);
	return colour;
}

void tl_police_burst(struct tl_police *p, const struct tl_burst *b, uint64_t wanted, struct tl_police_verdict *out)
{
	struct police_marks marks;

	police_mark(p, b, wanted, &marks);
	out->red = out->yellow = 0;
	for (uint64_t left = wanted; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		struct police_class *c = &p->classes[marks.cls[i]];
		out->snaplen[i] = UINT32_MAX;
		if (marks.cls[i] == p->n_classes)
			continue;
		enum tl_meter_colour colour =
			police_colour(c, marks.print[i], b->ts_ns[i], b->pkts[i], b->wire_bytes[i]);
		out->red |= (uint64_t)(colour == TL_METER_RED) << i;
		out->yellow |= (uint64_t)(colour == TL_METER_YELLOW) << i;
		if (colour == TL_METER_YELLOW)
			out->snaplen[i] = c->snaplen;
	}
}
