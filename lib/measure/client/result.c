// SPDX-License-Identifier: BSD-3-Clause
// Verdict on the result of a run, and its JSON.

#include <tl_client.h>
#include <tl_json.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <tl_report.h>
#include <tl_units.h>

// ---- reasons why a result is not valid: one rule for all sporadic faults, more than one in a hundred; losses have a
// own limit, set by the caller

#define RARE 100 // inverse of the share of faults that a valid result may have

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
		tl_latency_add_invalid(&result->invalid,
			"the sender was late: it sent %.1f of %" PRIu64
			" requested messages per second; lower --rate, or give the client a CPU of its own",
			result->rate_pps, result->asked_pps);
	else if (result->sender_late.p99_ns > p50_ns)
		tl_latency_add_invalid(&result->invalid,
			"the sender was late: by more than %s in 1 of 100 messages, against a median of %s; lower --rate, "
			"or give the client a CPU of its own",
			tl_format_ns(result->sender_late.p99_ns, this_ns, sizeof(this_ns)),
			tl_format_ns(p50_ns, that_ns, sizeof(that_ns)));
}

static void check_loss(struct tl_client_result *result)
{
	if (tl_latency_is_loss(result->lost, result->sent, result->max_loss))
		tl_latency_add_invalid(&result->invalid,
			"%" PRIu64 " of %" PRIu64
			" messages were lost: more than %.6g %%, so quantiles without them are of survivors only",
			result->lost, result->sent, result->max_loss * 100);
}

static void check_times(struct tl_client_result *result)
{
	const struct tl_hist_summary *best = &tl_client_best(result)->all;
	uint64_t p50_ns = best->count != 0 ? best->p50_ns : result->rtt.all.p50_ns; // the one displayed
	char this_ns[32], that_ns[32];

	if (result->rtt.all.count == 0) {
		tl_latency_add_invalid(&result->invalid, "no echo was measured");
		return;
	}
	check_sender(result, p50_ns);
	if (result->poll_gap.p99_ns > p50_ns)
		tl_latency_add_invalid(&result->invalid,
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

	if (result->burst > 1 && too_many(result->rtt.last.count - result->wire_rtt.last.count, result->rtt.last.count))
		tl_latency_add_invalid(&result->invalid,
			"stamps are missing: of the last echoes of %" PRIu64 " bursts only %" PRIu64 " have both",
			result->rtt.last.count, result->wire_rtt.last.count);
	else if (result->burst < 2 && too_many(missing, result->received))
		tl_latency_add_invalid(&result->invalid,
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
		tl_latency_add_invalid(&result->invalid,
			"the NIC counts %" PRIu64
			" errors in sending at a time (%s): stamps of departures may be wrong; give it "
			"longer with --lead",
			result->sources.faults, result->sources.fault);
	check_missing(result);
	if (result->wire_over_rtt > 0 || stamps->reply_first > 0)
		tl_latency_add_invalid(&result->invalid,
			"clocks contradict each other: %" PRIu64 " echoes arrived before their message left, %" PRIu64
			" took longer between the stamps than in user space around them",
			stamps->reply_first, result->wire_over_rtt);
}

static void check_host(struct tl_client_result *result)
{
	char this_ns[32], that_ns[32];

	if (too_many(result->stolen_ns, result->elapsed_ns))
		tl_latency_add_invalid(&result->invalid,
			"the hypervisor took %s of %s from the client's CPUs (steal of /proc/stat)",
			tl_format_ns(result->stolen_ns, this_ns, sizeof(this_ns)),
			tl_format_ns(result->elapsed_ns, that_ns, sizeof(that_ns)));
	if (result->clock_step_ns != 0)
		tl_latency_add_invalid(&result->invalid, "the clock was set %s %s while the run lasted",
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

int tl_client_check_result(const struct tl_client_result *result, struct tl_err *err)
{
	if (!result->balanced)
		return tl_fail(
			err, -EIO, "the counts contradict each other: this is a defect of the client, report it");
	if (!result->interrupted && result->sent < result->planned)
		return tl_fail(err, -EIO,
			"only %" PRIu64 " of %" PRIu64 " messages could be sent (%" PRIu64
			" were refused); lower --rate, or check the connection",
			result->sent, result->planned, result->send_errors);
	if (result->lost > 0 || result->corrupt > 0)
		return tl_fail(err, -EIO,
			"of %" PRIu64 " messages sent %" PRIu64 " were lost, and %" PRIu64 " echoes were corrupt",
			result->sent, result->lost, result->corrupt);
	return 0;
}

// ---- JSON

static json_t *rounded(double value)
{
	return json_integer(llround(value));
}

// Return null for a missing value: 0 would be a value.
static json_t *spread_json(const struct tl_client_spread *spread, uint64_t count)
{
	if (count < 2)
		return json_pack("{s:n, s:n}", "p50", "mean");
	return json_pack("{s:I, s:o}", "p50", (json_int_t)spread->p50_ns, "mean", rounded(ceil(spread->mean_ns)));
}

static json_t *stamps_json(const struct tl_client_result *result)
{
	const struct tl_client_stamp_counts *counts = &result->stamps;

	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", //
		"departures", result->sources.departures,		       //
		"arrivals", result->sources.arrivals,			       //
		"paired", (json_int_t)counts->paired,			       //
		"reply_first", (json_int_t)counts->reply_first,		       //
		"tx_missing", (json_int_t)counts->tx_missing,		       //
		"rx_missing", (json_int_t)counts->rx_missing,		       //
		"rx_shared", (json_int_t)counts->rx_shared,		       //
		"tx_repeated", (json_int_t)counts->tx_repeated,		       //
		"tx_strays", (json_int_t)counts->tx_strays,		       //
		"wire_over_rtt", (json_int_t)result->wire_over_rtt);
}

static json_t *cold_json(const struct tl_client_result *result)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < tl_min_u64(result->cold_count, TL_CLIENT_COLD_LISTED); i++) {
		const struct tl_client_cold *cold = &result->cold[i];
		json_array_append_new(list, json_pack("{s:I, s:I, s:o}", "connection", (json_int_t)cold->connection,
						    "rtt_ns", (json_int_t)cold->rtt_ns, "wire_rtt_ns",
						    tl_json_number_if(cold->wire_rtt_ns != 0, cold->wire_rtt_ns)));
	}
	return list;
}

static json_t *net_json(const struct tl_client_net *net)
{
	if (!net->given)
		return json_null();
	return json_pack("{s:s, s:o, s:o}",								    //
		"what", "difference of means, with 95 % confidence if samples do not depend on each other", //
		"mean", rounded(net->mean_ns),								    //
		"mean_ci95", rounded(ceil(net->mean_ci95_ns)));
}

// Add the distributions of one kind of time.
static void put_times(json_t *json, const char *name, const struct tl_client_times *times)
{
	const struct {
		const char *before, *after;
		json_t *value;
	} keys[] = {
		{"", "_ns", tl_report_hist_json(&times->all)},
		{"", "_ns_ci95", spread_json(&times->spread, times->all.count)},
		{"", "_quantiles", tl_latency_levels_json(times->levels)},
		{"burst_last_", "_ns", tl_report_hist_json(&times->last)},
	};
	char key[40];

	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
		snprintf(key, sizeof(key), "%s%s%s", keys[i].before, name, keys[i].after);
		json_object_set_new(json, key, keys[i].value);
	}
}

