// SPDX-License-Identifier: BSD-3-Clause
// Sends on time and reads what comes back, in one thread, so that neither job ever waits for the other's time slice.

#include "link_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <tl_client_msg.h>
#include <tl_units.h>

#define IN_BYTES (256 << 10)
#define HEAD_START_NS (10 * TL_NS_PER_MS) // from the connection to the first message
#define LONGEST_SLEEP_NS (100 * TL_NS_PER_MS)
#define SPIN_POLL_NS TL_NS_PER_MS // while spinning, how often to look for connections

struct run {
	const struct tl_client_cfg *cfg;
	const struct tl_client_hooks *hooks;
	struct tl_client_link link;
	struct tl_client_account account;
	struct tl_client_framer framer;

	uint8_t *out;	 // message next, ready to go
	size_t out_left; // bytes of it not yet with the kernel
	uint64_t next;
	uint8_t *in;

	uint64_t start_ns, first_send_ns, last_send_ns;
	uint64_t give_up_ns; // when a sender that lags this far behind stops
	uint64_t tick_ns;    // of the next progress report
	uint64_t poll_ns;    // of the next look at connections
	bool interrupted;

	uint64_t send_errors;
	uint64_t connections_framed;
	uint64_t stream_bytes; // of this connection
	uint64_t echoes_read;  // datagrams, and echoes of the connections before this one
	uint64_t first_rtt_ns;
	struct tl_hist rtt, late;
};

uint64_t tl_client_planned(const struct tl_client_cfg *cfg)
{
	return (uint64_t)((unsigned __int128)cfg->rate_pps * cfg->duration_ns / TL_NS_PER_S);
}

static uint64_t due_ns(const struct run *run, uint64_t seq)
{
	uint64_t rate = run->cfg->rate_pps;
	return run->start_ns + seq / rate * TL_NS_PER_S + seq % rate * TL_NS_PER_S / rate;
}

static bool stop_asked(struct run *run)
{
	if (run->hooks->stop != NULL && atomic_load_explicit(run->hooks->stop, memory_order_relaxed))
		run->interrupted = true;
	return run->interrupted;
}

static void report_progress(struct run *run, uint64_t now, struct tl_client_progress progress)
{
	if (now < run->tick_ns)
		return;
	run->tick_ns += TL_NS_PER_S;
	if (run->hooks->progress == NULL)
		return;
	progress.sent = run->account.sent;
	progress.received = run->account.received;
	run->hooks->progress(run->hooks->ctx, &progress);
}

// ---- sending

static void prepare_next(struct run *run)
{
	run->next++;
	run->out_left = run->cfg->payload_bytes;
	if (run->next < run->account.planned)
		tl_client_payload_make(run->out, run->out_left, run->cfg->seed, run->next);
}

static void message_failed(struct run *run)
{
	run->send_errors++;
	prepare_next(run);
}

static void message_sent(struct run *run, uint64_t now)
{
	if (run->account.sent == 0)
		run->first_send_ns = now;
	run->last_send_ns = now;
	tl_client_account_sent(&run->account, run->next);
	prepare_next(run);
}

static bool is_cut(const struct run *run)
{
	return run->out_left < run->cfg->payload_bytes;
}

static bool all_sent(const struct run *run)
{
	return run->next == run->account.planned;
}

static bool is_due(const struct run *run, uint64_t now)
{
	return !all_sent(run) && now >= due_ns(run, run->next) && now < run->give_up_ns;
}

// Sends the message that is due, or what is left of it. Returns whether the kernel took something.
static bool send_due(struct run *run, uint64_t now)
{
	if (!is_due(run, now))
		return false;

	size_t len = run->cfg->payload_bytes;
	int fd = tl_client_link_send_fd(&run->link);
	ssize_t n = -1;
	errno = ENOTCONN;
	if (fd >= 0)
		n = send(fd, run->out + len - run->out_left, run->out_left, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		message_failed(run);
		return true;
	}
	if (!is_cut(run))
		tl_hist_record(&run->late, now - due_ns(run, run->next));
	run->out_left -= (size_t)n;
	if (run->out_left == 0)
		message_sent(run, now);
	return true;
}

// ---- receiving

static void take_echo(struct run *run, const uint8_t *echo, size_t len, uint64_t now)
{
	uint64_t seq = 0;
	bool intact = len == run->cfg->payload_bytes && tl_client_payload_check(echo, len, run->cfg->seed, &seq);

	if (tl_client_account_echo(&run->account, seq, intact) != TL_CLIENT_RECEIVED)
		return;
	uint64_t rtt_ns = now - due_ns(run, seq);
	if (run->account.received == 1)
		run->first_rtt_ns = rtt_ns;
	else
		tl_hist_record(&run->rtt, rtt_ns);
}

