// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_replay_port: a simulated port, which takes numbered frames at the real time, or at one that its calls advance.
//
// Threads: the one that sends. Memory: static.

#include "replay_priv.h"

#include <rte_mbuf_dyn.h>

#include <tl_clock.h>

#include "tl_test_eal.h"
#include "tl_test_replay.h"

#define FRAMES_MAX 20000
#define LIMIT 1514

static struct {
	int offset;
	uint64_t flag;
} at; // mbuf field of a send time

static struct port {
	uint32_t numbers[FRAMES_MAX];
	uint64_t ticks[64]; // send times of the first frames; 0: none
	unsigned n, calls;
	unsigned calls_of[64];	       // frames in each of the first calls
	unsigned refuses;	       // this many calls accept none
	bool shut;		       // accepts none for the rest of the run
	uint16_t takes;		       // frames accepted per call; 0: all
	atomic_bool *stop;	       // set after stop_after frames
	struct tl_replay *stop_replay; // replay to stop, likewise
	unsigned stop_after;
	struct tl_clock_swap *time; // advanced by step_ns at each call; NULL: it runs
	uint64_t step_ns;
} port;

static inline void move_time(void)
{
	struct tl_clock_line line;

	if (port.time == NULL)
		return;
	line = port.time->line;
	line.base_ns += port.step_ns;
	tl_clock_swap_store(port.time, line);
}

static inline void port_flush(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	move_time();
	if (port.shut || port.refuses != 0) {
		port.refuses -= !port.shut;
		if (port.shut && port.stop_replay != NULL)
			tl_replay_stop(port.stop_replay);
		return;
	}
	if (port.calls < TL_ARRAY_LEN(port.calls_of))
		port.calls_of[port.calls] = q->n;
	port.calls++;
	uint16_t n = port.takes != 0 && port.takes < q->n ? port.takes : q->n;
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		if (port.n < TL_ARRAY_LEN(port.ticks) && (q->pkts[i]->ol_flags & at.flag) != 0)
			port.ticks[port.n] = *RTE_MBUF_DYNFIELD(q->pkts[i], at.offset, rte_mbuf_timestamp_t *);
		if (port.n < FRAMES_MAX)
			port.numbers[port.n++] = number_of(frame);
		q->tx_bytes += q->pkts[i]->pkt_len;
	}
	rte_pktmbuf_free_bulk(q->pkts, n);
	q->n -= n;
	memmove(q->pkts, q->pkts + n, q->n * sizeof(q->pkts[0]));
	if (port.stop_after != 0 && port.n >= port.stop_after && port.stop_replay != NULL)
		tl_replay_stop(port.stop_replay);
	if (port.stop_after != 0 && port.n >= port.stop_after && port.stop != NULL)
		atomic_store(port.stop, true);
}

// Start EAL, and register the mbuf field of send times. Exit with status 1 if that fails.
static inline void port_set_up(void)
{
	tl_test_eal_start();
	if (rte_mbuf_dyn_tx_timestamp_register(&at.offset, &at.flag) != 0)
		exit(1);
}
