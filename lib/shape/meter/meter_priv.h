// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// meter_priv: arithmetic of token buckets, shared by the files of this module.

#include <tl_bucket.h>
#include <tl_meter.h>

#define METER_BYTE_COST TL_BUCKET_BYTE_COST
#define METER_PKT_COST UINT64_C(1000000000) // 1 packet/s adds 1 per ns

// Check rates and bursts. Return 0, or -EINVAL with a message that names the value.
int meter_check(const struct tl_meter_cfg *cfg, struct tl_err *err);

// Tokens that a rate adds. Below 2^127: a rate has 61 bits, a time 64.
static inline tl_meter_tokens meter_earned(uint64_t rate, uint64_t elapsed_ns)
{
	return (tl_meter_tokens)rate * elapsed_ns;
}

// Time since the last frame, 0 if the clock went backward.
static inline uint64_t meter_elapsed(uint64_t last_ns, uint64_t now_ns)
{
	return now_ns > last_ns ? now_ns - last_ns : 0;
}

static inline tl_meter_tokens meter_min(tl_meter_tokens a, tl_meter_tokens b)
{
	return a < b ? a : b;
}

static inline tl_meter_tokens meter_frame_cost(uint32_t bytes, uint32_t overhead_bytes)
{
	return (tl_meter_tokens)((uint64_t)bytes + overhead_bytes) * METER_BYTE_COST;
}

// Bytes of a level, rounded up.
static inline uint64_t meter_bytes_up(tl_meter_tokens tokens)
{
	return (uint64_t)((tokens + METER_BYTE_COST - 1) / METER_BYTE_COST);
}
