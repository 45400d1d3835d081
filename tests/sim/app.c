// SPDX-License-Identifier: BSD-3-Clause
// Applications of the two sides: one sends a text, or echoes received data, and both compare received data.

#include "sim.h"

// Return the current end of the text: with turns, at most one turn ahead of the reply.
static uint64_t may_send_to(const struct sim_app *app)
{
	uint32_t turn = app->side == 0 ? app->sim->sc->turn_bytes : 0;

	if (turn == 0)
		return app->to_send;
	return tl_min_u64(app->to_send, app->received / turn * turn + turn);
}

static void pause_perhaps(struct sim_app *app)
{
	struct wire *wire = app->sim->wire;

	if (wire_chance(wire, app->plan->pause_percent))
		app->wake_ns = wire->now_ns + wire_up_to(wire, app->plan->pause_ns);
}

static void close_perhaps(struct sim_app *app, struct tl_tcp *c)
{
	bool sent = app->sent == app->to_send;
	bool done = sent && app->received == app->to_receive;

	if ((app->plan->close == SIM_CLOSE_WHEN_SENT && sent) || (app->plan->close == SIM_CLOSE_WHEN_DONE && done) ||
		(app->peer_closed > 0 && sent))
		tl_tcp_close(c);
}

static void talk(struct sim_app *app, struct tl_tcp *c)
{
	struct wire *wire = app->sim->wire;
	uint64_t to = may_send_to(app);

	while (!app->echo && app->wake_ns == UINT64_MAX && app->sent < to) {
		uint32_t len = (uint32_t)tl_min_u64(wire_up_to(wire, app->plan->chunk_bytes), to - app->sent);
		if (len > tl_tcp_room(c))
			return;
		if (tl_tcp_send(c, sim_text(app->sim, app->out_text, app->sent), len) != 0) {
			app->failed_sends++;
			return;
		}
		app->sent += len;
		pause_perhaps(app);
	}
	close_perhaps(app, c);
}

static void opened(void *ctx, struct tl_tcp *c)
{
	struct sim_app *app = ctx;

	app->opened++;
	app->c = c;
	talk(app, c);
}

static void room(void *ctx, struct tl_tcp *c)
{
	talk(ctx, c);
}

static void data(void *ctx, struct tl_tcp *c, const uint8_t *bytes, uint32_t len)
{
	struct sim_app *app = ctx;

	if (len > SIM_RUN_MAX || memcmp(bytes, sim_text(app->sim, app->in_text, app->received), len) != 0)
		app->garbled = true;
	app->received += len;
	if (app->echo && tl_tcp_send_held(c, bytes, len) < 0)
		app->failed_sends++;
	if (app->echo)
		app->sent += len;
	if (app->sim->sc->turn_bytes != 0 || app->received == app->to_receive)
		talk(app, c);
}

static void peer_closed(void *ctx, struct tl_tcp *c)
{
	struct sim_app *app = ctx;

	app->peer_closed++;
	close_perhaps(app, c);
}

static void closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct sim_app *app = ctx;

	app->closed++;
	app->reason = reason;
	app->closed_ns = app->sim->wire->now_ns;
	app->c = NULL;
	app->wake_ns = UINT64_MAX;
}

const struct tl_tcp_ops SIM_APP_OPS = {
	.opened = opened,
	.data = data,
	.room = room,
	.peer_closed = peer_closed,
	.closed = closed,
};

void sim_app_init(struct sim *sim, unsigned side)
{
	const struct sim_scenario *sc = sim->sc;
	struct sim_app *app = &sim->app[side];

	*app = (struct sim_app){
		.sim = sim,
		.side = side,
		.plan = &sc->side[side],
		.in_text = sc->echo ? 0 : !side,
		.out_text = sc->echo ? 0 : side,
		.to_send = sc->side[sc->echo ? 0 : side].bytes,
		.to_receive = sc->side[sc->echo ? 0 : !side].bytes,
		.echo = sc->echo && side == 1,
		.wake_ns = UINT64_MAX,
	};
}

void sim_app_wake(struct sim_app *app)
{
	if (app->wake_ns > app->sim->wire->now_ns)
		return;
	app->wake_ns = UINT64_MAX;
	if (app->c != NULL && tl_tcp_may_send(app->c))
		talk(app, app->c);
}
