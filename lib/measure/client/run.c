// SPDX-License-Identifier: BSD-3-Clause
// A run: sends on schedule and receives echoes, in one thread, so that neither waits for the other's time slice.

#include "session_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include <tl_client_msg.h>
#include <tl_units.h>

#define HEAD_START_NS (10 * TL_NS_PER_MS) // from the connection to the first message
#define LONGEST_SLEEP_NS (100 * TL_NS_PER_MS)
#define SPIN_POLL_NS TL_NS_PER_MS	     // interval between connection checks while spinning
#define DEPARTURES_WAITING 64		     // waiting stamps use the space of received data
#define STAMP_LINGER_NS (100 * TL_NS_PER_MS) // a NIC reports a departure within milliseconds
#define STAMP_SLOTS UINT64_C(65536)

char *tl_client_endpoint_text(struct tl_client_endpoint at, char buf[TL_ENDPOINT6_TEXT])
{
	if (tl_ip6_is_set(&at.ip6))
		return tl_format_endpoint6(&at.ip6, at.port_be, buf);
	return tl_format_endpoint(at.ip_be, at.port_be, buf);
}

uint64_t tl_client_planned(const struct tl_client_cfg *cfg)
{
	return (uint64_t)((unsigned __int128)cfg->rate_pps * cfg->duration_ns / TL_NS_PER_S);
}

static bool stop_asked(struct tl_client_session *s)
{
	if (s->hooks->stop != NULL && atomic_load_explicit(s->hooks->stop, memory_order_relaxed))
		s->interrupted = true;
	return s->interrupted;
}

static void report_progress(struct tl_client_session *s, uint64_t now, struct tl_client_progress progress)
{
	if (now < s->tick_ns)
		return;
	s->tick_ns += TL_NS_PER_S;
	tl_client_host_look(&s->host);
	if (s->hooks->progress == NULL)
		return;
	progress.point = s->hooks->point;
	progress.points = s->hooks->points;
	progress.sent = s->account.sent;
	progress.received = s->account.received;
	s->hooks->progress(s->hooks->ctx, &progress);
}

static bool is_finished(struct tl_client_session *s, uint64_t now)
{
	if (stop_asked(s))
		return true;
	if (!tl_client_all_sent(s) && now < s->give_up_ns)
		return false;
	uint64_t quiet_since_ns = tl_max_u64(s->last_send_ns, s->start_ns);
	bool stamped = tl_client_stamps_waiting(&s->stamps) == 0 || now >= quiet_since_ns + STAMP_LINGER_NS;
	return (s->account.received == s->account.sent && stamped) || now >= quiet_since_ns + s->cfg->linger_ns;
}

// Return when all is sent the next time at which the run may end: without further stamps, or without further echoes.
static uint64_t next_end_ns(const struct tl_client_session *s, uint64_t now)
{
	uint64_t stamps_end_ns = s->last_send_ns + tl_min_u64(s->cfg->linger_ns, STAMP_LINGER_NS);

	return now < stamps_end_ns ? stamps_end_ns : s->last_send_ns + s->cfg->linger_ns;
}

// Return how long the loop may sleep, at most LONGEST_SLEEP_NS. 0: do not sleep, a send or an echo is near.
static uint64_t idle_ns(const struct tl_client_session *s, uint64_t now, bool blocked)
{
	uint64_t spin_ns = s->cfg->spin_ns;
	uint64_t until_ns = tl_min_u64(now + LONGEST_SLEEP_NS, s->tick_ns);

	if (blocked)
		return LONGEST_SLEEP_NS;
	if (s->account.received < s->account.sent && now < s->last_send_ns + spin_ns)
		return 0;
	if (tl_client_all_sent(s))
		until_ns = tl_min_u64(until_ns, next_end_ns(s, now));
	else if (now < s->give_up_ns)
		until_ns = tl_min_u64(until_ns, tl_client_due_ns(s, s->next) - s->link->lead_ns - spin_ns);
	return until_ns > now ? until_ns - now : 0;
}

