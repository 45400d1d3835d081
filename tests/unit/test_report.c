// SPDX-License-Identifier: BSD-3-Clause
// Loss ledger: its identities, its JSON, and the message for a broken identity.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <tl_report.h>
#include <tl_report_stages.h>
#include <tl_test.h>

static const char *const paths[] = {"a.pcapng", "b.pcapng"};

// A run of one port, one recording and one echo in which all identities hold and every loss counter is above 0.
static struct tl_snapshot *snapshot(void)
{
	struct tl_snapshot *snap = calloc(1, sizeof(*snap));

	snap->final = true;
	snap->uptime_ns = 5 * TL_NS_PER_S;
	snap->n_ports = snap->n_captures = snap->n_echoes = 1;
	snap->ports[0] = (struct tl_report_port){.name = "left",
		.device = "eth0",
		.hw_seen_pkts = 1234567,
		.rx_pkts = 1234517,
		.drop_nic_pkts = 30,
		.drop_nombuf_pkts = 15,
		.drop_error_pkts = 5,
		.tx_pkts = 90,
		.drop_tx_pkts = 10,
		.verified = true};
	snap->captures[0] = (struct tl_report_capture){.port = "left",
		.flow = {[TL_DIR_RX] = {.offered_pkts = 1000,
				 .written_pkts = 900,
				 .filtered_pkts = 50,
				 .expired_pkts = 20,
				 .cut_pkts = 10,
				 .drop_ring_pkts = 15,
				 .drop_disk_pkts = 5},
			[TL_DIR_TX] = {.offered_pkts = 100, .written_pkts = 100}},
		.written_bytes = 1572864,
		.flows = 70,
		.flows_evicted = 7,
		.recycled_files = 3,
		.recycled_bytes = 3145728,
		.files = paths,
		.n_files = 2,
		.filter_engine = "jit"};
	snap->echoes[0] = (struct tl_report_echo){.name = "echo0",
		.mode = "mcast_to_tcp",
		.state = "connected",
		.received_msgs = 100,
		.echoed_msgs = 86,
		.refused_msgs = 4,
		.drop_no_conn_msgs = 5,
		.drop_full_msgs = 3,
		.drop_tx_msgs = 1,
		.lost_unacked_msgs = 1,
		.residence = {.count = 90,
			.min_ns = 800,
			.p50_ns = 1200,
			.p90_ns = 1300,
			.p99_ns = 1400,
			.p999_ns = 1500,
			.max_ns = 2000000,
			.mean_ns = 1250.5}};
	return snap;
}

static struct tl_snapshot *lossless_snapshot(void)
{
	struct tl_snapshot *snap = snapshot();

	snap->ports[0] = (struct tl_report_port){.hw_seen_pkts = 7, .rx_pkts = 7, .verified = true};
	snap->captures[0].flow[TL_DIR_RX] = (struct tl_report_flow){.offered_pkts = 7, .written_pkts = 7};
	return snap;
}

static char *text_of(void (*print)(FILE *out, const struct tl_snapshot *snap), const struct tl_snapshot *snap)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	print(out, snap);
	fclose(out);
	return text;
}

// Return true if the text has this line.
static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = text; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n') {
		if (strcspn(p, "\n") == len && strncmp(p, line, len) == 0)
			return true;
	}
	printf("# no line \"%s\" in:\n%s", line, text);
	return false;
}

static void expect_line(const struct tl_snapshot *snap, const char *line)
{
	char *text = text_of(tl_report_ledger_text, snap);

	CU_ASSERT_TRUE(has_line(text, line));
	free(text);
}

TL_TEST("a consistent ledger is ok")
{
	struct tl_snapshot *snap = snapshot();

	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	snap->final = false;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	free(snap);
}

