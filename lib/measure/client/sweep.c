// SPDX-License-Identifier: BSD-3-Clause
// One run per value of a sweep.

#include <tl_client.h>

struct tl_client_cfg tl_client_point(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep, size_t i)
{
	struct tl_client_cfg one = *cfg;

	if (sweep->axis == TL_CLIENT_AXIS_PAYLOAD)
		one.payload_bytes = sweep->at[i];
	if (sweep->axis == TL_CLIENT_AXIS_RATE)
		one.rate_pps = sweep->at[i];
	one.seed = cfg->seed + i; // a late echo of one run is corrupt in the next
	return one;
}

static void report_point(const struct tl_client_hooks *hooks, const struct tl_client_cfg *cfg)
{
	if (hooks->progress != NULL && hooks->points > 0)
		hooks->progress(hooks->ctx, &(struct tl_client_progress){
						    .phase = TL_CLIENT_BEGINNING,
						    .point = hooks->point,
						    .points = hooks->points,
						    .payload_bytes = cfg->payload_bytes,
						    .rate_pps = cfg->rate_pps,
					    });
}

int tl_client_sweep_run(const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep,
	const struct tl_client_hooks *hooks, struct tl_client_result *results, size_t *done, struct tl_err *err)
{
	struct tl_client_hooks its_hooks = *hooks;
	bool sweeps = sweep->axis != TL_CLIENT_AXIS_NONE;

	its_hooks.points = sweeps ? (uint32_t)sweep->n : 0;
	for (*done = 0; *done < sweep->n; ++*done) {
		const struct tl_client_cfg one = tl_client_point(cfg, sweep, *done);
		its_hooks.point = sweeps ? (uint32_t)*done + 1 : 0;
		report_point(&its_hooks, &one);
		int ret = tl_client_run(&one, &its_hooks, &results[*done], err);
		if (ret != 0)
			return sweeps ? tl_fail_at(err, ret, "point %zu of %zu", *done + 1, sweep->n) : ret;
		if (results[*done].interrupted) {
			++*done;
			break;
		}
	}
	return 0;
}
