// SPDX-License-Identifier: BSD-3-Clause
// Two stacks back to back over a wire that drops, duplicates, delays and reorders, in virtual time, from a seed.

#include <errno.h>

#include "tl_test_tcp.h"
#include "tl_test_wire.h"

#define CONNS 1000
#define SEND_BUFFER 16384

struct sim {
	struct wire wire;
	struct tl_net *net[2];
	unsigned in_use;
	bool without_sack;
	unsigned texts, lossy_from, lossy_to; // data segments from side 0, and the range with loss of every third
	unsigned lost_text;
	uint64_t watched;
	uint32_t watched_edge[2];
	uint64_t pace_bps, paced_ns; // of side 0; time of its last frame with data or FIN
	unsigned __int128 paced_level;
};

// ---- the wire

static bool loses_text(struct wire *wire, unsigned from, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct sim *sim = wire->user;

	if (from != 0 || pkt->payload_len == 0)
		return false;
	unsigned n = sim->texts++;
	bool lost = n >= sim->lossy_from && n < sim->lossy_to && n % 3 == 0;
	sim->lost_text += lost;
	return lost;
}

static void give_burst(void *ctx, struct tl_burst *burst)
{
	tl_net_input(ctx, burst);
}

// Advance to the next arrival or departure time, at most a millisecond.
static void step(struct sim *sim)
{
	struct wire *wire = &sim->wire;

	uint64_t next_ns = tl_min_u64(wire->now_ns + MS, wire_next_ns(wire));

	for (unsigned side = 0; side < 2; side++)
		next_ns = tl_min_u64(next_ns, tl_tcp_pace_next_ns(sim->net[side]));
	wire->now_ns = tl_max_u64(next_ns, wire->now_ns);
	for (unsigned side = 0; side < 2; side++)
		wire_deliver(wire, side);
	for (unsigned side = 0; side < 2; side++) {
		tl_net_tick(sim->net[side], sim->wire.now_ns);
		tl_txq_flush(&sim->wire.end[side].tx);
	}
}

static void run(struct sim *sim, uint64_t for_ns)
{
	uint64_t end_ns = sim->wire.now_ns + for_ns;

	while (sim->wire.now_ns < end_ns)
		step(sim);
}

static bool is_quiet(const struct sim *sim)
{
	return tl_tcp_in_use(sim->net[0], NULL) + tl_tcp_in_use(sim->net[1], NULL) == 0;
}

// Run until no connection is left.
static bool run_out(struct sim *sim, uint64_t at_most_ns)
{
	uint64_t end_ns = sim->wire.now_ns + at_most_ns;

	while (!is_quiet(sim) && sim->wire.now_ns < end_ns)
		step(sim);
	return is_quiet(sim);
}

static struct sim *sim_start(uint64_t seed, uint32_t max_conns, uint32_t send_buffer_bytes)
{
	struct sim *sim = aligned_alloc(TL_CACHE_LINE, sizeof(*sim));

	if (sim == NULL)
		exit(1);
	memset(sim, 0, sizeof(*sim));

	sim->in_use = rte_mempool_in_use_count(test_pool());
	wire_init(&sim->wire, test_pool(), seed, 1000 * SECOND - TEST_DAD_NS);
	sim->wire.user = sim;
	sim->wire.loses = loses_text;
	sim->wire.one_way_ns = 50 * TL_NS_PER_US;
	for (unsigned side = 0; side < 2; side++) {
		struct tl_net_cfg cfg =
			test_cfg(&sim->wire.end[side].tx, (uint8_t)(side + 1), max_conns, send_buffer_bytes);
		cfg.seed = seed + side;
		sim->net[side] = test_net(&cfg);
		sim->wire.end[side].input = give_burst;
		sim->wire.end[side].ctx = sim->net[side];
		tl_net_announce(sim->net[side], sim->wire.now_ns);
	}
	run(sim, TEST_DAD_NS + MS);
	return sim;
}

static void sim_stop(struct sim *sim)
{
	run(sim, 10 * MS);
	for (unsigned side = 0; side < 2; side++)
		tl_net_destroy(sim->net[side]);
	wire_fini(&sim->wire);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(test_pool()), sim->in_use);
	free(sim);
}

static void make_lossy(struct sim *sim)
{
	sim->wire.faults.lost = 5;
	sim->wire.faults.doubled = 2;
	sim->wire.faults.overtaken = 100;
	sim->wire.faults.overtake_ns = 2 * MS; // with a delay of 50 us: reorders many frames
}