// A change of any counter of an identity by one must break it.
TL_TEST("each counter of an identity can violate it")
{
	struct tl_snapshot *snap = snapshot();
	struct tl_report_port *port = &snap->ports[0];
	struct tl_report_flow *rx = &snap->captures[0].flow[TL_DIR_RX], *tx = &snap->captures[0].flow[TL_DIR_TX];
	struct tl_report_echo *echo = &snap->echoes[0];
	uint64_t *const counters[] = {&port->hw_seen_pkts, &port->rx_pkts, &port->drop_nic_pkts,
		&port->drop_nombuf_pkts, &port->drop_error_pkts, &port->handoff.handoff_pkts,
		&port->handoff.handoff_taken_pkts, &port->handoff.drop_handoff_pkts, &port->ptp.probes.probes_sent,
		&port->ptp.probes.probes_stamped, &port->ptp.probes.probes_lost, &port->ptp.received.ptp_received_pkts,
		&port->ptp.received.ptp_stamped_pkts, &port->ptp.received.ptp_busy_pkts,
		&port->ptp.received.ptp_lost_pkts, &rx->offered_pkts, &rx->written_pkts, &rx->filtered_pkts,
		&rx->expired_pkts, &rx->cut_pkts, &rx->drop_ring_pkts, &rx->drop_disk_pkts, &tx->offered_pkts,
		&tx->written_pkts, &tx->drop_disk_pkts, &echo->received_msgs, &echo->echoed_msgs, &echo->refused_msgs,
		&echo->drop_no_conn_msgs, &echo->drop_full_msgs, &echo->drop_tx_msgs, &echo->drop_delay_msgs,
		&echo->lost_unacked_msgs};

	for (size_t i = 0; i < TL_ARRAY_LEN(counters); i++) {
		++*counters[i];
		CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
		--*counters[i];
	}
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("an excess in one direction does not offset a deficit in the other")
{
	struct tl_snapshot *snap = snapshot();

	snap->captures[0].flow[TL_DIR_RX].written_pkts--;
	snap->captures[0].flow[TL_DIR_TX].written_pkts++;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	expect_line(snap, "  BROKEN (rx): 1 offered frames are unaccounted for");
	expect_line(snap, "  BROKEN (tx): 1 frames more are accounted for than were offered");
	free(snap);
}

TL_TEST("during a run a row may be behind but not ahead")
{
	struct tl_snapshot *snap = snapshot();

	snap->final = false;
	snap->ports[0].hw_seen_pkts += 3;
	snap->echoes[0].received_msgs += 3;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	expect_line(snap, "  ok so far: 3 frames wait in the port's queues");
	snap->ports[0].hw_seen_pkts -= 4;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	snap->ports[0].hw_seen_pkts += 1;
	snap->echoes[0].received_msgs -= 4;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("during a run only frames in flight may be missing from a recording")
{
	struct tl_snapshot *snap = snapshot();
	struct tl_report_capture *capture = &snap->captures[0];

	snap->final = false;
	capture->flow[TL_DIR_RX].written_pkts -= 4;
	capture->in_flight_pkts = 4;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	capture->in_flight_pkts = 3;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	expect_line(snap, "  BROKEN: 4 frames are unaccounted for, only 3 of them are on their way to the disk");
	capture->in_flight_pkts = 4;
	snap->final = true;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("nothing may be in flight at the end")
{
	struct tl_snapshot *snap = snapshot();

	snap->captures[0].in_flight_pkts = 2;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	expect_line(snap, "  BROKEN: 2 frames were still in memory at the end");
	free(snap);
}

// The same run on two queues.
static struct tl_snapshot *queues_snapshot(void)
{
	struct tl_snapshot *snap = snapshot();
	struct tl_report_port *port = &snap->ports[0];
	struct tl_report_capture *capture = &snap->captures[0];

	port->n_queues = 2;
	port->queues[0] = (struct tl_report_port_queue){.rx_pkts = 1234000, .rx_bytes = 74040000, .drop_nic_pkts = 30};
	port->queues[1] = (struct tl_report_port_queue){.rx_pkts = 517, .rx_bytes = 31020};
	port->drops_by_queue = true;
	capture->slabs = 64;
	capture->n_queues = 2;
	capture->queues[0] = (struct tl_report_capture_queue){.slabs_used = 7,
		.flow = {[TL_DIR_RX] = {.offered_pkts = 900,
				 .written_pkts = 815,
				 .filtered_pkts = 50,
				 .expired_pkts = 20,
				 .cut_pkts = 10,
				 .drop_disk_pkts = 5},
			[TL_DIR_TX] = {.offered_pkts = 100, .written_pkts = 100}}};
	capture->queues[1].flow[TL_DIR_RX] =
		(struct tl_report_flow){.offered_pkts = 100, .written_pkts = 85, .drop_ring_pkts = 15};
	return snap;
}

TL_TEST("each counter of a queue can violate the identity")
{
	struct tl_snapshot *snap = queues_snapshot();
	struct tl_report_capture *capture = &snap->captures[0];

	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	for (uint32_t q = 0; q < 2; q++)
		for (int dir = 0; dir < TL_DIRS; dir++) {
			struct tl_report_flow *f = &capture->queues[q].flow[dir];
			uint64_t *const counters[] = {&f->offered_pkts, &f->written_pkts, &f->filtered_pkts,
				&f->expired_pkts, &f->cut_pkts, &f->drop_ring_pkts, &f->drop_disk_pkts};
			for (size_t i = 0; i < TL_ARRAY_LEN(counters); i++) {
				++*counters[i];
				CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
				--*counters[i];
			}
		}
	capture->queues[0].flow[TL_DIR_RX].written_pkts++;
	capture->queues[1].flow[TL_DIR_RX].written_pkts--;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap)); // although the sums are right
	expect_line(snap, "  BROKEN: the sums are right, but a queue's are not: see its row");
	expect_line(snap, "  queue 1   rx  offered_pkts 100 = written_pkts 84 + drop_ring_pkts 15 (missing 1)");
	free(snap);
}

TL_TEST("queues are printed if there are several")
{
	struct tl_snapshot *snap = queues_snapshot();

	expect_line(snap, "  queue 0   rx_pkts 1,234,000  rx_bytes 74,040,000  drop_nic_pkts 30");
	expect_line(snap, "  queue 0   rx  offered_pkts 900 = written_pkts 815 + filtered_pkts 50 + expired_pkts 20 + "
			  "cut_pkts 10 + drop_disk_pkts 5");
	expect_line(snap, "  queue 0   tx  offered_pkts 100 = written_pkts 100");
	expect_line(snap, "  queue 1   rx  offered_pkts 100 = written_pkts 85 + drop_ring_pkts 15");
	snap->ports[0].drops_by_queue = false;
	expect_line(snap, "  queue 1   rx_pkts 517  rx_bytes 31,020");
	snap->ports[0].rss_size = 128;
	snap->ports[0].queues[0].rss_entries = 96;
	snap->ports[0].queues[1].rss_entries = 32;
	expect_line(snap, "  queue 1   rx_pkts 517  rx_bytes 31,020  0.0 % of frames, 25.0 % of flows by RSS");
	snap->ports[0].queues[1].turn_ns[0] = 750;
	snap->ports[0].queues[1].turn_ns[1] = 150;
	snap->ports[0].queues[1].turn_ns[TL_REPORT_SIZES - 1] = 100;
	snap->ports[0].queues[1].descriptors = 1024;
	snap->ports[0].queues[1].ring_used_max = 700;
	expect_line(snap,
		"  queue 1   rx_pkts 517  rx_bytes 31,020  0.0 % of frames, 25.0 % of flows by RSS  busy 25.0 %  "
		"bursts of 32 and more 10.0 %  ring at most 700 of 1024");
	snap->ports[0].rss_size = snap->ports[0].queues[1].descriptors = 0;
	memset(snap->ports[0].queues[1].turn_ns, 0, sizeof(snap->ports[0].queues[1].turn_ns));
	snap->ports[0].queues[1].role = "echo";
	snap->ports[0].unrecorded_rx_pkts = 1517;
	snap->ports[0].unrecorded_tx_pkts = 3;
	expect_line(snap, "  queue 1   rx_pkts 517  rx_bytes 31,020  role echo");
	expect_line(snap, "  not recorded: 1,517 frames received and 3 sent by queues with the role \"echo\"");
	snap->ports[0].n_queues = snap->captures[0].n_queues = 1;
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_PTR_NULL(strstr(text, "  queue"));
	free(text);
	free(snap);
}

// A recording with two classes and frames of none.
static struct tl_snapshot *classes_snapshot(void)
{
	struct tl_snapshot *snap = snapshot();
	struct tl_report_capture *capture = &snap->captures[0];

	capture->flow[TL_DIR_RX] = (struct tl_report_flow){.offered_pkts = 1000,
		.written_pkts = 900,
		.filtered_pkts = 50,
		.cut_pkts = 10,
		.drop_ring_pkts = 15,
		.policed_pkts = 25,
		.yellow_pkts = 12};
	capture->flow[TL_DIR_TX].yellow_pkts = 1;
	capture->n_classes = 2;
	capture->classes[0] = (struct tl_report_police){
		.name = "storm", .matched_pkts = 1020, .green_pkts = 990, .yellow_pkts = 5, .red_pkts = 25};
	capture->classes[1] =
		(struct tl_report_police){.name = "b", .matched_pkts = 13, .green_pkts = 5, .yellow_pkts = 8};
	capture->unmatched_pkts = 7;
	return snap;
}

TL_TEST("the classes of a recording account for its frames")
{
	struct tl_snapshot *snap = classes_snapshot();
	struct tl_report_capture *capture = &snap->captures[0];
	struct tl_report_flow *rx = &capture->flow[TL_DIR_RX];
	struct tl_report_police *a = &capture->classes[0], *b = &capture->classes[1];
	uint64_t *const counters[] = {&a->matched_pkts, &a->green_pkts, &a->yellow_pkts, &a->red_pkts, &b->matched_pkts,
		&b->green_pkts, &b->yellow_pkts, &b->red_pkts, &capture->unmatched_pkts, &rx->yellow_pkts,
		&rx->policed_pkts};

	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	for (size_t i = 0; i < TL_ARRAY_LEN(counters); i++) {
		++*counters[i];
		CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
		--*counters[i];
	}
	for (int colour = 0; colour < 2; colour++) { // right for the class, not for the recording
		uint64_t *pkts = colour == 0 ? &a->red_pkts : &a->yellow_pkts;
		++*pkts;
		--a->green_pkts;
		CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
		--*pkts;
		++a->green_pkts;
	}
	capture->unmatched_pkts--;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	expect_line(
		snap, "  BROKEN: frames are unaccounted for, or accounted for twice, between recording and classes");
	rx->written_pkts--;
	rx->expired_pkts++; // of a class, or before
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	capture->unmatched_pkts++;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("classes may lag behind a running recording but not exceed it")
{
	struct tl_snapshot *snap = classes_snapshot();
	struct tl_report_capture *capture = &snap->captures[0];

	snap->final = false;
	capture->unmatched_pkts = 0;
	capture->classes[0].green_pkts = 900;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	capture->classes[0].green_pkts = 991;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	capture->classes[0].green_pkts = 990;
	capture->unmatched_pkts = 8;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("every drop of a port or a recording counts as a loss")
{
	struct tl_snapshot *snap = lossless_snapshot();
	struct tl_report_port *port = &snap->ports[0];
	struct tl_report_flow *rx = &snap->captures[0].flow[TL_DIR_RX], *tx = &snap->captures[0].flow[TL_DIR_TX];
	uint64_t *const drops[] = {&port->drop_nic_pkts, &port->drop_nombuf_pkts, &port->drop_error_pkts,
		&port->drop_tx_pkts, &port->drop_shaped_pkts, &port->handoff.drop_handoff_pkts, &rx->drop_ring_pkts,
		&rx->drop_disk_pkts, &tx->drop_ring_pkts, &tx->drop_disk_pkts};

	CU_ASSERT_TRUE(tl_report_lossless(snap));
	for (size_t i = 0; i < TL_ARRAY_LEN(drops); i++) {
		*drops[i] = 1;
		CU_ASSERT_FALSE(tl_report_lossless(snap));
		*drops[i] = 0;
	}
	rx->filtered_pkts = rx->expired_pkts = rx->cut_pkts = 1; // intended, not lost
	CU_ASSERT_TRUE(tl_report_lossless(snap));
	free(snap);
}

TL_TEST("frames dropped by a rule do not count as a loss")
{
	struct tl_snapshot *snap = lossless_snapshot();
	struct tl_report_port *port = &snap->ports[0];

	port->hw_seen_pkts += 9;
	port->drop_rule_pkts = 9;
	json_t *json = tl_report_json(snap);
	CU_ASSERT_TRUE(json_is_true(json_object_get(json, "lossless")));
	CU_ASSERT_TRUE(json_is_true(json_object_get(json, "ledger_ok")));
	json_decref(json);
	port->hw_seen_pkts -= 9;
	port->drop_rule_pkts = 0;
	port->rule_drops_unknown = true;
	json = tl_report_json(snap);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_object_get(json, "port"), "drop_rule_pkts")));
	json_decref(json);
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "drop_rule_pkts: not counted by this NIC"));
	free(text);
	port->verified = false;
	port->has_mac = true;
	port->mac_seen_pkts = port->hw_seen_pkts + 9;
	text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "the 9 more than are accounted for were dropped by rules, or lost"));
	CU_ASSERT_PTR_NULL(strstr(text, "UNEXPLAINED"));
	free(text);
	port->mac_seen_pkts = port->hw_seen_pkts - 9;
	text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "9 less than are accounted for"));
	free(text);
	free(snap);
}

