// SPDX-License-Identifier: BSD-3-Clause
// Stamping through the driver of a DPDK port.

#include "timesync_priv.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>

static uint16_t port_id(void *ctx)
{
	return tl_port_rxq(ctx, 0)->port_id;
}

static bool has_driver(void *ctx)
{
	return tl_port_is_drivers(&tl_port_config(ctx)->spec);
}

static int to_ns(int rc, const struct timespec *time, uint64_t *ns)
{
	*ns = (uint64_t)time->tv_sec * TL_NS_PER_S + (uint64_t)time->tv_nsec;
	return rc;
}

static int enable(void *ctx)
{
	return tl_port_enable_timesync(ctx);
}

static void disable(void *ctx)
{
	if (has_driver(ctx))
		(void)rte_eth_timesync_disable(port_id(ctx));
}

static int read_clock(void *ctx, uint64_t *ns)
{
	struct timespec time = {0};

	if (!has_driver(ctx))
		return -ENOTSUP;
	int rc = rte_eth_timesync_read_time(port_id(ctx), &time);

	return to_ns(rc, &time, ns);
}

static int read_sent(void *ctx, uint64_t *ns)
{
	struct timespec time = {0};
	int rc = rte_eth_timesync_read_tx_timestamp(port_id(ctx), &time);

	return to_ns(rc, &time, ns);
}

static int read_received(void *ctx, uint32_t latch, uint64_t *ns)
{
	struct timespec time = {0};
	int rc = rte_eth_timesync_read_rx_timestamp(port_id(ctx), &time, latch);

	return to_ns(rc, &time, ns);
}

// Return the number of registers. With i40e the index in a frame is that of its register; other drivers use it
// differently, or not at all.
static unsigned latches(void *ctx)
{
	struct rte_eth_dev_info info;

	if (!has_driver(ctx) || rte_eth_dev_info_get(port_id(ctx), &info) != 0)
		return 1;
	return strcmp(info.driver_name, "net_i40e") == 0 ? 4 : 1;
}

const struct tl_timesync_ops tl_timesync_eth_ops = {
	.enable = enable,
	.disable = disable,
	.read_clock = read_clock,
	.read_sent = read_sent,
	.read_received = read_received,
	.latches = latches,
	.bits = 64,
	.silence =
		"this DPDK was built without RTE_LIBRTE_IEEE1588, as Debian's is (make one with tools/build-dpdk.sh, and "
		"Tapline with -Ddpdk_prefix)",
};