// ---- one direction of a transfer, the user pointer of an app

struct bulk {
	struct sim *sim;
	unsigned salt;
	size_t total, sent;
	bool close_early; // with the last byte, not after the peer's close
};

static uint8_t pattern(unsigned salt, size_t at)
{
	return (uint8_t)(at * 31 + (at >> 8) * 7 + salt * 101);
}

static void bulk_pump(struct app *app, struct tl_tcp *c)
{
	struct bulk *bulk = app->user;
	uint8_t chunk[4000]; // at most the smallest send buffer, so that it fits eventually

	while (bulk->sent < bulk->total) {
		uint32_t len =
			(uint32_t)tl_min_u64(1 + wire_draw(&bulk->sim->wire) % sizeof(chunk), bulk->total - bulk->sent);
		if (len > tl_tcp_room(c))
			return;
		for (uint32_t i = 0; i < len; i++)
			chunk[i] = pattern(bulk->salt, bulk->sent + i);
		if (tl_tcp_send(c, chunk, len) != 0) {
			app->failed_sends++;
			return;
		}
		bulk->sent += len;
	}
	if (bulk->close_early)
		tl_tcp_close(c);
}

static void bulk_peer_closed(struct app *app, struct tl_tcp *c)
{
	struct bulk *bulk = app->user;

	if (bulk->sent < bulk->total)
		bulk->close_early = true; // when all is sent
	else
		tl_tcp_close(c);
}

static struct app bulk_app(struct bulk *bulk)
{
	return (struct app){
		.on_opened = bulk_pump, .on_room = bulk_pump, .on_peer_closed = bulk_peer_closed, .user = bulk};
}

static bool is_intact(const struct app *app, unsigned salt, size_t total)
{
	for (size_t i = 0; i < app->len; i++) {
		if (app->data[i] != pattern(salt, i))
			return false;
	}
	return app->len == total && app->failed_sends == 0;
}

static struct tl_tcp *call(struct sim *sim, struct app *app, const struct tl_tcp_opts *opts)
{
	struct tl_tcp *c = NULL;

	CU_ASSERT_EQUAL_FATAL(
		tl_tcp_connect(sim->net[0], host_be(sim->net[0], 2), PORT(80), &APP_OPS, app, opts, &c), 0);
	if (sim->without_sack)
		c->sack = false; // ignores the other side's blocks, and sends none
	tl_txq_flush(&sim->wire.end[0].tx);
	return c;
}

static void await(struct sim *sim, struct app *app, const struct tl_tcp_opts *opts)
{
	struct tl_tcp_listener *listener = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(sim->net[1], PORT(80), CONNS, &APP_OPS, app, opts, &listener), 0);
}

// No callback may be called for a closed app.
static void hang_up(struct sim *sim)
{
	tl_tcp_close_all(sim->net[0], true);
	tl_tcp_close_all(sim->net[1], true);
}

// Both sides send, close, and finish. Print the seed and figures for a reproduction.
static bool transfer(struct sim *sim, uint64_t seed, size_t up, size_t down, const struct tl_tcp_opts *opts)
{
	struct bulk bulk[2] = {{sim, 1, up, 0, true}, {sim, 2, down, 0, seed % 2 == 0}};
	struct app app[2] = {bulk_app(&bulk[0]), bulk_app(&bulk[1])};

	await(sim, &app[1], opts);
	call(sim, &app[0], opts);
	bool over = run_out(sim, 900 * SECOND);
	bool ok = over && app[0].closed == 1 && app[1].closed == 1 && app[0].reason == TL_TCP_DONE &&
		  app[1].reason == TL_TCP_DONE && is_intact(&app[1], 1, up) && is_intact(&app[0], 2, down);
	if (!ok)
		printf("# seed %lu: over %d, up %zu of %zu, down %zu of %zu, closed %u (%s) and %u (%s), %.1f s\n",
			(unsigned long)seed, over, app[1].len, up, app[0].len, down, app[0].closed,
			tl_tcp_reason_text(app[0].reason), app[1].closed, tl_tcp_reason_text(app[1].reason),
			(double)(sim->wire.now_ns - 1000 * SECOND) / 1e9);
	hang_up(sim);
	app_free(&app[0]);
	app_free(&app[1]);
	return ok;
}

// ---- tests