TL_TEST("a flow rule is printed with its outcome")
{
	struct tl_snapshot *snap = lossless_snapshot();
	const struct tl_report_rule rules[] = {{.matches = "dst 10.0.0.1",
						       .queue = 2,
						       .by = "filter",
						       .used = 3,
						       .most = 8,
						       .outcome = "installed",
						       .instead = "RSS",
						       .counted = true,
						       .hits_pkts = 12345,
						       .mark = 7,
						       .marked = true,
						       .marked_pkts = 12340},
		{.matches = "src 10.0.0.2",
			.drops = true,
			.outcome = "instead",
			.item = "drop",
			.why = "none",
			.instead = "received"},
		{.matches = "udp",
			.by = "filter",
			.used = 4,
			.most = 8,
			.outcome = "refused",
			.why = "driver",
			.instead = "RSS"}};

	snap->ports[0].rules = rules;
	snap->ports[0].n_rules = TL_ARRAY_LEN(rules);
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_PTR_NOT_NULL(strstr(text,
		"rule 0    dst 10.0.0.1 -> queue 2, mark 7: installed, filter 3 of 8; 12,345 frames; 12,340 marked\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "rule 1    src 10.0.0.2 -> drop: instead, refused for \"drop\": none; received\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "rule 2    udp -> queue 0: refused, filter 4 of 8: driver; RSS\n"));
	free(text);
	json_t *json = tl_report_json(snap);
	const json_t *list = json_object_get(json_object_get(json, "port"), "flow_rules");
	CU_ASSERT_EQUAL(json_array_size(list), 3);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(list, 0), "instead")));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 0), "hits_pkts")), 12345);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 0), "mark")), 7);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 0), "marked_pkts")), 12340);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(list, 1), "queue")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(list, 1), "mark")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(list, 1), "marked_pkts")));
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(list, 2), "instead")), "RSS");
	json_decref(json);
	free(snap);
}

