// SPDX-License-Identifier: BSD-3-Clause
// Reasons why a result is not valid. One rule for all sporadic faults: more than one in a hundred. Losses have their
// own limit, set by the caller.

#include <tl_client.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include <tl_units.h>

#define RARE 100 // inverse of the share of faults that a valid result may have

static void add(struct tl_client_result *result, const char *fmt, ...) TL_PRINTF(2, 3);

static void add(struct tl_client_result *result, const char *fmt, ...)
{
	va_list args;

	if (result->n_invalid == TL_CLIENT_REASONS)
		return;
	va_start(args, fmt);
	vsnprintf(result->invalid[result->n_invalid++], TL_LATENCY_TEXT, fmt, args);
	va_end(args);
}

static bool too_many(uint64_t part, uint64_t whole)
{
	return part > whole / RARE;
}

// True if the sender lagged: increasing lag shows in the median itself. Messages that were rejected were not late, and
// the rate of few messages is not significant.
static bool fell_behind(const struct tl_client_result *result)
{
	uint64_t tried = result->sent + result->send_errors;

	return result->sent > RARE &&
	       result->rate_pps * (double)tried / (double)result->sent < (double)result->asked_pps * (RARE - 1) / RARE;
}

static void check_sender(struct tl_client_result *result, uint64_t p50_ns)
{
	char this_ns[32], that_ns[32];

	if (fell_behind(result))
		add(result,
			"the sender was late: it sent %.1f messages per second of %" PRIu64
			" that were asked for; lower "
			"--rate, or give the client a CPU of its own",
			result->rate_pps, result->asked_pps);
	else if (result->sender_late.p99_ns > p50_ns)
		add(result,
			"the sender was late: by more than %s in 1 of 100 messages, against a median of %s; lower --rate, "
			"or give the client a CPU of its own",
			tl_format_ns(result->sender_late.p99_ns, this_ns, sizeof(this_ns)),
			tl_format_ns(p50_ns, that_ns, sizeof(that_ns)));
}

static void check_loss(struct tl_client_result *result)
{
	if (tl_latency_is_loss(result->lost, result->sent, result->max_loss))
		add(result,
			"%" PRIu64 " of %" PRIu64
			" messages were lost: more than %.6g %%, so quantiles without them are of survivors only",
			result->lost, result->sent, result->max_loss * 100);
}

static void check_times(struct tl_client_result *result)
{
	const struct tl_hist_summary *best = tl_client_best(result);
	uint64_t p50_ns = best->count != 0 ? best->p50_ns : result->rtt.p50_ns; // the one displayed
	char this_ns[32], that_ns[32];

	if (result->rtt.count == 0) {
		add(result, "no echo was measured");
		return;
	}
	check_sender(result, p50_ns);
	if (result->poll_gap.p99_ns > p50_ns)
		add(result,
			"echoes were read late: more than %s after the previous poll for 1 of 100, against a median of %s; give "
			"the client a CPU of its own",
			tl_format_ns(result->poll_gap.p99_ns, this_ns, sizeof(this_ns)),
			tl_format_ns(p50_ns, that_ns, sizeof(that_ns)));
}

// Judge missing stamps. Over TCP the echoes of a burst arrive together, and only the last of them has a stamp that is
// certainly its own.
static void check_missing(struct tl_client_result *result)
{
	const struct tl_client_stamp_counts *stamps = &result->stamps;
	uint64_t missing = stamps->tx_missing + stamps->rx_missing + stamps->rx_shared;

	if (result->burst > 1 && too_many(result->last_rtt.count - result->last_wire_rtt.count, result->last_rtt.count))
		add(result, "stamps are missing: of the last echoes of %" PRIu64 " bursts only %" PRIu64 " have both",
			result->last_rtt.count, result->last_wire_rtt.count);
	else if (result->burst < 2 && too_many(missing, result->received))
		add(result,
			"stamps are missing: of %" PRIu64 " echoes %" PRIu64 " had none of their message, %" PRIu64
			" none of their own, %" PRIu64 " one that may be that of a later echo",
			result->received, stamps->tx_missing, stamps->rx_missing, stamps->rx_shared);
}

static void check_stamps(struct tl_client_result *result)
{
	const struct tl_client_stamp_counts *stamps = &result->stamps;

	if (result->timestamps == TL_CLIENT_STAMPS_USER)
		return;
	if (result->sources.faults > 0)
		add(result,
			"the NIC counts %" PRIu64
			" errors in sending at a time (%s): stamps of departures may be wrong; give it "
			"longer with --lead",
			result->sources.faults, result->sources.fault);
	check_missing(result);
	if (result->wire_over_rtt > 0 || stamps->reply_first > 0)
		add(result,
			"clocks contradict each other: %" PRIu64 " echoes arrived before their message left, %" PRIu64
			" took longer between the stamps than in user space around them",
			stamps->reply_first, result->wire_over_rtt);
}

static void check_host(struct tl_client_result *result)
{
	char this_ns[32], that_ns[32];

	if (too_many(result->stolen_ns, result->elapsed_ns))
		add(result, "the hypervisor took %s of %s from the client's CPUs (steal of /proc/stat)",
			tl_format_ns(result->stolen_ns, this_ns, sizeof(this_ns)),
			tl_format_ns(result->elapsed_ns, that_ns, sizeof(that_ns)));
	if (result->clock_step_ns != 0)
		add(result, "the clock was set %s %s while the run lasted",
			result->clock_step_ns > 0 ? "forward by" : "back by",
			tl_format_ns((uint64_t)llabs(result->clock_step_ns), this_ns, sizeof(this_ns)));
}

void tl_client_verdict(struct tl_client_result *result)
{
	check_loss(result);
	check_times(result);
	check_stamps(result);
	check_host(result);
}
