// SPDX-License-Identifier: BSD-3-Clause
// Run an appliance: start, watch, shut down in order.

#include "appliance_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <tl_log.h>

#include "family.h"
#include "latency_files.h"
#include "notify.h"

#define WATCH_MS 20		   // interval of the checks for the end of the input
#define CLOSE_NS (2 * TL_NS_PER_S) // time limit for an orderly close of connections
#define SAMPLE_NS TL_NS_PER_S
#define WATCHDOG_SHARE 4	   // watchdog notifications per watchdog period
#define LINK_NS (10 * TL_NS_PER_S) // negotiation takes 1 to 3 s on copper, up to 9 s on multi-rate optics
#define SETTLE_MS 1000		   // longest transit time of frames through a busy kernel

// Start the hosts of a port. The port runs, so its RSS configuration is known if the driver reports it.
static int start_hosts(struct tl_appliance *a, uint32_t port, struct tl_err *err)
{
	struct tl_echo_host *hosts[TL_CONFIG_QUEUES_MAX];
	struct tl_port_rss rss;
	uint32_t n = 0;

	for (uint32_t q = 0; q < a->config->ports[port].rx_queues; q++)
		if (a->hosts[a->plan.place.first[port] + q] != NULL)
			hosts[n++] = a->hosts[a->plan.place.first[port] + q];
	if (a->steers[port] != NULL && tl_port_rss(a->ports[port], &rss))
		tl_steer_set_rss(a->steers[port], &rss);
	return tl_echo_hosts_start(hosts, n, err);
}

static uint64_t left_ns(const struct tl_appliance *a, uint64_t deadline_ns)
{
	uint64_t now = tl_clock_now_ns(a->clock);

	return now < deadline_ns ? deadline_ns - now : 0;
}

// Wait for the links of sending ports: a NIC drops frames sent before link up, such as the first ARP request and the
// membership reports. All links negotiate at the same time. A receive-only port is not waited for: other ports would go
// unpolled.
static void await_links(const struct tl_appliance *a)
{
	uint64_t deadline_ns = tl_clock_now_ns(a->clock) + LINK_NS;

	for (uint32_t i = 0; i < a->config->n_ports; i++) {
		bool nic = tl_port_traits(&a->plan.specs[i])->nic;
		if (nic && (a->plan.has_echo[i] || a->plan.has_replay[i]) &&
			!tl_port_await_link(a->ports[i], left_ns(a, deadline_ns)))
			tl_warn("port %s: %s has no link: check the cable and the other side; receiving starts when the link is up",
				a->config->ports[i].name, a->config->ports[i].device);
	}
}

// Let the hand-off of inner flows follow the NIC of a started port, if that hashes inner headers.
static void follow_nic(struct tl_appliance *a, uint32_t port)
{
	struct tl_port_rss rss;
	const char *why;

	if (a->inners[port] == NULL)
		return;
	if (tl_port_hashes_inner(a->ports[port], &why) && tl_port_rss(a->ports[port], &rss))
		tl_inner_follow(a->inners[port], &rss);
	else
		tl_info("port %s: inner flows are spread by hand-off alone (inner_handoff_pkts): %s",
			a->config->ports[port].name, why);
}

static int start(struct tl_appliance *a, struct tl_err *err)
{
	int rc = tl_appliance_restrict(a, err);

	for (uint32_t i = 0; i < a->config->n_captures && rc == 0; i++)
		rc = tl_capture_start(a->captures[i], err);
	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++)
		rc = tl_port_start(a->ports[i], err);
	if (rc == 0)
		await_links(a);
	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++) {
		follow_nic(a, i);
		if (a->syncs[i] != NULL)
			rc = tl_timesync_start(a->syncs[i], err);
		if (rc == 0 && a->plan.has_echo[i])
			rc = start_hosts(a, i, err);
		if (rc == 0 && a->opts.probe) {
			tl_port_print_probe(a->ports[i]);
			if (a->syncs[i] != NULL)
				tl_timesync_print(a->syncs[i]);
			tl_print_family(a->ports[i]);
		}
	}
	if (rc == 0)
		rc = tl_replays_join(a->replays, err);
	while (rc == 0 && a->n_running < a->plan.place.n_lcores) {
		rc = tl_lcore_start(a->lcores[a->n_running], err);
		a->n_running += rc == 0;
	}
	for (uint32_t i = 0; i < a->config->n_ports && rc == 0; i++)
		tl_port_begin_account(a->ports[i]);
	// Open the control socket last: its existence shows that the appliance is up.
	struct tl_ctl_cfg ctl = {
		.path = a->config->control.socket, .operators = a->operators, .answer = tl_appliance_answer, .ctx = a};
	if (rc == 0)
		rc = tl_appliance_drop(a, err);
	if (rc == 0)
		rc = tl_replays_start(a->replays, err);
	if (rc == 0 && ctl.path != NULL)
		rc = tl_ctl_open(&ctl, &a->ctl, err);
	return rc;
}

