// SPDX-License-Identifier: BSD-3-Clause
// Emulate NICs that stamp frames on the virtual devices of a DPDK program: preloaded, it interposes between the program
// and librte_ethdev.
//
//   LD_PRELOAD=BUILD/tests/libstamping_nic.so STAMPING_NIC=mlx5 tapline … vdev:net_af_packet0,iface=veth0 …
//
// The port must be given as vdev:, because the program takes all stamps of a kernel interface for kernel stamps.
//
// STAMPING_NIC       the emulated NIC (default ice):
//   ice              received frames have stamps, one sent frame at a time, too; timesync reads the clock
//   mlx5             received frames have stamps; scheduled sending; rte_eth_read_clock reads the clock
//   igc              all features of both
//   mlx5-utc         mlx5 with REAL_TIME_CLOCK_ENABLE=1 and a BAR that cannot be mapped: stamps are of CLOCK_REALTIME,
//                    rte_eth_read_clock reads the free-running counter
//   ice-22.11        ice up to DPDK 24.07: its clock reads 0 until timesync is enabled
//   ice-25.07        ice since then: rte_eth_read_clock reads CLOCK_MONOTONIC_RAW
// STAMPING_NIC_...
//   PPB              rate of the clock relative to CLOCK_MONOTONIC_RAW (default +50000)
//   OFFSET_NS        its value when that reads 0 (default 10^18): all processes of a host share one clock
//   RX_BACK_NS       subtracted from the stamps of received frames: their time on the wire
//   TX_AHEAD_NS      added to the stamps of sent frames: the delay to the wire
//   SKIP             each received frame whose number is a multiple of this has no stamp
//   JUMP_AT, JUMP_NS from received frame JUMP_AT on, JUMP_NS is added to the stamps
//   MISS             each scheduled frame whose number is a multiple of this is late
//   LOG              log file, written at exit if a port was started
//
// The log has counters as "NAME VALUE": rx_stamped, rx_skipped, tx_stamped, tx_busy (the latch was full), tx_read,
// at_sent, at_past (time in the past: mlx5's tx_pp_timestamp_past_errors, too). The first stamps follow, "KIND
// STAMP_NS REALTIME_NS WIDTH_NS", of kind rx, tx or at (launch time): CLOCK_REALTIME was REALTIME_NS +/- WIDTH_NS
// when the NIC's clock was STAMP_NS.
//
// Like a NIC, it stamps only with the offload configured, and schedules frames only if the program registered the mbuf
// field before the port was started. A waiting frame blocks its queue.

#define ALLOW_EXPERIMENTAL_API // rte_eth_read_clock, since 19.08

#include "stamping_nic.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_mbuf_dyn.h>

#define PAST_ERRORS UINT64_MAX // identifier of the counter

// Next definition behind this library.
#define REAL(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

struct nic nic;
static bool was_started;

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NIC_NS_PER_S, .tv_nsec = ns % NIC_NS_PER_S};
}

// ---- the device

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	int rc = REAL(rte_eth_dev_info_get)(port_id, info);

	info->rx_offload_capa |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	if (nic.has_send_at)
		info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
	return rc;
}

