// SPDX-License-Identifier: BSD-3-Clause
// Recording: classes whose frames are metered, cut and dropped.

#include <tl_test_capture.h>

// Frames that begin with 1, metered in frames: 2 green, 3 yellow, and one per second.
static const struct tl_police_class loud = {.name = "loud",
	.match = "ether[0] == 1",
	.meter = {.unit = TL_METER_PKTS, .cir = 1, .cbs = 2, .ebs = 3},
	.snaplen = 33};

static struct tl_capture_class class_counters(const struct recording *r, uint64_t *unmatched_pkts)
{
	struct tl_capture_stats stats;

	tl_capture_sample(r->capture, &stats);
	CU_ASSERT_EQUAL(stats.n_classes, 1);
	CU_ASSERT_STRING_EQUAL(stats.classes[0].name, "loud");
	*unmatched_pkts = stats.unmatched_pkts;
	return stats.classes[0];
}

static bool file_has(const char *path, const char *text)
{
	static char bytes[TL_PCAPNG_ALIGN];
	FILE *file = fopen(path, "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	size_t n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	return memmem(bytes, n, text, strlen(text)) != NULL;
}

TL_TEST("green frames are recorded completely, yellow ones cut, red ones counted")
{
	static const uint32_t caps[] = {1000, 1000, 33, 33, 33, 200, 200};
	struct recording r;
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct told told[INTERFACES_MAX];
	uint64_t unmatched;

	start_recording(&r, (struct tl_capture_cfg){.classes = &loud, .n_classes = 1});
	record(&r, TL_DIR_RX, 10, 1000, 1);
	record(&r, TL_DIR_TX, 2, 200, 2);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 5);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).policed_pkts, 5);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).yellow_pkts, 3);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).written_pkts, 2);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).policed_pkts, 0);
	struct tl_police_stats s = class_counters(&r, &unmatched).stats;
	CU_ASSERT_EQUAL(s.matched_pkts, 10);
	CU_ASSERT_EQUAL(s.pkts[TL_METER_GREEN], 2);
	CU_ASSERT_EQUAL(s.bytes[TL_METER_RED], 5000);
	CU_ASSERT_EQUAL(unmatched, 2);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(r.path, &reader, NULL), 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(caps); i++) {
		CU_ASSERT_EQUAL_FATAL(tl_pcap_next(reader, &frame, NULL), 1);
		CU_ASSERT_EQUAL(frame.cap_bytes, caps[i]);
		CU_ASSERT_EQUAL(frame.wire_bytes, i < 5 ? 1000 : 200);
	}
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &frame, NULL), 0);
	tl_pcap_close(reader);
	CU_ASSERT_TRUE(file_has(r.path, "queue 0, received and sent, limited by 1 class, timestamps: "));
	read_statistics(r.path, told);
	CU_ASSERT_EQUAL(told[0].accepted, 12);
	CU_ASSERT_EQUAL(told[0].delivered, 7);
	end_recording(&r);
}

TL_TEST("frames that are not recorded are not metered")
{
	struct recording r;
	struct tl_capture_cfg cfg = cutoff(4000);
	uint64_t unmatched;

	cfg.filter = "ether[1] != 3";
	cfg.dir[TL_DIR_RX] = true;
	cfg.classes = &loud;
	cfg.n_classes = 1;
	start_recording(&r, cfg);
	record_flow(&r, TL_DIR_RX, 6, 1000, 1000); // 4 of them are within the cut-off
	record(&r, TL_DIR_RX, 3, 60, 3);	   // filtered
	record(&r, TL_DIR_RX, 1, 60, 1);
	tl_capture_pause(r.capture, true);
	record(&r, TL_DIR_RX, 7, 60, 1);
	tl_capture_expire(r.capture);
	record(&r, TL_DIR_RX, 8, 60, 1);
	write_out(&r);
	struct tl_ledger_flow f = flow_of(&r, TL_DIR_RX);
	CU_ASSERT_EQUAL(f.offered_pkts, 25);
	CU_ASSERT_EQUAL(f.filtered_pkts, 3);
	CU_ASSERT_EQUAL(f.cut_pkts, 2);
	CU_ASSERT_EQUAL(f.paused_pkts, 7);
	CU_ASSERT_EQUAL(f.expired_pkts, 8);
	CU_ASSERT_EQUAL(f.written_pkts, 5);
	CU_ASSERT_EQUAL(class_counters(&r, &unmatched).stats.matched_pkts, 5);
	CU_ASSERT_EQUAL(unmatched, 0);
	end_recording(&r);
}

