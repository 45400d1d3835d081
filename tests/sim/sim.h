// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// sim: one connection over a bad wire, from a seed: two stacks, or a stack and a misbehaving peer.
//
// Threads: main. Memory: sim_create() to sim_destroy(); the scenario is the caller's.
// Time:    virtual: from one event to the next.

#include "tl_test_wire.h"

#include "tcp_conn.h"

#define SIM_RUN_MAX 16384 // bytes of a stream read at once
#define SIM_TIME_MAX_NS (24 * 3600 * TL_NS_PER_S)
#define SIM_STEPS_MAX 1000000		  // most seeds need about 1000
#define SIM_USER_TIMEOUT_MS (3600 * 1000) // long, so that a broken mechanism appears as a timeout

enum sim_world {
	SIM_PAIR,   // two stacks, every fault
	SIM_REPAIR, // two stacks, a few losses that must be repaired without a timeout
	SIM_PEER,   // a stack and a misbehaving peer
};

// Mechanisms that can be disabled, to prove that they are needed.
enum sim_without { SIM_WITH_ALL, SIM_WITHOUT_RTO, SIM_WITHOUT_FAST, SIM_WITHOUT_PROBE };

enum sim_close { SIM_CLOSE_WHEN_SENT, SIM_CLOSE_WHEN_DONE, SIM_CLOSE_WHEN_PEER_DOES };

struct sim_side {
	uint16_t mtu;
	uint32_t send_buffer_bytes;
	struct tl_tcp_opts opts;
	bool isn_fixed;
	uint32_t isn;
	uint64_t bytes; // bytes to send
	uint32_t chunk_bytes;
	unsigned pause_percent; // percentage of chunks followed by a pause
	uint64_t pause_ns;
	enum sim_close close;
};

#define SIM_HOLES 3

struct sim_scenario {
	enum sim_world world;
	uint64_t seed;
	struct wire_faults faults;
	uint64_t one_way_ns, gap_ns;
	struct sim_side side[2];
	bool echo;	     // side 1 sends received data back
	uint32_t turn_bytes; // side 0 waits for the echo of this many bytes; 0: does not wait
	bool both_call;	     // simultaneous open
	bool peer_calls;     // the scripted peer opens
	bool without_sack, without_stamps, without_scale;
	bool lose_updates;	  // drop pure window updates
	uint64_t hole[SIM_HOLES]; // drop the first segment of side 0 that contains this byte; 0: none
	unsigned naughty_percent; // percentage of misbehaviour of the scripted peer
	unsigned tricks;	  // bit set of its tricks
};

void sim_draw(struct sim_scenario *sc, enum sim_world world, uint64_t seed);
void sim_describe(const struct sim_scenario *sc);

struct sim;

// Behaviour of one side.
struct sim_app {
	struct sim *sim;
	unsigned side;
	const struct sim_side *plan;
	unsigned in_text, out_text; // texts received and sent
	uint64_t to_send, sent, to_receive, received;
	bool echo;
	uint64_t wake_ns; // after a pause; UINT64_MAX: awake
	unsigned opened, peer_closed, closed, failed_sends;
	bool garbled;
	enum tl_tcp_reason reason;
	uint64_t closed_ns;
	struct tl_tcp *c; // NULL: none, or ended
};

extern const struct tl_tcp_ops SIM_APP_OPS;

// State of one direction on the wire.
struct sim_watch {
	bool has_isn, has_edge, scaled;
	uint32_t isn;
	uint32_t edge; // right edge advertised by this end: the limit for bytes
	uint8_t scale;
	uint16_t mss; // announced by this end
	uint32_t last_ack, last_window;
};

struct sim {
	const struct sim_scenario *sc;
	enum sim_without without;
	bool trace, quiet;
	const uint8_t *text;
	struct rte_mempool *pool;
	unsigned mbufs_before;
	struct wire *wire;
	struct tl_net *net[2]; // [1] NULL: the scripted peer
	struct sim_app app[2];
	struct sim_peer *peer; // or NULL
	struct sim_watch watch[2];
	unsigned holes_made;
	bool failed;
};

// Totals over all runs: wire and both stacks.
struct sim_totals {
	uint64_t segments, lost, doubled, delayed, overtaken, damaged;
	uint64_t retransmits, timeouts, tail_probes, window_probes, out_of_order, challenges;
};

struct sim_run {
	struct sim_totals totals;
	enum sim_without without;
	bool trace, quiet;
	uint8_t *text;
	struct rte_mempool *pool;
	struct wire *wire;
};

// Return true if all invariants hold.
bool sim_one(struct sim_run *run, const struct sim_scenario *sc);

__attribute__((format(printf, 2, 3))) void sim_fail(struct sim *sim, const char *format, ...);

// ---- text.c: stream contents

uint8_t *sim_text_create(void);
// Read SIM_RUN_MAX bytes of a side's text from an offset.
const uint8_t *sim_text(const struct sim *sim, unsigned side, uint64_t at);

// ---- app.c

void sim_app_init(struct sim *sim, unsigned side);
void sim_app_wake(struct sim_app *app); // if it is due

// ---- look.c: at each segment on the wire

void sim_look_init(struct sim *sim);

// ---- check.c

void sim_check(struct sim *sim);

// ---- peer.c: the scripted peer

struct sim_peer *sim_peer_create(struct sim *sim);
void sim_peer_destroy(struct sim_peer *peer);
uint64_t sim_peer_next_ns(const struct sim_peer *peer);
void sim_peer_wake(struct sim_peer *peer); // if it is due
bool sim_peer_done(const struct sim_peer *peer);
void sim_peer_check(struct sim_peer *peer);
