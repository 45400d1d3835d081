// SPDX-License-Identifier: BSD-3-Clause
// Host on a port: creation and removal.

#include "dclient_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#define CONNS 256 // one active connection, and those in TIME-WAIT of earlier runs
#define SEND_BUFFER_BYTES (256 << 10)
#define EMPTY_TURNS 3 // consecutive, after the port was quiesced
#define STOP_TURNS 64 // of a port that cannot be quiesced: more than its ring holds
#define SETTLE_NS (200 * TL_NS_PER_MS)

static struct tl_net_cfg net_cfg(const struct tl_dclient_cfg *cfg)
{
	struct tl_net_cfg net = {.name = tl_port_config(cfg->port)->name,
		.tx = tl_port_txq(cfg->port, 0),
		.pool = tl_port_pool(cfg->port),
		.ip_be = cfg->ip_be,
		.mask_be = cfg->mask_be,
		.gateway_be = cfg->gateway_be,
		.vlan = cfg->vlan,
		.mtu = TL_DCLIENT_MTU,
		.max_conns = CONNS,
		.send_buffers = 4,
		.send_buffer_bytes = SEND_BUFFER_BYTES,
		.socket_id = tl_port_config(cfg->port)->socket_id};

	memcpy(net.mac, tl_port_mac(cfg->port), sizeof(net.mac));
	return net;
}

int tl_dclient_create(const struct tl_dclient_cfg *cfg, struct tl_dclient **out, struct tl_err *err)
{
	struct tl_dclient *host = calloc(1, sizeof(*host));
	struct tl_net_cfg net = net_cfg(cfg);

	if (host == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	*host = (struct tl_dclient){.cfg = *cfg,
		.rxq = tl_port_rxq(cfg->port, 0),
		.tx = tl_port_txq(cfg->port, 0),
		.next_port =
			(uint16_t)(TL_DCLIENT_FIRST_PORT + (cfg->seed >> 32) % (UINT16_MAX - TL_DCLIENT_FIRST_PORT))};
	int rc = tl_net_create(&net, &host->net, err);
	if (rc != 0) {
		free(host);
		return rc;
	}
	uint64_t mono_ns = tl_clock_mono_ns(cfg->clock, rte_rdtsc());
	host->next_look_ns = mono_ns + TL_NS_PER_S;
	tl_net_announce(host->net, mono_ns);
	tl_dclient_flush(host);
	*out = host;
	return 0;
}

void tl_dclient_look(struct tl_dclient *host, uint64_t mono_ns)
{
	host->next_look_ns = mono_ns + TL_NS_PER_S;
	tl_clock_discipline(host->cfg.clock);
	tl_port_discipline(host->cfg.port);
}

void tl_dclient_end(struct tl_dclient *host)
{
	bool is_quiet = tl_port_quiesce(host->cfg.port);
	uint64_t until_ns = tl_mono_ns() + SETTLE_NS;
	unsigned empty = 0;

	while (is_quiet && !tl_port_settle(host->cfg.port, 0) && tl_mono_ns() < until_ns)
		tl_dclient_turn(host);
	for (unsigned turns = 0; empty < EMPTY_TURNS && (is_quiet || turns < STOP_TURNS); turns++)
		empty = tl_dclient_turn(host) == 0 ? empty + 1 : 0;
	tl_port_discipline(host->cfg.port); // a run of less than a second has not checked the gate
}

void tl_dclient_destroy(struct tl_dclient *host)
{
	if (host == NULL)
		return;
	tl_net_destroy(host->net);
	free(host);
}

const struct tl_net *tl_dclient_net(const struct tl_dclient *host)
{
	return host->net;
}
