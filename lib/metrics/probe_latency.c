// SPDX-License-Identifier: BSD-3-Clause
// Fills a latency report with what the probes of a port measured.

#include <tl_probe_latency.h>

#include <stdio.h>

static int add_stage(struct tl_latency *report, const char *name, const struct tl_hist *hist)
{
	struct tl_latency_stage *stage = tl_latency_stage(report, name);

	if (stage == NULL)
		return -1;
	tl_hist_copy(&stage->hist, hist);
	return 0;
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
	tl_hist_copy(&report->latency, sent);
	report->matched = report->latency.count;
	report->unmatched_triggers = stats.probes_lost;
	report->unstamped = stats.ptp_busy + stats.ptp_lost;
	tl_latency_add_fact(report, "time", "from the call of tx_burst to the wire, of a probe now and then");
	tl_latency_add_fact(report, "wire_to_poll", "of received PTP frames, source nic-ptp");
	if (stats.unstamped)
		tl_latency_add_invalid(
			report, "no probe was ever stamped: this DPDK does not ask for it (docs/ptp.md)");
	return report;
}