static bool all_captures_finished(const struct tl_appliance *a)
{
	for (uint32_t i = 0; i < a->config->n_captures; i++)
		if (!tl_capture_finished(a->captures[i]))
			return false;
	return a->config->n_captures != 0;
}

static bool all_ports_ended(const struct tl_appliance *a)
{
	for (uint32_t i = 0; i < a->config->n_ports; i++)
		if (!tl_port_ended(a->ports[i], NULL))
			return false;
	return true;
}

// Check whether the input has ended: of the recordings, or without them of the replays.
static bool has_ended(const struct tl_appliance *a)
{
	bool replayed = a->config->n_replays != 0 && tl_replays_ended(a->replays);

	return all_ports_ended(a) || all_captures_finished(a) || (replayed && a->config->n_captures == 0);
}

// Check whether an echo has lost its port.
static bool an_echo_has_lost_its_port(const struct tl_appliance *a)
{
	struct tl_err err = {{0}};

	for (uint32_t i = 0; i < a->config->n_ports; i++)
		if (a->plan.has_echo[i] && tl_port_ended(a->ports[i], &err) && err.text[0] != '\0')
			return true;
	return false;
}

static uint64_t port_drops(const struct tl_report_port *port)
{
#define PLUS(name) +port->name
	return 0 TL_PORT_DROPS(PLUS);
}

// Pass the port drop counts to the recordings' interface statistics.
static void print_port_drops(const struct tl_appliance *a)
{
	for (uint32_t i = 0; i < a->config->n_captures; i++) {
		const struct tl_report_port *port = &a->snapshot.ports[a->config->captures[i].port];
		tl_capture_set_port_drops(a->captures[i], port_drops(port));
	}
}

// Trigger on loss where configured. Disk drops do not trigger: there is no place to save the capture.
static void look_for_drops(struct tl_appliance *a)
{
	for (uint32_t i = 0; i < a->config->n_captures; i++) {
		const struct tl_config_capture *cfg = &a->config->captures[i];
		const struct tl_report_capture *row = &a->snapshot.captures[i];
		uint64_t drops = port_drops(&a->snapshot.ports[cfg->port]) + row->flow[TL_DIR_RX].drop_ring_pkts +
				 row->flow[TL_DIR_TX].drop_ring_pkts;
		if (drops > a->drops_seen[i] && cfg->trigger.on_drop)
			tl_capture_trigger(a->captures[i], TL_TRIGGER_DROP);
		a->drops_seen[i] = drops;
	}
}

// Announce addresses and groups again after link up: switches may have aged them out.
static void announce_again(struct tl_appliance *a, uint32_t port)
{
	for (uint32_t q = 0; q < a->config->ports[port].rx_queues; q++)
		if (a->hosts[a->plan.place.first[port] + q] != NULL)
			tl_echo_host_announce_again(a->hosts[a->plan.place.first[port] + q]);
}

// Compare the clocks, and store the comparison in the recordings.
static void compare_clocks(struct tl_appliance *a)
{
	tl_clock_discipline(a->clock);
	for (uint32_t i = 0; i < a->config->n_ports; i++)
		tl_port_discipline(a->ports[i]);
	tl_replays_follow(a->replays); // by the clocks of NICs, too
	for (uint32_t i = 0; i < a->config->n_captures; i++)
		tl_capture_log_clocks(a->captures[i]);
}

// Once a second: steer the clocks, read the counters that must not overflow, print progress.
static void sample(struct tl_appliance *a)
{
	uint64_t rx = 0, tx = 0, written = 0, dropped = 0, echoed = 0;
	struct tl_snapshot *s = &a->snapshot;

	compare_clocks(a);
	for (uint32_t i = 0; i < a->config->n_ports; i++) {
		if (tl_port_watch(a->ports[i]))
			announce_again(a, i);
		if (a->syncs[i] != NULL)
			tl_timesync_sample(a->syncs[i]);
	}
	tl_metrics_count(&a->metrics, s);
	print_port_drops(a);
	look_for_drops(a);
	for (uint32_t i = 0; i < s->n_ports; i++) {
		rx += s->ports[i].rx_pkts;
		tx += s->ports[i].tx_pkts;
		dropped += port_drops(&s->ports[i]);
	}
	for (uint32_t i = 0; i < s->n_captures; i++)
		for (int dir = 0; dir < TL_DIRS; dir++) {
			written += s->captures[i].flow[dir].written_pkts;
			dropped += s->captures[i].flow[dir].drop_ring_pkts + s->captures[i].flow[dir].drop_disk_pkts;
		}
	for (uint32_t i = 0; i < s->n_echoes; i++)
		echoed += s->echoes[i].echoed_msgs;
	tl_notify("STATUS=received %" PRIu64 ", sent %" PRIu64 ", echoed %" PRIu64 ", recorded %" PRIu64
		  ", dropped %" PRIu64,
		rx, tx, echoed, written, dropped);
	if (a->opts.progress)
		tl_info("%4" PRIu64 " s  received %" PRIu64 "  sent %" PRIu64 "  echoed %" PRIu64 "  recorded %" PRIu64
			"  dropped %" PRIu64,
			s->uptime_ns / TL_NS_PER_S, rx, tx, echoed, written, dropped);
}

