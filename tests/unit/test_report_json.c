// SPDX-License-Identifier: BSD-3-Clause
// Loss ledger: its JSON, and rows for outliers.

#include <tl_test_report.h>

TL_TEST("the JSON has a row for each queue")
{
	struct tl_snapshot *snap = queues_snapshot();
	json_t *json = tl_report_json(snap);
	json_t *capture = json_array_get(json_object_get(json, "captures"), 0);
	json_t *rows = json_object_get(capture, "queues");
	json_t *port_rows = json_object_get(json_object_get(json, "port"), "queues");

	CU_ASSERT_EQUAL(integer_at(capture, "slabs"), 64);
	CU_ASSERT_EQUAL_FATAL(json_array_size(rows), 2);
	CU_ASSERT_EQUAL(integer_at(json_array_get(rows, 0), "slabs_used"), 7);
	CU_ASSERT_EQUAL(integer_at(json_object_get(json_array_get(rows, 0), "tx"), "written_pkts"), 100);
	CU_ASSERT_EQUAL(integer_at(json_object_get(json_array_get(rows, 1), "rx"), "drop_ring_pkts"), 15);
	CU_ASSERT_EQUAL(integer_at(json_object_get(json_array_get(rows, 1), "rx"), "unaccounted_pkts"), 0);
	CU_ASSERT_EQUAL(integer_at(json_array_get(port_rows, 0), "drop_nic_pkts"), 30);
	CU_ASSERT_EQUAL(integer_at(json_array_get(port_rows, 1), "rx_pkts"), 517);
	json_decref(json);
	snap->ports[0].drops_by_queue = false;
	json = tl_report_json(snap);
	port_rows = json_object_get(json_object_get(json, "port"), "queues");
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(port_rows, 0), "drop_nic_pkts")));
	json_decref(json);
	free(snap);
}

TL_TEST("the JSON of a port has every counter")
{
	struct tl_snapshot *snap = snapshot();
	json_t *json = tl_report_json(snap);
	const json_t *port = json_object_get(json, "port");

	CU_ASSERT_PTR_EQUAL(port, json_array_get(json_object_get(json, "ports"), 0));
	CU_ASSERT_STRING_EQUAL(string_at(port, "name"), "left");
	CU_ASSERT_STRING_EQUAL(string_at(port, "device"), "eth0");
	CU_ASSERT_EQUAL(integer_at(port, "hw_seen_pkts"), 1234567);
	CU_ASSERT_EQUAL(integer_at(port, "rx_pkts"), 1234517);
	CU_ASSERT_EQUAL(integer_at(port, "drop_nic_pkts"), 30);
	CU_ASSERT_EQUAL(integer_at(port, "drop_nombuf_pkts"), 15);
	CU_ASSERT_EQUAL(integer_at(port, "drop_error_pkts"), 5);
	CU_ASSERT_EQUAL(integer_at(port, "tx_pkts"), 90);
	CU_ASSERT_EQUAL(integer_at(port, "drop_tx_pkts"), 10);
	CU_ASSERT_EQUAL(integer_at(port, "unaccounted_pkts"), 0);
	CU_ASSERT_TRUE(json_is_true(json_object_get(port, "verified")));
	CU_ASSERT_EQUAL(integer_at(json, "uptime_ns"), 5000000000);
	CU_ASSERT_TRUE(json_is_true(json_object_get(json, "ledger_ok")));
	CU_ASSERT_TRUE(json_is_false(json_object_get(json, "lossless")));
	json_decref(json);
	free(snap);
}

