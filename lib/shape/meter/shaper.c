// SPDX-License-Identifier: BSD-3-Clause
// Departure times of a token bucket with a queue.

#include "meter_priv.h"

int tl_shaper_init(struct tl_shaper *shaper, const struct tl_meter_cfg *cfg, struct tl_err *err)
{
	const struct tl_meter_cfg bucket = {.cir = cfg->cir, .cbs = cfg->cbs, .overhead_bytes = cfg->overhead_bytes};
	int rc = meter_check(&bucket, err);

	if (rc == 0)
		*shaper = (struct tl_shaper){.tokens = (tl_meter_tokens)cfg->cbs * METER_BYTE_COST,
			.tokens_max = (tl_meter_tokens)cfg->cbs * METER_BYTE_COST,
			.rate = cfg->cir,
			.overhead_bytes = cfg->overhead_bytes};
	return rc;
}

static void advance(struct tl_shaper *s, uint64_t elapsed_ns)
{
	s->time_ns += elapsed_ns;
	s->tokens = meter_min(s->tokens + meter_earned(s->rate, elapsed_ns), s->tokens_max);
}

uint64_t tl_shaper_depart(struct tl_shaper *shaper, uint64_t now_ns, uint32_t bytes)
{
	tl_meter_tokens cost = meter_frame_cost(bytes, shaper->overhead_bytes);

	if (cost > shaper->tokens_max)
		return TL_SHAPER_NEVER;
	advance(shaper, meter_elapsed(shaper->time_ns, now_ns));
	if (shaper->tokens < cost) {
		tl_meter_tokens wait_ns = (cost - shaper->tokens + shaper->rate - 1) / shaper->rate;
		if (wait_ns >= TL_SHAPER_NEVER - shaper->time_ns) // after the end of 64-bit time
			return TL_SHAPER_NEVER;
		advance(shaper, (uint64_t)wait_ns);
	}
	shaper->tokens -= cost;
	return shaper->time_ns;
}

uint64_t tl_shaper_tokens(const struct tl_shaper *shaper)
{
	return (uint64_t)(shaper->tokens / METER_BYTE_COST);
}