// Hide the emulated offloads from the driver.
int rte_eth_dev_configure(uint16_t port_id, uint16_t rx_queues, uint16_t tx_queues, const struct rte_eth_conf *wanted)
{
	struct nic_port *port = &nic.ports[port_id];
	struct rte_eth_conf conf = *wanted;

	port->stamps = (conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
	port->sends_at = nic.has_send_at && (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0;
	port->rx_queues = rx_queues;
	port->tx_queues = tx_queues;
	conf.rxmode.offloads &= ~RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	conf.txmode.offloads &= ~RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
	return REAL(rte_eth_dev_configure)(port_id, rx_queues, tx_queues, &conf);
}

// Look up the mbuf field of scheduled sending here, as drivers do.
static void find_fields(struct nic_port *port)
{
	int bit = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_TX_TIMESTAMP_NAME, NULL);

	if (rte_mbuf_dyn_rx_timestamp_register(&nic.field, &nic.rx_flag) != 0)
		abort();
	nic.at_flag = bit >= 0 ? UINT64_C(1) << bit : 0;
}

int rte_eth_dev_start(uint16_t port_id)
{
	struct nic_port *port = &nic.ports[port_id];

	find_fields(port);
	for (uint16_t q = 0; q < port->rx_queues && port->stamps; q++)
		port->rx[q] = rte_eth_add_rx_callback(port_id, q, nic_on_receive, port);
	for (uint16_t q = 0; q < port->tx_queues; q++)
		port->tx[q] = rte_eth_add_tx_callback(port_id, q, nic_on_send, port);
	port->started = was_started = true;
	return REAL(rte_eth_dev_start)(port_id);
}

int rte_eth_dev_stop(uint16_t port_id)
{
	struct nic_port *port = &nic.ports[port_id];

	for (uint16_t q = 0; q < port->rx_queues && port->stamps; q++)
		(void)rte_eth_remove_rx_callback(port_id, q, port->rx[q]);
	for (uint16_t q = 0; q < port->tx_queues; q++)
		(void)rte_eth_remove_tx_callback(port_id, q, port->tx[q]);
	port->started = false;
	return REAL(rte_eth_dev_stop)(port_id);
}

int rte_eth_read_clock(uint16_t port_id, uint64_t *clock)
{
	*clock = (uint64_t)(nic.reads_host ? nic_host_ns() : nic_clock_ns());
	return nic.has_read_clock ? 0 : -ENOTSUP;
}

// ---- counters

int rte_eth_xstats_get_id_by_name(uint16_t port_id, const char *name, uint64_t *id)
{
	if (!nic.has_send_at || strcmp(name, "tx_pp_timestamp_past_errors") != 0)
		return REAL(rte_eth_xstats_get_id_by_name)(port_id, name, id);
	*id = PAST_ERRORS;
	return 0;
}

int rte_eth_xstats_get_by_id(uint16_t port_id, const uint64_t *ids, uint64_t *values, unsigned int n)
{
	if (n != 1 || ids[0] != PAST_ERRORS)
		return REAL(rte_eth_xstats_get_by_id)(port_id, ids, values, n);
	values[0] = nic.at_past;
	return 1;
}

// ---- timesync

// Enable timesync: ice stamps PTP frames through its RX offload, too.
int rte_eth_timesync_enable(uint16_t port_id)
{
	struct nic_port *port = &nic.ports[port_id];

	if (!nic.has_timesync)
		return -ENOTSUP;
	if (port->started && !port->stamps)
		return -EIO;
	atomic_store(&port->sent_ns, 0);
	atomic_store(&port->received_ns, 0);
	port->timesync = port->was_enabled = true;
	return 0;
}

int rte_eth_timesync_disable(uint16_t port_id)
{
	nic.ports[port_id].timesync = false;
	return nic.has_timesync ? 0 : -ENOTSUP;
}

int rte_eth_timesync_read_time(uint16_t port_id, struct timespec *time)
{
	*time = to_timespec(nic.sleeps && !nic.ports[port_id].was_enabled ? 0 : nic_clock_ns());
	return nic.has_timesync ? 0 : -ENOTSUP;
}

// Read a latch; reading empties the register.
static int read_latch(_Atomic(int64_t) *latch, struct timespec *time)
{
	int64_t ns = nic.has_timesync ? atomic_exchange(latch, 0) : 0;

	*time = to_timespec(ns);
	if (!nic.has_timesync)
		return -ENOTSUP;
	return ns != 0 ? 0 : -EINVAL;
}

int rte_eth_timesync_read_tx_timestamp(uint16_t port_id, struct timespec *time)
{
	int rc = read_latch(&nic.ports[port_id].sent_ns, time);

	if (rc == 0)
		atomic_fetch_add(&nic.tx_read, 1);
	return rc;
}

int rte_eth_timesync_read_rx_timestamp(uint16_t port_id, struct timespec *time, uint32_t flags)
{
	return read_latch(&nic.ports[port_id].received_ns, time);
}

// ---- begin and end

static int64_t number(const char *name, int64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
	const char *like = getenv("STAMPING_NIC");

	like = like != NULL ? like : "ice";
	nic.stamps_utc = strcmp(like, "mlx5-utc") == 0;
	nic.sleeps = strcmp(like, "ice-22.11") == 0;
	nic.reads_host = strcmp(like, "ice-25.07") == 0;
	nic.has_timesync = strncmp(like, "mlx5", 4) != 0;
	nic.has_send_at = strncmp(like, "ice", 3) != 0;
	nic.has_read_clock = nic.has_send_at || nic.reads_host;
	nic.ppb = number("STAMPING_NIC_PPB", 50000);
	nic.offset_ns = number("STAMPING_NIC_OFFSET_NS", NIC_NS_PER_S * NIC_NS_PER_S);
	nic.rx_back_ns = number("STAMPING_NIC_RX_BACK_NS", 0);
	nic.tx_ahead_ns = number("STAMPING_NIC_TX_AHEAD_NS", 0);
	nic.skip = number("STAMPING_NIC_SKIP", 0);
	nic.jump_at = number("STAMPING_NIC_JUMP_AT", INT64_MAX);
	nic.jump_ns = number("STAMPING_NIC_JUMP_NS", 0);
	nic.miss = number("STAMPING_NIC_MISS", 0);
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("STAMPING_NIC_LOG");
	FILE *out = path != NULL && was_started ? fopen(path, "w") : NULL;

	if (out == NULL)
		return;
	nic_write_log(out);
	fclose(out);
}
