// SPDX-License-Identifier: BSD-3-Clause
// Lateness up to the wire: the NIC, or for an interface the kernel, stamps a sent frame at a time, and the stamp is
// compared with the frame's due time.

#include "replay_session.h"

#include <errno.h>
#include <stdlib.h>

#include <tl_log.h>
#include <tl_timesync.h>

#define STAMPS_PER_S 50 // main reads them every 20 ms

static int open_port(struct tl_replay_session *s, struct tl_replay_port *p, struct tl_err *err)
{
	struct tl_timesync_cfg cfg = {
		.name = p->cfg.name, .port = p->port, .clock = s->clock, .replies_per_s = STAMPS_PER_S};
	p->kernel_stamps = tl_port_stamps_sent(p->port);
	if (p->kernel_stamps) {
		cfg.ops = &tl_timesync_kernel_ops;
		cfg.ops_ctx = p->port;
	}
	int rc = tl_timesync_create(&cfg, &p->sync, err);

	if (rc == -ENOTSUP)
		return tl_fail(err, rc,
			"its driver stamps no sent frames (those of igb, ixgbe, i40e and ice do; of an interface `ethtool -T` "
			"shows software-transmit)");
	return rc == 0 ? tl_timesync_start(p->sync, err) : rc;
}

static void close_port(struct tl_replay_port *p)
{
	tl_timesync_destroy(p->sync);
	p->sync = NULL;
}

// The kernel's stamps are not those of a NIC: do not add them up.
static void keep_one_source(struct tl_replay_port *a, struct tl_replay_port *b)
{
	struct tl_replay_port *kernels = a->kernel_stamps ? a : b;

	if (a->sync == NULL || b->sync == NULL || a->kernel_stamps == b->kernel_stamps)
		return;
	tl_warn("--wire-stamps: %s: its stamps are the kernel's, the other port's the NIC's: only these are used",
		kernels->device);
	close_port(kernels);
}

void tl_replay_open_stamps(struct tl_replay_session *s)
{
	struct tl_err err;

	for (unsigned i = 0; i < s->n_ports && s->args->wire_stamps; i++) {
		struct tl_replay_port *p = &s->ports[i];
		if (open_port(s, p, &err) == 0)
			continue;
		tl_warn("--wire-stamps: %s: %s", p->device, err.text);
		close_port(p);
	}
	keep_one_source(&s->ports[0], &s->ports[1]);
}

void tl_replay_read_stamps(struct tl_replay_session *s)
{
	for (unsigned i = 0; i < s->n_ports; i++)
		if (s->ports[i].sync != NULL)
			tl_timesync_work(s->ports[i].sync);
}

void tl_replay_sample_stamps(struct tl_replay_session *s)
{
	for (unsigned i = 0; i < s->n_ports; i++)
		if (s->ports[i].sync != NULL)
			tl_timesync_sample(s->ports[i].sync);
}

// Add the stamped frames of a port.
static void add_results(struct tl_replay_results *r, const struct tl_timesync *sync)
{
	struct tl_timesync_replies replies;
	struct tl_timesync_stats stats;

	tl_timesync_read(sync, &stats);
	r->wire_lost_pkts += stats.replies_lost;
	if (tl_timesync_replies(sync, &replies)) {
		r->wire_bound_ns = tl_max_u64(r->wire_bound_ns, replies.reply_bound_ns);
		tl_hist_merge(r->wire, replies.latency);
	}
}

static bool has_stamps(const struct tl_replay_session *s)
{
	return s->ports[0].sync != NULL || s->ports[1].sync != NULL;
}

void tl_replay_sum_stamps(struct tl_replay_session *s)
{
	struct tl_replay_results *r = &s->results;

	if (!has_stamps(s) || (r->wire == NULL && (r->wire = malloc(sizeof(*r->wire))) == NULL))
		return;
	tl_hist_init(r->wire);
	r->wire_source = s->ports[s->ports[0].sync == NULL].kernel_stamps ? "kernel-tx" : "nic-tx";
	r->wire_lost_pkts = r->wire_bound_ns = 0;
	for (unsigned i = 0; i < s->n_ports; i++)
		if (s->ports[i].sync != NULL)
			add_results(r, s->ports[i].sync);
}

void tl_replay_end_stamps(struct tl_replay_session *s)
{
	for (unsigned i = 0; i < s->n_ports; i++)
		if (s->ports[i].sync != NULL)
			tl_timesync_end(s->ports[i].sync);
	tl_replay_sum_stamps(s);
}

void tl_replay_close_stamps(struct tl_replay_session *s)
{
	for (unsigned i = 0; i < s->n_ports; i++)
		close_port(&s->ports[i]);
	free(s->results.wire);
	s->results.wire = NULL;
}
