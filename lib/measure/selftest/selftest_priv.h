// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Shared by the checks: the run, the way from one port to another, and the self-test's frames on it.

#include <tl_err.h>
#include <tl_selftest.h>
#include <tl_wire.h>

#define TL_SELFTEST_BYTES_MIN TL_ETHER_MIN_FRAME
#define TL_SELFTEST_BYTES_MAX 1514u

// Frames are TCP over IPv4 between benchmarking addresses (RFC 2544, appendix C.2.2), which RSS distributes to
// predictable queues.
struct tl_selftest_flow {
	uint32_t src_be, dst_be;
	uint16_t src_port_be, dst_port_be;
};

// Received frame of the self-test.
struct tl_selftest_frame {
	uint32_t number;
	uint16_t queue;
	bool whole;   // as sent, byte for byte; if the way compares
	bool stamped; // by the port's source
	uint64_t ts_ns, poll_tsc;
};

// Path from one port to another.
struct tl_selftest_way {
	unsigned from, to;
	struct tl_port *tx_port, *rx_port;
	struct tl_txq *tx;
	bool compares;
	uint8_t phase; // of frames in transit: late frames of an earlier check are ignored
};

struct tl_selftest {
	const struct tl_selftest_cfg *cfg;
	struct tl_selftest_result *out;
	struct rte_mempool *pool; // of sent frames
	struct tl_selftest_way way;
	struct tl_burst burst;
	uint64_t next_look_ns;
	const char *cannot; // why no frame can be sent; NULL: none
};

typedef void tl_selftest_take(void *ctx, const struct tl_selftest_frame *frame);

// ---- frames.c

// Fill bytes (60 to 1514) of a frame with all its checksums.
void tl_selftest_make(const struct tl_selftest *t, const struct tl_selftest_flow *flow, uint32_t number, uint32_t bytes,
	uint8_t *out);
struct tl_selftest_flow tl_selftest_flow(uint32_t number);
// True if a received frame belongs to this run, way and phase; fills number and whole.
bool tl_selftest_read(const struct tl_selftest *t, const struct rte_mbuf *m, struct tl_selftest_frame *out);

// ---- way.c

// Begin a phase: discard frames that still arrive from the one before.
void tl_selftest_begin_phase(struct tl_selftest *t);
// Pass a frame to the port. False: it accepted none for as long as a frame may take to arrive.
bool tl_selftest_send(struct tl_selftest *t, const struct tl_selftest_flow *flow, uint32_t number, uint32_t bytes);
// Receive available frames. Return the number of the self-test's frames; take may be NULL.
uint32_t tl_selftest_poll(struct tl_selftest *t, tl_selftest_take *take, void *ctx);
// Receive until n of the self-test's frames have arrived, or none has for cfg.silence_ns. Return their number: more
// than n if the last burst had more; take may be NULL.
uint32_t tl_selftest_await(struct tl_selftest *t, uint32_t n, tl_selftest_take *take, void *ctx);
bool tl_selftest_stopped(const struct tl_selftest *t);

// Account of the receiving port, and the check's own count of polled frames.
struct tl_selftest_account {
	struct tl_port_stats port;
	uint64_t rx_pkts, foreign_pkts, tx_pkts;
};
void tl_selftest_account(const struct tl_selftest *t, struct tl_selftest_account *out);
uint64_t tl_selftest_drops(const struct tl_selftest_account *from, const struct tl_selftest_account *to);

// ---- verdicts; ownership of figures is transferred, NULL: none

void tl_selftest_verdict(struct tl_selftest_check *check, json_t *figures, enum tl_selftest_verdict verdict,
	const char *fmt, ...) TL_PRINTF(4, 5);

// ---- checks of a way, in their order

void tl_selftest_check_link(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_cable(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_counters(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_rss(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_stamps(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_ptp_rx(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_ptp_tx(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_drops(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_rate_large(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_rate_small(struct tl_selftest *t, struct tl_selftest_check *check);
void tl_selftest_check_link_stays(struct tl_selftest *t, struct tl_selftest_check *check);