TL_TEST("a port's timestamps have their source and their bound")
{
	struct tl_snapshot *snap = snapshot();

	snap->tai_offset_s = 37;
	snap->ports[0].unstamped_pkts = 4321;
	snap->ports[0].stamps = (struct tl_report_stamps){.source = "nic-rx",
		.unit_ns = 7,
		.bounded = true,
		.bound_ns = 1234,
		.nic_clock = "TAI",
		.nic_offset_ns = -12,
		.nic_steps = 2,
		.nic_set_aside = 3};
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text,
		"  timestamps: nic-rx, unit 7 ns, within 1,234 ns of CLOCK_REALTIME; 4,321 frames without one have "
		"the poll's"));
	free(text);
	json_t *json = tl_report_json(snap), *port = json_object_get(json, "port");
	const json_t *stamps = json_object_get(port, "timestamps"), *nic = json_object_get(stamps, "nic_clock");
	CU_ASSERT_EQUAL(integer_at(port, "unstamped_pkts"), 4321);
	CU_ASSERT_STRING_EQUAL(string_at(stamps, "source"), "nic-rx");
	CU_ASSERT_EQUAL(integer_at(stamps, "unit_ns"), 7);
	CU_ASSERT_EQUAL(integer_at(stamps, "bound_ns"), 1234);
	CU_ASSERT_STRING_EQUAL(string_at(stamps, "bound_clock"), "REALTIME");
	CU_ASSERT_STRING_EQUAL(string_at(nic, "timescale"), "TAI");
	CU_ASSERT_EQUAL(integer_at(nic, "offset_ns"), -12);
	CU_ASSERT_EQUAL(integer_at(nic, "steps"), 2);
	CU_ASSERT_EQUAL(integer_at(nic, "set_aside"), 3);
	CU_ASSERT_EQUAL(integer_at(json_object_get(json, "clock"), "tai_offset_s"), 37);
	json_decref(json);
	snap->tai_offset_s = 0;
	snap->ports[0].stamps = (struct tl_report_stamps){.source = "kernel"};
	snap->ports[0].unstamped_pkts = 0;
	text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text, "  timestamps: kernel, unit unknown, bound unknown"));
	free(text);
	json = tl_report_json(snap);
	stamps = json_object_get(json_object_get(json, "port"), "timestamps");
	CU_ASSERT_TRUE(json_is_null(json_object_get(stamps, "unit_ns")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(stamps, "bound_ns")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(stamps, "bound_clock")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(stamps, "nic_clock")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_object_get(json, "clock"), "tai_offset_s")));
	json_decref(json);
	free(snap);
}

TL_TEST("a recording reports its largest bound and every clock step")
{
	struct tl_snapshot *snap = snapshot();
	struct tl_report_capture *capture = &snap->captures[0];

	capture->n_stamps = 2;
	capture->stamps[0] = (struct tl_report_capture_stamps){"kernel", 1, UINT64_MAX};
	capture->stamps[1] = (struct tl_report_capture_stamps){"tsc", 1, 3000000};
	capture->n_steps = TL_REPORT_STEPS + 1;
	for (int i = 0; i < TL_REPORT_STEPS; i++)
		capture->step[i] = (struct tl_report_step){"REALTIME", 1795351047074027572, -3000000 - i};
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text, "  timestamps: kernel, unit 1 ns, bound unknown"));
	CU_ASSERT_TRUE(has_line(text, "  timestamps: tsc, unit 1 ns, always within 3,000,000 ns of CLOCK_REALTIME"));
	CU_ASSERT_TRUE(has_line(text, "  CLOCK STEP: REALTIME by -3,000,000 ns, seen at 1795351047.074027572"));
	CU_ASSERT_TRUE(has_line(text, "  CLOCK STEPS: 65 in all"));
	free(text);
	json_t *json = tl_report_json(snap), *row = json_array_get(json_object_get(json, "captures"), 0);
	json_t *stamps = json_object_get(row, "stamps"), *steps = json_object_get(row, "clock_step_list");
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(stamps, 0), "bound_max_ns")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(stamps, 0), "bound_clock")));
	CU_ASSERT_EQUAL(integer_at(json_array_get(stamps, 1), "bound_max_ns"), 3000000);
	CU_ASSERT_EQUAL(integer_at(json_array_get(stamps, 1), "unit_ns"), 1);
	CU_ASSERT_EQUAL(integer_at(row, "clock_steps"), 65);
	CU_ASSERT_EQUAL(json_array_size(steps), TL_REPORT_STEPS);
	CU_ASSERT_EQUAL(integer_at(json_array_get(steps, 1), "offset_ns"), -3000001);
	CU_ASSERT_EQUAL(integer_at(json_array_get(steps, 1), "time_ns"), 1795351047074027572);
	CU_ASSERT_STRING_EQUAL(string_at(json_array_get(steps, 1), "clock"), "REALTIME");
	json_decref(json);
	free(snap);
}

