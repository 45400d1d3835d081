// SPDX-License-Identifier: BSD-3-Clause
// Recordings in a share: writers that divide the bandwidth of their disk.

#include "config_priv.h"

int tl_config_check_recorded(struct tl_config_reader *r, const struct tl_config_capture *capture, const json_t *value)
{
	int rc = tl_config_check_unshared(r, capture->share_name, value);

	if (rc != 0)
		return rc;
	if (capture->share_name != NULL && capture->mode == TL_CONFIG_MODE_TRIGGER &&
		capture->trigger.store == TL_CONFIG_STORE_MEMORY)
		return tl_config_refuse_key(r, "share",
			"a recording that waits for triggers in memory has no share of the disk: leave it out, or "
			"give \"trigger\" the \"store\": \"files\"");
	return 0;
}

int tl_config_join_disk(struct tl_config_reader *r, struct tl_config *config, uint32_t index)
{
	struct tl_config_capture *capture = &config->captures[index];

	return tl_config_find_share(r, config, "capture", index, capture->share_name, &capture->share);
}

bool tl_config_shares_disk(const struct tl_config *config, uint32_t share)
{
	for (uint32_t i = 0; i < config->n_captures; i++)
		if (config->captures[i].share == share)
			return true;
	return false;
}

int tl_config_check_disk(struct tl_config_reader *r, const struct tl_config *config, uint32_t share)
{
	uint64_t floors = 0, rate = config->shares[share].rate;

	for (uint32_t i = 0; i < config->n_shapes; i++) {
		if (config->shapes[i].share != share)
			continue;
		return tl_config_refuse_at(r, "shape", i, "share",
			"the recordings of \"%s\" share a disk, not a port: name another entry",
			config->shares[share].name);
	}
	for (uint32_t i = 0; i < config->n_captures; i++)
		if (config->captures[i].share == share)
			floors += config->captures[i].floor;
	tl_config_point_at(r, "share", share, "rate");
	if (rate != 0 && floors > rate)
		return tl_config_refuse(r,
			"the floors of its recordings add up to %ju bit/s, more than this: lower them",
			(uintmax_t)floors);
	return 0;
}
