// SPDX-License-Identifier: BSD-3-Clause
// Latency reports of PTP probes and replies of a port.

#include <tl_probe_latency.h>

#include <errno.h>
#include <stdio.h>

#include "metrics_priv.h"

static int add_stage(struct tl_latency *report, const char *name, const struct tl_hist *hist)
{
	struct tl_latency_stage *stage = tl_latency_stage(report, name);

	if (stage == NULL)
		return -ENOMEM;
	tl_hist_copy(&stage->hist, hist);
	return 0;
}

static void note_silence(struct tl_latency *report, const struct tl_timesync_stats *stats)
{
	if (stats->unstamped)
		tl_latency_add_invalid(
			&report->invalid, "no sent frame was stamped: this DPDK does not request it (docs/time.md)");
}

struct tl_latency *tl_probe_latency(const struct tl_timesync *sync, const char *port)
{
	const struct tl_hist *sent = tl_timesync_tx_to_wire(sync);
	struct tl_latency *report = tl_latency_create();
	struct tl_timesync_stats stats;

	if (report == NULL)
		return NULL;
	if (add_stage(report, "tx_to_wire", sent) != 0 ||
		add_stage(report, "wire_to_poll", tl_timesync_wire_to_poll(sync)) != 0) {
		tl_latency_destroy(report);
		return NULL;
	}
	tl_timesync_read(sync, &stats);
	snprintf(report->name, sizeof(report->name), "%s: PTP probes", port);
	snprintf(report->method, sizeof(report->method), "probe");
	tl_latency_set_sources(report, "tsc", stats.bound_ns, "nic-tx", stats.bound_ns);
	tl_latency_set_clocks(report, 1, "TSC", 1, "TSC");
	tl_hist_copy(&report->latency, sent);
	report->matched = report->latency.count;
	report->unmatched_triggers = stats.probes_lost;
	report->unstamped = stats.ptp_busy_pkts + stats.ptp_lost_pkts;
	tl_latency_add_fact(report, "time", "from the call of tx_burst to the wire, of sampled probes");
	tl_latency_add_fact(report, "wire_to_poll", "of received PTP frames, source nic-ptp");
	note_silence(report, &stats);
	return report;
}

// ---- replies

static int add_parts(struct tl_latency *report, const struct tl_timesync_replies *replies)
{
	int rc = replies->wire_to_poll != NULL ? add_stage(report, "wire_to_poll", replies->wire_to_poll) : 0;

	if (rc == 0)
		rc = add_stage(report, "poll_to_tx", replies->poll_to_tx);
	if (rc == 0)
		rc = add_stage(report, "tx_to_wire", replies->tx_to_wire);
	return rc == 0 ? metrics_add_samples(report, replies->samples) : rc;
}

// Name the clock: one for both stamps, or two compared through the TSC.
static const char *clock_of(const struct tl_timesync_replies *replies)
{
	return replies->one_clock ? "NIC" : "TSC";
}

struct tl_latency *tl_reply_latency(const struct tl_timesync *sync, const char *port)
{
	struct tl_latency *report = tl_latency_create();
	struct tl_timesync_replies replies;
	struct tl_timesync_stats stats;

	if (report == NULL)
		return NULL;
	tl_timesync_read(sync, &stats);
	if (!tl_timesync_replies(sync, &replies) || add_parts(report, &replies) != 0) {
		tl_latency_destroy(report);
		return NULL;
	}
	bool has_rx = replies.trigger_source == TL_TS_NIC_RX;
	snprintf(report->name, sizeof(report->name), "%s: stamped replies", port);
	snprintf(report->method, sizeof(report->method), "%s", has_rx ? "rx-tx" : "software");
	tl_latency_set_sources(report, tl_ts_source_name(replies.trigger_source), replies.trigger_bound_ns, "nic-tx",
		replies.reply_bound_ns);
	tl_latency_set_clocks(report, 1, clock_of(&replies), 1, clock_of(&replies));
	tl_hist_copy(&report->latency, replies.latency);
	report->matched = report->latency.count;
	report->unmatched_triggers = stats.replies_lost;
	report->unstamped = stats.replies_untimed;
	tl_latency_add_fact(report, "time",
		has_rx ? "from the trigger on the wire to its reply on the wire, of sampled replies"
		       : "from the poll of the trigger to its reply on the wire, of sampled replies");
	if (has_rx)
		snprintf(report->clocks_shown, sizeof(report->clocks_shown), "%s",
			replies.one_clock ? "one stamps both: the difference is exact"
					  : "two, compared by way of the TSC");
	note_silence(report, &stats);
	return report;
}
