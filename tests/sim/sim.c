// SPDX-License-Identifier: BSD-3-Clause
// Run of one seed: set up both ends, exchange data until both are done, check for leaks.

#include <stdarg.h>

#include <rte_mempool.h>

#include <tl_err.h>

#include "sim.h"
#include "tcp_ooo.h"
#include "tcp_table.h"

#define CONNS 2
#define HOST_IP(side) tl_be32(0xc0000201 + (side)) // 192.0.2.1 and .2
#define LISTEN_PORT_BE tl_be16(80)
#define IDLE_STEP_NS TL_NS_PER_S
#define TICK_NS (UINT64_C(1) << 18)

void sim_fail(struct sim *sim, const char *format, ...)
{
	va_list args;

	if (!sim->failed && !sim->quiet)
		sim_describe(sim->sc);
	sim->failed = true;
	if (sim->quiet)
		return;
	va_start(args, format);
	printf("#   %.6f s: ", (double)(sim->wire->now_ns % (1000 * TL_NS_PER_S)) / 1e9);
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

// ---- ends

// Process a burst, and run deferred work before its mbufs are freed.
static void net_input(void *ctx, struct tl_burst *burst)
{
	tl_net_input(ctx, burst);
	tl_net_sent(ctx);
}

static void net_create(struct sim *sim, unsigned side)
{
	const struct sim_side *plan = &sim->sc->side[side];
	struct wire_end *end = &sim->wire->end[side];
	struct tl_err err = {0};
	const struct tl_net_cfg cfg = {
		.name = side == 0 ? "side 0" : "side 1",
		.tx = &end->tx,
		.pool = sim->pool,
		.mac = {2, 0, 0, 0, 0, (uint8_t)(1 + side)},
		.ip_be = HOST_IP(side),
		.mask_be = tl_be32(0xffffff00),
		.mtu = plan->mtu,
		.max_conns = CONNS,
		.send_buffer_bytes = plan->send_buffer_bytes,
		.socket_id = SOCKET_ID_ANY,
		.seed = 2 * sim->sc->seed + side + 1,
	};

	if (tl_net_create(&cfg, &sim->net[side], &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	sim->net[side]->tcp->isn_fixed = plan->isn_fixed;
	sim->net[side]->tcp->isn_next = plan->isn;
	end->input = net_input;
	end->ctx = sim->net[side];
	tl_net_tick(sim->net[side], sim->wire->now_ns);
	sim_app_init(sim, side);
}

static void call(struct sim *sim, unsigned side, uint16_t port_be)
{
	struct sim_app *app = &sim->app[side];
	int rc = tl_tcp_connect(
		sim->net[side], HOST_IP(!side), port_be, &SIM_APP_OPS, app, &sim->sc->side[side].opts, &app->c);

	if (rc != 0)
		sim_fail(sim, "connect: %s", strerror(-rc));
}

static void await(struct sim *sim, unsigned side)
{
	struct tl_tcp_listener *listener;
	int rc = tl_tcp_listen(sim->net[side], LISTEN_PORT_BE, CONNS, &SIM_APP_OPS, &sim->app[side],
		&sim->sc->side[side].opts, &listener);

	if (rc != 0)
		sim_fail(sim, "listen: %s", strerror(-rc));
}

// Return the port that the next connect() uses.
static uint16_t next_port_be(struct sim *sim, unsigned side)
{
	struct tl_tcp_table *table = sim->net[side]->tcp;
	uint64_t drawn = table->ports_drawn;
	uint16_t port_be = tl_tcp_local_port(sim->net[side], HOST_IP(!side), LISTEN_PORT_BE);

	table->ports_drawn = drawn;
	return port_be;
}

static void open_pair(struct sim *sim)
{
	net_create(sim, 1);
	if (sim->sc->both_call) {
		uint16_t of_0 = next_port_be(sim, 0), of_1 = next_port_be(sim, 1);
		call(sim, 0, of_1);
		call(sim, 1, of_0);
	} else {
		await(sim, 1);
		call(sim, 0, LISTEN_PORT_BE);
	}
}

static void open_ends(struct sim *sim)
{
	net_create(sim, 0);
	if (sim->sc->world != SIM_PEER) {
		open_pair(sim);
	} else {
		sim->peer = sim_peer_create(sim);
		if (sim->sc->peer_calls)
			await(sim, 0);
		else
			call(sim, 0, LISTEN_PORT_BE);
	}
	for (unsigned side = 0; side < 2; side++)
		tl_txq_flush(&sim->wire->end[side].tx);
}

// ---- time

// Latest time of the next tick for connection timers and departure times; the wheel of the timers has the resolution of
// a tick.
static uint64_t net_next_ns(const struct tl_net *net)
{
	uint64_t next_ns = net != NULL ? tl_tcp_pace_next_ns(net) : UINT64_MAX;

	for (unsigned i = 0; net != NULL && i < CONNS + TL_TCP_SPARE; i++) {
		const struct tl_tcp *c = &net->tcp->conns[i];
		for (unsigned t = 0; c->state != TL_TCPS_CLOSED && t < TL_TCP_TIMERS; t++) {
			if (c->deadline_ns[t] != TL_TCP_TIMER_OFF)
				next_ns = tl_min_u64(next_ns, tl_max_u64(c->deadline_ns[t], net->now_ns) + TICK_NS);
		}
	}
	return next_ns;
}

static uint64_t next_ns(const struct sim *sim)
{
	uint64_t next = wire_next_ns(sim->wire);

	for (unsigned side = 0; side < 2; side++)
		next = tl_min_u64(next, tl_min_u64(net_next_ns(sim->net[side]), sim->app[side].wake_ns));
	if (sim->peer != NULL)
		next = tl_min_u64(next, sim_peer_next_ns(sim->peer));
	return next;
}

// Return true if the timer about to expire is disabled.
static bool is_disabled(const struct sim *sim, const struct tl_tcp *c)
{
	bool probes_tail = c->sack && c->trouble == 0 && c->n_sent > 0;

	if (sim->without == SIM_WITHOUT_PROBE)
		return c->persisting;
	return sim->without == SIM_WITHOUT_RTO && !c->persisting && !probes_tail;
}

static void disable_timers(struct sim *sim, struct tl_net *net)
{
	for (unsigned i = 0; i < CONNS + TL_TCP_SPARE; i++) {
		struct tl_tcp *c = &net->tcp->conns[i];
		if (c->deadline_ns[TL_TCP_RETRANSMIT] <= sim->wire->now_ns && is_disabled(sim, c))
			tl_tcp_timer_stop(c, TL_TCP_RETRANSMIT);
	}
}

// Check that buffered data fits the advertised window, except for a FIN.
static void look_at_held(struct sim *sim, const struct tl_net *net)
{
	for (unsigned i = 0; i < CONNS + TL_TCP_SPARE; i++) {
		const struct tl_tcp *c = &net->tcp->conns[i];
		const struct tl_tcp_held *last = c->ooo_count > 0 ? &c->ooo[c->ooo_count - 1] : NULL;
		if (last != NULL && tl_seq_lt(c->rcv_adv, last->seq + last->len))
			sim_fail(sim, "%u bytes beyond the window are held", last->seq + last->len - c->rcv_adv);
	}
}

static void step(struct sim *sim)
{
	struct wire *wire = sim->wire;
	uint64_t next = tl_min_u64(next_ns(sim), wire->now_ns + IDLE_STEP_NS);

	wire->now_ns = tl_max_u64(next, wire->now_ns);
	for (unsigned side = 0; side < 2; side++)
		wire_deliver(wire, side);
	for (unsigned side = 0; side < 2; side++) {
		if (sim->net[side] == NULL)
			continue;
		look_at_held(sim, sim->net[side]);
		disable_timers(sim, sim->net[side]);
		tl_net_tick(sim->net[side], wire->now_ns);
		sim_app_wake(&sim->app[side]);
		tl_txq_flush(&wire->end[side].tx);
	}
	if (sim->peer != NULL)
		sim_peer_wake(sim->peer);
}

static bool is_done(const struct sim *sim)
{
	if (sim->app[0].closed == 0)
		return false;
	return sim->peer != NULL ? sim_peer_done(sim->peer) : sim->app[1].closed > 0;
}

static void talk(struct sim *sim)
{
	uint64_t end_ns = sim->wire->now_ns + SIM_TIME_MAX_NS;

	for (unsigned i = 0; i < SIM_STEPS_MAX && sim->wire->now_ns < end_ns && next_ns(sim) != UINT64_MAX; i++) {
		if (is_done(sim))
			return;
		step(sim);
	}
	if (!is_done(sim))
		sim_fail(sim, "stuck");
}

static bool is_silent(const struct sim *sim)
{
	unsigned in_use = 0, waiting;

	for (unsigned side = 0; side < 2; side++) {
		if (sim->net[side] == NULL)
			continue;
		in_use += tl_tcp_in_use(sim->net[side], &waiting);
		in_use += waiting;
	}
	return in_use == 0 && wire_in_flight(sim->wire) == 0;
}

// Wait until TIME-WAIT, and half-open connections of late SYNs, have ended.
static void fall_silent(struct sim *sim)
{
	uint64_t end_ns = sim->wire->now_ns + 2 * SIM_USER_TIMEOUT_MS * TL_NS_PER_MS;

	while (!is_silent(sim) && sim->wire->now_ns < end_ns)
		step(sim);
	if (!is_silent(sim))
		sim_fail(sim, "something is left when all is over");
}

// ---- set-up and run

static void begin(struct sim *sim, const struct sim_run *run, const struct sim_scenario *sc)
{
	*sim = (struct sim){
		.sc = sc,
		.without = run->without,
		.trace = run->trace,
		.quiet = run->quiet,
		.text = run->text,
		.pool = run->pool,
		.wire = run->wire,
		.mbufs_before = rte_mempool_in_use_count(run->pool),
	};
	wire_init(sim->wire, run->pool, sc->seed, 1000 * TL_NS_PER_S);
	sim->wire->faults = sc->faults;
	sim->wire->one_way_ns = sc->one_way_ns;
	sim->wire->gap_ns = sc->gap_ns;
	sim_look_init(sim);
	for (unsigned side = 0; side < 2; side++)
		sim->app[side].wake_ns = UINT64_MAX;
}

static void end(struct sim *sim)
{
	for (unsigned side = 0; side < 2; side++)
		tl_net_destroy(sim->net[side]);
	sim_peer_destroy(sim->peer);
	wire_fini(sim->wire);
	if (rte_mempool_in_use_count(sim->pool) != sim->mbufs_before)
		sim_fail(sim, "mbufs are left when the stacks are gone");
}

static void add_up(struct sim_totals *totals, const struct sim *sim)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct wire_end *end = &sim->wire->end[side];
		totals->segments += end->sent;
		totals->lost += end->lost;
		totals->doubled += end->doubled;
		totals->delayed += end->delayed;
		totals->overtaken += end->overtaken;
		totals->damaged += end->damaged;
		if (sim->net[side] == NULL)
			continue;
		const struct tl_net_stats *stats = &sim->net[side]->stats;
		totals->retransmits += stats->tcp_retransmits;
		totals->timeouts += stats->tcp_timeouts;
		totals->tail_probes += stats->tcp_tail_probes_tx;
		totals->window_probes += stats->tcp_window_probes_tx;
		totals->out_of_order += stats->tcp_out_of_order_pkts;
		totals->challenges += stats->tcp_challenge_acks_tx;
	}
}

bool sim_one(struct sim_run *run, const struct sim_scenario *sc)
{
	struct sim sim;

	begin(&sim, run, sc);
	open_ends(&sim);
	talk(&sim);
	if (!sim.failed)
		fall_silent(&sim);
	if (!sim.failed)
		sim_check(&sim);
	add_up(&run->totals, &sim);
	end(&sim);
	return !sim.failed;
}