static void end_stream(struct run *run)
{
	run->echoes_read += run->stream_bytes / run->cfg->payload_bytes;
	run->stream_bytes = 0;
	tl_client_framer_reset(&run->framer);
}

static void connection_lost(struct run *run)
{
	tl_client_link_lost(&run->link);
	end_stream(run);
	if (run->cfg->mode == TL_CLIENT_TCP && is_cut(run))
		message_failed(run);
}

static void take_stream(struct run *run, const uint8_t *data, size_t len, uint64_t now)
{
	const uint8_t *echo;

	if (run->connections_framed != run->link.connections)
		end_stream(run);
	run->connections_framed = run->link.connections;
	run->stream_bytes += len;
	while ((echo = tl_client_framer_next(&run->framer, &data, &len)) != NULL)
		take_echo(run, echo, run->cfg->payload_bytes, now);
}

// Reads once. Returns whether something happened.
static bool receive(struct run *run)
{
	bool stream = run->cfg->mode != TL_CLIENT_UDP;
	int fd = tl_client_link_recv_fd(&run->link);

	if (fd < 0)
		return false;
	ssize_t n = recv(fd, run->in, IN_BYTES, MSG_DONTWAIT);
	if (n < 0 && (!stream || errno == EAGAIN || errno == EINTR))
		return false; // an error of a UDP socket is news of an earlier send: its message stays lost
	uint64_t now = tl_client_now_ns();
	if (stream && n <= 0) {
		connection_lost(run);
	} else if (stream) {
		take_stream(run, run->in, (size_t)n, now);
	} else {
		run->echoes_read++;
		take_echo(run, run->in, (size_t)n, now);
	}
	return true;
}

// ---- the loop

static bool is_finished(struct run *run, uint64_t now)
{
	if (stop_asked(run))
		return true;
	if (!all_sent(run) && now < run->give_up_ns)
		return false;
	uint64_t quiet_since_ns = tl_max_u64(run->last_send_ns, run->start_ns);
	return run->account.received == run->account.sent || now >= quiet_since_ns + run->cfg->linger_ns;
}

// How long the loop may sleep, at most LONGEST_SLEEP_NS. 0: stay awake, a send or an echo is near.
static uint64_t idle_ns(const struct run *run, uint64_t now, bool blocked)
{
	uint64_t spin_ns = run->cfg->spin_ns;
	uint64_t until_ns = tl_min_u64(now + LONGEST_SLEEP_NS, run->tick_ns);

	if (blocked)
		return LONGEST_SLEEP_NS;
	if (run->account.received < run->account.sent && now < run->last_send_ns + spin_ns)
		return 0;
	if (all_sent(run))
		until_ns = tl_min_u64(until_ns, run->last_send_ns + run->cfg->linger_ns);
	else if (now < run->give_up_ns)
		until_ns = tl_min_u64(until_ns, due_ns(run, run->next) - spin_ns);
	return until_ns > now ? until_ns - now : 0;
}

static void idle(struct run *run, uint64_t now, bool busy)
{
	bool blocked = is_due(run, now);
	uint64_t timeout_ns = busy ? 0 : idle_ns(run, now, blocked);

	if (timeout_ns == 0 && now < run->poll_ns)
		return;
	tl_client_link_poll(&run->link, timeout_ns, blocked);
	run->poll_ns = now + SPIN_POLL_NS;
}

static void exchange(struct run *run)
{
	const struct tl_client_cfg *cfg = run->cfg;

	run->start_ns = tl_client_now_ns() + HEAD_START_NS;
	run->tick_ns = run->start_ns + TL_NS_PER_S;
	run->give_up_ns = run->start_ns + cfg->duration_ns + tl_max_u64(cfg->linger_ns, TL_NS_PER_S);
	for (uint64_t now = tl_client_now_ns(); !is_finished(run, now); now = tl_client_now_ns()) {
		bool busy = send_due(run, now);
		busy |= receive(run);
		report_progress(run, now,
			(struct tl_client_progress){
				.phase = all_sent(run) ? TL_CLIENT_LINGERING : TL_CLIENT_SENDING,
				.elapsed_ns = now - run->start_ns,
				.total_ns = cfg->duration_ns,
			});
		idle(run, now, busy);
	}
	end_stream(run);
	if (is_cut(run))
		run->send_errors++;
}

static int no_connection(const struct run *run, struct tl_err *err)
{
	char peer[TL_ENDPOINT6_TEXT], waited[32];

	if (run->interrupted)
		return tl_fail(err, -EINTR, "interrupted before there was a connection");
	tl_client_endpoint_text(run->cfg->peer, peer);
	tl_format_ns(run->cfg->connect_timeout_ns, waited, sizeof(waited));
	if (run->cfg->mode == TL_CLIENT_MULTICAST)
		return tl_fail(err, -ETIMEDOUT,
			"nobody connected to %s within %s; check that the appliance runs, that its send.tcp_connect is "
			"%s, and that this address can be reached from it (cable, subnet, VLAN, firewall)",
			peer, waited, peer);
	return tl_fail(err, -ETIMEDOUT,
		"no connection to %s within %s (%s); check that the appliance runs, that its tcp_listen is %s, and "
		"that it can be reached from here (cable, subnet, VLAN, firewall)",
		peer, waited, run->link.last_error != 0 ? strerror(run->link.last_error) : "no answer", peer);
}