static void idle(struct tl_client_session *s, uint64_t now, bool busy)
{
	bool blocked = tl_client_is_due(s, now);
	uint64_t timeout_ns = busy ? 0 : idle_ns(s, now, blocked);

	if (timeout_ns == 0 && now < s->poll_ns)
		return;
	uint64_t before_ns = timeout_ns > 0 ? tl_mono_ns() : 0;
	s->link->ops->poll(s->link, timeout_ns, blocked);
	if (timeout_ns > 0) // a sleeping client observes arrivals: the kernel wakes it
		s->look_ns += tl_mono_ns() - before_ns;
	s->poll_ns = now + SPIN_POLL_NS;
}

static void exchange(struct tl_client_session *s)
{
	const struct tl_client_cfg *cfg = s->cfg;

	s->start_ns = tl_mono_ns() + HEAD_START_NS;
	s->tick_ns = s->start_ns + TL_NS_PER_S;
	s->give_up_ns = s->start_ns + cfg->duration_ns + tl_max_u64(cfg->linger_ns, TL_NS_PER_S);
	for (uint64_t now = tl_mono_ns(); !is_finished(s, now); now = tl_mono_ns()) {
		bool busy = tl_client_send_due(s, now);
		busy |= tl_client_receive(s);
		if (!busy || tl_client_stamps_waiting(&s->stamps) > DEPARTURES_WAITING)
			tl_client_take_departures(s);
		report_progress(s, now,
			(struct tl_client_progress){
				.phase = tl_client_all_sent(s) ? TL_CLIENT_LINGERING : TL_CLIENT_SENDING,
				.elapsed_ns = now - s->start_ns,
				.total_ns = cfg->duration_ns,
			});
		idle(s, now, busy);
	}
	if (s->link->ops->finish != NULL)
		s->link->ops->finish(s->link);
	s->end_ns = tl_max_u64(tl_mono_ns(), s->start_ns);
	tl_client_take_departures(s);
	tl_client_stamps_finish(&s->stamps);
	tl_client_traffic_end(s);
}

static int no_connection(const struct tl_client_session *s, struct tl_err *err)
{
	char peer[TL_ENDPOINT6_TEXT], waited[32];

	if (s->interrupted)
		return tl_fail(err, -EINTR, "interrupted before there was a connection");
	tl_client_endpoint_text(s->cfg->peer, peer);
	tl_format_ns(s->cfg->connect_timeout_ns, waited, sizeof(waited));
	const char *why = s->link->why != NULL ? s->link->why : "no answer";
	if (s->cfg->mode == TL_CLIENT_MULTICAST)
		return tl_fail(err, -ETIMEDOUT,
			"no connection to %s within %s; check that the appliance runs, that its send.tcp_connect is "
			"%s, and that this address can be reached from it (cable, subnet, VLAN, firewall)",
			peer, waited, peer);
	if (s->cfg->mode == TL_CLIENT_UDP)
		return tl_fail(err, -ETIMEDOUT,
			"%s was not reachable within %s (%s); check that the appliance runs, that its address is this one, and "
			"that it can be reached from here (cable, subnet, VLAN)",
			peer, waited, why);
	return tl_fail(err, -ETIMEDOUT,
		"no connection to %s within %s (%s); check that the appliance runs, that its tcp_listen is %s, and "
		"that it can be reached from here (cable, subnet, VLAN, firewall)",
		peer, waited, why, peer);
}

static int await_connection(struct tl_client_session *s, struct tl_err *err)
{
	uint64_t begin_ns = tl_mono_ns();
	uint64_t timeout_ns = s->cfg->connect_timeout_ns;

	s->tick_ns = begin_ns + TL_NS_PER_S;
	while (!s->link->ops->is_up(s->link)) {
		uint64_t elapsed_ns = tl_mono_ns() - begin_ns;
		if (stop_asked(s) || elapsed_ns >= timeout_ns)
			return no_connection(s, err);
		report_progress(s, begin_ns + elapsed_ns,
			(struct tl_client_progress){
				.phase = TL_CLIENT_CONNECTING, .elapsed_ns = elapsed_ns, .total_ns = timeout_ns});
		s->link->ops->poll(s->link, tl_min_u64(LONGEST_SLEEP_NS, timeout_ns - elapsed_ns), false);
	}
	return 0;
}

