// SPDX-License-Identifier: BSD-3-Clause
// Open a port, receive its frames, close it.

#include "meter_live.h"

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_clock.h>
#include <tl_eal.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_port.h>

#include "hugepages.h"
#include "plan.h"
#include "start.h"
#include "stop.h"

#define BASE_MB 128 // EAL and drivers
#define MIB (UINT64_C(1) << 20)
#define MTU 1500 // of a NIC; longer frames arrive in several mbufs
#define LINK_NS (10 * TL_NS_PER_S)
#define WAIT_US 10000
#define DRAIN_NS (200 * TL_NS_PER_MS)

struct live {
	struct tl_meter_live *meter;
	struct tl_port_cfg cfg;
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_port *port;
	struct tl_burst burst;
	uint64_t taken; // frames
};

static int plan_port(const struct tl_meter_live *meter, struct tl_port_cfg *cfg, struct tl_err *err)
{
	*cfg = (struct tl_port_cfg){.name = "meter",
		.rx_queues = 1,
		.mtu = MTU,
		.promisc = true,
		.take = meter->take,
		.rx_only = true,
		.timestamps = TL_TS_AUTO,
		.socket_id = SOCKET_ID_ANY};
	int rc = tl_port_spec_parse(meter->device, &cfg->spec, err);

	return rc == 0 ? tl_port_check(cfg, err) : rc;
}

int tl_meter_live_check(const struct tl_meter_live *live, struct tl_err *err)
{
	struct tl_port_cfg cfg;

	return plan_port(live, &cfg, err);
}

const char *tl_meter_live_file(const struct tl_meter_live *live)
{
	struct tl_port_spec spec;
	struct tl_err unused;

	if (live->device == NULL || tl_port_spec_parse(live->device, &spec, &unused) != 0 || spec.kind != TL_PORT_FILE)
		return NULL;
	return live->device + strlen(live->device) - strlen(spec.arg);
}

static int start_eal(struct live *l, struct tl_err *err)
{
	const char *pci = l->cfg.spec.text;
	uint32_t memory_mb = BASE_MB + (uint32_t)(tl_port_memory_bytes(&l->cfg, true) / MIB);
	const struct tl_eal_cfg cfg = {.huge = tl_hugepages_suffice(memory_mb),
		.memory_mb = memory_mb,
		.main_lcore = tl_plan_first_cpu(),
		.pci = &pci,
		.n_pci = tl_port_traits(&l->cfg.spec)->nic};

	return tl_start_dpdk(&cfg, true, &l->eal, &l->clock, err);
}

static int open_live(struct live *l, struct tl_err *err)
{
	int rc = plan_port(l->meter, &l->cfg, err);

	if (rc == 0)
		rc = start_eal(l, err);
	if (rc != 0)
		return rc;
	l->cfg.clock = l->clock;
	rc = tl_port_open(&l->cfg, &l->port, err);
	if (rc == 0)
		rc = tl_port_start(l->port, err);
	if (rc == 0 && !tl_port_await_link(l->port, LINK_NS))
		rc = tl_fail(err, -ENETDOWN, "-i %s has no link: check the cable and the other side", l->meter->device);
	return rc;
}

static void close_live(struct live *l)
{
	if (l->port != NULL && tl_port_torn_out(l->port))
		tl_eal_abandon(l->eal);
	tl_port_close(l->port);
	tl_clock_destroy(l->clock);
	tl_eal_fini(l->eal);
}

// ---- receiving

// Receive a burst. Return 0, 1: the limit of frames is reached, or the error of on_frame.
static int take_burst(struct live *l, struct tl_rxq *rxq)
{
	const struct tl_meter_live *m = l->meter;
	uint16_t n = rxq->burst(rxq, &l->burst);
	int rc = 0;

	for (uint16_t i = 0; i < n && rc == 0; i++) {
		const struct rte_mbuf *frame = l->burst.pkts[i];
		rc = m->on_frame(m->ctx, l->burst.ts_ns[i], l->burst.wire_bytes[i],
			rte_pktmbuf_mtod(frame, const uint8_t *), frame->data_len);
		if (rc == 0 && ++l->taken == m->count)
			rc = 1;
	}
	if (n != 0)
		rte_pktmbuf_free_bulk(l->burst.pkts, n);
	return rc;
}

// After an empty poll: wait for frames. Return 0, 1: the port has delivered its last frame, or -EIO with a message: it
// failed.
static int wait_for_frames(const struct live *l, const struct tl_rxq *rxq, struct tl_err *err)
{
	*err = (struct tl_err){""};
	if (tl_port_ended(l->port, err))
		return err->text[0] != '\0' ? -EIO : 1;
	if (rxq->wait_fd >= 0)
		tl_rxq_wait(rxq, false, WAIT_US);
	return 0;
}

static void look(struct live *l)
{
	tl_clock_discipline(l->clock);
	tl_port_discipline(l->port);
	(void)tl_port_watch(l->port);
}

// Stop the intake, and take the frames that the port has admitted, as far as it counts them. Return as take_burst().
static int drain(struct live *l, struct tl_rxq *rxq)
{
	uint64_t end_ns = l->burst.mono_ns + DRAIN_NS;
	struct tl_port_stats stats;
	int rc;

	if (!tl_port_quiesce(l->port))
		return 0;
	do {
		rc = take_burst(l, rxq);
		tl_port_sample(l->port, &stats);
	} while (rc == 0 && l->burst.mono_ns < end_ns &&
		 (l->burst.n != 0 || rxq->stats.rx_pkts + tl_port_drops(&stats) < stats.hw_seen_pkts));
	return rc;
}

static int receive(struct live *l, struct tl_err *err)
{
	struct tl_rxq *rxq = tl_port_rxq(l->port, 0);
	uint64_t begin_ns = 0, next_look_ns = 0, duration_ns = l->meter->duration_ns;
	int rc = 0;

	tl_port_begin_account(l->port);
	tl_info("receiving from %s; SIGINT ends it", l->meter->device);
	while (rc == 0 && !tl_stop_requested()) {
		rc = take_burst(l, rxq);
		uint64_t now_ns = l->burst.mono_ns;
		if (begin_ns == 0)
			begin_ns = next_look_ns = now_ns;
		if (duration_ns != 0 && now_ns - begin_ns >= duration_ns)
			break;
		if (now_ns >= next_look_ns) {
			next_look_ns += TL_NS_PER_S;
			look(l);
		}
		if (rc == 0 && l->burst.n == 0)
			rc = wait_for_frames(l, rxq, err);
	}
	if (rc == 0)
		rc = drain(l, rxq);
	return rc > 0 ? 0 : rc;
}

static void sample(struct live *l)
{
	struct tl_port_stats stats;
	struct tl_port_stamps stamps;

	tl_port_sample(l->port, &stats);
	tl_port_stamps(l->port, &stamps);
	l->meter->timestamps = tl_ts_source_name(stamps.source);
	l->meter->drop_pkts = tl_port_drops(&stats);
	l->meter->drops_unknown = stats.drops_unknown;
}

int tl_meter_live_run(struct tl_meter_live *meter, struct tl_err *err)
{
	struct live live = {.meter = meter}, *l = &live;

	tl_stop_on_signals();
	int rc = open_live(l, err);
	if (rc == 0) {
		rc = receive(l, err);
		sample(l);
	}
	close_live(l);
	return rc;
}