TL_TEST("a port's link is up, down or unknown")
{
	struct tl_snapshot *snap = snapshot();
	json_t *json = tl_report_json(snap);

	CU_ASSERT_TRUE(json_is_null(json_object_get(json_object_get(json, "port"), "link")));
	json_decref(json);
	snap->ports[0].link = (struct tl_report_link){.known = true, .downs = 3};
	json = tl_report_json(snap);
	CU_ASSERT_STRING_EQUAL(string_at(json_object_get(json, "port"), "link"), "down");
	CU_ASSERT_EQUAL(integer_at(json_object_get(json, "port"), "link_downs"), 3);
	json_decref(json);
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text, "  link: DOWN; went down 3 times"));
	free(text);
	snap->ports[0].link = (struct tl_report_link){.known = true, .up = true};
	json = tl_report_json(snap);
	CU_ASSERT_STRING_EQUAL(string_at(json_object_get(json, "port"), "link"), "up");
	json_decref(json);
	text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_PTR_NULL(strstr(text, "link:"));
	free(text);
	free(snap);
}

TL_TEST("the JSON of a recording has totals and directions")
{
	struct tl_snapshot *snap = snapshot();
	json_t *json = tl_report_json(snap);
	const json_t *capture = json_array_get(json_object_get(json, "captures"), 0);
	const json_t *rx = json_object_get(capture, "rx"), *tx = json_object_get(capture, "tx");
	const json_t *files = json_object_get(capture, "files");

	CU_ASSERT_STRING_EQUAL(string_at(capture, "port"), "left");
	CU_ASSERT_EQUAL(integer_at(capture, "offered_pkts"), 1100);
	CU_ASSERT_EQUAL(integer_at(capture, "written_pkts"), 1000);
	CU_ASSERT_EQUAL(integer_at(capture, "filtered_pkts"), 50);
	CU_ASSERT_EQUAL(integer_at(capture, "expired_pkts"), 20);
	CU_ASSERT_EQUAL(integer_at(capture, "cut_pkts"), 10);
	CU_ASSERT_EQUAL(integer_at(capture, "drop_ring_pkts"), 15);
	CU_ASSERT_EQUAL(integer_at(capture, "drop_disk_pkts"), 5);
	CU_ASSERT_EQUAL(integer_at(capture, "written_bytes"), 1572864);
	CU_ASSERT_EQUAL(integer_at(capture, "flows"), 70);
	CU_ASSERT_EQUAL(integer_at(capture, "flows_evicted"), 7);
	CU_ASSERT_EQUAL(integer_at(capture, "recycled_files"), 3);
	CU_ASSERT_EQUAL(integer_at(capture, "recycled_bytes"), 3145728);
	CU_ASSERT_EQUAL(integer_at(rx, "offered_pkts"), 1000);
	CU_ASSERT_EQUAL(integer_at(tx, "offered_pkts"), 100);
	CU_ASSERT_EQUAL(integer_at(tx, "drop_ring_pkts"), 0);
	CU_ASSERT_EQUAL(json_array_size(files), 2);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(files, 1)), "b.pcapng");
	CU_ASSERT_STRING_EQUAL(string_at(capture, "filter_engine"), "jit");
	CU_ASSERT_TRUE(json_is_null(json_object_get(capture, "error")));
	json_decref(json);
	free(snap);
}

TL_TEST("classes are printed, and in the JSON")
{
	struct tl_snapshot *snap = classes_snapshot();
	json_t *json = tl_report_json(snap);
	const json_t *capture = json_array_get(json_object_get(json, "captures"), 0);
	const json_t *classes = json_object_get(capture, "classes"), *storm = json_array_get(classes, 0);

	CU_ASSERT_EQUAL(json_array_size(classes), 2);
	CU_ASSERT_STRING_EQUAL(string_at(storm, "name"), "storm");
	CU_ASSERT_EQUAL(integer_at(storm, "matched_pkts"), 1020);
	CU_ASSERT_EQUAL(integer_at(storm, "red_pkts"), 25);
	CU_ASSERT_EQUAL(integer_at(capture, "policed_pkts"), 25);
	CU_ASSERT_EQUAL(integer_at(capture, "yellow_pkts"), 13);
	CU_ASSERT_EQUAL(integer_at(capture, "unmatched_pkts"), 7);
	CU_ASSERT_TRUE(tl_report_lossless(snap) == false); // drop_ring_pkts
	snap->captures[0].flow[TL_DIR_RX].drop_ring_pkts = 0;
	snap->ports[0] = (struct tl_report_port){0};
	CU_ASSERT_TRUE(tl_report_lossless(snap)); // red frames are no loss
	json_decref(json);
	expect_line(snap,
		"  class storm                            990 whole               5 cut              25 not recorded");
	expect_line(snap, "  no class                                 7 whole");
	snap->captures[0].classes[1].is_default = true;
	snap->captures[0].classes[1].overflow_pkts = 3;
	expect_line(snap,
		"  class b                                  5 whole               8 cut               0 not recorded"
		"  3 without a meter of their own");
	free(snap);
}

