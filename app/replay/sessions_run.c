// SPDX-License-Identifier: BSD-3-Clause
// Run of `tapline replay --sessions`, and its verdict.

#include "replay_args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include <tl_log.h>
#include <tl_report.h>
#include <tl_tcp.h>

#include "app.h"
#include "manifest.h"
#include "results.h"
#include "stop.h"

// ---- the run

// Once a second: check clock, link and port, print progress. False: the port is gone.
static bool look(struct tl_sessions_run *run)
{
	struct tl_err err;

	tl_clock_discipline(run->clock);
	tl_port_discipline(run->port);
	(void)tl_port_watch(run->port);
	tl_sessions_show_progress(run);
	if (!tl_port_ended(run->port, &err))
		return true;
	tl_error("%s", err.text);
	run->failed = true;
	return false;
}

// Read what has been completed. False: nothing can be read any more.
static bool follow(struct tl_sessions_run *run, uint64_t now_ns)
{
	struct tl_err err;

	if (tl_sessions_follow_turn(run, now_ns, &err) == 0)
		return true;
	tl_error("%s", err.text);
	run->failed = true;
	return false;
}

void tl_sessions_begin(struct tl_sessions_run *run, uint64_t now_ns)
{
	run->begin_ns = now_ns;
	run->follows = run->args->sessions.follow;
	tl_player_begin(run->player, now_ns);
}

bool tl_sessions_continue(struct tl_sessions_run *run, uint64_t now_ns)
{
	run->follows = run->follows && follow(run, now_ns);
	return run->follows || !tl_player_is_done(run->player);
}

void tl_sessions_finish(struct tl_sessions_run *run, uint64_t now_ns)
{
	run->elapsed_ns = now_ns - run->begin_ns;
	if (run->args->sessions.follow)
		tl_sessions_follow_end(run);
	run->stopped = !tl_player_is_done(run->player);
	tl_player_stop(run->player);
}

static void play(struct tl_sessions_run *run)
{
	uint64_t now_ns = tl_clock_mono_ns(run->clock, rte_rdtsc());
	uint64_t next_look_ns = now_ns + TL_NS_PER_S;
	bool has_port = true;

	tl_sessions_begin(run, now_ns);
	while (has_port && !tl_stop_requested() && tl_sessions_continue(run, now_ns)) {
		now_ns = tl_sessions_turn(run);
		if (now_ns < next_look_ns)
			continue;
		next_look_ns += TL_NS_PER_S;
		has_port = look(run);
	}
	tl_sessions_finish(run, now_ns);
	for (uint64_t end_ns = now_ns + TL_SESSIONS_LINGER_NS; has_port && now_ns < end_ns;)
		now_ns = tl_sessions_turn(run);
}

// ---- verdict

// Sessions that were played to another end than the recorded one.
static uint64_t count_failed(const struct tl_player_ledger *ledger)
{
	uint64_t sum = 0;

	for (int row = TL_PLAYER_DIVERGED; row <= TL_PLAYER_UNANSWERED; row++)
		sum += ledger->rows[row];
	return sum;
}

// Return the sum of a counter over the stacks.
static uint64_t stack_count(const struct tl_sessions_run *run, const char *name)
{
	struct tl_counter rows[TL_REPORT_COUNTERS];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < run->n_nets; i++) {
		unsigned n = tl_net_counters(run->nets[i], rows, TL_REPORT_COUNTERS);
		for (unsigned k = 0; k < n; k++)
			sum += strcmp(rows[k].name, name) == 0 ? rows[k].value : 0;
	}
	return sum;
}

// Warn of what makes sessions look as if the target did not answer.
static void warn_of_stacks(const struct tl_sessions_run *run)
{
	uint64_t dropped = stack_count(run, "drop_cksum_pkts");

	if (dropped != 0)
		tl_warn("%" PRIu64
			" frames from the target were dropped for wrong checksums: if it is behind a veth or in a "
			"virtual machine, turn off its transmit offloads: `ethtool -K IFACE tx off`",
			dropped);
	if (stack_count(run, "arp_conflicts_pkts") + stack_count(run, "nd_conflicts_pkts") != 0)
		tl_warn("another host claims an address of --from: give one that no other host has");
}

void tl_sessions_judge(struct tl_sessions_run *run)
{
	const struct tl_player_stats *stats = tl_player_get_stats(run->player);
	unsigned open = 0;
	bool sums_up = tl_sessions_ledger_ok(run);

	for (uint32_t i = 0; i < run->n_nets; i++)
		open += tl_tcp_in_use(run->nets[i], NULL);
	for (uint64_t i = 0; i < run->n_damages && i < TL_SESSIONS_DAMAGES_MAX; i++)
		tl_error("%s", run->damages[i].text);
	if (run->n_damages > TL_SESSIONS_DAMAGES_MAX)
		tl_error("and %" PRIu64 " more damaged places", run->n_damages - TL_SESSIONS_DAMAGES_MAX);
	warn_of_stacks(run);
	if (!sums_up)
		tl_error("the ledger does not add up: this is a defect, report it");
	if (open != 0)
		tl_error("%u connections are open at the end: this is a defect, report it", open);
	run->failed |= !sums_up || open != 0 || run->n_damages != 0 || count_failed(&stats->ledger) != 0;
}

static int show(struct tl_sessions_run *run)
{
	tl_sessions_judge(run);
	if (!run->args->json) {
		tl_sessions_print(run, stdout);
		return tl_results_flush(stdout);
	}
	json_t *json = tl_sessions_json(run);
	for (size_t i = 0; i < run->files.n; i++)
		tl_manifest_add_input(run->manifest, run->files.paths[i]);
	tl_manifest_put(run->manifest, TL_SCHEMA_REPLAY_SESSIONS, json);
	return tl_results_json(json, stdout);
}

static int prepare(struct tl_sessions_run *run, struct tl_err *err)
{
	run->manifest = tl_manifest_create(""); // before EAL narrows this process's affinity mask
	if (run->manifest == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int rc = tl_sessions_plan(run, err);
	if (rc == 0)
		rc = tl_sessions_read(run, err); // which a signal ends at once: nothing is open
	if (rc != 0)
		return rc;
	tl_stop_on_signals();
	return tl_sessions_open(run, err);
}

int tl_sessions_main(const struct tl_replay_args *args)
{
	struct tl_sessions_run *run = calloc(1, sizeof(*run));
	struct tl_err err;
	int status = TL_EXIT_FAILED;

	if (run == NULL)
		return TL_EXIT_FAILED;
	run->args = args;
	run->name = "replay";
	run->follow.fd = -1;
	int rc = prepare(run, &err);
	if (rc == 0) {
		play(run);
		status = show(run) == 0 && !run->failed ? TL_EXIT_OK : TL_EXIT_FAILED;
	} else {
		tl_error("%s", err.text);
		status = rc == -ENOMEM || rc == -ENETDOWN ? TL_EXIT_FAILED : TL_EXIT_USAGE;
	}
	tl_sessions_close(run);
	free(run);
	return status;
}
