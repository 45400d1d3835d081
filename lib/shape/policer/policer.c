// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a policer.

#include <tl_policer.h>

int tl_policer_init(struct tl_policer *policer, const struct tl_policer_cfg *cfg, struct tl_err *err)
{
	for (int i = 0; i < TL_METER_COLOURS; i++)
		policer->actions[i] = cfg->actions[i];
	policer->aware = cfg->aware;
	return tl_meter_init(&policer->meter, &cfg->meter, err);
}