TL_TEST("the JSON of an echo has its latencies with their source")
{
	static const char *const keys[] = {"min", "p50", "p90", "p99", "p999", "max", "mean"};
	struct tl_snapshot *snap = snapshot();
	json_t *json = tl_report_json(snap);
	const json_t *echo = json_object_get(json, "echo");
	const json_t *residence = json_object_get(echo, "residence_ns"), *tx_call = json_object_get(echo, "tx_call_ns");

	CU_ASSERT_PTR_EQUAL(echo, json_array_get(json_object_get(json, "echoes"), 0));
	CU_ASSERT_STRING_EQUAL(string_at(echo, "mode"), "mcast_to_tcp");
	CU_ASSERT_STRING_EQUAL(string_at(echo, "state"), "connected");
	CU_ASSERT_EQUAL(integer_at(echo, "drop_full_msgs"), 3);
	CU_ASSERT_EQUAL(integer_at(residence, "count"), 90);
	CU_ASSERT_EQUAL(integer_at(residence, "min"), 800);
	CU_ASSERT_EQUAL(integer_at(residence, "p999"), 1500);
	CU_ASSERT_EQUAL(integer_at(residence, "max"), 2000000);
	CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(residence, "mean")), 1250.5, 0.001);
	CU_ASSERT_STRING_EQUAL(string_at(residence, "source"), "tsc");
	CU_ASSERT_EQUAL(integer_at(tx_call, "count"), 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
		CU_ASSERT_TRUE(json_is_number(json_object_get(residence, keys[i])));
		CU_ASSERT_TRUE(json_is_null(json_object_get(tx_call, keys[i])));
	}
	json_decref(json);
	free(snap);
}

TL_TEST("a single entry is also listed by itself, two are not")
{
	struct tl_snapshot *snap = snapshot();

	snap->n_ports = snap->n_echoes = 2;
	json_t *json = tl_report_json(snap);
	CU_ASSERT_PTR_NULL(json_object_get(json, "port"));
	CU_ASSERT_PTR_NULL(json_object_get(json, "echo"));
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "ports")), 2);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "echoes")), 2);
	json_decref(json);
	snap->n_echoes = 0;
	json = tl_report_json(snap);
	CU_ASSERT_PTR_NULL(json_object_get(json, "echo"));
	CU_ASSERT_TRUE(json_is_array(json_object_get(json, "echoes")));
	json_decref(json);
	free(snap);
}

TL_TEST("the JSON carries the counters of a stack under its port")
{
	struct tl_snapshot *snap = snapshot();

	snap->net[0][0] = (struct tl_counter){"arp_rx_pkts", 17};
	snap->net[0][1] = (struct tl_counter){"huge", UINT64_MAX};
	snap->n_net[0] = 2;
	json_t *json = tl_report_json(snap);
	const json_t *nets = json_object_get(json, "net"), *net = json_array_get(nets, 0);
	CU_ASSERT_EQUAL(json_array_size(nets), 1);
	CU_ASSERT_STRING_EQUAL(string_at(net, "port"), "left");
	CU_ASSERT_EQUAL(integer_at(net, "arp_rx_pkts"), 17);
	CU_ASSERT_EQUAL(integer_at(net, "huge"), INT64_MAX);
	json_decref(json);
	free(snap);
}

TL_TEST("the JSON of a violated ledger states the difference")
{
	struct tl_snapshot *snap = snapshot();

	snap->ports[0].rx_pkts += 2;
	snap->captures[0].flow[TL_DIR_TX].offered_pkts += 3;
	json_t *json = tl_report_json(snap);
	const json_t *capture = json_array_get(json_object_get(json, "captures"), 0);
	CU_ASSERT_EQUAL(integer_at(json_object_get(json, "port"), "unaccounted_pkts"), -2);
	CU_ASSERT_EQUAL(integer_at(capture, "unaccounted_pkts"), 3);
	CU_ASSERT_EQUAL(integer_at(json_object_get(capture, "rx"), "unaccounted_pkts"), 0);
	CU_ASSERT_EQUAL(integer_at(json_object_get(capture, "tx"), "unaccounted_pkts"), 3);
	CU_ASSERT_TRUE(json_is_false(json_object_get(json, "ledger_ok")));
	json_decref(json);
	free(snap);
}

