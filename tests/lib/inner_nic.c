// SPDX-License-Identifier: BSD-3-Clause
// Emulate a driver that offers an RSS level, on a NIC that hashes outer headers nevertheless, as one does with
// encapsulations that it does not know: preloaded, it interposes between the program and librte_ethdev.
//
// INNER_NIC=refuse: the driver refuses the level; INNER_NIC=forget: it does not keep it

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

// Next definition behind this library.
#define REAL(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

static uint64_t level;

static bool is_mode(const char *mode)
{
	const char *like = getenv("INNER_NIC");

	return like != NULL && strcmp(like, mode) == 0;
}

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	int rc = REAL(rte_eth_dev_info_get)(port_id, info);

	info->flow_type_rss_offloads |= RTE_ETH_RSS_LEVEL_MASK;
	return rc;
}

int rte_eth_dev_configure(uint16_t port_id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *wanted)
{
	struct rte_eth_conf conf = *wanted;
	uint64_t *rss_hf = &conf.rx_adv_conf.rss_conf.rss_hf;

	level = *rss_hf & RTE_ETH_RSS_LEVEL_MASK;
	if (level != 0 && is_mode("refuse"))
		return -EINVAL;
	*rss_hf &= ~RTE_ETH_RSS_LEVEL_MASK;
	return REAL(rte_eth_dev_configure)(port_id, rx, tx, &conf);
}

int rte_eth_dev_rss_hash_conf_get(uint16_t port_id, struct rte_eth_rss_conf *conf)
{
	int rc = REAL(rte_eth_dev_rss_hash_conf_get)(port_id, conf);

	conf->rss_hf |= is_mode("forget") ? 0 : level;
	return rc;
}
