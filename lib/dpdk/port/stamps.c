// SPDX-License-Identifier: BSD-3-Clause
// Timestamp source of a port: the choice among those available, and the clock of a NIC that stamps frames itself.

#define ALLOW_EXPERIMENTAL_API // rte_eth_read_clock, since 19.08

#include "port_priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_kvargs.h>
#include <rte_mbuf_dyn.h>
#include <rte_time.h>

#define HOST_READINGS 3
#define TICK_OFF 0.001 // relative deviation allowed between a tick and whole ns

const char *tl_ts_source_name(enum tl_ts_source source)
{
	static const char *const names[] = {
		TL_TS_SOURCES(TL_CHOICE_WORD)[TL_TS_NIC_PTP] = "nic-ptp", [TL_TS_NIC_TX] = "nic-tx"};

	return names[source];
}

// ---- choice

// True for DPDK's driver for libpcap, by either of its names.
static bool is_libpcap(const char *devargs)
{
	return strncmp(devargs, "net_pcap", 8) == 0 || strncmp(devargs, "eth_pcap", 8) == 0;
}

// True if that driver delivers the frames of files, each once. Frames that it repeats from memory have no stamp, and
// frames of an interface have no file's stamp.
static bool reads_files(const char *devargs)
{
	static const char *const others[] = {"iface", "rx_iface", "rx_iface_in"};
	const char *args = strchr(devargs, ',');
	struct rte_kvargs *pairs = args != NULL ? rte_kvargs_parse(args + 1, NULL) : NULL;

	if (pairs == NULL) // the driver will reject them
		return false;
	const char *repeat = rte_kvargs_get(pairs, "infinite_rx");
	bool reads = rte_kvargs_count(pairs, "rx_pcap") != 0 && (repeat == NULL || atoi(repeat) <= 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(others); i++)
		reads &= rte_kvargs_count(pairs, others[i]) == 0;
	rte_kvargs_free(pairs);
	return reads;
}

// Return the possible sources. Files that DPDK's driver for libpcap reads have stamps, and its interfaces have none.
static unsigned sources_of(const struct tl_port_cfg *cfg)
{
	const struct tl_port_traits *traits = tl_port_traits(&cfg->spec);

	if (traits->devargs && is_libpcap(cfg->spec.arg))
		return TL_TS_BIT(TL_TS_TSC) | (reads_files(cfg->spec.arg) ? TL_TS_BIT(TL_TS_FILE) : 0);
	return traits->sources;
}

static enum tl_ts_source best_of(const struct tl_port_cfg *cfg)
{
	unsigned others = sources_of(cfg) & ~TL_TS_BIT(TL_TS_TSC);

	return others != 0 ? (enum tl_ts_source)__builtin_ctz(others) : TL_TS_TSC;
}

static int refuse(const struct tl_port_cfg *cfg, unsigned sources, struct tl_err *err)
{
	char list[64] = "";

	for (unsigned s = TL_TS_TSC; s <= TL_TS_FILE; s++)
		if ((sources & TL_TS_BIT(s)) != 0)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s\"%s\"",
				list[0] != '\0' ? ", " : "", tl_ts_source_name(s));
	return tl_fail(err, -EINVAL,
		"port %s: %s has no timestamps \"%s\": give one of those that it has, %s, or \"auto\"", cfg->name,
		cfg->spec.text, tl_ts_source_name(cfg->timestamps), list);
}

int tl_port_check_stamps(const struct tl_port_cfg *cfg, struct tl_err *err)
{
	unsigned sources = sources_of(cfg);

	return cfg->timestamps == TL_TS_AUTO || (sources & TL_TS_BIT(cfg->timestamps)) != 0 ? 0
											    : refuse(cfg, sources, err);
}

// ---- NIC clock

