// SPDX-License-Identifier: BSD-3-Clause
// Scenario of a seed.

#include "sim.h"

#include <tl_random.h>

#define US TL_NS_PER_US
#define MS TL_NS_PER_MS
#define KIB 1024u
#define BYTES_MIN (64 * KIB)
#define NEWRENO_WINDOW (32 * KIB) // fewer segments than a receiver can buffer: without SACK one hole at a time
#define REPAIR_RTO_US (10 * 1000 * 1000)

static uint64_t between(uint64_t *rng, uint64_t least, uint64_t most)
{
	return least + tl_random_next(rng) % (most - least + 1);
}

static bool one_in(uint64_t *rng, unsigned n)
{
	return tl_random_next(rng) % n == 0;
}

// Return a value with a log-uniform distribution: each doubling is equally likely.
static uint64_t magnitude(uint64_t *rng, uint64_t least, uint64_t most)
{
	unsigned doublings = 0;

	while (least << (doublings + 1) <= most)
		doublings++;
	uint64_t from = least << between(rng, 0, doublings);
	return between(rng, from, tl_min_u64(2 * from, most));
}

static unsigned percent(uint64_t *rng)
{
	return one_in(rng, 4) ? 0 : (unsigned)between(rng, 1, 20);
}

static void draw_faults(struct sim_scenario *sc, uint64_t *rng)
{
	uint64_t rtt_ns = 2 * sc->one_way_ns;

	sc->faults = (struct wire_faults){
		.lost = percent(rng),
		.doubled = percent(rng),
		.delayed = percent(rng),
		.overtaken = percent(rng),
		.damaged = percent(rng),
		.delay_ns = between(rng, 1, 2 * rtt_ns),
		.overtake_ns = between(rng, 1, 2 * rtt_ns),
	};
}

static uint16_t draw_mtu(uint64_t *rng)
{
	static const uint16_t usual[] = {576, 1500, 9000};
	uint64_t i = between(rng, 0, 4);

	return i < TL_ARRAY_LEN(usual) ? usual[i] : (uint16_t)between(rng, 576, 9000);
}

static uint32_t draw_rto_min_us(uint64_t *rng)
{
	static const uint32_t some[] = {0, 1000, 5000, 50000};

	return some[between(rng, 0, TL_ARRAY_LEN(some) - 1)];
}

static void draw_side(struct sim_scenario *sc, unsigned side, uint64_t *rng)
{
	uint32_t send_buffer_bytes = 8 * KIB << between(rng, 0, 4);

	sc->side[side] = (struct sim_side){
		.mtu = draw_mtu(rng),
		.send_buffer_bytes = send_buffer_bytes,
		.opts.recv_window_bytes = one_in(rng, 3) ? 0 : (uint32_t)magnitude(rng, 2 * KIB, 1024 * KIB),
		.opts.rto_min_us = draw_rto_min_us(rng),
		.opts.connect_timeout_ms = SIM_USER_TIMEOUT_MS,
		.opts.user_timeout_ms = SIM_USER_TIMEOUT_MS,
		.opts.without_cwnd = one_in(rng, 3),
		.opts.keepalive_idle_ns = SIM_USER_TIMEOUT_MS * TL_NS_PER_MS, // otherwise FIN-WAIT-2 may time out
		.isn_fixed = one_in(rng, 2),
		.isn = 0 - (uint32_t)between(rng, 0, 2 * BYTES_MIN), // wraps during the transfer
		.bytes = BYTES_MIN + magnitude(rng, 1, BYTES_MIN),
		.chunk_bytes = (uint32_t)magnitude(rng, 64, tl_min_u64(SIM_RUN_MAX, send_buffer_bytes / 2)),
		.pause_percent = one_in(rng, 4) ? (unsigned)between(rng, 1, 20) : 0,
		.pause_ns = magnitude(rng, US, 500 * MS),
	};
}

static void draw_ends(struct sim_scenario *sc, uint64_t *rng)
{
	static const enum sim_close pairs[][2] = {
		{SIM_CLOSE_WHEN_SENT, SIM_CLOSE_WHEN_SENT}, // each half separately
		{SIM_CLOSE_WHEN_SENT, SIM_CLOSE_WHEN_PEER_DOES},
		{SIM_CLOSE_WHEN_PEER_DOES, SIM_CLOSE_WHEN_SENT},
		{SIM_CLOSE_WHEN_DONE, SIM_CLOSE_WHEN_DONE}, // possibly both at once
		{SIM_CLOSE_WHEN_DONE, SIM_CLOSE_WHEN_PEER_DOES},
		{SIM_CLOSE_WHEN_PEER_DOES, SIM_CLOSE_WHEN_DONE},
	};
	uint64_t i = between(rng, 0, TL_ARRAY_LEN(pairs) - 1);

	sc->side[0].close = pairs[i][0];
	sc->side[1].close = pairs[i][1];
}

static void draw_echo(struct sim_scenario *sc, uint64_t *rng)
{
	sc->echo = true;
	sc->side[0].close = one_in(rng, 2) ? SIM_CLOSE_WHEN_SENT : SIM_CLOSE_WHEN_DONE;
	sc->side[1].close = SIM_CLOSE_WHEN_PEER_DOES;
	sc->side[1].opts.window_follows_room = true;
	if (one_in(rng, 2))
		sc->turn_bytes = (uint32_t)magnitude(rng, 2 * KIB, 16 * KIB);
}

