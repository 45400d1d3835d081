// SPDX-License-Identifier: BSD-3-Clause
// Client's judgement of its figures: pairing of stamps, sweeps, verdicts, subtraction of a null echo.

#include "tl_test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <session_priv.h>
#include <tl_client.h>

// ---- stamps

static struct tl_client_stamps stamps_of(uint64_t unit, uint64_t slots)
{
	struct tl_client_stamps stamps;

	CU_ASSERT_EQUAL_FATAL(tl_client_stamps_init(&stamps, unit, slots), 0);
	return stamps;
}

static void send_messages(struct tl_client_stamps *stamps, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		tl_client_stamps_sent(stamps, first + i, stamps->unit, true);
}

// Feed an echo of seq that arrived at time_ns, outside warm-up and not shared.
static bool echo_at(struct tl_client_stamps *stamps, uint64_t seq, uint64_t time_ns, struct tl_client_pair *pair)
{
	return tl_client_stamps_arrival(stamps, seq, time_ns, false, 1000, 0, pair);
}

static void check_counts(const struct tl_client_stamps *stamps, struct tl_client_stamp_counts expected)
{
	CU_ASSERT_EQUAL(stamps->counts.paired, expected.paired);
	CU_ASSERT_EQUAL(stamps->counts.reply_first, expected.reply_first);
	CU_ASSERT_EQUAL(stamps->counts.tx_missing, expected.tx_missing);
	CU_ASSERT_EQUAL(stamps->counts.rx_missing, expected.rx_missing);
	CU_ASSERT_EQUAL(stamps->counts.rx_shared, expected.rx_shared);
	CU_ASSERT_EQUAL(stamps->counts.tx_repeated, expected.tx_repeated);
	CU_ASSERT_EQUAL(stamps->counts.tx_strays, expected.tx_strays);
}

TL_TEST("stamps are paired in any order of arrival")
{
	struct tl_client_stamps stamps = stamps_of(1, 8);
	struct tl_client_pair pair;

	send_messages(&stamps, 0, 3);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 2, 120, &pair));
	CU_ASSERT_FALSE(echo_at(&stamps, 0, 150, &pair));
	CU_ASSERT_TRUE(echo_at(&stamps, 2, 180, &pair));
	CU_ASSERT_EQUAL(pair.seq, 2);
	CU_ASSERT_EQUAL(pair.rx_ns - pair.tx_ns, 60);
	CU_ASSERT_TRUE(tl_client_stamps_departure(&stamps, 0, 100, &pair));
	CU_ASSERT_EQUAL(pair.seq, 0);
	CU_ASSERT_EQUAL(pair.rx_ns - pair.tx_ns, 50);
	CU_ASSERT_EQUAL(pair.rtt_ns, 1000);
	CU_ASSERT_EQUAL(tl_client_stamps_waiting(&stamps), 1);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 1, 110, &pair));
	CU_ASSERT_EQUAL(tl_client_stamps_waiting(&stamps), 0);
	CU_ASSERT_TRUE(echo_at(&stamps, 1, 111, &pair));
	tl_client_stamps_finish(&stamps);
	check_counts(&stamps, (struct tl_client_stamp_counts){.paired = 3});
	tl_client_stamps_fini(&stamps);
}

TL_TEST("each missing stamp is counted by its kind")
{
	struct tl_client_stamps stamps = stamps_of(1, 8);
	struct tl_client_pair pair;

	send_messages(&stamps, 0, 6);
	for (uint32_t id = 1; id < 6; id++)
		tl_client_stamps_departure(&stamps, id, 100 + id, &pair);
	CU_ASSERT_FALSE(echo_at(&stamps, 0, 200, &pair)); // its message has no stamp
	CU_ASSERT_FALSE(echo_at(&stamps, 1, 0, &pair));
	CU_ASSERT_FALSE(tl_client_stamps_arrival(&stamps, 2, 200, true, 1000, 0, &pair));
	CU_ASSERT_FALSE(echo_at(&stamps, 3, 102, &pair)); // before its departure
	CU_ASSERT_TRUE(echo_at(&stamps, 4, 200, &pair));  // 5 is lost
	tl_client_stamps_finish(&stamps);
	check_counts(&stamps, (struct tl_client_stamp_counts){
				      .paired = 1, .reply_first = 1, .tx_missing = 1, .rx_missing = 1, .rx_shared = 1});
	tl_client_stamps_fini(&stamps);
}

