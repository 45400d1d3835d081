// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The lcores of a port, and the rings between them.

#include <stdatomic.h>
#include <stdbool.h>

#include <rte_ring_elem.h>

#include <tl_flow.h>
#include <tl_inner.h>
#include <tl_lcore.h>
#include <tl_port.h>

#define TL_INNER_RING 2048 // frames in transit from one lcore to another: 32 bursts

#define TL_INNER_UNSTAMPED 1u // flags of a frame: its bits in the burst
#define TL_INNER_SENT 2u

struct tl_inner_frame {
	struct rte_mbuf *m;
	uint64_t ts_ns;
	uint32_t wire_bytes;
	uint32_t flags;
};

struct tl_inner_side {
	struct tl_inner *inner;
	uint16_t queue;
	uint32_t n_services;
	struct tl_service services[TL_LCORE_SERVICES_MAX];
	struct rte_ring *to[TL_PORT_QUEUES_MAX];   // NULL: this side, or a queue that is not recorded
	struct rte_ring *from[TL_PORT_QUEUES_MAX]; // the same
	struct tl_ledger_inner stats;
	atomic_bool ended TL_CACHE_ALIGNED; // hands over no more
	struct tl_burst own, handed;
} TL_CACHE_ALIGNED;

struct tl_inner {
	struct tl_flow_hash hash;
	const struct tl_clock *clock;
	uint16_t queues;
	uint32_t n_recorded;
	uint8_t recorded[TL_PORT_QUEUES_MAX];
	bool follows;			  // the NIC: an owner is the queue of its RSS
	uint16_t buckets[2][256];	  // hash of the high, the low byte of a word, within the RSS table
	uint8_t owners[TL_PORT_RETA_MAX]; // by entry of the RSS table
	struct tl_inner_side sides[TL_PORT_QUEUES_MAX];
};

// inner_dp.c: functions of the service.
void tl_inner_rx(void *side, struct tl_burst *burst);
uint16_t tl_inner_poll(void *side, uint64_t mono_ns);
void tl_inner_sent(void *side, struct tl_burst *burst);
void tl_inner_tick(void *side, uint64_t mono_ns);
