// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// lcore: the loop that one core runs over one RX queue: receive a burst, pass it to the services in order, send after
// each, and defer all other work to the end of the turn.
//
// Threads: create, start, request, wait, destroy on main; the services' functions run on the lcore.
// Memory:  create/destroy; the loop allocates nothing. Received mbufs are freed by the loop after the last service.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_clock.h>
#include <tl_port.h>

// An echo host, its delays, its paced connections, a shaper, 64 recordings, the stamping of PTP frames.
#define TL_LCORE_SERVICES_MAX 69

struct tl_err;
struct tl_hist;
struct tl_lcore;

// Service on an lcore. Any function may be NULL. Services are in order of urgency: the echo before the recording.
struct tl_service {
	void *ctx;
	// HOT. Process a received burst; frames that it pushes to the txq are sent right after it returns, if it has
	// not flushed them.
	void (*rx)(void *ctx, struct tl_burst *burst);
	// HOT. Process the same burst after that flush, for bookkeeping.
	void (*after_tx)(void *ctx, struct tl_burst *burst);
	// HOT. Process sent frames; only called if a service of this lcore sets it.
	void (*sent)(void *ctx, struct tl_burst *burst);
	// HOT. Once per turn: handle and send work from other sources than the queue; returns the number of frames.
	uint16_t (*poll)(void *ctx, uint64_t mono_ns);
	// Return the time, mono_ns, of the next poll() with work: limits the sleep of an adaptive lcore. NULL: unknown.
	uint64_t (*next_ns)(void *ctx);
	// Run timers: about every 100 us, and between bursts under load.
	void (*tick)(void *ctx, uint64_t mono_ns);
	// Begin an orderly close (TL_LCORE_CLOSE); closed() reports its completion.
	void (*close)(void *ctx);
	bool (*closed)(void *ctx);
	// Last call on the lcore: release held data.
	void (*finish)(void *ctx);
};

// Requests of main to an lcore; the value only increases.
enum tl_lcore_phase {
	TL_LCORE_RUN,
	TL_LCORE_CLOSE, // services close; frames are still received
	TL_LCORE_DRAIN, // no new frames arrive (the port is quiesced): receive queued frames, finish, return
	TL_LCORE_STOP,	// new frames may keep arriving: receive about one ring of them, finish, return
};

struct tl_lcore_cfg {
	uint32_t lcore_id;
	int socket_id; // NUMA node of its CPU; SOCKET_ID_ANY: unknown
	struct tl_rxq *rxq;
	struct tl_txq *txq; // NULL: this lcore never sends
	const struct tl_clock *clock;
	const struct tl_service *services; // copied
	uint32_t n_services;
	uint64_t buffer_bytes; // smallest buffer of the recordings of its frames; 0: there are none
	bool adaptive;	       // sleep after a series of empty polls
	bool reads_files;      // a service opens files, which other lcores may not
};

int tl_lcore_create(const struct tl_lcore_cfg *cfg, struct tl_lcore **out, struct tl_err *err);
int tl_lcore_start(struct tl_lcore *lcore, struct tl_err *err);
void tl_lcore_request(struct tl_lcore *lcore, enum tl_lcore_phase phase);

// Gaps between two polls longer than this are recorded, whether the lcore was busy or preempted.
#define TL_LCORE_GAP_NS (10 * TL_NS_PER_US)
void tl_lcore_gaps(const struct tl_lcore *lcore, struct tl_hist *out);

// Load of an lcore, sampled at each timer run, about every 100 us: the time since the last sample counts for the turn
// that ran then, and for an empty one if the lcore slept meanwhile. The polls themselves have no extra cost.
#define TL_LCORE_SIZES 8 // turns with 0, 1, 2..3, 4..7, 8..15, 16..31, 32..63, 64 and more frames
struct tl_lcore_load {
	uint64_t turn_ns[TL_LCORE_SIZES];  // by the frames of the turn, those handed over by other lcores included
	uint64_t ring_samples;		   // of the queue's ring; 0: its fill is unknown
	uint64_t ring_used, ring_used_max; // descriptors with frames that wait: in the last sample, and at most
};
void tl_lcore_load(const struct tl_lcore *lcore, struct tl_lcore_load *out);

// Return the kernel's id of the thread that runs the loop; 0 before it runs.
int tl_lcore_tid(const struct tl_lcore *lcore);

// Return the number of timer runs: an lcore is stuck if it no longer increases.
uint64_t tl_lcore_beats(const struct tl_lcore *lcore);

// True if every service has closed (after TL_LCORE_CLOSE).
bool tl_lcore_closed(const struct tl_lcore *lcore);

// Wait for the loop to return (after TL_LCORE_DRAIN or TL_LCORE_STOP).
void tl_lcore_wait(struct tl_lcore *lcore);
void tl_lcore_destroy(struct tl_lcore *lcore);
