// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_player: recordings played over a wire in virtual time against a second stack that replies as recorded,
// differently, or not at all.

#include <stdio.h>

#include <tl_player.h>

#include "tl_test_session.h"
#include "tl_test_tcp.h"
#include "tl_test_wire.h"

#define CONNS 64
#define BUFFER 16384
#define BUFFERS 4 // of the player's stack: fewer than connections
#define CLIENT_HOST 1
#define SERVER_HOST 2
#define NETS 3 // addresses of the player, from this host on:
#define MORE_HOSTS 20

// Behaviour of the target.
enum habit { ANSWERS, LIES, TALKS, STOPS_SHORT, LIES_AND_RESETS, RESETS, RESETS_NEXT, IGNORES_NEXT, STALLS };

struct sim {
	struct wire wire;
	struct tl_net *net[2];
	struct tl_net *nets[NETS]; // one per address, or only net[0]
	uint32_t n_nets;
	uint32_t peers_be[256]; // of connections
	struct recording recording;
	struct tl_player *player;
	enum habit habit;
	const char *banner; // sent at once, or NULL
	bool closes;	    // after an answer
	bool keeps_open;    // after the client's FIN
	unsigned opened, done, reset;
	uint64_t opened_ns[256]; // of connections
	char heard[4096];	 // requests in order of arrival
	uint64_t heard_bytes;
	unsigned in_use;
	uint64_t answer_after_ns; // each answer comes so much later, on one connection
	struct tl_tcp *late_conn;
	char late[4][256];
	uint64_t late_ns[4];
	unsigned n_late, sent_late;
};

// ---- the target: it replies to each line with "re:" and the line

static struct sim *the_sim; // context of its callbacks

static inline void server_send(struct tl_tcp *c, const char *text)
{
	CU_ASSERT_EQUAL(tl_tcp_send(c, text, (uint32_t)strlen(text)), 0);
}

static inline void on_opened(void *ctx, struct tl_tcp *c)
{
	struct sim *sim = ctx;

	unsigned place = sim->opened++ % TL_ARRAY_LEN(sim->opened_ns);
	uint16_t port_be;

	tl_tcp_peer(c, &sim->peers_be[place], &port_be);
	sim->opened_ns[place] = sim->wire.now_ns;
	if (sim->banner != NULL)
		server_send(c, sim->banner);
}

static inline void on_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct sim *sim = ctx;
	char answer[256];

	sim->heard_bytes += len;
	strncat(sim->heard, (const char *)data, tl_min_u64(len, sizeof(sim->heard) - strlen(sim->heard) - 1));
	if (memchr(data, '\n', len) == NULL)
		return;
	snprintf(answer, sizeof(answer), "re:%.*s", (int)len, (const char *)data);
	switch (sim->habit) {
	case TALKS:
		strcat(answer, "more");
		break;
	case LIES:
		answer[4] ^= 1;
		break;
	case STOPS_SHORT:
		answer[2] = '\0';
		break;
	case LIES_AND_RESETS:
		answer[4] ^= 1;
		if (data[0] == 'a')
			break;
		tl_tcp_abort(c);
		return;
	case RESETS_NEXT: // the second request
	case IGNORES_NEXT:
		if (data[0] == 'a')
			break;
		if (sim->habit == RESETS_NEXT)
			tl_tcp_abort(c);
		return;
	case RESETS:
		tl_tcp_abort(c);
		return;
	case STALLS:
		return;
	case ANSWERS:
		break;
	}
	if (sim->answer_after_ns != 0) {
		strcpy(sim->late[sim->n_late], answer);
		sim->late_ns[sim->n_late++] = sim->wire.now_ns + sim->answer_after_ns;
		sim->late_conn = c;
		return;
	}
	server_send(c, answer);
	if (sim->closes || sim->habit == STOPS_SHORT)
		tl_tcp_close(c);
}

static inline void on_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct sim *sim = ctx;

	sim->done += reason == TL_TCP_DONE;
	sim->reset += reason == TL_TCP_RESET;
}

static inline void on_peer_closed(void *ctx, struct tl_tcp *c)
{
	struct sim *sim = ctx;

	if (!sim->keeps_open)
		tl_tcp_close(c);
}

static const struct tl_tcp_ops server_ops = {
	.opened = on_opened, .data = on_data, .peer_closed = on_peer_closed, .closed = on_closed};

static inline void send_late(struct sim *sim)
{
	for (; sim->sent_late < sim->n_late && sim->late_ns[sim->sent_late] <= sim->wire.now_ns; sim->sent_late++)
		server_send(sim->late_conn, sim->late[sim->sent_late]);
}

// ---- the wire

static inline void input(void *ctx, struct tl_burst *burst)
{
	if (ctx == the_sim->net[0] && the_sim->player != NULL)
		tl_player_input(the_sim->player, burst);
	else
		tl_net_input(ctx, burst);
}

static inline void step(struct sim *sim)
{
	struct wire *wire = &sim->wire;

	wire->now_ns = tl_max_u64(tl_min_u64(wire->now_ns + MS, wire_next_ns(wire)), wire->now_ns);
	for (unsigned side = 0; side < 2; side++)
		wire_deliver(wire, side);
	if (sim->player != NULL)
		tl_player_tick(sim->player, wire->now_ns);
	else
		tl_net_tick(sim->net[0], wire->now_ns);
	tl_net_tick(sim->net[1], wire->now_ns);
	send_late(sim);
	for (unsigned side = 0; side < 2; side++)
		tl_txq_flush(&wire->end[side].tx);
}