TL_TEST("200 KB in both directions arrive intact over a lossy wire, for 50 seeds")
{
	uint64_t timeouts = 0;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct sim *sim = sim_start(seed, 4, SEND_BUFFER);
		make_lossy(sim);
		CU_ASSERT(transfer(sim, seed, 200000, 200000, NULL));
		const struct tl_net_stats *stats = &sim->net[0]->stats;
		CU_ASSERT(stats->tcp_retransmits > 0);
		CU_ASSERT(stats->tcp_out_of_order_pkts > 0);
		timeouts += stats->tcp_timeouts + sim->net[1]->stats.tcp_timeouts;
		sim_stop(sim);
	}
	CU_ASSERT(timeouts <= 50); // one per 400 KB: other losses are found by RACK, or by a probe
}

TL_TEST("200 KB in both directions arrive intact when sequence numbers wrap")
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct sim *sim = sim_start(seed, 4, SEND_BUFFER);
		make_lossy(sim);
		fix_isn(sim->net[0], (uint32_t)-1 - (uint32_t)seed);
		fix_isn(sim->net[1], (uint32_t)-100000);
		CU_ASSERT(transfer(sim, seed, 200000, 200000, NULL));
		sim_stop(sim);
	}
}

TL_TEST("data arrives even if every third frame is lost")
{
	const struct tl_tcp_opts opts = {.rto_min_us = 5000, .user_timeout_ms = 300000};

	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct sim *sim = sim_start(seed, 4, SEND_BUFFER);
		sim->wire.faults.lost = 30;
		sim->wire.faults.overtaken = 100;
		sim->wire.faults.overtake_ns = MS;
		CU_ASSERT(transfer(sim, seed, 20000, 20000, &opts));
		sim_stop(sim);
	}
}

struct cost {
	uint64_t retransmits, timeouts, lost;
};

// 300 KB over a wire that keeps the order and drops every third of segments 60 to 100.
static struct cost cost_of_loss(bool with_sack)
{
	struct cost cost = {0};

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct sim *sim = sim_start(seed, 4, 65536);
		sim->wire.one_way_ns = 20 * MS;
		sim->lossy_from = 60;
		sim->lossy_to = 100;
		sim->without_sack = !with_sack;
		CU_ASSERT(transfer(sim, seed, 300000, 0, NULL));
		cost.retransmits += sim->net[0]->stats.tcp_retransmits;
		cost.timeouts += sim->net[0]->stats.tcp_timeouts;
		cost.lost += sim->lost_text;
		sim_stop(sim);
	}
	return cost;
}

TL_TEST("with SACK little more than the loss is retransmitted, without a timeout")
{
	struct cost with = cost_of_loss(true), without = cost_of_loss(false);

	CU_ASSERT(with.lost > 100);
	CU_ASSERT(10 * with.retransmits < 11 * with.lost);
	CU_ASSERT(2 * with.retransmits < without.retransmits);
	CU_ASSERT_EQUAL(with.timeouts, 0);
	CU_ASSERT(without.timeouts > 0);
}

// No loss: no retransmission, and the duration is that of slow start and the windows.
TL_TEST("on a lossless wire nothing is retransmitted")
{
	struct sim *sim = sim_start(3, 4, SEND_BUFFER);

	CU_ASSERT(transfer(sim, 3, 1000000, 1000000, NULL));
	for (unsigned side = 0; side < 2; side++) {
		CU_ASSERT_EQUAL(sim->net[side]->stats.tcp_retransmits, 0);
		CU_ASSERT_EQUAL(sim->net[side]->stats.tcp_timeouts, 0);
		CU_ASSERT_EQUAL(sim->net[side]->stats.tcp_out_of_window_pkts, 0);
	}
	CU_ASSERT(sim->wire.now_ns - 1000 * SECOND < SECOND);
	sim_stop(sim);
}

TL_TEST("scaled windows fill a long pipe")
{
	const struct tl_tcp_opts opts = {.recv_window_bytes = 1 << 20};
	struct sim *sim = sim_start(4, 2, 1 << 20);

	sim->wire.one_way_ns = 50 * MS;
	CU_ASSERT(transfer(sim, 4, 4000000, 1000, &opts));
	CU_ASSERT(sim->wire.now_ns - 1000 * SECOND < 3 * SECOND); // 64 KiB per 100 ms would take 6 s
	sim_stop(sim);
}

