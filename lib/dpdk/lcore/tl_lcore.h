// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// lcore: the loop that one core runs over one RX queue: receive a burst, parse it once, hand it to the services in
// order, send after each, and do what can wait last.
//
// Threads: create, start, request, wait, destroy on main; the services' functions run on the lcore.
// Memory:  create/destroy; the loop allocates nothing. Received mbufs are freed by the loop after the last service.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_clock.h>
#include <tl_port.h>

#define TL_LCORE_SERVICES_MAX 18 // an echo host, 16 recordings and the stamping of PTP frames

struct tl_err;
struct tl_hist;
struct tl_lcore;

// A role on an lcore. Any function may be NULL. Services stand in order of urgency: the echo before the recording.
struct tl_service {
	void *ctx;
	bool parse; // rx() needs burst->pkt
	// HOT. A received burst; what it pushes to the txq is sent right after it returns.
	void (*rx)(void *ctx, struct tl_burst *burst);
	// HOT. The same burst again after that flush: the time for bookkeeping.
	void (*after_tx)(void *ctx, struct tl_burst *burst);
	// HOT. Frames that were sent; only called when a service of this lcore sets it.
	void (*sent)(void *ctx, struct tl_burst *burst);
	// HOT. Once per turn: handles and sends what came by another way than the queue; returns how many frames.
	uint16_t (*poll)(void *ctx, uint64_t mono_ns);
	// About every 100 us, and between bursts under load: timers.
	void (*tick)(void *ctx, uint64_t mono_ns);
	// Begin to end in order (TL_LCORE_CLOSE); closed() says when that is done.
	void (*close)(void *ctx);
	bool (*closed)(void *ctx);
	// Last call on the lcore: hand over what is held.
	void (*finish)(void *ctx);
};

// What main asks of an lcore; only ever raised.
enum tl_lcore_phase {
	TL_LCORE_RUN,
	TL_LCORE_CLOSE, // services close; frames are still received
	TL_LCORE_DRAIN, // no new frames come (the port is quiesced): receive what is queued, finish, return
	TL_LCORE_STOP,	// new frames may come for ever: receive about a ring of them, finish, return
};

struct tl_lcore_cfg {
	uint32_t lcore_id;
	int socket_id; // NUMA node of its CPU; SOCKET_ID_ANY: not known
	struct tl_rxq *rxq;
	struct tl_txq *txq; // NULL: this lcore never sends
	const struct tl_clock *clock;
	const struct tl_service *services; // copied
	uint32_t n_services;
	bool adaptive; // sleep after a while of empty polls
};

int tl_lcore_create(const struct tl_lcore_cfg *cfg, struct tl_lcore **out, struct tl_err *err);
int tl_lcore_start(struct tl_lcore *lcore, struct tl_err *err);
void tl_lcore_request(struct tl_lcore *lcore, enum tl_lcore_phase phase);

// The times between two polls that were longer than this: whatever the lcore did meanwhile, or whoever had its CPU.
#define TL_LCORE_GAP_NS (10 * TL_NS_PER_US)
void tl_lcore_gaps(const struct tl_lcore *lcore, struct tl_hist *out);

// The kernel's number of the thread that runs the loop; 0 before it runs.
int tl_lcore_tid(const struct tl_lcore *lcore);

// How many times its timers ran: an lcore whose number stands still is stuck.
uint64_t tl_lcore_beats(const struct tl_lcore *lcore);

// Whether every service has closed (after TL_LCORE_CLOSE).
bool tl_lcore_closed(const struct tl_lcore *lcore);

// Waits for the loop to return (after TL_LCORE_DRAIN or TL_LCORE_STOP).
void tl_lcore_wait(struct tl_lcore *lcore);
void tl_lcore_destroy(struct tl_lcore *lcore);