static int read_clock(void *ctx, uint64_t *ticks)
{
	const struct tl_port *port = ctx;
	struct timespec phc;

	if (port->cfg.nic != NULL)
		return port->cfg.nic->read_clock(port->port_id, ticks);
	if (!port->stamping.reads_phc)
		return rte_eth_read_clock(port->port_id, ticks);
	int rc = rte_eth_timesync_read_time(port->port_id, &phc);
	*ticks = (uint64_t)phc.tv_sec * TL_NS_PER_S + (uint64_t)phc.tv_nsec;
	return rc;
}

// True if the driver's clock is not the NIC's: ice's from DPDK 25.07 on is CLOCK_MONOTONIC_RAW
// (drivers/net/intel/ice/ice_ethdev.c:6942, v25.07), while its stamps are of the PHC.
static bool reads_hosts_clock(const struct tl_port *port)
{
	for (unsigned i = 0; i < HOST_READINGS; i++) {
		struct timespec before, after;
		uint64_t ticks;
		clock_gettime(CLOCK_MONOTONIC_RAW, &before);
		int rc = rte_eth_read_clock(port->port_id, &ticks);
		clock_gettime(CLOCK_MONOTONIC_RAW, &after);
		if (rc != 0 || ticks < rte_timespec_to_ns(&before) || ticks > rte_timespec_to_ns(&after))
			return false;
	}
	return true;
}

int tl_port_enable_timesync(struct tl_port *port)
{
	struct tl_port_stamping *s = &port->stamping;
	uint64_t bps = s->clock_by_speed && port->events.link.up ? tl_port_speed_bps(port) : 0;

	if (port->ops != &tl_port_eth_ops)
		return -ENOTSUP;
	if (s->timesync && (bps == 0 || bps == s->timesync_bps))
		return 0;
	int rc = rte_eth_timesync_enable(port->port_id);
	s->timesync = rc == 0;
	s->timesync_bps = bps;
	return rc;
}

// Track the clock that the driver documents as that of its stamps, else its PHC. Up to DPDK 24.07 ice's reads 0 until
// timesync is enabled, as its timecounter has a mask of 0 (drivers/net/ice/ice_ethdev.c:5850 and 5978, v22.11.11).
static int follow_clock(struct tl_port *port)
{
	struct tl_clock_track_cfg cfg = {.read = read_clock, .ctx = port, .clock = port->cfg.clock, .bits = 64};
	int rc = -ENOTSUP;

	if (port->cfg.nic != NULL || !reads_hosts_clock(port))
		rc = tl_clock_track_create(&cfg, &port->stamping.track);
	if (rc != -ENOTSUP || port->cfg.nic != NULL)
		return rc;
	(void)tl_port_enable_timesync(port);
	port->stamping.reads_phc = true;
	cfg.hz = TL_NS_PER_S;
	return tl_clock_track_create(&cfg, &port->stamping.track);
}

static int register_field(struct tl_port *port, struct tl_err *err)
{
	struct tl_port_stamping *s = &port->stamping;

	if (rte_mbuf_dyn_rx_timestamp_register(&s->offset, &s->flag) == 0)
		return 0;
	return tl_fail(err, -rte_errno, "port %s: no room in DPDK's mbufs for timestamps (%s)", port->name,
		strerror(rte_errno));
}

// The stamps of a NIC are useless without a readable clock. A clock readable only after the start is used if it was
// requested: by then it is too late to choose another source.
int tl_port_choose_stamps(struct tl_port *port, bool offered, struct tl_err *err)
{
	enum tl_ts_source best = best_of(&port->cfg);
	enum tl_ts_source wanted = port->cfg.timestamps;

	port->stamping.source = TL_TS_TSC;
	if (port->cfg.nic != NULL)
		offered = port->cfg.nic->stamps;
	if (best == TL_TS_FILE) { // up to DPDK 26.03 the driver does not advertise stamps, and counts in us
		port->stamping.unit_ns = offered ? 0 : TL_NS_PER_US;
		offered = true;
	}
	if (!offered || best == TL_TS_TSC)
		return wanted == TL_TS_AUTO || wanted == TL_TS_TSC ? 0 : refuse(&port->cfg, TL_TS_BIT(TL_TS_TSC), err);
	if (wanted == TL_TS_TSC)
		return 0;
	if (best == TL_TS_NIC_RX && follow_clock(port) != 0 && wanted == TL_TS_AUTO)
		return 0;
	port->stamping.source = best;
	return register_field(port, err);
}