static void put_figures(json_t *json, const struct tl_client_result *result)
{
	const struct {
		const char *key;
		json_t *value;
	} figures[] = {
		{"first_rtt_ns", tl_json_number_if(result->received > 0, result->first_rtt_ns)},
		{"burst", json_integer((json_int_t)tl_max_u64(result->burst, 1))},
		{"best", json_string(tl_client_best_name(result))},
		{"net_of_null_ns", net_json(&result->net)},
		{"stamps", stamps_json(result)},
		{"cold", cold_json(result)},
		{"max_loss", json_real(result->max_loss)},
		{"elapsed_ns", json_integer((json_int_t)result->elapsed_ns)},
		{"window_ns", tl_json_number_if(result->window_ns != 0, result->window_ns)},
		{"sender_late_ns", tl_report_hist_json(&result->sender_late)},
		{"poll_gap_ns", tl_report_hist_json(&result->poll_gap)},
		{"stolen_ns", json_integer((json_int_t)result->stolen_ns)},
		{"clock_step_ns", json_integer(result->clock_step_ns)},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(figures); i++)
		json_object_set_new(json, figures[i].key, figures[i].value);
}

json_t *tl_client_result_json(const struct tl_client_result *result)
{
	json_t *json = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:s, s:s, s:s}", //
		"mode", tl_client_mode_name(result->mode),							//
		"sent", (json_int_t)result->sent,								//
		"received", (json_int_t)result->received,							//
		"lost", (json_int_t)result->lost,								//
		"duplicates", (json_int_t)result->duplicates,							//
		"corrupt", (json_int_t)result->corrupt,								//
		"reordered", (json_int_t)result->reordered,							//
		"send_errors", (json_int_t)result->send_errors,							//
		"reconnects", (json_int_t)result->reconnects,							//
		"rate_pps", result->rate_pps,									//
		"asked_pps", (json_int_t)result->asked_pps,							//
		"payload_bytes", (json_int_t)result->payload_bytes,						//
		"transport", result->sources.transport, "clock", "CLOCK_MONOTONIC",				//
		"timestamps", tl_client_timestamps_name(result->timestamps));

	put_times(json, "rtt", &result->rtt);
	put_times(json, "wire_rtt", &result->wire_rtt);
	put_figures(json, result);
	tl_latency_put_invalid(json, &result->invalid);
	return json;
}