static void draw_path(struct sim_scenario *sc, uint64_t *rng)
{
	sc->one_way_ns = magnitude(rng, 5 * US, 100 * MS);
	sc->gap_ns = one_in(rng, 2) ? 0 : between(rng, 0, tl_min_u64(20 * US, sc->one_way_ns));
	sc->without_sack = one_in(rng, 3);
	sc->without_stamps = one_in(rng, 3);
	sc->without_scale = one_in(rng, 6);
}

static void draw_pair(struct sim_scenario *sc, uint64_t *rng)
{
	draw_faults(sc, rng);
	draw_ends(sc, rng);
	sc->both_call = one_in(rng, 5);
	if (one_in(rng, 2)) {
		draw_echo(sc, rng);
	} else if (one_in(rng, 2)) { // it does not read while side 1 has much to send
		sc->side[1].opts.window_follows_room = true;
		sc->lose_updates = one_in(rng, 2);
	}
}

// A clean wire, except for some lost segments within a flight. A timeout would take 10 s.
static void draw_repair(struct sim_scenario *sc, uint64_t *rng)
{
	for (unsigned side = 0; side < 2; side++) {
		sc->side[side].mtu = one_in(rng, 2) ? 1500 : (uint16_t)between(rng, 576, 1500);
		sc->side[side].send_buffer_bytes = 128 * KIB;
		sc->side[side].opts.recv_window_bytes = sc->without_sack ? NEWRENO_WINDOW : 128 * KIB;
		sc->side[side].opts.rto_min_us = REPAIR_RTO_US;
		sc->side[side].chunk_bytes = SIM_RUN_MAX;
		sc->side[side].pause_percent = 0;
	}
	sc->without_scale = false;
	sc->one_way_ns = magnitude(rng, 50 * US, 100 * MS);
	sc->gap_ns = between(rng, 0, 2 * US);
	sc->side[0].bytes = 320 * KIB;
	sc->side[1].bytes = 0; // with data of that side no ACK is a duplicate (RFC 5681, section 2)
	sc->side[0].close = SIM_CLOSE_WHEN_SENT;
	sc->side[1].close = SIM_CLOSE_WHEN_PEER_DOES;
	for (unsigned i = 0; i < SIM_HOLES; i++)
		sc->hole[i] = i == 0 || one_in(rng, 2) ? between(rng, 50 * KIB, 70 * KIB) + i * 80 * KIB : 0;
}

static void draw_peer(struct sim_scenario *sc, uint64_t *rng)
{
	draw_faults(sc, rng);
	draw_ends(sc, rng);
	sc->side[0].bytes += sc->side[0].bytes % 2;
	sc->side[1].bytes += sc->side[1].bytes % 2;
	sc->peer_calls = one_in(rng, 2);
	sc->naughty_percent = (unsigned)between(rng, 1, 20);
	sc->tricks = (unsigned)tl_random_next(rng);
}

static void draw_pace(struct sim_side *side, uint64_t *rng)
{
	if (one_in(rng, 4))
		side->opts.pace_bps = magnitude(rng, UINT64_C(1000000), UINT64_C(10000000000));
}

void sim_draw(struct sim_scenario *sc, enum sim_world world, uint64_t seed)
{
	uint64_t rng = seed;

	*sc = (struct sim_scenario){.world = world, .seed = seed};
	draw_path(sc, &rng);
	for (unsigned side = 0; side < 2; side++)
		draw_side(sc, side, &rng);
	if (world == SIM_PAIR)
		draw_pair(sc, &rng);
	else if (world == SIM_REPAIR)
		draw_repair(sc, &rng);
	else
		draw_peer(sc, &rng);
	for (unsigned side = 0; side < 2; side++)
		draw_pace(&sc->side[side], &rng);
}

void sim_describe(const struct sim_scenario *sc)
{
	static const char *const CLOSES[] = {"when all is sent", "when all is done", "after the other"};

	printf("# seed %lu: RTT %lu us, lost %u %%, doubled %u %%, delayed %u %%, overtaken %u %%, damaged %u %%%s%s%s%s\n",
		(unsigned long)sc->seed, (unsigned long)(2 * sc->one_way_ns / US), sc->faults.lost, sc->faults.doubled,
		sc->faults.delayed, sc->faults.overtaken, sc->faults.damaged, sc->without_sack ? ", no SACK" : "",
		sc->without_stamps ? ", no timestamps" : "", sc->without_scale ? ", no window scale" : "",
		sc->lose_updates ? ", no window updates" : "");
	if (sc->world == SIM_PEER)
		printf("#   the peer %s, and misbehaves in %u %% of its turns, tricks %#x\n",
			sc->peer_calls ? "calls" : "is called", sc->naughty_percent, sc->tricks);
	else
		printf("#   %s, %s\n", sc->both_call ? "both call" : "side 0 calls",
			sc->turn_bytes != 0 ? "side 1 is an echo, in turns"
			: sc->echo	    ? "side 1 is an echo"
					    : "both talk");
	for (unsigned i = 0; i < 2; i++) {
		const struct sim_side *side = &sc->side[i];
		printf("#   side %u: MTU %u, send buffer %u, window %u%s, RTO from %u us, sends %lu%s, pace %lu bit/s, closes %s\n",
			i, side->mtu, side->send_buffer_bytes, side->opts.recv_window_bytes,
			side->opts.window_follows_room ? " by its room" : "", side->opts.rto_min_us,
			(unsigned long)side->bytes, side->opts.without_cwnd ? " without cwnd" : "",
			(unsigned long)side->opts.pace_bps, CLOSES[side->close]);
	}
}
