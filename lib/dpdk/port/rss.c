// SPDX-License-Identifier: BSD-3-Clause
// Distribution of connections over the queues of a NIC, so that a connection can be chosen for a given queue.

#include "port_priv.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_thash.h>

#include <tl_log.h>

#define TUPLE_WORDS 3	    // addresses and ports of TCP over IPv4
#define TUPLE6_KEY_BYTES 40 // of the key, for 36 bytes of addresses and ports of TCP over IPv6

_Static_assert(TL_PORT_RETA_MAX % RTE_ETH_RETA_GROUP_SIZE == 0, "the table is read in whole groups");

static bool read_reta(uint16_t port_id, uint16_t size, uint16_t *reta)
{
	struct rte_eth_rss_reta_entry64 groups[TL_PORT_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE];

	if (size == 0 || size > TL_PORT_RETA_MAX || (size & (size - 1)) != 0)
		return false;
	for (size_t i = 0; i < TL_ARRAY_LEN(groups); i++)
		groups[i].mask = UINT64_MAX;
	if (rte_eth_dev_rss_reta_query(port_id, groups, size) != 0)
		return false;
	for (uint16_t i = 0; i < size; i++)
		reta[i] = groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
	return true;
}

// The level of a hash is offered by bits of rss_hf. Drivers that have them may ignore it: read_inner() looks.
static void ask_for_inner(struct tl_port *port, const struct rte_eth_dev_info *info, struct rte_eth_rss_conf *rss)
{
	if (!port->cfg.rss_inner)
		return;
	port->outer_why = "its driver offers no RSS level";
	if ((info->flow_type_rss_offloads & RTE_ETH_RSS_LEVEL_INNERMOST) == 0 || rss->rss_hf == 0)
		return;
	rss->rss_hf |= RTE_ETH_RSS_LEVEL_INNERMOST;
	port->outer_why = NULL;
}

int tl_port_configure_device(struct tl_port *port, uint16_t rx, uint16_t tx, struct rte_eth_conf *conf)
{
	uint64_t *rss_hf = &conf->rx_adv_conf.rss_conf.rss_hf;
	int rc = rte_eth_dev_configure(port->port_id, rx, tx, conf);

	if (rc == 0 || (*rss_hf & RTE_ETH_RSS_LEVEL_MASK) == 0)
		return rc;
	*rss_hf &= ~RTE_ETH_RSS_LEVEL_MASK;
	port->outer_why = "its driver refuses the RSS level";
	return rte_eth_dev_configure(port->port_id, rx, tx, conf);
}

int tl_port_configure_rss(
	struct tl_port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf, struct tl_err *err)
{
	struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;
	bool takes_key = info->hash_key_size != 0 && info->hash_key_size <= TL_PORT_RSS_KEY_MAX;

	if (port->cfg.rss_queues != 0 && (info->reta_size == 0 || info->reta_size > TL_PORT_RETA_MAX))
		return tl_fail(err, -ENOTSUP, "port %s: %s has no RSS table that can be set: omit \"rss_queues\"",
			port->name, port->cfg.spec.text);
	if (port->cfg.rx_queues > 1 && info->flow_type_rss_offloads != 0) {
		conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		rss->rss_hf = info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
	}
	ask_for_inner(port, info, rss);
	if (!port->cfg.rss_symmetric || conf->rxmode.mq_mode != RTE_ETH_MQ_RX_RSS)
		return 0;
	if (!takes_key)
		return tl_fail(err, -ENOTSUP, "port %s: %s does not support an RSS key: omit \"rss\"", port->name,
			port->cfg.spec.text);
	// A key that repeats every 16 bits hashes (a, b) as (b, a), where both have as many bits.
	for (unsigned i = 0; i < info->hash_key_size; i++)
		port->rss_key[i] = i % 2 == 0 ? 0x6d : 0x5a;
	rss->rss_key = port->rss_key;
	rss->rss_key_len = info->hash_key_size;
	return 0;
}

