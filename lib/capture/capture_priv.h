// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A recording and its taps, one per RX queue.

#include <tl_capture.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_slab.h>

// Written by the RX lcore only. What is offered and in none of the others is in a slab or with the writer.
struct tl_tap_flow {
	uint64_t offered_pkts, filtered_pkts, expired_pkts, cut_pkts, drop_ring_pkts;
};

struct tl_tap {
	struct tl_capture *capture;
	struct tl_slab_ring *ring;
	const struct tl_filter *filter; // NULL: keep everything
	uint32_t snaplen;		// UINT32_MAX: no limit
	bool dir[TL_DIRS];
	bool split_by_mac; // a kernel interface shows its own host's frames too: those from own_mac were sent
	uint8_t own_mac[TL_ETHER_ADDR_LEN];
	uint32_t interface_id[TL_DIRS];
	uint64_t dropped; // since the last record
	struct tl_tap_flow flow[TL_DIRS];
} TL_CACHE_ALIGNED;

struct tl_capture {
	struct tl_capture_cfg cfg;
	uint16_t n_queues;
	struct tl_filter *filter;
	struct tl_writer *writer;
	bool started;
	uint64_t start_ns;   // since 1970
	uint64_t port_drops; // written by main
	atomic_bool expired; // set by main
	bool limited;
	_Atomic(int64_t) left; // frames that may still be recorded; only where limited
	struct tl_slab_ring *rings[TL_CAPTURE_QUEUES_MAX];
	struct tl_tap taps[TL_CAPTURE_QUEUES_MAX];
};

// capture_dp.c
void tl_tap_rx(void *tap, struct tl_burst *burst);
void tl_tap_sent(void *tap, struct tl_burst *burst);

// capture_blocks.c: what opens and closes each file.
void tl_capture_number_interfaces(struct tl_capture *capture);
uint32_t tl_capture_prologue(void *capture, void *buf, uint32_t size);
uint32_t tl_capture_epilogue(void *capture, void *buf, uint32_t size);
