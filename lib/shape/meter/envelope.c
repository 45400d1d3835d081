// SPDX-License-Identifier: BSD-3-Clause
// The burst that a trace needs at a rate: the largest fill of a leaky bucket.

#include "meter_priv.h"

void tl_envelope_init(struct tl_envelope *envelope, uint64_t rate_bps, uint32_t overhead_bytes)
{
	*envelope = (struct tl_envelope){.rate = rate_bps, .overhead_bytes = overhead_bytes};
}

uint64_t tl_envelope_add(struct tl_envelope *envelope, uint64_t now_ns, uint32_t bytes)
{
	uint64_t elapsed_ns = meter_elapsed(envelope->time_ns, now_ns);

	envelope->time_ns += elapsed_ns;
	envelope->level -= meter_min(meter_earned(envelope->rate, elapsed_ns), envelope->level);
	envelope->level += meter_frame_cost(bytes, envelope->overhead_bytes);
	if (envelope->level > envelope->peak)
		envelope->peak = envelope->level;
	return meter_bytes_up(envelope->level);
}

uint64_t tl_envelope_burst(const struct tl_envelope *envelope)
{
	return meter_bytes_up(envelope->peak);
}
