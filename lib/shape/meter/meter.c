// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a meter.

#include "meter_priv.h"

#include <errno.h>
#include <inttypes.h>

#include <tl_bucket.h>
#include <tl_err.h>

int meter_check(const struct tl_meter_cfg *cfg, struct tl_err *err)
{
	bool peak = cfg->kind == TL_METER_TRTCM, apart = cfg->kind == TL_METER_RFC4115;
	const struct {
		const char *name;
		uint64_t value, min, max;
		bool used;
	} values[] = {{"cir", cfg->cir, 1, TL_METER_RATE_MAX, true}, {"cbs", cfg->cbs, 1, TL_METER_BURST_MAX, true},
		{"eir", cfg->eir, 1, TL_METER_RATE_MAX, apart}, {"ebs", cfg->ebs, apart, TL_METER_BURST_MAX, !peak},
		{"pir", cfg->pir, 1, TL_METER_RATE_MAX, peak}, {"pbs", cfg->pbs, 1, TL_METER_BURST_MAX, peak},
		{"overhead", cfg->overhead_bytes, 0, TL_METER_FRAME_MAX, true}};

	for (size_t i = 0; i < TL_ARRAY_LEN(values); i++) {
		if (values[i].used && (values[i].value < values[i].min || values[i].value > values[i].max))
			return tl_fail(err, -EINVAL, "%s %" PRIu64 ": out of range; give %" PRIu64 " to %" PRIu64,
				values[i].name, values[i].value, values[i].min, values[i].max);
	}
	if (peak && cfg->pir < cfg->cir)
		return tl_fail(err, -EINVAL,
			"pir %" PRIu64 ": below cir %" PRIu64 " (RFC 2698, section 2); give cir or more", cfg->pir,
			cfg->cir);
	return 0;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static int check_burst(const char *name, uint64_t burst, uint64_t unit_tokens, struct tl_err *err)
{
	if (burst <= TL_BUCKET_MAX / unit_tokens)
		return 0;
	return tl_fail(err, -EINVAL,
		"%s %" PRIu64 ": too large to be exact at this rate; give at most %" PRIu64 ", or a rounder rate", name,
		burst, TL_BUCKET_MAX / unit_tokens);
}

int tl_meter_init(struct tl_meter *meter, const struct tl_meter_cfg *cfg, struct tl_err *err)
{
	bool two_rates = cfg->kind != TL_METER_SRTCM, peak = cfg->kind == TL_METER_TRTCM;
	bool bytes = cfg->unit == TL_METER_BYTES;
	uint64_t rate = peak ? cfg->pir : two_rates ? cfg->eir : 0, second = peak ? cfg->pbs : cfg->ebs;
	int rc = meter_check(cfg, err);

	if (rc != 0)
		return rc;
	uint64_t divisor = common_divisor(bytes ? METER_BYTE_COST : METER_PKT_COST, common_divisor(cfg->cir, rate));
	uint64_t unit = (bytes ? METER_BYTE_COST : METER_PKT_COST) / divisor;
	rc = check_burst("cbs", cfg->cbs, unit, err);
	if (rc == 0)
		rc = check_burst(peak ? "pbs" : "ebs", second, unit, err);
	if (rc != 0)
		return rc;
	*meter = (struct tl_meter){.state = {.committed = cfg->cbs * unit, .excess = second * unit},
		.kind = cfg->kind,
		.cir = cfg->cir / divisor,
		.excess_rate = rate / divisor,
		.unit_tokens = unit,
		.byte_cost = bytes ? unit : 0,
		.pkt_cost = bytes ? cfg->overhead_bytes * unit : unit,
		.committed_max = cfg->cbs * unit,
		.excess_max = second * unit};
	uint64_t to_fill = meter->committed_max + (two_rates ? 0 : meter->excess_max);
	meter->committed_full_ns = tl_bucket_full_ns(to_fill, meter->cir);
	meter->excess_full_ns = two_rates ? tl_bucket_full_ns(meter->excess_max, meter->excess_rate) : 0;
	return 0;
}

uint64_t tl_meter_full_ns(const struct tl_meter *meter)
{
	return tl_max_u64(meter->committed_full_ns, meter->excess_full_ns);
}

uint64_t tl_meter_committed(const struct tl_meter *meter)
{
	return meter->state.committed / meter->unit_tokens;
}