static inline void run(struct sim *sim, uint64_t for_ns)
{
	uint64_t end_ns = sim->wire.now_ns + for_ns;

	while (sim->wire.now_ns < end_ns)
		step(sim);
}

static inline struct sim *sim_start(bool listens)
{
	struct sim *sim = aligned_alloc(TL_CACHE_LINE, sizeof(*sim));
	struct tl_tcp_listener *listener = NULL;

	if (sim == NULL)
		exit(1);
	memset(sim, 0, sizeof(*sim));
	the_sim = sim;
	sim->in_use = rte_mempool_in_use_count(test_pool());
	sim->recording = begin();
	wire_init(&sim->wire, test_pool(), 1, 1000 * SECOND);
	sim->wire.one_way_ns = 50 * TL_NS_PER_US;
	for (unsigned side = 0; side < 2; side++) {
		struct tl_net_cfg cfg = test_cfg(&sim->wire.end[side].tx, (uint8_t)(side + 1), CONNS, BUFFER);
		cfg.send_buffers = side == 0 ? BUFFERS : 0;
		cfg.ip6 = host_ip6((uint8_t)(side + 1));
		cfg.ip6_bits = 64;
		sim->net[side] = test_net(&cfg);
		sim->wire.end[side].input = input;
		sim->wire.end[side].ctx = sim->net[side];
		tl_net_announce(sim->net[side], sim->wire.now_ns);
	}
	sim->nets[0] = sim->net[0];
	sim->n_nets = 1;
	if (listens)
		CU_ASSERT_EQUAL(tl_tcp_listen(sim->net[1], PORT(80), CONNS, &server_ops, sim, NULL, &listener), 0);
	run(sim, TEST_DAD_NS);
	return sim;
}

static inline struct tl_player_cfg usual(const struct sim *sim)
{
	return (struct tl_player_cfg){.nets = sim->nets,
		.n_nets = sim->n_nets,
		.first_be = sim->n_nets == 1 ? host_ip(CLIENT_HOST) : host_ip(MORE_HOSTS),
		.sessions = sim->recording.set,
		.target_be = host_ip(SERVER_HOST),
		.plays = 1,
		.at_a_time = CONNS / 2,
		.speed = TL_PLAYER_MILLION,
		.timeout_ns = SECOND};
}

static inline void start_playing(struct sim *sim, const struct tl_player_cfg *cfg)
{
	struct tl_err err;

	finish(&sim->recording);
	CU_ASSERT_EQUAL_FATAL(tl_player_create(cfg, &sim->player, &err), 0);
	tl_player_begin(sim->player, sim->wire.now_ns);
}

static inline const struct tl_player_stats *play_with(struct sim *sim, const struct tl_player_cfg *cfg)
{
	uint64_t end_ns = sim->wire.now_ns + 100 * SECOND;

	start_playing(sim, cfg);
	while (!tl_player_is_done(sim->player) && sim->wire.now_ns < end_ns)
		step(sim);
	CU_ASSERT(tl_player_is_done(sim->player));
	CU_ASSERT(tl_player_ledger_ok(&tl_player_get_stats(sim->player)->ledger));
	run(sim, 10 * MS);
	return tl_player_get_stats(sim->player);
}

static inline const struct tl_player_stats *play(struct sim *sim)
{
	struct tl_player_cfg cfg = usual(sim);

	return play_with(sim, &cfg);
}

// Replace the player's stack by several ones.
static inline void use_several_addresses(struct sim *sim)
{
	static const char *const names[NETS] = {"first", "second", "third"};

	for (unsigned i = 0; i < NETS; i++) {
		struct tl_net_cfg cfg = test_cfg(&sim->wire.end[0].tx, 1, CONNS, BUFFER);
		cfg.name = names[i];
		cfg.ip_be = host_ip((uint8_t)(MORE_HOSTS + i));
		cfg.pool_users = NETS;
		sim->nets[i] = test_net(&cfg);
	}
	sim->n_nets = NETS;
}

// Check that no connection and no mbuf is left on the player's side.
static inline void sim_stop(struct sim *sim)
{
	for (unsigned i = 0; i < sim->n_nets; i++)
		CU_ASSERT_EQUAL(tl_tcp_in_use(sim->nets[i], NULL), 0);
	tl_tcp_close_all(sim->net[1], true);
	tl_player_destroy(sim->player);
	tl_session_destroy(sim->recording.set);
	for (unsigned i = 0; i < sim->n_nets && sim->n_nets != 1; i++)
		tl_net_destroy(sim->nets[i]);
	for (unsigned side = 0; side < 2; side++)
		tl_net_destroy(sim->net[side]);
	wire_fini(&sim->wire);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(test_pool()), sim->in_use);
	free(sim);
}

static inline const struct tl_player_failure *failure(const struct sim *sim, size_t i)
{
	static const struct tl_player_failure none = {.row = TL_PLAYER_ROWS};
	const struct tl_player_failure *list;

	return i < tl_player_failures(sim->player, &list) ? &list[i] : &none;
}

// ---- recordings

// A session of two requests: "a\n" and "bb\n".
static inline void record_two(struct sim *sim)
{
	struct recording *r = &sim->recording;

	r->client_port++;
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "a\n");
	r->ts_ns += 40 * TL_NS_PER_US;
	record(r, SERVER, ACK, 1, 3, "re:a\n");
	record(r, CLIENT, ACK, 3, 6, "bb\n");
	r->ts_ns += 90 * TL_NS_PER_US;
	record(r, SERVER, ACK, 6, 6, "re:bb\n");
	record_close(r, 5, 11);
}