TL_TEST("the byte counter of a stream wraps after 4 GiB")
{
	struct tl_client_stamps stamps = stamps_of(65536, 16);
	const uint64_t wrap = UINT64_C(65536); // 64-KiB messages
	struct tl_client_pair pair;

	for (uint64_t seq = 0; seq < wrap + 4; seq++)
		tl_client_stamps_sent(&stamps, seq, 65536, true);
	for (uint64_t seq = wrap + 3; seq > wrap - 3; seq--) {
		CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, (uint32_t)((seq + 1) * 65536 - 1), seq, &pair));
		CU_ASSERT_TRUE(echo_at(&stamps, seq, seq + 7, &pair));
		CU_ASSERT_EQUAL(pair.seq, seq);
	}
	CU_ASSERT_EQUAL(stamps.counts.paired, 6);
	CU_ASSERT_EQUAL(stamps.counts.tx_strays, 0);
	tl_client_stamps_fini(&stamps);
}

TL_TEST("the counter of datagrams wraps")
{
	struct tl_client_stamps stamps = stamps_of(1, 8);
	struct tl_client_pair pair;

	tl_client_stamps_sent(&stamps, 0, UINT64_C(0xffffffff), true); // as after that many messages
	stamps.base_seq = 0 - UINT64_C(0xffffffff) + 1;
	send_messages(&stamps, 1, 3);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 1, 50, &pair)); // 0xffffffff, 0, 1
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, UINT32_MAX, 40, &pair));
	CU_ASSERT_TRUE(echo_at(&stamps, 3, 60, &pair));
	CU_ASSERT_TRUE(echo_at(&stamps, 1, 61, &pair));
	CU_ASSERT_EQUAL(pair.tx_ns, 40);
	tl_client_stamps_fini(&stamps);
}

TL_TEST("the send stamp of a message is that of the first transmission of its last byte")
{
	struct tl_client_stamps stamps = stamps_of(100, 8);
	struct tl_client_pair pair;

	tl_client_stamps_sent(&stamps, 0, 60, false);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 59, 10, &pair));
	tl_client_stamps_sent(&stamps, 0, 40, true);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 99, 20, &pair));
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 99, 30, &pair)); // repeated: a retransmission
	CU_ASSERT_TRUE(echo_at(&stamps, 0, 50, &pair));
	CU_ASSERT_EQUAL(pair.tx_ns, 20);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 99, 60, &pair)); // a third time
	check_counts(&stamps, (struct tl_client_stamp_counts){.paired = 1, .tx_repeated = 2});
	tl_client_stamps_fini(&stamps);
}

TL_TEST("counters restart with a connection")
{
	struct tl_client_stamps stamps = stamps_of(10, 8);
	struct tl_client_pair pair;

	send_messages(&stamps, 0, 2);
	tl_client_stamps_begin(&stamps, 5);
	CU_ASSERT_EQUAL(tl_client_stamps_waiting(&stamps), 0);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 9, 10, &pair)); // nothing has departed yet
	CU_ASSERT_EQUAL(stamps.counts.tx_strays, 1);
	send_messages(&stamps, 5, 1);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 9, 20, &pair));
	CU_ASSERT_TRUE(echo_at(&stamps, 5, 30, &pair));
	CU_ASSERT_EQUAL(pair.rx_ns - pair.tx_ns, 10);
	tl_client_stamps_fini(&stamps);
}

TL_TEST("a stamp later than the ring counts as missing")
{
	struct tl_client_stamps stamps = stamps_of(1, 4);
	struct tl_client_pair pair;

	send_messages(&stamps, 0, 1);
	CU_ASSERT_FALSE(echo_at(&stamps, 0, 20, &pair));
	send_messages(&stamps, 1, 4);
	CU_ASSERT_FALSE(tl_client_stamps_departure(&stamps, 0, 10, &pair));
	CU_ASSERT_FALSE(echo_at(&stamps, 0, 20, &pair));
	tl_client_stamps_finish(&stamps);
	check_counts(&stamps, (struct tl_client_stamp_counts){.tx_missing = 2, .tx_strays = 1});
	tl_client_stamps_fini(&stamps);
}

// ---- sweeps