// Right edge advertised by each side, in watched_edge.
static void watch_edges(struct wire *wire, const struct wire_segment *segment)
{
	struct sim *sim = wire->user;
	unsigned from = segment->from;
	const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(segment->frame + segment->pkt->l4_off);
	uint32_t edge = tl_be32(tcp->ack_be) + tl_be16(tcp->window_be);

	if ((tcp->flags & TL_TCP_ACK) == 0 || (tcp->flags & (TL_TCP_SYN | TL_TCP_RST)) != 0)
		return;
	if (sim->watched_edge[from] != 0 && (int32_t)(edge - sim->watched_edge[from]) < 0)
		sim->watched++;
	sim->watched_edge[from] = edge;
}

// Frames of side 0 beyond its rate, in watched: by a token bucket of a frame and what one late departure makes up.
static void watch_pace(struct wire *wire, const struct wire_segment *segment)
{
	const unsigned __int128 bit = TL_NS_PER_S;
	struct sim *sim = wire->user;
	const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(segment->frame + segment->pkt->l4_off);
	unsigned __int128 earned = (unsigned __int128)sim->pace_bps * (wire->now_ns - sim->paced_ns);
	uint32_t frame_bytes = segment->pkt->payload_off + segment->pkt->payload_len;

	if (segment->from != 0 || (segment->pkt->payload_len == 0 && (tcp->flags & TL_TCP_FIN) == 0))
		return;
	sim->paced_ns = wire->now_ns;
	sim->paced_level -= earned < sim->paced_level ? earned : sim->paced_level;
	sim->paced_level += 8 * frame_bytes * bit;
	sim->watched += sim->paced_level > 8 * 1600 * bit + sim->pace_bps;
}

TL_TEST("paced transfers arrive intact over a lossy wire and never exceed their rate")
{
	static const uint64_t rates[] = {500000, 3000000, 40000000};

	for (uint64_t seed = 1; seed <= 36; seed++) {
		struct sim *sim = sim_start(seed, 4, SEND_BUFFER);
		const struct tl_tcp_opts opts = {
			.pace_bps = rates[seed % 3], .without_cwnd = seed / 3 % 2, .rto_min_us = 10000};
		if (seed > 6)
			make_lossy(sim);
		sim->wire.faults.doubled = 0; // the wire's duplicates would count
		sim->without_sack = seed % 2;
		sim->pace_bps = opts.pace_bps;
		sim->wire.look = watch_pace;
		CU_ASSERT(transfer(sim, seed, 100000, 100000, &opts));
		CU_ASSERT_EQUAL(sim->watched, 0);
		CU_ASSERT(sim->wire.now_ns - 1000 * SECOND >= 100000 * 8 * SECOND / opts.pace_bps);
		sim_stop(sim);
	}
}

// The echo's invariant: the data let in by the window fits the send buffer, for any behaviour of the wire.
TL_TEST("an echo whose window follows its free space always has space and never shrinks the window")
{
	const struct tl_tcp_opts echo_opts = {.window_follows_room = true, .send_buffer_bytes = 5000};

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct sim *sim = sim_start(seed, 4, 8192);
		struct bulk bulk = {sim, 1, 100000, 0, true};
		struct app client = bulk_app(&bulk);
		struct app echo = {.on_data = app_echo};
		struct tl_tcp_listener *listener = NULL;
		struct tl_tcp_ops ops = APP_OPS;

		if (seed > 1)
			make_lossy(sim);
		sim->wire.look = watch_edges;
		ops.peer_closed = NULL; // closes by itself
		CU_ASSERT_EQUAL(tl_tcp_listen(sim->net[1], PORT(80), 4, &ops, &echo, &echo_opts, &listener), 0);
		call(sim, &client, NULL);
		CU_ASSERT(run_out(sim, 900 * SECOND));
		CU_ASSERT_EQUAL(echo.failed_sends, 0);
		CU_ASSERT(is_intact(&client, 1, bulk.total));
		CU_ASSERT_EQUAL(client.reason, TL_TCP_DONE);
		CU_ASSERT_EQUAL(sim->watched, 0);
		hang_up(sim);
		app_free(&client);
		app_free(&echo);
		sim_stop(sim);
	}
}

