// SPDX-License-Identifier: BSD-3-Clause
// Colour of a frame: add the tokens of the time since the last one, then take those of the frame.

#include "meter_priv.h"

// RFC 2697, section 3.
static inline enum tl_meter_colour take_single(const struct tl_meter *m, struct tl_meter_state *s, uint64_t elapsed_ns,
	uint64_t cost, enum tl_meter_colour colour)
{
	uint64_t committed = tl_bucket_earn(s->committed, m->cir, elapsed_ns, m->committed_full_ns);

	if (committed > m->committed_max) { // Te gets what Tc cannot hold
		s->excess = tl_min_u64(s->excess + (committed - m->committed_max), m->excess_max);
		committed = m->committed_max;
	}
	bool green = colour == TL_METER_GREEN && committed >= cost;
	s->committed = committed - (green ? cost : 0);
	if (green)
		return TL_METER_GREEN;
	if (colour == TL_METER_RED || s->excess < cost)
		return TL_METER_RED;
	s->excess -= cost;
	return TL_METER_YELLOW;
}

// RFC 2698, section 3.
static inline enum tl_meter_colour take_two(const struct tl_meter *m, struct tl_meter_state *s, uint64_t elapsed_ns,
	uint64_t cost, enum tl_meter_colour colour)
{
	uint64_t committed = tl_bucket_earn(s->committed, m->cir, elapsed_ns, m->committed_full_ns);
	uint64_t peak = tl_bucket_earn(s->excess, m->excess_rate, elapsed_ns, m->excess_full_ns);

	committed = tl_min_u64(committed, m->committed_max);
	peak = tl_min_u64(peak, m->excess_max);
	bool conforms = colour != TL_METER_RED && peak >= cost;
	bool green = conforms && colour == TL_METER_GREEN && committed >= cost;
	s->excess = peak - (conforms ? cost : 0);
	s->committed = committed - (green ? cost : 0);
	return green ? TL_METER_GREEN : conforms ? TL_METER_YELLOW : TL_METER_RED;
}

// RFC 4115, section 3: a green frame takes nothing from Te.
static inline enum tl_meter_colour take_apart(const struct tl_meter *m, struct tl_meter_state *s, uint64_t elapsed_ns,
	uint64_t cost, enum tl_meter_colour colour)
{
	uint64_t committed = tl_bucket_earn(s->committed, m->cir, elapsed_ns, m->committed_full_ns);
	uint64_t excess = tl_bucket_earn(s->excess, m->excess_rate, elapsed_ns, m->excess_full_ns);

	committed = tl_min_u64(committed, m->committed_max);
	excess = tl_min_u64(excess, m->excess_max);
	bool green = colour == TL_METER_GREEN && committed >= cost;
	bool yellow = !green && colour != TL_METER_RED && excess >= cost;
	s->committed = committed - (green ? cost : 0);
	s->excess = excess - (yellow ? cost : 0);
	return green ? TL_METER_GREEN : yellow ? TL_METER_YELLOW : TL_METER_RED;
}

static inline enum tl_meter_colour take(const struct tl_meter *meter, struct tl_meter_state *state, uint64_t now_ns,
	uint32_t bytes, enum tl_meter_colour colour)
{
	uint64_t elapsed_ns = meter_elapsed(state->time_ns, now_ns);
	uint64_t cost = bytes * meter->byte_cost + meter->pkt_cost;

	state->time_ns += elapsed_ns;
	if (meter->kind == TL_METER_SRTCM)
		return take_single(meter, state, elapsed_ns, cost, colour);
	return meter->kind == TL_METER_TRTCM ? take_two(meter, state, elapsed_ns, cost, colour)
					     : take_apart(meter, state, elapsed_ns, cost, colour);
}

enum tl_meter_colour tl_meter_colour(
	struct tl_meter *meter, uint64_t now_ns, uint32_t bytes, enum tl_meter_colour colour)
{
	return take(meter, &meter->state, now_ns, bytes, colour);
}

enum tl_meter_colour tl_meter_colour_state(const struct tl_meter *meter, struct tl_meter_state *state, uint64_t now_ns,
	uint32_t bytes, enum tl_meter_colour colour)
{
	return take(meter, state, now_ns, bytes, colour);
}