// Notify the watchdog if every lcore has completed a poll round since the last notification; skip it if one is stuck.
static void feed_watchdog(struct tl_appliance *a, uint64_t now)
{
	struct tl_watchdog *dog = &a->watchdog;

	if (dog->every_ns == 0 || now < dog->next_ns)
		return;
	for (uint32_t i = 0; i < a->n_running; i++)
		if (tl_lcore_beats(a->lcores[i]) == dog->beats[i])
			return;
	for (uint32_t i = 0; i < a->n_running; i++)
		dog->beats[i] = tl_lcore_beats(a->lcores[i]);
	dog->next_ns = now + dog->every_ns;
	tl_notify("WATCHDOG=1");
}

// Check whether the pending signal ends the appliance.
static bool signal_ends(struct tl_appliance *a, int signal_fd)
{
	struct signalfd_siginfo info;

	ssize_t n = read(signal_fd, &info, sizeof(info));
	if (n < 0 && errno != EINTR && errno != EAGAIN) {
		tl_error("cannot read the signal number: %s; stopping", strerror(errno));
		return true;
	}
	return n == sizeof(info) && tl_appliance_signal(a, (int)info.ssi_signo);
}

static void look_at_outliers(struct tl_appliance *a)
{
	for (uint32_t i = 0; i < a->config->n_echoes; i++)
		if (a->outliers[i] != NULL)
			tl_outliers_look(a->outliers[i]);
}

// Wait for a signal or a client. If poll() fails for lack of kernel memory, check signals after a pause.
static void await_events(struct pollfd fds[2])
{
	if (poll(fds, 2, WATCH_MS) >= 0)
		return;
	fds[0].revents = POLLIN;
	fds[1].revents = 0;
	nanosleep(&(struct timespec){.tv_nsec = WATCH_MS * TL_NS_PER_MS}, NULL);
}

// Run until a signal, the duration, or the end of the input.
static void watch(struct tl_appliance *a, int signal_fd)
{
	struct pollfd fds[2] = {
		{.fd = signal_fd, .events = POLLIN}, {.fd = a->ctl != NULL ? tl_ctl_fd(a->ctl) : -1, .events = POLLIN}};
	uint64_t begin_ns = tl_clock_now_ns(a->clock);
	uint64_t next_sample_ns = begin_ns + SAMPLE_NS;

	for (;;) {
		await_events(fds);
		uint64_t now = tl_clock_now_ns(a->clock);
		look_at_outliers(a);
		tl_shaping_share(a->config, a->shapes, &a->shares, now);
		tl_disk_shares_divide(a->disk_shares, now);
		if ((fds[0].revents & POLLIN) != 0 && signal_ends(a, signal_fd))
			return;
		if ((fds[1].revents & POLLIN) != 0)
			tl_ctl_serve(a->ctl);
		if (a->opts.duration_ns != 0 && now - begin_ns >= a->opts.duration_ns)
			return;
		if (now >= next_sample_ns) { // before replays begin by a clock that has been set
			sample(a);
			next_sample_ns += SAMPLE_NS;
		}
		tl_replays_work(a->replays);
		if (a->opts.end_with_input && has_ended(a))
			return;
		if (an_echo_has_lost_its_port(a))
			return;
		for (uint32_t i = 0; i < a->config->n_ports; i++)
			if (a->syncs[i] != NULL)
				tl_timesync_work(a->syncs[i]);
		feed_watchdog(a, now);
	}
}

static void request_all(struct tl_appliance *a, enum tl_lcore_phase phase)
{
	for (uint32_t i = 0; i < a->n_running; i++)
		tl_lcore_request(a->lcores[i], phase);
}

// Close connections in order, within a time limit.
static void close_services(struct tl_appliance *a)
{
	uint64_t deadline_ns = tl_clock_now_ns(a->clock) + CLOSE_NS;
	bool closed;

	request_all(a, TL_LCORE_CLOSE);
	do {
		closed = true;
		for (uint32_t i = 0; i < a->n_running; i++)
			closed &= tl_lcore_closed(a->lcores[i]);
		if (!closed)
			(void)poll(NULL, 0, 1);
	} while (!closed && tl_clock_now_ns(a->clock) < deadline_ns);
	if (!closed)
		tl_warn("within %" PRIu64
			" s not all connections were closed, as their peers do not answer, or not all queued frames of class trees were sent",
			CLOSE_NS / TL_NS_PER_S);
}