TL_TEST("a sweep is a list or a range")
{
	struct tl_client_sweep sweep;

	CU_ASSERT_EQUAL(tl_client_sweep_parse("64", 8, 2000, &sweep), 0);
	CU_ASSERT_EQUAL(sweep.n, 1);
	CU_ASSERT_EQUAL(tl_client_sweep_parse("16,64,1024", 8, 2000, &sweep), 0);
	CU_ASSERT_EQUAL(sweep.n, 3);
	CU_ASSERT_EQUAL(sweep.at[2], 1024);
	CU_ASSERT_EQUAL(tl_client_sweep_parse("16:1472:5", 8, 2000, &sweep), 0);
	CU_ASSERT_EQUAL(sweep.n, 5);
	CU_ASSERT_EQUAL(sweep.at[0], 16);
	CU_ASSERT_EQUAL(sweep.at[1], 380);
	CU_ASSERT_EQUAL(sweep.at[4], 1472);
	CU_ASSERT_EQUAL(tl_client_sweep_parse("8:71:64", 8, 2000, &sweep), 0);
	CU_ASSERT_EQUAL(sweep.n, 64);

	static const char *const wrong[] = {"", ",", "16,", "16,16", "32,16", "7", "2001", "16:32", "16:32:1",
		"16:32:65", "32:16:2", "16:32:2:2", "16:17:3", "16,32:64:2", "1e3"};
	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++)
		CU_ASSERT_NOT_EQUAL(tl_client_sweep_parse(wrong[i], 8, 2000, &sweep), 0);
}

// ---- verdicts

static struct tl_client_result believable(void)
{
	return (struct tl_client_result){
		.timestamps = TL_CLIENT_STAMPS_KERNEL,
		.sources = {.transport = "kernel",
			.departures = "kernel",
			.arrivals = "kernel",
			.departure_unit_ns = 1,
			.arrival_unit_ns = 1},
		.mode = TL_CLIENT_UDP,
		.payload_bytes = 16,
		.asked_pps = 1000,
		.rate_pps = 990,
		.sent = 1000,
		.received = 1000,
		.elapsed_ns = TL_NS_PER_S,
		.rtt = {.all = {.count = 999, .p50_ns = 20000, .mean_ns = 21000},
			.spread = {.p50_ns = 400, .mean_ns = 300}},
		.wire_rtt = {.all = {.count = 995, .p50_ns = 15000, .mean_ns = 16000},
			.spread = {.p50_ns = 40, .mean_ns = 30}},
		.sender_late = {.count = 1000, .p99_ns = 15000},
		.poll_gap = {.count = 999, .p99_ns = 15000},
		.stamps = {.paired = 990, .tx_missing = 3, .rx_missing = 3, .rx_shared = 4},
		.stolen_ns = TL_NS_PER_S / 100,
	};
}

// Check that this is the only reason for the verdict.
static void check_invalid(struct tl_client_result result, const char *says)
{
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(result.invalid.text[0], says));
}

TL_TEST("a result is valid while every limit is kept")
{
	struct tl_client_result result = believable();

	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 0);
}

TL_TEST("refused or few messages do not indicate a late sender")
{
	struct tl_client_result result = believable();

	result.sent = 900;
	result.send_errors = 100;
	result.rate_pps = 891;
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 0);
	result = believable();
	result.sent = 100;
	result.rate_pps = 900;
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 0);
}

TL_TEST("each fault invalidates a result and is named")
{
	struct tl_client_result result = believable();

	result.sender_late.p99_ns++;
	check_invalid(result, "the sender was late: by more than 15.001 us");
	result = believable();
	result.rate_pps = 989.9;
	check_invalid(result, "the sender was late: it sent 989.9 of 1000 requested messages per second");
	result = believable();
	result.poll_gap.p99_ns++;
	check_invalid(result, "echoes were read late");
	result = believable();
	result.stamps.tx_missing++;
	check_invalid(
		result, "stamps are missing: of 1000 echoes 4 had none of their message, 3 none of their own, 4 one");
	result.timestamps = TL_CLIENT_STAMPS_USER; // not requested
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 0);
	result = believable();
	result.wire_over_rtt = 1;
	check_invalid(result, "clocks contradict each other");
	result = believable();
	result.stamps.reply_first = 1;
	check_invalid(result, "clocks contradict each other");
	result = believable();
	result.stolen_ns++;
	check_invalid(result, "the hypervisor took 10.000 ms");
	result = believable();
	result.clock_step_ns = -1500;
	check_invalid(result, "set back by 1.500 us");
	check_invalid((struct tl_client_result){0}, "no echo was measured");
	result = believable();
	result.burst = 2;
	result.stamps.rx_shared = result.received / 2; // the first of each
	result.rtt.last.count = 500;
	result.wire_rtt.last.count = 495;
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 0);
	result.wire_rtt.last.count--;
	check_invalid(result, "of the last echoes of 500 bursts only 494 have both");

	result = believable();
	result.sources.faults = 3;
	result.sources.fault = "tx_pp_timestamp_past_errors";
	check_invalid(result, "counts 3 errors in sending at a time (tx_pp_timestamp_past_errors)");
}