TL_TEST("a path that is not valid UTF-8 has a name in the JSON")
{
	static const char *const odd[] = {"caf\xe9.pcapng"};
	struct tl_snapshot *snap = snapshot();

	snap->captures[0].files = odd;
	snap->captures[0].n_files = 1;
	json_t *json = tl_report_json(snap);
	const json_t *capture = json_array_get(json_object_get(json, "captures"), 0);
	const char *path = json_string_value(json_array_get(json_object_get(capture, "files"), 0));
	CU_ASSERT_PTR_NOT_NULL_FATAL(path);
	CU_ASSERT_STRING_EQUAL(path, "caf?.pcapng");
	json_decref(json);
	free(snap);
}

static const struct tl_report_outlier late = {.seen = {.number = 6,
						      .msgs = 2,
						      .residence_ns = 60000,
						      .stage_ns = {TL_TAIL_UNKNOWN, 100, 59000, 900, 5000},
						      .burst = {.time_ns = 3723 * TL_NS_PER_S + 5,
							      .poll_gap_ns = TL_TAIL_UNKNOWN,
							      .bytes = 181,
							      .frames = 3,
							      .queue = 1},
						      .before = {.frames = 4},
						      .own = 5,
						      .frame_bytes = {60, 61, 60}},
	.noise_ns = 20000000,
	.noise = {.interrupts = 7, .steal_ns = TL_NOISE_UNKNOWN, .involuntary_switches = 1, .wait_ns = 50000}};

static const struct tl_report_stages stages = {.has = {false, true, true, true, true},
	.stage = {[TL_STAGE_STACK] = {.count = 90, .min_ns = 10, .p50_ns = 20, .max_ns = 30, .mean_ns = 21}},
	.rdtsc_ns = 15.7,
	.stamp_ns = 15.8,
	.outlier_ns = 50000,
	.outliers = 7,
	.list = &late,
	.n_list = 1};

TL_TEST("an outlier is printed as a row with dashes for unknown values")
{
	struct tl_snapshot *snap = snapshot();

	snap->echoes[0].stages = &stages;
	char *text = text_of(tl_report_echo_text, snap);
	CU_ASSERT_TRUE(has_line(text, "  to parsed   no samples"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n  to ready    min      10 ns  p50      20 ns"));
	CU_ASSERT_PTR_NULL(strstr(text, "from wire"));
	CU_ASSERT_TRUE(
		has_line(text, "  stamps: two per burst on the way, 15.8 ns each; rdtsc alone takes 15.7 ns here"));
	CU_ASSERT_TRUE(has_line(text, "  outliers: 7 bursts above 50.000 us, the last 1:"));
	CU_ASSERT_TRUE(has_line(text,
		"  01:02:03.000000005  60.000 us     100 ns  59.000 us     900 ns          -     2      4      3      0"
		"      7        1  50.000 us          -"));
	free(text);
	free(snap);
}

TL_TEST("the JSON of an outlier has all known values")
{
	struct tl_snapshot *snap = snapshot();
	json_t *expected =
		json_loads("{\"number\": 6, \"time_ns\": 3723000000005, \"residence_ns\": 60000, \"msgs\": 2,"
			   "\"poll_gap_ns\": null, \"stages_ns\": {\"poll_to_parsed\": 100,"
			   "\"parsed_to_ready\": 59000, \"ready_to_tx\": 900, \"tx_call\": 5000},"
			   "\"own_frames\": [0, 2], \"burst\": {\"time_ns\": 3723000000005,"
			   "\"poll_gap_ns\": null, \"frames\": 3, \"bytes\": 181, \"queue\": 1,"
			   "\"frame_bytes\": [60, 61, 60]}, \"before\": {\"time_ns\": 0, \"poll_gap_ns\": 0,"
			   "\"frames\": 4, \"bytes\": 0, \"queue\": 0}, \"after\": null, \"noise\":"
			   "{\"over_ns\": 20000000, \"interrupts\": 7, \"steal_ns\": null,"
			   "\"involuntary_switches\": 1, \"wait_ns\": 50000}}",
			0, NULL);

	snap->echoes[0].stages = &stages;
	json_t *json = tl_report_json(snap), *echo = json_object_get(json, "echo");
	CU_ASSERT(json_equal(json_array_get(json_object_get(echo, "outliers"), 0), expected));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(echo, "outlier_bursts")), 7);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(echo, "outliers_overwritten")), 6);
	CU_ASSERT_EQUAL(json_object_size(json_object_get(echo, "stages_ns")), 4);
	json_decref(json);
	json_decref(expected);
	free(snap);
}

int main(void)
{
	return tl_test_run("report_json");
}