TL_TEST("without drop counters losslessness is unknown")
{
	struct tl_snapshot *snap = lossless_snapshot();
	static const struct {
		bool drops_unknown;
		uint64_t drops;
		json_type lossless;
		const char *says;
	} cases[] = {{false, 0, JSON_TRUE, "; nothing was lost\n"}, {false, 1, JSON_FALSE, "; FRAMES WERE LOST\n"},
		{true, 0, JSON_NULL, "; no loss was counted, but not every port counts it\n"},
		{true, 1, JSON_FALSE, "; FRAMES WERE LOST\n"}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		snap->ports[0].drops_unknown = cases[i].drops_unknown;
		snap->captures[0].flow[TL_DIR_RX].drop_ring_pkts = cases[i].drops;
		json_t *json = tl_report_json(snap);
		CU_ASSERT_EQUAL(json_typeof(json_object_get(json, "lossless")), cases[i].lossless);
		bool known = json_is_true(json_object_get(json_object_get(json, "port"), "drops_known"));
		CU_ASSERT_EQUAL(known, !cases[i].drops_unknown);
		json_decref(json);
		char *text = text_of(tl_report_ledger_text, snap);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, cases[i].says));
		CU_ASSERT_EQUAL(strstr(text, "drops unknown:") != NULL, cases[i].drops_unknown);
		free(text);
	}
	free(snap);
}