static int await_connection(struct run *run, struct tl_err *err)
{
	uint64_t begin_ns = tl_client_now_ns();
	uint64_t timeout_ns = run->cfg->connect_timeout_ns;

	run->tick_ns = begin_ns + TL_NS_PER_S;
	while (tl_client_link_recv_fd(&run->link) < 0) {
		uint64_t elapsed_ns = tl_client_now_ns() - begin_ns;
		if (stop_asked(run) || elapsed_ns >= timeout_ns)
			return no_connection(run, err);
		report_progress(run, begin_ns + elapsed_ns,
			(struct tl_client_progress){
				.phase = TL_CLIENT_CONNECTING, .elapsed_ns = elapsed_ns, .total_ns = timeout_ns});
		tl_client_link_poll(&run->link, tl_min_u64(LONGEST_SLEEP_NS, timeout_ns - elapsed_ns), false);
	}
	return 0;
}

static int allocate(struct run *run, struct tl_err *err)
{
	uint64_t planned = tl_client_planned(run->cfg);

	if (planned == 0 || planned > TL_CLIENT_MAX_MESSAGES)
		return tl_fail(err, -EINVAL, "a run has 1 to %llu messages, not %llu",
			(unsigned long long)TL_CLIENT_MAX_MESSAGES, (unsigned long long)planned);
	run->out = malloc(run->cfg->payload_bytes);
	run->in = malloc(IN_BYTES);
	if (run->out == NULL || run->in == NULL || tl_client_account_init(&run->account, planned) != 0 ||
		tl_client_framer_init(&run->framer, run->cfg->payload_bytes) != 0)
		return tl_fail(err, -ENOMEM,
			"not enough memory to follow %llu messages; lower the rate or the duration",
			(unsigned long long)planned);
	return 0;
}

static void release(struct run *run)
{
	tl_client_framer_fini(&run->framer);
	tl_client_account_fini(&run->account);
	free(run->in);
	free(run->out);
	free(run);
}

static double achieved_rate_pps(const struct run *run)
{
	uint64_t span_ns = run->last_send_ns - run->first_send_ns;
	return span_ns == 0 ? 0 : (double)(run->account.sent - 1) * (double)TL_NS_PER_S / (double)span_ns;
}

static void fill_result(const struct run *run, struct tl_client_result *result)
{
	const struct tl_client_account *account = &run->account;

	*result = (struct tl_client_result){
		.planned = account->planned,
		.sent = account->sent,
		.send_errors = run->send_errors,
		.received = account->received,
		.lost = tl_client_account_lost(account),
		.duplicated = account->duplicated,
		.corrupt = account->corrupt,
		.reordered = account->reordered,
		.reconnects = run->link.connections > 0 ? run->link.connections - 1 : 0,
		.first_rtt_ns = run->first_rtt_ns,
		.rate_pps = achieved_rate_pps(run),
		.payload_bytes = run->cfg->payload_bytes,
		.interrupted = run->interrupted,
		.balanced = tl_client_account_balanced(account, run->echoes_read),
	};
	tl_hist_summarize(&run->rtt, &result->rtt);
	tl_hist_summarize(&run->late, &result->sender_late);
}

static int connect_and_exchange(struct run *run, struct tl_err *err)
{
	int ret = tl_client_link_open(&run->link, run->cfg, err);
	if (ret != 0)
		return ret;
	ret = await_connection(run, err);
	if (ret == 0)
		exchange(run);
	tl_client_link_close(&run->link);
	return ret;
}

int tl_client_run(const struct tl_client_cfg *cfg, const struct tl_client_hooks *hooks, struct tl_client_result *result,
	struct tl_err *err)
{
	struct run *run = calloc(1, sizeof(*run));
	if (run == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	run->cfg = cfg;
	run->hooks = hooks;
	tl_hist_init(&run->rtt);
	tl_hist_init(&run->late);

	int ret = allocate(run, err);
	if (ret == 0) {
		run->out_left = cfg->payload_bytes;
		tl_client_payload_make(run->out, cfg->payload_bytes, cfg->seed, 0);
		// The default, 50 us, would make every sleep that much too long.
		prctl(PR_SET_TIMERSLACK, 1UL);
		ret = connect_and_exchange(run, err);
	}
	if (ret == 0)
		fill_result(run, result);
	release(run);
	return ret;
}