int tl_port_start_stamps(struct tl_port *port, struct tl_err *err)
{
	if (port->stamping.source != TL_TS_NIC_RX)
		return 0;
	if (port->stamping.reads_phc)
		(void)tl_port_enable_timesync(port);
	tl_port_discipline(port); // the start may have reset a clock that was read before
	int rc = port->stamping.track == NULL ? follow_clock(port) : 0;
	if (rc != 0)
		return tl_fail(err, rc,
			"port %s: %s stamps frames, but its clock cannot be read (%s): set timestamps to \"tsc\"",
			port->name, port->cfg.spec.text, strerror(-rc));
	for (uint16_t i = 0; i < port->cfg.rx_queues; i++)
		port->rxq[i].track = port->stamping.track;
	return 0;
}

void tl_port_end_stamps(struct tl_port *port)
{
	tl_clock_track_destroy(port->stamping.track);
	port->stamping.track = NULL;
}

// Return the track that converts a stamp. Those of the kernel and of a file already are times since 1970.
static const struct tl_clock_track *track_of(const struct tl_port_stamping *s)
{
	static const struct tl_clock_track ns = {.wall.line.mult = UINT64_C(1) << TL_CLOCK_SHIFT, .mask = UINT64_MAX};
	static const struct tl_clock_track us = {
		.wall.line.mult = UINT64_C(1000) << TL_CLOCK_SHIFT, .mask = UINT64_MAX};

	if (s->source == TL_TS_NIC_RX)
		return s->track;
	return s->unit_ns == TL_NS_PER_US ? &us : &ns;
}

void tl_port_stamp_queue(const struct tl_port *port, struct tl_rxq *q)
{
	const struct tl_port_stamping *s = &port->stamping;

	q->source = s->source;
	if (s->flag == 0)
		return;
	q->burst = s->source == TL_TS_NIC_RX ? tl_eth_gated_burst : tl_eth_stamped_burst;
	tl_port_gate_init(&q->gate);
	q->stamp_offset = s->offset;
	q->stamp_flag = s->flag;
	q->track = track_of(s);
}

void tl_port_discipline(struct tl_port *port)
{
	// If the clock cannot be read the bound grows, and the report shows it.
	if (port->stamping.track != NULL)
		(void)tl_clock_track_sample(port->stamping.track);
	tl_port_watch_gate(port);
}

bool tl_port_clock_reading(const struct tl_port *port, struct tl_clock_reading *out)
{
	if (port->stamping.track != NULL)
		tl_clock_track_reading(port->stamping.track, out);
	return port->stamping.track != NULL;
}

// Return the tick of the NIC's clock, whose rate is measured: about 10^9 Hz counts as one nanosecond.
static uint32_t tick_ns(double rate_hz)
{
	return (uint32_t)ceil(fmax(1e9 / rate_hz * (1 - TICK_OFF), 1));
}

void tl_port_stamps(const struct tl_port *port, struct tl_port_stamps *out)
{
	*out = (struct tl_port_stamps){.source = port->rxq[0].source, .unit_ns = 1};
	if (out->source == TL_TS_FILE)
		out->unit_ns = port->stamping.unit_ns;
	if (port->stamping.track != NULL) {
		out->has_nic_clock = out->has_bound = true;
		tl_clock_track_stats(port->stamping.track, &out->nic_clock);
		out->bound_ns = out->nic_clock.bound_ns;
		out->unit_ns = tick_ns(out->nic_clock.rate_hz);
		out->by_phc = port->cfg.nic != NULL ? port->cfg.nic->by_phc : port->stamping.reads_phc;
	} else if (out->source == TL_TS_TSC) {
		out->has_bound = true;
		out->bound_ns = tl_clock_bound_ns(port->cfg.clock);
	}
}