// Stop frame arrival on a port. Return false if frames keep arriving.
static bool quiesce(const struct tl_appliance *a, uint32_t port)
{
	bool quiet = tl_port_quiesce(a->ports[port]);

	if (a->n_running == a->plan.place.n_lcores)
		tl_port_settle(a->ports[port], SETTLE_MS);
	return quiet;
}

// End the recordings at this time. A port that cannot be quiesced keeps receiving: its later frames are not recorded.
// On the other ports nothing arrives later, though an lcore may still process the last burst.
static void expire(const struct tl_appliance *a)
{
	bool quiet[TL_CONFIG_PORTS_MAX];

	for (uint32_t p = 0; p < a->config->n_ports; p++)
		quiet[p] = quiesce(a, p);
	for (uint32_t i = 0; i < a->config->n_captures; i++)
		if (!quiet[a->config->captures[i].port])
			tl_capture_expire(a->captures[i]);
}

// Announce that lcores which were not started hand over no frames: those that run wait for this.
static void end_unstarted(const struct tl_appliance *a)
{
	for (uint32_t p = 0; p < a->config->n_ports; p++) {
		for (uint16_t q = 0; q < a->config->ports[p].rx_queues; q++) {
			if (a->plan.place.first[p] + q < a->n_running)
				continue;
			if (a->steers[p] != NULL)
				tl_steer_end(tl_steer_side(a->steers[p], q));
			if (a->inners[p] != NULL)
				tl_inner_end(a->inners[p], q);
		}
	}
}

// Drain the RX queues and stop all lcores.
static void drain(struct tl_appliance *a)
{
	for (uint32_t p = 0; p < a->config->n_ports; p++) {
		enum tl_lcore_phase phase = quiesce(a, p) ? TL_LCORE_DRAIN : TL_LCORE_STOP;
		for (uint32_t q = 0; q < a->config->ports[p].rx_queues && a->plan.place.first[p] + q < a->n_running;
			q++)
			tl_lcore_request(a->lcores[a->plan.place.first[p] + q], phase);
	}
	end_unstarted(a);
	for (uint32_t i = 0; i < a->n_running; i++)
		tl_lcore_wait(a->lcores[i]);
}

// Shut down in order: close echoes, quiesce the ports, record queued frames, close the files.
static int end(struct tl_appliance *a, struct tl_err *err)
{
	struct tl_err later;
	int result = 0;

	if (!tl_replays_end(a->replays))
		result = tl_fail(err, -EIO, "a replay failed: see above");
	if (a->opts.expire)
		expire(a);
	close_services(a);
	drain(a);
	compare_clocks(a); // offsets of the last stamps
	for (uint32_t i = 0; i < a->config->n_ports; i++)
		if (a->syncs[i] != NULL)
			tl_timesync_end(a->syncs[i]);
	tl_metrics_snapshot(&a->metrics, false, &a->snapshot);
	print_port_drops(a);
	for (uint32_t i = 0; i < a->config->n_captures; i++) {
		int rc = tl_capture_stop(a->captures[i], result == 0 ? err : &later);
		result = result != 0 ? result : rc;
	}
	for (uint32_t i = 0; i < a->config->n_ports; i++) {
		later.text[0] = '\0';
		if (tl_port_ended(a->ports[i], &later) && later.text[0] != '\0' && result == 0)
			result = tl_fail(err, -EIO, "%s", later.text);
	}
	return result;
}

int tl_appliance_run(struct tl_appliance *a, struct tl_snapshot *out, struct tl_err *err)
{
	sigset_t set;

	tl_appliance_signals(&set);
	int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0) {
		int rc = tl_fail(err, -errno, "cannot listen for signals: %s", strerror(errno));
		tl_metrics_snapshot(&a->metrics, true, out);
		return rc;
	}
	int rc = start(a, err);
	bool started = rc == 0;
	if (started) {
		a->watchdog.every_ns = tl_notify_watchdog_ns() / WATCHDOG_SHARE;
		tl_notify("READY=1");
		watch(a, signal_fd);
	}
	tl_notify("STOPPING=1");
	struct tl_err end_err;
	int end_rc = end(a, &end_err);
	if (rc == 0 && end_rc != 0)
		rc = tl_fail(err, end_rc, "%s", end_err.text);
	close(signal_fd);
	tl_metrics_snapshot(&a->metrics, true, out);
	tl_appliance_describe(a, out);
	if (started && a->opts.latency_dir != NULL)
		end_rc = tl_latency_files_write(
			a->opts.latency_dir, a->opts.manifest, &a->metrics, out, rc == 0 ? err : &end_err);
	return rc != 0 ? rc : end_rc;
}