static int allocate(struct tl_client_session *s, struct tl_err *err)
{
	uint64_t planned = tl_client_planned(s->cfg);

	if (planned == 0 || planned > TL_CLIENT_MAX_MESSAGES)
		return tl_fail(err, -EINVAL, "a run has 1 to %llu messages, not %llu",
			(unsigned long long)TL_CLIENT_MAX_MESSAGES, (unsigned long long)planned);
	uint64_t slots = STAMP_SLOTS;
	while (slots / 2 >= planned && slots > 1)
		slots /= 2;
	s->out = malloc(s->cfg->payload_bytes);
	s->in = malloc(TL_CLIENT_IN_BYTES);
	if (s->out == NULL || s->in == NULL || tl_client_account_init(&s->account, planned) != 0 ||
		tl_client_framer_init(&s->framer, s->cfg->payload_bytes) != 0 ||
		tl_client_stamps_init(&s->stamps, s->cfg->mode == TL_CLIENT_TCP ? s->cfg->payload_bytes : 1, slots) !=
			0)
		return tl_fail(err, -ENOMEM,
			"not enough memory to follow %llu messages; lower the rate or the duration",
			(unsigned long long)planned);
	return 0;
}

static int connect_and_exchange(struct tl_client_session *s, struct tl_err *err)
{
	int ret = tl_client_transport(s->cfg)->open(s->cfg, &s->link, err);
	if (ret != 0)
		return ret;
	s->sources = s->link->sources;
	ret = await_connection(s, err);
	if (ret == 0)
		exchange(s);
	s->sources = s->link->sources; // bounds increase
	s->link->ops->close(s->link);
	return ret;
}

static void release(struct tl_client_session *s)
{
	tl_client_host_end(&s->host);
	tl_client_stamps_fini(&s->stamps);
	tl_client_framer_fini(&s->framer);
	tl_client_account_fini(&s->account);
	free(s->in);
	free(s->out);
	free(s);
}

static struct tl_client_session *create(const struct tl_client_cfg *cfg, const struct tl_client_hooks *hooks)
{
	struct tl_client_session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->cfg = cfg;
	s->hooks = hooks;
	s->out_left = cfg->payload_bytes;
	s->cold_left = cfg->cold;
	tl_client_quantity_init(&s->rtt);
	tl_client_quantity_init(&s->wire);
	tl_hist_init(&s->late);
	tl_hist_init(&s->gap);
	if (tl_client_host_begin(&s->host) == 0)
		return s;
	release(s);
	return NULL;
}

int tl_client_run(const struct tl_client_cfg *cfg, const struct tl_client_hooks *hooks, struct tl_client_result *result,
	struct tl_err *err)
{
	struct tl_client_cfg resolved = *cfg;

	if (cfg->transport == NULL)
		resolved.timestamps = tl_client_resolve(cfg->timestamps);
	struct tl_client_session *s = create(&resolved, hooks);
	if (s == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int ret = allocate(s, err);
	if (ret == 0) {
		tl_client_payload_make(s->out, cfg->payload_bytes, cfg->seed, 0);
		// The default, 50 us, would prolong every sleep by that much.
		prctl(PR_SET_TIMERSLACK, 1UL);
		ret = connect_and_exchange(s, err);
	}
	if (ret == 0) {
		tl_client_fill_result(s, result);
		result->stolen_ns = tl_client_host_end(&s->host);
		result->clock_step_ns = s->host.step_ns;
		result->clock_bound_ns = s->host.bound_ns;
		tl_client_verdict(result);
	}
	release(s);
	return ret;
}