TL_TEST("the ledger groups and aligns its numbers")
{
	struct tl_snapshot *snap = snapshot();

	expect_line(snap, "port left (eth0)");
	expect_line(snap, "    hw_seen_pkts                 1,234,567");
	expect_line(snap, "  = rx_pkts                      1,234,517");
	expect_line(snap, "  + drop_nic_pkts                       30");
	expect_line(snap, "    drop_tx_pkts                        10");
	expect_line(snap, "recording of left");
	expect_line(snap, "                                        rx                  tx               total");
	expect_line(snap, "    offered_pkts                     1,000                 100               1,100");
	expect_line(snap, "  = written_pkts                       900                 100               1,000");
	expect_line(snap, "  + drop_disk_pkts                       5                   0                   5");
	expect_line(snap, "  1,572,864 bytes (1.5 MiB) in 2 files");
	expect_line(snap, "  removed from the ring: 3 files of 3.0 MiB");
	expect_line(snap, "      b.pcapng");
	free(snap);
}

TL_TEST("the ledger describes losses in words")
{
	struct tl_snapshot *snap = snapshot();

	expect_line(snap, "  ok: every frame that the hardware saw is accounted for");
	expect_line(snap, "  LOST: 50 of 1,234,567 frames that arrived, 0.0041 %");
	expect_line(snap, "  LOST: 10 frames that the port refused to send");
	expect_line(snap, "  LOST: 20 of 1,100 frames offered, 1.8182 %");
	expect_line(snap, "ledger: ok; FRAMES WERE LOST");
	snap->captures[0].error = "a.pcapng: No space left on device";
	expect_line(snap, "  WRITING FAILED: a.pcapng: No space left on device");
	free(snap);
}

TL_TEST("shares of zero and near zero are printed")
{
	struct tl_snapshot *snap = lossless_snapshot();

	expect_line(snap, "ledger: ok; nothing was lost");
	snap->ports[0] = (struct tl_report_port){.drop_nic_pkts = 1, .verified = true};
	expect_line(snap, "  LOST: 1 of 0 frames that arrived, 100.0000 %");
	snap->ports[0].hw_seen_pkts = UINT64_C(10000000000);
	expect_line(snap, "  LOST: 1 of 10,000,000,000 frames that arrived, less than 0.0001 %");
	free(snap);
}

