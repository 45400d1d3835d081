// SPDX-License-Identifier: BSD-3-Clause
// Open, start and close a port through its backend, and give access to its queues.

#include "port_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

int tl_port_check(const struct tl_port_cfg *cfg, struct tl_err *err)
{
	const struct tl_port_traits *traits = tl_port_traits(&cfg->spec);
	int rc = tl_port_check_stamps(cfg, err);

	if (rc == 0 && traits->check != NULL)
		rc = traits->check(cfg, err);
	return rc == 0 && cfg->isolate ? tl_isolate_check(cfg, err) : rc;
}

int tl_port_open(const struct tl_port_cfg *cfg, struct tl_port **out, struct tl_err *err)
{
	if (cfg->rx_queues == 0 || cfg->rx_queues > TL_PORT_QUEUES_MAX || cfg->tx_queues > TL_PORT_QUEUES_MAX)
		return tl_fail(err, -EINVAL, "port %s: 1 to %u queues", cfg->name, TL_PORT_QUEUES_MAX);
	struct tl_port *port = rte_zmalloc_socket("tl_port", sizeof(*port), TL_CACHE_LINE, cfg->socket_id);
	if (port == NULL)
		return tl_fail(err, -ENOMEM, "port %s: out of memory", cfg->name);
	port->cfg = *cfg;
	snprintf(port->name, sizeof(port->name), "%s", cfg->name);
	port->cfg.name = port->name;
	port->ops = tl_port_traits(&cfg->spec)->ops;
	tl_port_open_presence(port);
	int rc = port->ops->open(port, err);
	if (rc != 0) {
		tl_port_close(port);
		return rc;
	}
	*out = port;
	return 0;
}

int tl_port_start(struct tl_port *port, struct tl_err *err)
{
	int rc = port->ops->start(port, err);

	port->started = rc == 0;
	if (rc == 0)
		tl_port_begin_watch(port);
	return rc;
}

void tl_port_begin_account(struct tl_port *port)
{
	if (port->ops->begin_account != NULL)
		port->ops->begin_account(port);
}

bool tl_port_quiesce(struct tl_port *port)
{
	return port->ops->quiesce(port);
}

static uint64_t received(struct tl_port *port)
{
	uint64_t pkts = 0;

	for (uint16_t q = 0; q < port->cfg.rx_queues; q++)
		pkts += tl_count_read(&tl_port_rxq(port, q)->stats.rx_pkts);
	return pkts;
}

bool tl_port_settle(struct tl_port *port, uint32_t timeout_ms)
{
	struct tl_port_stats stats;

	for (uint32_t waited_ms = 0;; waited_ms++) {
		tl_port_sample(port, &stats);
		if (!stats.verified || stats.hw_seen_pkts <= received(port) + tl_port_drops(&stats))
			return true;
		if (waited_ms == timeout_ms)
			return false;
		usleep(1000);
	}
}

void tl_port_close(struct tl_port *port)
{
	if (port == NULL)
		return;
	tl_port_end_watch(port);
	port->ops->close(port);
	tl_port_end_stamps(port);
	tl_port_close_presence(port);
	rte_mempool_free(port->pool);
	rte_free(port);
}

void tl_port_sample(struct tl_port *port, struct tl_port_stats *out)
{
	port->ops->sample(port, out);
}

int tl_port_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n)
{
	return port->ops->set_groups(port, macs, n);
}

bool tl_port_ended(const struct tl_port *port, struct tl_err *err)
{
	return tl_port_removed(port, err) || (port->ops->ended != NULL && port->ops->ended(port, err));
}

struct tl_rxq *tl_port_rxq(struct tl_port *port, uint16_t queue)
{
	return &port->rxq[queue];
}

struct tl_rxq *tl_port_copies(struct tl_port *port)
{
	return port->copies.sockets.n != 0 ? &port->copies.rxq : NULL;
}

bool tl_rxq_wait(const struct tl_rxq *q, bool any_queue, uint32_t timeout_us)
{
	struct timespec timeout = {.tv_sec = timeout_us / 1000000, .tv_nsec = (long)(timeout_us % 1000000) * 1000};
	struct pollfd fds[TL_PORT_QUEUES_MAX];
	nfds_t n = 0;

	if (q != NULL)
		fds[n++] = (struct pollfd){.fd = q->wait_fd, .events = POLLIN};
	for (uint16_t i = 0; q != NULL && any_queue && i < q->port->cfg.rx_queues; i++)
		if (i != q->queue_id)
			fds[n++] = (struct pollfd){.fd = q->port->rxq[i].wait_fd, .events = POLLIN};
	return ppoll(fds, n, &timeout, NULL) > 0; // negative descriptors are ignored
}

bool tl_rxq_ring_used(const struct tl_rxq *q, uint32_t *used)
{
	int n = q->descriptors != 0 ? rte_eth_rx_queue_count(q->port_id, q->queue_id) : -ENOTSUP;

	*used = n > 0 ? (uint32_t)n : 0;
	return n >= 0;
}

struct tl_txq *tl_port_txq(struct tl_port *port, uint16_t queue)
{
	return &port->txq[queue];
}

const struct tl_port_cfg *tl_port_config(const struct tl_port *port)
{
	return &port->cfg;
}

const uint8_t *tl_port_mac(const struct tl_port *port)
{
	return port->mac;
}

uint32_t tl_port_frame_limit(const struct tl_port *port)
{
	if (!tl_port_is_kernels(port))
		return port->cfg.mtu + TL_ETHER_LEN;
	return tl_kernel_send_limit(&port->cfg);
}

struct rte_mempool *tl_port_pool(const struct tl_port *port)
{
	return port->pool;
}

uint32_t tl_port_mbufs_in_use(const struct tl_port *port)
{
	return port->pool != NULL ? rte_mempool_in_use_count(port->pool) : 0;
}
