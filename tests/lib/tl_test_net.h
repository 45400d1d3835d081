// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_net: a stack on a wire made of arrays, in time set by the test, for tl_test_host.h (frames of every kind) and
// tl_test_tcp_host.h (TCP segments of a scripted peer).
//
// Threads: main. Memory: host_start() to stop(), which checks that every mbuf was returned to the pool, and frees the
// host.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_err.h>
#include <tl_net.h>
#include <tl_tcp.h>
#include <tl_wire.h>

#include "tcp_seg.h"

#include "tl_test.h"
#include "tl_test_eal.h"
#include "tl_test_mbuf.h"

#define POOL "test_net"
#define FRAME_MAX 1600
#define SENT_MAX 600
#define SEGMENTS_MAX 400
#define MS TL_NS_PER_MS
#define SECOND TL_NS_PER_S

#define IP(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define PORT(n) ((uint16_t)((n) >> 8 | ((n)&0xff) << 8))

struct frame {
	uint16_t len;
	uint8_t bytes[FRAME_MAX];
};

// A TCP segment.
struct sent {
	uint64_t at_ns;
	uint32_t seq, ack, window;
	uint16_t src_port, dst_port, len;
	uint8_t flags;
	struct tl_tcp_options options;
	uint8_t option_bytes[TL_TCP_OPTIONS_MAX], options_len;
	uint8_t data[1500];
};

struct host {
	struct tl_net *net;
	struct tl_txq tx;
	uint64_t now_ns;
	unsigned in_use; // mbufs in use before
	unsigned n_sent;
	// A scripted TCP peer:
	unsigned n_seen, n_arp;
	uint16_t our_port, peer_port; // ports of the given segments
	uint32_t window;	      // their window
	bool stamped;		      // give() adds timestamps:
	uint32_t stamp, echo;
	bool introduced;
	uint16_t ring_taken; // occupied entries of the port's queue, of TL_BURST
	union {
		struct frame sent[SENT_MAX];
		struct sent segment[SEGMENTS_MAX];
	};
};

// Return the pool of all hosts; the first call sets its size.
static inline struct rte_mempool *test_pool_of(unsigned mbufs)
{
	struct rte_mempool *pool = rte_mempool_lookup(POOL);

	if (pool == NULL)
		pool = rte_pktmbuf_pool_create(POOL, mbufs, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL) {
		fprintf(stderr, "no mbuf pool\n");
		exit(1);
	}
	return pool;
}

static inline struct tl_net *test_net(const struct tl_net_cfg *cfg)
{
	struct tl_net *net = NULL;
	struct tl_err err = {0};

	if (tl_net_create(cfg, &net, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return net;
}

// Start a zeroed host, whose cfg.tx is its own. flush records what it sends.
static inline struct host *host_start(
	struct host *h, const struct tl_net_cfg *cfg, uint64_t now_ns, void (*flush)(struct tl_txq *q))
{
	h->tx.flush_fn = flush;
	h->tx.backend = h;
	h->now_ns = now_ns;
	h->in_use = rte_mempool_in_use_count(cfg->pool);
	h->net = test_net(cfg);
	return h;
}

static inline void stop(struct host *h)
{
	tl_net_destroy(h->net);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rte_mempool_lookup(POOL)), h->in_use);
	free(h);
}

// Input a frame as the only one of its burst; m stays the caller's.
static inline void test_input(struct tl_net *net, struct rte_mbuf *m, uint64_t now_ns)
{
	struct tl_burst burst = {.n = 1, .mono_ns = now_ns, .pkts = {m}};

	tl_wire_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &burst.pkt[0]);
	tl_net_input(net, &burst);
}