TL_TEST("a loss above the limit invalidates a result")
{
	struct tl_client_result result = believable();

	result.max_loss = 0.001;
	result.stamps = (struct tl_client_stamp_counts){.paired = 999};
	result.received = 999;
	result.lost = 1;
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 0);
	result.sent = result.planned = 200;
	result.received = result.lost = 100;
	result.stamps = (struct tl_client_stamp_counts){.paired = 100};
	check_invalid(result, "100 of 200 messages were lost: more than 0.1 %");
	result.max_loss = 0.5;
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 0);
}

// ---- quantiles

#define MESSAGES 10000

struct figures {
	struct tl_hist times, late, gap;
	struct tl_latency_level levels[TL_LATENCY_LEVELS];
};

// 10 us each; some of them delayed, and as many sent late by `by_ns`, or received late.
static struct figures *figures_of(uint64_t slow, uint64_t sent_late, uint64_t found_late, uint64_t by_ns)
{
	struct figures *f = malloc(sizeof(*f));

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	tl_hist_init(&f->times);
	tl_hist_init(&f->late);
	tl_hist_init(&f->gap);
	tl_hist_record_n(&f->times, 10000, MESSAGES - slow);
	tl_hist_record_n(&f->times, 1000000, slow);
	tl_hist_record_n(&f->late, 300, MESSAGES - sent_late);
	tl_hist_record_n(&f->late, by_ns, sent_late);
	tl_hist_record_n(&f->gap, 500, MESSAGES - found_late);
	tl_hist_record_n(&f->gap, by_ns, found_late);
	return f;
}

TL_TEST("quantiles possibly caused by the client are marked late")
{
	static const struct {
		uint64_t sent_late, found_late, by_ns;
		bool with_gap, late[TL_LATENCY_LEVELS];
	} cases[] = {{0, 0, 0, true, {false}}, {4, 0, 1000000, true, {false}}, {5, 0, 1000000, true, {0, 0, 0, true}},
		{5, 0, 240000, true, {false}}, {2, 3, 1000000, true, {0, 0, 0, true}}, {2, 3, 1000000, false, {false}},
		{60, 0, 5000, true, {0, 0, true, false}}, {9000, 0, 5000, true, {true, true, true, false}}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct figures *f = figures_of(20, cases[i].sent_late, cases[i].found_late, cases[i].by_ns);
		tl_client_levels(&f->times, 0, &f->late, cases[i].with_gap ? &f->gap : NULL, f->levels);
		for (size_t k = 0; k < TL_LATENCY_LEVELS; k++)
			CU_ASSERT_EQUAL(f->levels[k].late, cases[i].late[k]);
		free(f);
	}
}

TL_TEST("a quantile in the range of lost messages is null and reported as above the window")
{
	struct figures *f = figures_of(0, 0, 0, 0);
	struct tl_client_result result = believable();

	tl_client_levels(&f->times, MESSAGES, &f->late, NULL, result.wire_rtt.levels);
	json_t *json = tl_client_result_json(&result), *quantiles = json_object_get(json, "wire_rtt_quantiles");
	const json_t *p50 = json_object_get(quantiles, "p50"), *p90 = json_object_get(quantiles, "p90");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(p50, "with_loss_ns")), 10000);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(p90, "ns")), 10000);
	CU_ASSERT(json_is_null(json_object_get(p90, "with_loss_ns")));
	CU_ASSERT(json_is_true(json_object_get(p90, "above_window")));
	json_decref(json);
	free(f);
}