TL_TEST("a violated port identity is printed with the larger side")
{
	struct tl_snapshot *snap = snapshot();

	snap->ports[0].hw_seen_pkts += 1200;
	expect_line(snap, "  BROKEN: the hardware saw 1,200 unaccounted frames");
	expect_line(snap, "ledger: BROKEN; FRAMES WERE LOST");
	snap->ports[0].hw_seen_pkts -= 1201;
	expect_line(snap, "  BROKEN: 1 frames more are accounted for than the hardware saw");
	free(snap);
}

TL_TEST("hand-offs are printed if any occurred")
{
	struct tl_snapshot *snap = lossless_snapshot();
	char *text = text_of(tl_report_ledger_text, snap);

	CU_ASSERT_PTR_NULL(strstr(text, "handoff"));
	free(text);
	snap->ports[0].handoff = (struct tl_report_handoff){12000, 11990, 10};
	expect_line(snap, "    handoff_pkts                    12,000");
	expect_line(snap, "  = handoff_taken_pkts              11,990");
	expect_line(snap, "  + drop_handoff_pkts                   10");
	expect_line(snap, "  LOST: 10 frames on another lcore than their echo's, which did not keep up");
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	snap->ports[0].handoff.handoff_taken_pkts--;
	expect_line(snap, "  BROKEN: 1 frames were lost unseen between lcores");
	snap->final = false; // one is in flight
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	snap->ports[0].handoff.handoff_taken_pkts += 2;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("stamps of PTP frames are reported with their source")
{
	struct tl_snapshot *snap = lossless_snapshot();
	struct tl_report_ptp *ptp = &snap->ports[0].ptp;
	json_t *json = tl_report_json(snap);

	CU_ASSERT_TRUE(json_is_null(json_object_get(json_object_get(json, "port"), "ptp")));
	json_decref(json);
	*ptp = (struct tl_report_ptp){.on = true,
		.probes = {.probes_sent = 30, .probes_stamped = 9, .probes_lost = 21},
		.received = {.ptp_received_pkts = 8, .ptp_stamped_pkts = 1, .ptp_busy_pkts = 7},
		.bound_ns = 1234,
		.tx_to_wire = {.count = 9, .min_ns = 500, .p50_ns = 600, .max_ns = 700},
		.trigger_source = "nic-rx",
		.replies = {.replies_marked = 5, .replies_timed = 3, .replies_untimed = 1, .replies_lost = 1},
		.reply = {.count = 3, .min_ns = 900, .p50_ns = 950, .max_ns = 990}};
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	CU_ASSERT_TRUE(tl_report_lossless(snap)); // lossless for frames, not for stamps
	expect_line(snap, "    probes_sent                         30");
	expect_line(snap, "  + probes_lost                         21");
	expect_line(snap, "    replies_marked                       5");
	expect_line(snap, "  from stamps of triggers, nic-rx, to stamps of replies, nic-tx");
	expect_line(snap, "  stamps of the NIC, within 1,234 ns");
	expect_line(snap, "  UNSTAMPED: the NIC stamps no sent frames (see docs/time.md)");
	json = tl_report_json(snap);
	json_t *row = json_object_get(json_object_get(json, "port"), "ptp");
	json_t *way = json_object_get(row, "tx_to_wire_ns");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(way, "source")), "nic-tx");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(way, "p50")), 600);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(row, "ptp_busy_pkts")), 7);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_object_get(row, "wire_to_poll_ns"), "p50")));
	json_t *replies = json_object_get(row, "replies");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(replies, "trigger_source")), "nic-rx");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(replies, "latency_ns"), "p50")), 950);
	json_decref(json);
	ptp->replies.replies_lost--;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	ptp->replies.replies_lost++;
	ptp->received.ptp_busy_pkts--;
	expect_line(snap, "  BROKEN: PTP frames unaccounted for, or accounted for twice");
	snap->final = false;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("an unverified port is not called ok")
{
	struct tl_snapshot *snap = lossless_snapshot();

	snap->ports[0].verified = false;
	expect_line(snap,
		"  unverified: this port has no counter of its own; losses that it does not report are not visible here");
	expect_line(snap, "ledger: ok (not every port verified); nothing was lost");
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_PTR_NULL(strstr(text, "ok: every frame that the hardware saw"));
	free(text);
	free(snap);
}

TL_TEST("an empty snapshot prints no rows")
{
	struct tl_snapshot *snap = calloc(1, sizeof(*snap));
	char *ledger = text_of(tl_report_ledger_text, snap), *echo = text_of(tl_report_echo_text, snap);

	CU_ASSERT_STRING_EQUAL(ledger, "ledger: ok; nothing was lost\n");
	CU_ASSERT_STRING_EQUAL(echo, "");
	free(ledger);
	free(echo);
	free(snap);
}

