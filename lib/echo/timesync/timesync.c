// SPDX-License-Identifier: BSD-3-Clause
// Set-up, start and tear-down of a port's stamping, and its report.

#include "timesync_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_lcore.h>

#define ETHERTYPE_PTP 0x88f7
#define PTP_BYTES 44   // a Sync message: IEEE 1588-2008, section 13.6
#define PTP_DOMAIN 127 // reserved (section 7.1): no clock uses it

// Build a Sync message to the group that no bridge forwards (annex F.3): it reaches only the other end of the cable.
static void make_frame(struct tl_timesync *sync)
{
	static const uint8_t group[TL_ETHER_ADDR_LEN] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
	struct tl_ether_hdr *eth = (struct tl_ether_hdr *)sync->frame;
	uint8_t *ptp = (uint8_t *)(eth + 1);
	const uint8_t *mac = tl_port_mac(sync->cfg.port);
	const uint8_t identity[8] = {mac[0], mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	memcpy(eth->dst, group, sizeof(eth->dst));
	memcpy(eth->src, mac, sizeof(eth->src));
	eth->type_be = tl_be16(ETHERTYPE_PTP);
	ptp[1] = 2; // versionPTP
	ptp[3] = PTP_BYTES;
	ptp[4] = PTP_DOMAIN;
	memcpy(ptp + 20, identity, sizeof(identity));
	ptp[29] = 1;	// portNumber
	ptp[33] = 0x7f; // logMessageInterval: not given
}

// Check that the driver supports stamping. Enabling it before the start would wait for a link that is still down.
static int probe(struct tl_timesync *sync, struct tl_err *err)
{
	uint64_t ns;
	int rc = sync->cfg.ops->read_clock(sync->cfg.ops_ctx, &ns);

	if (rc == -ENOTSUP)
		return tl_fail(err, rc,
			"port %s: its driver stamps no PTP frames (igb, ixgbe, i40e and ice do): remove \"ptp_probes_per_s\" and \"reply_stamps_per_s\"",
			sync->name);
	return 0;
}

static int enable(struct tl_timesync *sync, struct tl_err *err)
{
	int rc = sync->cfg.ops->enable(sync->cfg.ops_ctx);

	return rc == 0 ? 0 : tl_fail(err, rc, "port %s: cannot enable PTP stamping (%s)", sync->name, strerror(-rc));
}

int tl_timesync_create(const struct tl_timesync_cfg *cfg, struct tl_timesync **out, struct tl_err *err)
{
	struct tl_timesync *sync = calloc(1, sizeof(*sync));

	if (sync == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	sync->cfg = *cfg;
	snprintf(sync->name, sizeof(sync->name), "%s", cfg->name);
	if (cfg->ops == NULL) {
		sync->cfg.ops = &tl_timesync_eth_ops;
		sync->cfg.ops_ctx = cfg->port;
	}
	if (cfg->probes_per_s != 0)
		sync->txq = tl_port_txq(cfg->port, 0);
	sync->pool = tl_port_pool(cfg->port);
	sync->latches = sync->cfg.ops->latches != NULL ? sync->cfg.ops->latches(sync->cfg.ops_ctx) : 1;
	make_frame(sync);
	tl_hist_init(&sync->tx_to_wire);
	tl_hist_init(&sync->wire_to_poll);
	atomic_store(&sync->taken_state, TL_TIMESYNC_WANTED);
	int rc = tl_timesync_replies_create(sync);
	rc = rc == 0 ? probe(sync, err) : tl_fail(err, rc, "out of memory");
	if (rc != 0) {
		tl_timesync_destroy(sync);
		return rc;
	}
	*out = sync;
	return 0;
}

// Enable stamping after the start of the port, which resets the device.
int tl_timesync_start(struct tl_timesync *sync, struct tl_err *err)
{
	struct tl_clock_track_cfg track = {.read = sync->cfg.ops->read_clock,
		.ctx = sync->cfg.ops_ctx,
		.clock = sync->cfg.clock,
		.bits = sync->cfg.ops->bits,
		.hz = TL_NS_PER_S};
	int rc = enable(sync, err);

	if (rc != 0)
		return rc;
	rc = tl_clock_track_create(&track, &sync->track);
	if (rc != 0)
		return tl_fail(err, rc, "port %s: the NIC's clock does not run, or not at its rate (%s)", sync->name,
			strerror(-rc));
	tl_timesync_replies_start(sync);
	return 0;
}

void tl_timesync_print(const struct tl_timesync *sync)
{
	const struct tl_timesync_cfg *cfg = &sync->cfg;

	if (cfg->replies_per_s + cfg->probes_per_s != 0)
		fprintf(stderr,
			"    sent frames     tsc; at most %" PRIu32 " replies and %" PRIu32
			" PTP probes a second: nic-tx, too\n",
			cfg->replies_per_s, cfg->probes_per_s);
	fprintf(stderr, "    PTP frames      nic-ptp, within %" PRIu64 " ns of the TSC\n",
		tl_clock_track_bound_ns(sync->track));
}

void tl_timesync_service(struct tl_timesync *sync, struct tl_service *out)
{
	*out = (struct tl_service){
		.ctx = sync, .rx = tl_timesync_rx, .tick = sync->cfg.probes_per_s != 0 ? tl_timesync_tick : NULL};
}

void tl_timesync_destroy(struct tl_timesync *sync)
{
	if (sync == NULL)
		return;
	tl_clock_track_destroy(sync->track);
	tl_timesync_replies_destroy(sync);
	free(sync);
}

void tl_timesync_read(const struct tl_timesync *sync, struct tl_timesync_stats *out)
{
	struct tl_clock_track_stats track = {0};

	*out = sync->stats;
	out->probes_sent = tl_count_read(&sync->probes_sent);
	out->probes_refused = tl_count_read(&sync->probes_refused);
	out->ptp_received_pkts = tl_count_read(&sync->ptp_received_pkts);
	out->ptp_busy_pkts = tl_count_read(&sync->ptp_busy_pkts);
	if (sync->track != NULL)
		tl_clock_track_stats(sync->track, &track);
	out->bound_ns = track.bound_ns;
	out->clock_steps = track.steps;
}

const struct tl_hist *tl_timesync_tx_to_wire(const struct tl_timesync *sync)
{
	return &sync->tx_to_wire;
}

const struct tl_hist *tl_timesync_wire_to_poll(const struct tl_timesync *sync)
{
	return &sync->wire_to_poll;
}
