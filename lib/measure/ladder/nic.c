// SPDX-License-Identifier: BSD-3-Clause
// DPDK on a NIC that is bound to it: the NIC writes each frame to an mbuf by DMA, and a descriptor of its ring tells
// the thread, which polls that ring in user space. No kernel is involved. The port's ring is the only buffer.

#include <errno.h>

#include <rte_ethdev.h>

#include <tl_clock.h>
#include <tl_eal.h>
#include <tl_port.h>

#include "ladder_priv.h"

#define MEMORY_MB 256
#define NIC_LINK_NS (10 * TL_NS_PER_S)
#define LINK_NS TL_NS_PER_S // a virtual device has link up after the other side's reply

static int start_dpdk(
	const struct tl_port_spec *spec, bool huge, uint32_t cpu, struct tl_ladder_nic *nic, struct tl_err *err)
{
	const char *pci = spec->text;
	const struct tl_eal_cfg cfg = {.huge = huge,
		.memory_mb = MEMORY_MB,
		.main_lcore = cpu,
		.pci = &pci,
		.n_pci = tl_port_traits(spec)->nic};

	int rc = tl_eal_init(&cfg, &nic->eal, err);
	if (rc != 0)
		return rc;
	nic->clock = tl_clock_create();
	return nic->clock != NULL ? 0 : tl_fail(err, -ENODEV, "this CPU's time stamp counter does not run");
}

int tl_ladder_nic_open(
	const char *device, bool sends, bool huge, uint32_t cpu, struct tl_ladder_nic *out, struct tl_err *err)
{
	struct tl_port_cfg cfg = {.name = "ladder",
		.rx_queues = 1,
		.tx_queues = sends,
		.mtu = 1500,
		.promisc = true,
		.rx_only = true,
		.timestamps = TL_TS_TSC,
		.socket_id = SOCKET_ID_ANY};

	*out = (struct tl_ladder_nic){NULL};
	int rc = tl_port_spec_parse(device, &cfg.spec, err);
	if (rc == 0)
		rc = tl_port_check(&cfg, err);
	if (rc == 0)
		rc = start_dpdk(&cfg.spec, huge, cpu, out, err);
	cfg.clock = out->clock;
	if (rc == 0)
		rc = tl_port_open(&cfg, &out->port, err);
	if (rc == 0)
		rc = tl_port_start(out->port, err);
	if (rc != 0)
		tl_ladder_nic_close(out);
	return rc;
}

int tl_ladder_nic_await(const struct tl_ladder_nic *nic, struct tl_err *err)
{
	const struct tl_port_spec *spec = &tl_port_config(nic->port)->spec;

	if (tl_port_await_link(nic->port, tl_port_traits(spec)->nic ? NIC_LINK_NS : LINK_NS))
		return 0;
	return tl_fail(err, -ENETDOWN, "%s has no link: check the cable and the other side", spec->text);
}

void tl_ladder_nic_close(struct tl_ladder_nic *nic)
{
	if (nic->port != NULL && tl_port_torn_out(nic->port))
		tl_eal_abandon(nic->eal);
	tl_port_close(nic->port);
	tl_clock_destroy(nic->clock);
	if (nic->eal != NULL)
		tl_eal_fini(nic->eal);
	*nic = (struct tl_ladder_nic){NULL};
}

// ---- rung

static void close_lane(void *arg)
{
	tl_ladder_nic_close(arg);
}

static int open_lane(void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	struct tl_ladder_nic *nic = arg;

	int rc = tl_ladder_nic_open(cfg->ifname, false, cfg->huge, cfg->cpu, nic, err);
	if (rc == 0)
		rc = tl_ladder_nic_await(nic, err);
	if (rc == 0)
		tl_port_begin_account(nic->port);
	return rc;
}

// Count a burst, in the port's account, too: its drops are what the NIC saw beyond that.
static void take_burst(struct tl_rxq *q, struct rte_mbuf **frames, uint16_t n, struct tl_ladder_sink *sink)
{
	uint64_t bytes = 0;

	for (uint16_t i = 0; i < n; i++) {
		bytes += rte_pktmbuf_pkt_len(frames[i]);
		tl_ladder_take(sink, rte_pktmbuf_mtod(frames[i], const void *), rte_pktmbuf_pkt_len(frames[i]));
	}
	tl_count(&q->stats.rx_pkts, n);
	tl_count(&q->stats.rx_bytes, bytes);
	rte_pktmbuf_free_bulk(frames, n);
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	const struct tl_ladder_nic *nic = arg;
	struct tl_rxq *q = tl_port_rxq(nic->port, 0);
	struct rte_mbuf *frames[TL_BURST];

	if (rte_thread_register() != 0) // an lcore's number, for the pool's cache
		return -EAGAIN;
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		uint64_t begin_ns = tl_ladder_now_ns();
		uint16_t n = rte_eth_rx_burst(q->port_id, q->queue_id, frames, TL_BURST);
		if (n == 0)
			continue;
		take_burst(q, frames, n, sink);
		tl_count(&sink->busy_ns, tl_ladder_now_ns() - begin_ns);
	}
	rte_thread_unregister();
	return 0;
}

static uint64_t dropped(void *arg)
{
	const struct tl_ladder_nic *nic = arg;
	struct tl_port_stats stats;

	tl_port_sample(nic->port, &stats);
	return tl_port_drops(&stats);
}

const struct tl_ladder_ops ladder_nic = {sizeof(struct tl_ladder_nic), open_lane, NULL, receive, dropped, close_lane};