TL_TEST("the echo table has both stages")
{
	struct tl_snapshot *snap = snapshot();
	char *text = text_of(tl_report_echo_text, snap);

	CU_ASSERT_TRUE(has_line(text, "echo echo0 (mcast_to_tcp, connected)"));
	CU_ASSERT_TRUE(has_line(text, "    received_msgs                      100"));
	CU_ASSERT_TRUE(has_line(text, "  = echoed_msgs                         86"));
	CU_ASSERT_TRUE(has_line(text, "  ok: every message received is accounted for"));
	CU_ASSERT_TRUE(has_line(text, "  NOT ECHOED: 10 of 100 messages, 10.0000 %"));
	CU_ASSERT_TRUE(has_line(text,
		"  residence   min     800 ns  p50   1.200 us  p90   1.300 us  p99   1.400 us  p999   1.500 us  max   "
		"2.000 ms  mean   1.251 us  (90 samples)"));
	CU_ASSERT_TRUE(has_line(text, "  tx call     no samples"));
	free(text);
	snap->echoes[0].received_msgs += 1;
	text = text_of(tl_report_echo_text, snap);
	CU_ASSERT_TRUE(has_line(text, "  BROKEN: 1 received messages are unaccounted for"));
	free(text);
	free(snap);
}

static json_int_t integer_at(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	CU_ASSERT_TRUE(json_is_integer(value));
	return json_integer_value(value);
}

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

static const char *string_at(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	CU_ASSERT_PTR_NOT_NULL(value);
	return value == NULL ? "" : value;
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

// A shape of two classes. 90 frames left them, 1 bypassed them; the port accepted 85, rejected 4, and 2 are pending.
static struct tl_report_class shape_rows[3];

static struct tl_snapshot *shaped_snapshot(void)
{
	struct tl_snapshot *snap = lossless_snapshot();

	shape_rows[0] = (struct tl_report_class){.name = "wan",
		.rate_bps = 2000000,
		.ceil_bps = 2000000,
		.in_pkts = 100,
		.sent_pkts = 90,
		.queued_pkts = 3,
		.drop_limit_pkts = 4,
		.drop_late_pkts = 3};
	shape_rows[1] = (struct tl_report_class){.name = "ssh",
		.parent = "wan",
		.depth = 1,
		.rate_bps = 128000,
		.ceil_bps = 2000000,
		.prio = 1,
		.in_pkts = 20,
		.in_bytes = 2000,
		.sent_pkts = 16,
		.queued_pkts = 1,
		.drop_late_pkts = 3,
		.borrowed_bytes = 1234,
		.delay_ns = 32000,
		.delay_p99_ns = 8000,
		.delay_max_ns = 9000};
	shape_rows[2] = (struct tl_report_class){.name = "rest",
		.parent = "wan",
		.depth = 1,
		.in_pkts = 80,
		.sent_pkts = 74,
		.queued_pkts = 2,
		.drop_limit_pkts = 4};
	snap->final = false;
	snap->n_shapes = 1;
	snap->shapes[0] = (struct tl_report_shape){.name = "wan",
		.port = "left",
		.bypass_pkts = 1,
		.tx_pkts = 85,
		.drop_tx_pkts = 4,
		.drop_shaped_pkts = 6,
		.n_classes = 3,
		.classes = shape_rows};
	return snap;
}

TL_TEST("a shape may be ahead of its port but not behind")
{
	struct tl_snapshot *snap = shaped_snapshot();
	struct tl_report_shape *shape = &snap->shapes[0];

	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 7;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 88; // one outside the classes
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 8;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape->drop_shaped_pkts = 7;
	shape_rows[2].sent_pkts++;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	expect_line(snap, "  BROKEN: frames are unaccounted for, or accounted for twice, between classes and port");
	free(snap);
}

TL_TEST("at the end a shape has no queued frames")
{
	struct tl_snapshot *snap = shaped_snapshot();
	struct tl_report_shape *shape = &snap->shapes[0];

	snap->final = true;
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 7;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape_rows[0].queued_pkts = 0;
	shape_rows[0].drop_end_pkts = 3;
	shape->drop_shaped_pkts = 10;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	expect_line(snap, "  ok: every frame of its classes is accounted for");
	shape->tx_pkts = 86;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 9;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("a shape reports its classes and where frames were lost")
{
	struct tl_snapshot *snap = shaped_snapshot();

	snap->ports[0].drop_shaped_pkts = 7;
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text, "shape wan on port left, queue 0"));
	CU_ASSERT_TRUE(has_line(text,
		"    ssh                   128k   2.00M            16           1           3         1,234    2.000 us    8.000 us    9.000 "
		"us"));
	CU_ASSERT_TRUE(has_line(text, "  1 frames bypassed the classes"));
	CU_ASSERT_TRUE(has_line(text, "  LOST in ssh:  drop_late_pkts 3"));
	CU_ASSERT_TRUE(has_line(text, "  LOST in rest:  drop_limit_pkts 4"));
	CU_ASSERT_PTR_NULL(strstr(text, "LOST in wan"));
	CU_ASSERT_TRUE(has_line(text, "  LOST: 7 frames dropped by class trees before sending"));
	CU_ASSERT_PTR_NULL(strstr(text, "frames that arrived")); // none of these did
	free(text);
	json_t *json = tl_report_json(snap), *shape = json_array_get(json_object_get(json, "shapes"), 0);
	const json_t *classes = json_object_get(shape, "classes"), *ssh = json_array_get(classes, 1);
	CU_ASSERT_EQUAL(integer_at(shape, "bypass_pkts"), 1);
	CU_ASSERT_TRUE(json_is_true(json_object_get(shape, "ledger_ok")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(classes, 0), "parent")));
	CU_ASSERT_STRING_EQUAL(string_at(ssh, "parent"), "wan");
	CU_ASSERT_EQUAL(integer_at(ssh, "rate_bps"), 128000);
	CU_ASSERT_EQUAL(integer_at(ssh, "ceil_bps"), 2000000);
	CU_ASSERT_EQUAL(integer_at(ssh, "prio"), 1);
	CU_ASSERT_EQUAL(integer_at(ssh, "in_pkts"), 20);
	CU_ASSERT_EQUAL(integer_at(ssh, "in_bytes"), 2000);
	CU_ASSERT_EQUAL(integer_at(ssh, "borrowed_bytes"), 1234);
	CU_ASSERT_EQUAL(integer_at(ssh, "drop_late_pkts"), 3);
	CU_ASSERT_EQUAL(integer_at(ssh, "delay_mean_ns"), 2000);
	CU_ASSERT_EQUAL(integer_at(ssh, "delay_p99_ns"), 8000);
	CU_ASSERT_EQUAL(integer_at(ssh, "delay_max_ns"), 9000);
	json_decref(json);
	free(snap);
}