TL_TEST("the snaplen of a class does not exceed that of the recording")
{
	struct recording r;
	struct tl_pcap_frame last;

	start_recording(&r, (struct tl_capture_cfg){.classes = &loud, .n_classes = 1, .snaplen = 20});
	record(&r, TL_DIR_RX, 3, 100, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(count_frames(r.path, &last), 3);
	CU_ASSERT_EQUAL(last.cap_bytes, 20);
	end_recording(&r);
}

TL_TEST("frames of a class without buffer space are counted")
{
	struct recording r;
	struct tl_police_class cls = loud;
	uint64_t unmatched;

	cls.meter.cbs = 3200;
	start_recording(&r, (struct tl_capture_cfg){.classes = &cls, .n_classes = 1, .buffer_bytes = 4 << 20});
	for (int i = 0; i < 100; i++)
		record(&r, TL_DIR_RX, 64, 1514, i < 60 ? 1 : 2);
	write_out(&r);
	struct tl_ledger_flow f = flow_of(&r, TL_DIR_RX);
	CU_ASSERT_EQUAL(f.policed_pkts, 60 * 64 - 3203);
	CU_ASSERT_EQUAL(f.drop_ring_pkts, 6400 - f.policed_pkts - f.written_pkts);
	CU_ASSERT(f.drop_ring_pkts > 0);
	CU_ASSERT_EQUAL(class_counters(&r, &unmatched).stats.pkts[TL_METER_GREEN], 3200);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), f.written_pkts);
	end_recording(&r);
}

TL_TEST("each queue meters its own frames")
{
	struct tl_port *one = port;
	struct recording r;
	struct tl_service first;
	uint64_t unmatched;

	port = two_queues;
	start_recording(&r, (struct tl_capture_cfg){.classes = &loud, .n_classes = 1});
	record(&r, TL_DIR_RX, 6, 100, 1);
	first = r.service;
	tl_capture_service(r.capture, 1, &r.service);
	record(&r, TL_DIR_RX, 4, 100, 1);
	first.finish(first.ctx);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).policed_pkts, 1);
	CU_ASSERT_EQUAL(class_counters(&r, &unmatched).stats.pkts[TL_METER_GREEN], 4);
	CU_ASSERT_EQUAL(class_counters(&r, &unmatched).stats.pkts[TL_METER_YELLOW], 5);
	end_recording(&r);
	port = one;
}

TL_TEST("a red frame fires triggers like any other")
{
	struct recording r;

	start_recording(&r,
		(struct tl_capture_cfg){.classes = &loud,
			.n_classes = 1,
			.trigger = {.on = true, .pre_ns = TL_NS_PER_S, .post_ns = TL_NS_PER_S, .filter = "len == 77"}});
	CU_ASSERT_EQUAL(atomic_load(tl_capture_trigger_slot(r.capture, TL_TRIGGER_FILTER)), 0);
	record(&r, TL_DIR_RX, 5, 60, 1);
	CU_ASSERT_EQUAL(atomic_load(tl_capture_trigger_slot(r.capture, TL_TRIGGER_FILTER)), 0);
	record(&r, TL_DIR_RX, 1, 77, 1);
	CU_ASSERT_NOT_EQUAL(atomic_load(tl_capture_trigger_slot(r.capture, TL_TRIGGER_FILTER)), 0);
	end_recording(&r);
}

int main(void)
{
	return test_capture_run("capture_classes");
}
