// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_report: a snapshot whose ledger is consistent, to be changed by a test.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <tl_report.h>
#include <tl_report_stages.h>
#include <tl_test.h>

static const char *const paths[] = {"a.pcapng", "b.pcapng"};

// A run of one port, one recording and one echo in which all identities hold and every loss counter is above 0.
static inline struct tl_snapshot *snapshot(void)
{
	struct {
		struct tl_snapshot snap; // first: it is freed with its rows
		struct tl_report_capture captures[2];
		struct tl_report_echo echoes[2];
	} *all = calloc(1, sizeof(*all));
	struct tl_snapshot *snap = &all->snap;

	snap->captures = all->captures;
	snap->echoes = all->echoes;
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

static inline struct tl_snapshot *lossless_snapshot(void)
{
	struct tl_snapshot *snap = snapshot();

	snap->ports[0] = (struct tl_report_port){.hw_seen_pkts = 7, .rx_pkts = 7, .verified = true};
	snap->captures[0].flow[TL_DIR_RX] = (struct tl_ledger_flow){.offered_pkts = 7, .written_pkts = 7};
	snap->echoes[0] = (struct tl_report_echo){
		.name = "echo0", .mode = "mcast_to_tcp", .state = "connected", .received_msgs = 9, .echoed_msgs = 9};
	return snap;
}

static inline char *text_of(void (*print)(FILE *out, const struct tl_snapshot *snap), const struct tl_snapshot *snap)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	print(out, snap);
	fclose(out);
	return text;
}

// Return true if the text has this line.
static inline bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = text; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n') {
		if (strcspn(p, "\n") == len && strncmp(p, line, len) == 0)
			return true;
	}
	printf("# no line \"%s\" in:\n%s", line, text);
	return false;
}

static inline void expect_line(const struct tl_snapshot *snap, const char *line)
{
	char *text = text_of(tl_report_ledger_text, snap);

	CU_ASSERT_TRUE(has_line(text, line));
	free(text);
}

// The same run on two queues.
static inline struct tl_snapshot *queues_snapshot(void)
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
		(struct tl_ledger_flow){.offered_pkts = 100, .written_pkts = 85, .drop_ring_pkts = 15};
	return snap;
}

// A recording with two classes and frames of none.
static inline struct tl_snapshot *classes_snapshot(void)
{
	struct tl_snapshot *snap = snapshot();
	struct tl_report_capture *capture = &snap->captures[0];

	capture->flow[TL_DIR_RX] = (struct tl_ledger_flow){.offered_pkts = 1000,
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

static inline json_int_t integer_at(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	CU_ASSERT_TRUE(json_is_integer(value));
	return json_integer_value(value);
}

static inline const char *string_at(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	CU_ASSERT_PTR_NOT_NULL(value);
	return value == NULL ? "" : value;
}
