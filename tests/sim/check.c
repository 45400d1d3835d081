// SPDX-License-Identifier: BSD-3-Clause
// Invariants at the end: every byte delivered, every segment counted, no resource leaked.

#include <rte_mempool.h>

#include "sim.h"
#include "tcp_table.h"

#define REPAIR_NS (8 * TL_NS_PER_S) // below the time of a timeout

// ---- the applications

// The sender of the last FIN may get an RST for a connection that the peer has already closed, not for an open one.
static bool is_end_in_order(const struct sim *sim, unsigned side)
{
	const struct sim_app *app = &sim->app[side], *other = &sim->app[!side];

	if (app->reason == TL_TCP_DONE)
		return true;
	return app->reason == TL_TCP_RESET && other->closed == 1 && other->reason == TL_TCP_DONE &&
	       app->closed_ns > other->closed_ns + TL_TCP_TIME_WAIT_NS;
}

static void check_app(struct sim *sim, unsigned side)
{
	const struct sim_app *app = &sim->app[side];

	if (app->garbled)
		sim_fail(sim, "side %u: other bytes than were sent", side);
	if (app->sent != app->to_send || app->received != app->to_receive)
		sim_fail(sim, "side %u: sent %lu of %lu, received %lu of %lu", side, (unsigned long)app->sent,
			(unsigned long)app->to_send, (unsigned long)app->received, (unsigned long)app->to_receive);
	if (app->failed_sends > 0)
		sim_fail(sim, "side %u: %u sends failed", side, app->failed_sends);
	if (app->opened != 1 || app->closed != 1)
		sim_fail(sim, "side %u: opened %u times, closed %u times", side, app->opened, app->closed);
	if (sim->peer == NULL && !is_end_in_order(sim, side))
		sim_fail(sim, "side %u: %s", side, tl_tcp_reason_text(app->reason));
}

// ---- the ledger

static uint64_t counter(const struct tl_counter *all, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(all[i].name, name) == 0)
			return all[i].value;
	}
	fprintf(stderr, "no counter %s\n", name);
	exit(1);
}

static uint64_t sum_of(const struct tl_counter *all, unsigned n, const char *prefix)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		if (strncmp(all[i].name, prefix, strlen(prefix)) == 0)
			sum += all[i].value;
	}
	return sum;
}

static void check_equal(struct sim *sim, unsigned side, const char *what, uint64_t is, uint64_t should_be)
{
	if (is != should_be)
		sim_fail(sim, "side %u: %s: %lu, not %lu", side, what, (unsigned long)is, (unsigned long)should_be);
}

// Compare the stack's counters with those of the wire.
static void check_ledger(struct sim *sim, unsigned side)
{
	const struct wire_end *end = &sim->wire->end[side], *other = &sim->wire->end[!side];
	struct tl_counter all[96];
	unsigned n = tl_net_counters(sim->net[side], all, TL_ARRAY_LEN(all));
	uint64_t in = counter(all, n, "in_pkts");
	uint64_t segments_tx = counter(all, n, "tcp_segments_tx"), resets_tx = counter(all, n, "tcp_resets_tx");

	check_equal(sim, side, "sum of outcomes", sum_of(all, n, "rx_") + sum_of(all, n, "drop_"), in);
	check_equal(sim, side, "in_pkts", in, end->arrived);
	check_equal(sim, side, "rx_tcp_pkts", counter(all, n, "rx_tcp_pkts"), end->intact);
	check_equal(sim, side, "segments that arrived", end->intact + other->damaged,
		other->sent + other->doubled - other->lost);
	check_equal(sim, side, "damaged frames dropped",
		counter(all, n, "drop_cksum_pkts") + counter(all, n, "drop_malformed_pkts"), other->damaged);
	check_equal(sim, side, "all frames dropped", sum_of(all, n, "drop_"), other->damaged);
	check_equal(sim, side, "mbufs not found", counter(all, n, "nombuf"), 0);
	uint64_t left = end->sent + counter(all, n, "arp_unresolved_pkts"); // or were dropped before
	if (left < segments_tx || left > segments_tx + resets_tx) // an RST without a connection is in one only
		sim_fail(sim, "side %u: %lu segments left, %lu were counted", side, (unsigned long)left,
			(unsigned long)segments_tx);
}

// ---- leaks

static unsigned queue_length(const struct tl_tcp_queue *queue)
{
	const struct tl_tcp *c;
	unsigned n = 0;

	TAILQ_FOREACH (c, queue, link)
		n++;
	return n;
}

static unsigned timers_set(const struct tl_tcp *c)
{
	unsigned n = 0;

	for (unsigned i = 0; c->ops != NULL && i < TL_TCP_TIMERS; i++) // in use
		n += c->deadline_ns[i] != TL_TCP_TIMER_OFF;
	return n;
}

static void check_table(struct sim *sim, unsigned side)
{
	const struct tl_net *net = sim->net[side];
	const struct tl_tcp_table *table = net->tcp;
	unsigned timers = 0, rows = 0;

	for (unsigned i = 0; i < net->cfg.max_conns + TL_TCP_SPARE; i++)
		timers += timers_set(&table->conns[i]);
	for (unsigned i = 0; i <= table->bucket_mask; i++)
		rows += table->bucket[i] != NULL;
	check_equal(sim, side, "timers left", timers, 0);
	check_equal(sim, side, "table rows left", rows, 0);
	check_equal(sim, side, "held segments left", table->ooo_held, 0);
	check_equal(sim, side, "half-open connections left", table->n_half_open, 0);
	check_equal(sim, side, "work left", !TAILQ_EMPTY(&table->pending), 0);
	check_equal(sim, side, "idle slots", queue_length(&table->idle), net->cfg.max_conns + TL_TCP_SPARE);
}

// ---- repairs without a timeout

static void check_repair(struct sim *sim)
{
	unsigned holes = 0;

	for (unsigned i = 0; i < SIM_HOLES; i++)
		holes |= sim->sc->hole[i] != 0 ? 1u << i : 0;
	check_equal(sim, 0, "holes made", sim->holes_made, holes);
	check_equal(sim, 0, "timeouts", sim->net[0]->stats.tcp_timeouts, 0);
	if (sim->app[0].closed_ns > 1000 * TL_NS_PER_S + REPAIR_NS)
		sim_fail(sim, "it took until %.3f s", (double)(sim->app[0].closed_ns - 1000 * TL_NS_PER_S) / 1e9);
}

// Return the mbufs in use, except the one that each stack keeps for its next frame.
static unsigned mbufs_in_use(const struct sim *sim)
{
	unsigned n = rte_mempool_in_use_count(sim->pool);

	for (unsigned side = 0; side < 2; side++)
		n -= sim->net[side] != NULL && sim->net[side]->spare != NULL;
	return n;
}

void sim_check(struct sim *sim)
{
	for (unsigned side = 0; side < 2; side++) {
		if (sim->net[side] == NULL)
			continue;
		check_app(sim, side);
		check_ledger(sim, side);
		check_table(sim, side);
	}
	if (mbufs_in_use(sim) != sim->mbufs_before)
		sim_fail(sim, "mbufs are left");
	if (sim->sc->world == SIM_REPAIR)
		check_repair(sim);
	if (sim->peer != NULL)
		sim_peer_check(sim->peer);
}
