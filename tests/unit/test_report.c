// SPDX-License-Identifier: BSD-3-Clause
// Loss ledger: its identities, and the text for a consistent and a broken one.

#include <tl_test_report.h>

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
	struct tl_ledger_flow *rx = &snap->captures[0].flow[TL_DIR_RX], *tx = &snap->captures[0].flow[TL_DIR_TX];
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

TL_TEST("each counter of a queue can violate the identity")
{
	struct tl_snapshot *snap = queues_snapshot();
	struct tl_report_capture *capture = &snap->captures[0];

	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	for (uint32_t q = 0; q < 2; q++)
		for (int dir = 0; dir < TL_DIRS; dir++) {
			struct tl_ledger_flow *f = &capture->queues[q].flow[dir];
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

TL_TEST("the classes of a recording account for its frames")
{
	struct tl_snapshot *snap = classes_snapshot();
	struct tl_report_capture *capture = &snap->captures[0];
	struct tl_ledger_flow *rx = &capture->flow[TL_DIR_RX];
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
	struct tl_ledger_flow *rx = &snap->captures[0].flow[TL_DIR_RX], *tx = &snap->captures[0].flow[TL_DIR_TX];
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

// The count of a driver that was never verified is no proof, and no reason to call a run lossless.
TL_TEST("losslessness is unknown if the MAC saw more frames than are accounted for")
{
	struct tl_snapshot *snap = lossless_snapshot();
	struct tl_report_port *port = &snap->ports[0];

	port->has_mac = true;
	port->verified = false;
	for (int more = -1; more <= 1; more++) {
		port->mac_seen_pkts = port->hw_seen_pkts + (uint64_t)more;
		json_t *json = tl_report_json(snap);
		CU_ASSERT_EQUAL(json_is_null(json_object_get(json, "lossless")), more == 1);
		json_decref(json);
		char *text = text_of(tl_report_ledger_text, snap);
		CU_ASSERT_EQUAL(strstr(text, "; nothing was lost\n") != NULL, more != 1);
		free(text);
	}
	snap->final = false; // they may wait in the port's queues
	CU_ASSERT_TRUE(tl_report_drops_known(snap));
	free(snap);
}

TL_TEST("losslessness is unknown if frames are not accounted for")
{
	struct tl_snapshot *snap = lossless_snapshot();

	snap->captures[0].flow[TL_DIR_RX].offered_pkts++;
	json_t *json = tl_report_json(snap);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json, "lossless")));
	json_decref(json);
	expect_line(snap, "ledger: BROKEN; no loss was counted, but not everything is accounted for");
	free(snap);
}

TL_TEST("the last line of the ledger names messages that were not echoed")
{
	struct tl_snapshot *snap = lossless_snapshot();
	struct tl_report_echo *echo = &snap->echoes[0];
	uint64_t *const drops[] = {&echo->drop_no_conn_msgs, &echo->drop_full_msgs, &echo->drop_tx_msgs,
		&echo->drop_police_msgs, &echo->drop_delay_msgs, &echo->lost_unacked_msgs};

	expect_line(snap, "ledger: ok; nothing was lost");
	echo->echoed_msgs--;
	for (size_t i = 0; i < TL_ARRAY_LEN(drops); i++) {
		*drops[i] = 1;
		expect_line(snap, "ledger: ok; no frame was lost, but messages were not echoed");
		*drops[i] = 0;
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
	snap->ports[0].handoff = (struct tl_ledger_handoff){12000, 11990, 10};
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

int main(void)
{
	return tl_test_run("report");
}