TL_TEST("an echo with a scaled window always has space and never shrinks the window")
{
	const struct tl_tcp_opts echo_opts = {.window_follows_room = true, .recv_window_bytes = 1 << 20};
	const struct tl_tcp_opts opts = {.recv_window_bytes = 1 << 20};

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct sim *sim = sim_start(seed, 4, 131072);
		struct bulk bulk = {sim, 1, 600000, 0, true};
		struct app client = bulk_app(&bulk);
		struct app echo = {.on_data = app_echo, .on_peer_closed = NULL};
		struct tl_tcp_listener *listener = NULL;
		struct tl_tcp_ops ops = APP_OPS;

		if (seed > 1)
			make_lossy(sim);
		ops.peer_closed = NULL;
		CU_ASSERT_EQUAL(tl_tcp_listen(sim->net[1], PORT(80), 4, &ops, &echo, &echo_opts, &listener), 0);
		call(sim, &client, &opts);
		CU_ASSERT(run_out(sim, 900 * SECOND));
		CU_ASSERT_EQUAL(echo.failed_sends, 0);
		CU_ASSERT(is_intact(&client, 1, bulk.total));
		hang_up(sim);
		app_free(&client);
		app_free(&echo);
		sim_stop(sim);
	}
}

static void close_both(struct app *app, struct tl_tcp *c)
{
	tl_tcp_close(c);
}

TL_TEST("1000 connections opened and closed leave no resources")
{
	struct sim *sim = sim_start(5, CONNS, 4096);
	struct app server = {.on_peer_closed = close_both};
	static struct app client[CONNS];
	unsigned waiting = 0;

	memset(client, 0, sizeof(client));
	await(sim, &server, NULL);
	for (unsigned i = 0; i < CONNS; i++) {
		client[i].c = call(sim, &client[i], NULL);
		if (i % 10 == 9)
			run(sim, MS);
	}
	run(sim, 2 * SECOND);
	CU_ASSERT_EQUAL(server.opened, CONNS);
	CU_ASSERT_EQUAL(tl_tcp_in_use(sim->net[0], NULL), CONNS);
	for (unsigned i = 0; i < CONNS; i++) {
		CU_ASSERT_EQUAL(client[i].opened, 1);
		CU_ASSERT_EQUAL(tl_tcp_send(client[i].c, "hello", 5), 0);
		if (i % 2 == 0)
			tl_tcp_close(client[i].c);
		else
			tl_tcp_abort(client[i].c);
		if (i % 10 == 9)
			run(sim, MS);
	}
	CU_ASSERT(run_out(sim, 10 * SECOND));
	CU_ASSERT_EQUAL(server.closed, CONNS);
	CU_ASSERT_EQUAL(server.len, CONNS * 5);
	tl_tcp_in_use(sim->net[0], &waiting);
	CU_ASSERT_EQUAL(waiting, CONNS / 2);
	run(sim, 61 * SECOND);
	tl_tcp_in_use(sim->net[0], &waiting);
	CU_ASSERT_EQUAL(waiting, 0);
	const struct tl_net_stats *stats = &sim->net[0]->stats;
	CU_ASSERT_EQUAL(stats->tcp_closed, stats->tcp_active_opens);
	hang_up(sim);
	app_free(&server);
	sim_stop(sim);
}

// With each seed over a bad wire connections end in order, whichever side closes first.
TL_TEST("every closing sequence completes over a lossy wire")
{
	for (uint64_t seed = 100; seed < 124; seed++) {
		struct sim *sim = sim_start(seed, 4, 4096);
		make_lossy(sim);
		CU_ASSERT(transfer(sim, seed, seed % 3 * 3000, seed % 5 * 2000, NULL));
		sim_stop(sim);
	}
}

static void dead_peer(uint64_t keepalive_ns, bool with_data, uint64_t within_ns)
{
	const struct tl_tcp_opts opts = {.keepalive_idle_ns = keepalive_ns, .user_timeout_ms = 20000};
	struct sim *sim = sim_start(6, 4, 4096);
	struct app client = {0}, server = {0};

	await(sim, &server, NULL);
	struct tl_tcp *c = call(sim, &client, &opts);
	run(sim, 100 * SECOND);
	CU_ASSERT_EQUAL(client.opened, 1);
	CU_ASSERT_EQUAL(client.closed, 0);
	sim->wire.faults.lost = 100;
	if (with_data)
		CU_ASSERT_EQUAL(tl_tcp_send(c, "x", 1), 0);
	run(sim, within_ns);
	CU_ASSERT_EQUAL(client.closed, 1);
	CU_ASSERT_EQUAL(client.reason, TL_TCP_TIMEOUT);
	CU_ASSERT_EQUAL(server.closed, 0);
	hang_up(sim);
	app_free(&client);
	app_free(&server);
	sim_stop(sim);
}

TL_TEST("keepalive detects a dead peer and keeps an idle one")
{
	dead_peer(10 * SECOND, false, 75 * SECOND);
}

TL_TEST("the user timeout detects a dead peer while data is unacknowledged")
{
	dead_peer(0, true, 21 * SECOND);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_pair");
}