int tl_port_spread(struct tl_port *port, struct tl_err *err)
{
	struct rte_eth_rss_reta_entry64 groups[TL_PORT_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE] = {0};
	struct rte_eth_dev_info info;
	uint32_t queues = port->cfg.rss_queues, left = 0;

	if (queues == 0)
		return 0;
	int rc = rte_eth_dev_info_get(port->port_id, &info); // whose table tl_port_configure_rss() has checked
	for (uint16_t i = 0; i < info.reta_size && rc == 0; i++) {
		left = left != 0 ? left : queues;
		groups[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
		groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = (uint16_t)__builtin_ctz(left);
		left &= left - 1;
	}
	if (rc == 0)
		rc = rte_eth_dev_rss_reta_update(port->port_id, groups, info.reta_size);
	if (rc != 0)
		return tl_fail(err, rc, "port %s: %s does not accept an RSS table (%s): omit \"rss_queues\"",
			port->name, port->cfg.spec.text, strerror(-rc));
	return 0;
}

bool tl_port_rss(const struct tl_port *port, struct tl_port_rss *out)
{
	struct rte_eth_rss_conf conf = {.rss_key = out->key, .rss_key_len = sizeof(out->key)};
	struct rte_eth_dev_info info;

	*out = (struct tl_port_rss){0};
	if (port->ops != &tl_port_eth_ops || rte_eth_dev_info_get(port->port_id, &info) != 0)
		return false;
	if (info.hash_key_size > sizeof(out->key) || rte_eth_dev_rss_hash_conf_get(port->port_id, &conf) != 0)
		return false;
	if ((conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP) == 0 ||
		(conf.rss_hf & (RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY | RTE_ETH_RSS_L4_SRC_ONLY |
				       RTE_ETH_RSS_L4_DST_ONLY)) != 0)
		return false;
	out->inner = (conf.rss_hf & RTE_ETH_RSS_LEVEL_MASK) == RTE_ETH_RSS_LEVEL_INNERMOST;
	out->reta_size = info.reta_size;
	return read_reta(port->port_id, info.reta_size, out->reta);
}

uint16_t tl_rss_queue(
	const struct tl_port_rss *rss, uint32_t src_be, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be)
{
	uint32_t tuple[TUPLE_WORDS] = {
		tl_be32(src_be), tl_be32(dst_be), (uint32_t)tl_be16(src_port_be) << 16 | tl_be16(dst_port_be)};

	return rss->reta[rte_softrss(tuple, TUPLE_WORDS, rss->key) & (rss->reta_size - 1u)];
}

// Return true if both directions of a flow have the same hash.
static bool is_symmetric(const struct tl_port_rss *rss)
{
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t a = 0x9e3779b1u * (i + 1), b = 0x85ebca6bu * (i + 1); // any flows
		uint32_t there[TUPLE_WORDS] = {a, b, (a & 0xffff) << 16 | (b & 0xffff)};
		uint32_t back[TUPLE_WORDS] = {b, a, (b & 0xffff) << 16 | (a & 0xffff)};
		if (rte_softrss(there, TUPLE_WORDS, rss->key) != rte_softrss(back, TUPLE_WORDS, rss->key))
			return false;
	}
	return true;
}

// Return true if the key repeats every 16 bits, as far as two IPv6 addresses and ports reach.
static bool key_repeats(const struct tl_port_rss *rss)
{
	return memcmp(rss->key, rss->key + 2, TUPLE6_KEY_BYTES - 2) == 0;
}

// Check the level of the hash that was asked for. rss: as read back; NULL: not reported.
static void read_inner(struct tl_port *port, const struct tl_port_rss *rss)
{
	if (!port->cfg.rss_inner || port->outer_why != NULL)
		return;
	if (rss == NULL)
		port->outer_why = "its driver does not report key and table of RSS";
	else if (!rss->inner)
		port->outer_why = "its driver did not keep the RSS level";
	else if (!key_repeats(rss))
		port->outer_why = "its driver did not keep the symmetric RSS key";
}

bool tl_port_hashes_inner(const struct tl_port *port, const char **why)
{
	*why = NULL;
	if (port->cfg.rss_inner && port->ops != &tl_port_eth_ops)
		*why = "it has no RSS";
	else if (port->cfg.rss_inner)
		*why = port->outer_why;
	return port->cfg.rss_inner && *why == NULL;
}

void tl_port_read_shares(struct tl_port *port)
{
	struct tl_port_rss rss;

	port->shares = (struct tl_port_shares){0};
	bool known = port->cfg.rx_queues > 1 && tl_port_rss(port, &rss);
	read_inner(port, known ? &rss : NULL);
	if (!known)
		return;
	port->shares.size = rss.reta_size;
	port->shares.symmetric = is_symmetric(&rss);
	for (uint16_t i = 0; i < rss.reta_size; i++)
		if (rss.reta[i] < TL_PORT_QUEUES_MAX)
			port->shares.entries[rss.reta[i]]++;
	if (port->cfg.rss_symmetric && !port->shares.symmetric)
		tl_warn("port %s: %s did not keep the symmetric RSS key: the directions of a flow may arrive on different queues",
			port->name, port->cfg.spec.text);
}

bool tl_port_shares(const struct tl_port *port, struct tl_port_shares *out)
{
	*out = port->shares;
	return out->size != 0;
}
