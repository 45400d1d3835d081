// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Definitions shared by the parts of the stamping NIC (stamping_nic.c).
//
// Threads: its clock and its callbacks on any; settings and ports are written on the thread that starts ports. Memory:
// static.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ethdev.h>

#define NIC_NS_PER_S INT64_C(1000000000)
#define NIC_STAMPS_LOGGED 100000

struct nic_stamp {
	const char *kind;
	int64_t nic_ns, real_ns, width_ns;
};

struct nic_port {
	bool stamps, sends_at; // from its configuration
	bool started, timesync, was_enabled;
	_Atomic(int64_t) sent_ns, received_ns; // latches; 0: empty
	uint16_t rx_queues, tx_queues;
	const struct rte_eth_rxtx_callback *rx[RTE_MAX_QUEUES_PER_PORT], *tx[RTE_MAX_QUEUES_PER_PORT];
};

struct nic {
	bool has_timesync, has_read_clock, has_send_at;
	bool stamps_utc, reads_host, sleeps; // deviations: stamps in UTC, clock reads of the host, 0 before enabling
	int64_t jump_at, jump_ns, ppb, offset_ns, rx_back_ns, tx_ahead_ns, skip, miss;
	int field; // mbuf field of stamps and launch times, with their flags
	uint64_t rx_flag, at_flag;
	struct nic_port ports[RTE_MAX_ETHPORTS];
	atomic_uint_fast64_t received, rx_stamped, rx_skipped, tx_stamped, tx_busy, tx_read, at_asked, at_sent, at_past;
	atomic_uint logged;
	struct nic_stamp stamps[NIC_STAMPS_LOGGED];
};

extern struct nic nic;

int64_t nic_clock_ns(void);
int64_t nic_host_ns(void); // CLOCK_MONOTONIC_RAW

// Callbacks of ethdev; ctx: the port.
uint16_t nic_on_receive(
	uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t room, void *ctx);
uint16_t nic_on_send(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, void *ctx);

void nic_write_log(FILE *out);