TL_TEST("several faults are all reported")
{
	struct tl_client_result result = believable();

	result.sender_late.p99_ns = result.poll_gap.p99_ns = 30000;
	result.clock_step_ns = 5;
	tl_client_verdict(&result);
	CU_ASSERT_EQUAL(result.invalid.n, 3);
	json_t *json = tl_client_result_json(&result);
	CU_ASSERT_TRUE(json_is_false(json_object_get(json, "valid")));
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "invalid")), 3);
	json_decref(json);
}

// ---- null echoes

static struct tl_client_cfg cfg_like(const struct tl_client_result *result)
{
	return (struct tl_client_cfg){.mode = result->mode,
		.payload_bytes = result->payload_bytes,
		.rate_pps = result->asked_pps,
		.timestamps = result->timestamps};
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

TL_TEST("a null echo is subtracted with both uncertainties")
{
	struct tl_client_result cable = believable(), result = believable();

	cable.wire_rtt.all = (struct tl_hist_summary){.count = 500, .p50_ns = 5000, .mean_ns = 5500};
	cable.wire_rtt.spread = (struct tl_client_spread){.p50_ns = 30, .mean_ns = 40};
	json_t *null = tl_client_result_json(&cable);
	tl_client_null_subtract(null, &result);
	CU_ASSERT_TRUE(result.net.given);
	CU_ASSERT_TRUE(is_near(result.net.mean_ns, 10500));
	CU_ASSERT_TRUE(is_near(result.net.mean_ci95_ns, 50));
	CU_ASSERT_EQUAL(result.invalid.n, 0);
	json_t *json = tl_client_result_json(&result), *net = json_object_get(json, "net_of_null_ns"), *value;
	const char *key;
	CU_ASSERT_PTR_NOT_NULL(
		strstr(json_string_value(json_object_get(net, "what")), "if samples do not depend on each other"));
	json_object_foreach (net, key, value)
		CU_ASSERT(strncmp(key, "mean", 4) == 0 || json_is_string(value)); // quantiles are not subtracted
	json_decref(json);
	json_decref(null);

	cable.invalid.n = 1;
	null = tl_client_result_json(&cable);
	tl_client_null_subtract(null, &result);
	CU_ASSERT_EQUAL(result.invalid.n, 1);
	result.sources.departures = "nic-tx";
	tl_client_null_subtract(null, &result);
	CU_ASSERT_EQUAL(result.invalid.n, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(result.invalid.text[2], "stamped by another source"));
	json_decref(null);

	result = believable();
	cable.invalid.n = 0;
	null = tl_client_result_json(&cable);
	result.sources.arrivals = "tsc";
	tl_client_null_subtract(null, &result);
	CU_ASSERT_EQUAL(result.invalid.n, 1);
	json_decref(null);
}

TL_TEST("a null echo measured with other parameters is refused")
{
	struct tl_client_result cable = believable();
	struct tl_client_sweep sweep = {.n = 1};
	const struct tl_client_cfg cfg = cfg_like(&cable);
	struct tl_err err;
	json_t *null = tl_client_result_json(&cable);

	CU_ASSERT_EQUAL(tl_client_null_check(null, &cfg, &sweep, &err), 0);
	for (int i = 0; i < 5; i++) {
		struct tl_client_cfg other = cfg;
		other.mode = i == 0 ? TL_CLIENT_TCP : cfg.mode;
		other.payload_bytes += i == 1;
		other.burst = i == 4 ? 2 : 1;
		other.rate_pps += i == 2;
		other.timestamps = i == 3 ? TL_CLIENT_STAMPS_USER : cfg.timestamps;
		CU_ASSERT_EQUAL(tl_client_null_check(null, &other, &sweep, &err), -EINVAL);
	}
	json_decref(null);
	cable.wire_rtt.all.count = 0;
	null = tl_client_result_json(&cable);
	CU_ASSERT_EQUAL(tl_client_null_check(null, &cfg, &sweep, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no times"));
	json_decref(null);
}

TL_TEST("the null echo of a sweep applies to each point")
{
	struct tl_client_result cables[2] = {believable(), believable()}, result = believable();
	struct tl_client_sweep sweep = {.axis = TL_CLIENT_AXIS_PAYLOAD, .n = 2, .at = {16, 64}};

	cables[1].payload_bytes = result.payload_bytes = 64;
	cables[1].wire_rtt.all.mean_ns = 7000;
	json_t *null = tl_client_sweep_json(&sweep, cables, 2);
	const struct tl_client_cfg cfg = cfg_like(&cables[0]);
	CU_ASSERT_EQUAL(tl_client_null_check(null, &cfg, &sweep, NULL), 0);
	tl_client_null_subtract(null, &result);
	CU_ASSERT_TRUE(is_near(result.net.mean_ns, 9000));
	sweep.at[1] = 128;
	CU_ASSERT_EQUAL(tl_client_null_check(null, &cfg, &sweep, NULL), -EINVAL);
	json_decref(null);
}

// ---- reports

TL_TEST("the JSON of a sweep holds its points and the line through them")
{
	struct tl_client_result results[3] = {believable(), believable(), believable()};
	const struct tl_client_sweep sweep = {.axis = TL_CLIENT_AXIS_PAYLOAD, .n = 3, .at = {100, 200, 300}};

	for (size_t i = 0; i < 3; i++) {
		results[i].payload_bytes = sweep.at[i];
		results[i].wire_rtt.all.p50_ns = 1000 + 2 * sweep.at[i];
	}
	results[1].clock_step_ns = 1;
	tl_client_verdict(&results[1]);
	json_t *json = tl_client_sweep_json(&sweep, results, 3), *fit = json_object_get(json, "payload_fit");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "points")), 3);
	CU_ASSERT_TRUE(is_near(json_number_value(json_object_get(fit, "ns_per_byte")), 2));
	CU_ASSERT_TRUE(is_near(json_number_value(json_object_get(fit, "p50_at_0_bytes_ns")), 1000));
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json, "best")), "wire_rtt_ns");
	CU_ASSERT_TRUE(json_is_false(json_object_get(json, "valid")));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(json_string_value(json_array_get(json_object_get(json, "invalid"), 0)), "payload_bytes 200: "));
	struct tl_latency *report = tl_latency_create();
	CU_ASSERT_PTR_NOT_NULL_FATAL(report);
	tl_client_report_fill(report, &sweep, results, 3);
	CU_ASSERT_STRING_EQUAL(
		report->invalid.text[0], json_string_value(json_array_get(json_object_get(json, "invalid"), 0)));
	tl_latency_destroy(report);
	json_decref(json);
}