TL_TEST("a policer has coloured each frame of its class")
{
	struct tl_snapshot *snap = shaped_snapshot();

	shape_rows[0].queued_pkts = shape_rows[1].queued_pkts = shape_rows[2].queued_pkts = 0;
	shape_rows[0].sent_pkts = snap->shapes[0].tx_pkts = 92;
	snap->shapes[0].drop_tx_pkts = 1;
	snap->shapes[0].drop_shaped_pkts = 8;
	shape_rows[1].sent_pkts = 15;
	shape_rows[2].sent_pkts = 77;
	shape_rows[1].drop_police_pkts = shape_rows[0].drop_police_pkts = 1;
	shape_rows[1].drop_late_pkts = shape_rows[0].drop_late_pkts = 4;
	shape_rows[0].drop_limit_pkts = shape_rows[2].drop_limit_pkts = 3;
	snap->final = true;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	shape_rows[1].is_policed = true;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape_rows[1].green_pkts = 12;
	shape_rows[1].yellow_pkts = 5;
	shape_rows[1].red_pkts = 3;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text, "  policer of ssh: 12 green, 5 yellow, 3 red"));
	CU_ASSERT_TRUE(has_line(text, "  LOST in ssh:  drop_police_pkts 1  drop_late_pkts 4"));
	CU_ASSERT_PTR_NULL(strstr(text, "policer of rest"));
	free(text);
	json_t *json = tl_report_json(snap), *shape = json_array_get(json_object_get(json, "shapes"), 0);
	const json_t *classes = json_object_get(shape, "classes"), *ssh = json_array_get(classes, 1);
	CU_ASSERT_TRUE(json_is_true(json_object_get(shape, "policed")));
	CU_ASSERT_TRUE(json_is_true(json_object_get(ssh, "policed")));
	CU_ASSERT_TRUE(json_is_false(json_object_get(json_array_get(classes, 2), "policed")));
	CU_ASSERT_EQUAL(integer_at(ssh, "yellow_pkts"), 5);
	json_decref(json);
	shape_rows[1].red_pkts = 2;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	snap->final = false; // a frame may be in between
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("a policer has coloured each message of its echo")
{
	struct tl_snapshot *snap = lossless_snapshot();
	struct tl_report_echo *echo = &snap->echoes[0];

	snap->final = true;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	echo->is_policed = true;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	echo->green_msgs = echo->received_msgs - 3;
	echo->red_msgs = 3;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	echo->yellow_msgs = 1;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	echo->yellow_msgs = 0;
	echo->is_policed = false;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

int main(void)
{
	return tl_test_run("report");
}