TL_TEST("the report of a run balances")
{
	struct tl_client_result result = believable();
	const struct tl_client_sweep sweep = {.n = 1};
	struct tl_latency *report = tl_latency_create();

	CU_ASSERT_PTR_NOT_NULL_FATAL(report);
	result.lost = 5;
	result.clock_bound_ns = 25;
	result.cold_count = 2;
	result.cold[0].wire_rtt_ns = 9; // the other connection has no stamps
	tl_latency_add(report, &(struct tl_latency_sample){.latency_ns = 7});
	tl_client_report_fill(report, &sweep, &result, 1);
	CU_ASSERT_STRING_EQUAL(report->trigger.name, "kernel");
	CU_ASSERT_FALSE(report->trigger.has_bound); // 25 ns is the bound of the clock reading itself
	CU_ASSERT_EQUAL(report->trigger.unit_ns, 1);
	CU_ASSERT_EQUAL(report->unmatched_triggers, 5);
	CU_ASSERT_EQUAL(report->unstamped, 10);
	CU_ASSERT_EQUAL(report->cold_count, 1);
	CU_ASSERT_EQUAL(report->matched, report->latency.count + report->cold_count + report->reply_first);
	CU_ASSERT_STRING_EQUAL(report->method, "software");
	result.sources =
		(struct tl_client_sources){.transport = "kernel", .departures = "nic-tx", .arrivals = "nic-rx"};
	tl_client_report_fill(report, &sweep, &result, 1);
	CU_ASSERT_STRING_EQUAL(report->method, "rx-tx");
	CU_ASSERT_FALSE(report->reply.has_bound);
	CU_ASSERT_EQUAL(report->reply.unit_ns, 0);
	result.sources = (struct tl_client_sources){.departures = "user", .arrivals = "tsc", .arrival_bound_ns = 99};
	tl_client_report_fill(report, &sweep, &result, 1);
	CU_ASSERT_EQUAL(report->trigger.bound_ns, 25);
	CU_ASSERT_EQUAL(report->reply.bound_ns, 99);
	CU_ASSERT_STRING_EQUAL(report->reply.clock, "REALTIME");
	tl_latency_destroy(report);
}

int main(void)
{
	return tl_test_run("client_figures");
}
