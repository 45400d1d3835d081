// SPDX-License-Identifier: BSD-3-Clause
// Recording: limits, cut-off, lack of buffer space, and the statistics in the file.

#include <tl_test_capture.h>

TL_TEST("frames beyond --count are counted as cut")
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.count = 12});
	record(&r, TL_DIR_RX, 10, 60, 1);
	CU_ASSERT_FALSE(tl_capture_finished(r.capture));
	record(&r, TL_DIR_RX, 10, 60, 1);
	CU_ASSERT_TRUE(tl_capture_finished(r.capture));
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 12);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).cut_pkts, 8);
	end_recording(&r);
}

TL_TEST("a flow is recorded up to its cut-off, counting both directions")
{
	struct recording r;
	struct tl_capture_stats stats;

	start_recording(&r, cutoff(10000));
	record_flow(&r, TL_DIR_RX, 6, 1000, 1000);
	record_flow(&r, TL_DIR_TX, 6, 1000, 1000);
	record_flow(&r, TL_DIR_RX, 5, 1000, 1001);
	record(&r, TL_DIR_RX, 50, 1000, 1); // no flow
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 61);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).cut_pkts, 0);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).written_pkts, 4);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).cut_pkts, 2);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), 65);
	tl_capture_sample(r.capture, &stats);
	CU_ASSERT_EQUAL(stats.flows, 2);
	CU_ASSERT_EQUAL(stats.flows_evicted, 0);
	end_recording(&r);
}

TL_TEST("a cut-off counts original lengths of frames that pass the filter")
{
	struct recording r;
	struct tl_capture_cfg cfg = cutoff(4000);

	cfg.snaplen = 64;
	cfg.filter = "less 1000";
	start_recording(&r, cfg);
	record_flow(&r, TL_DIR_RX, 10, 1001, 1000);
	record_flow(&r, TL_DIR_RX, 10, 1000, 1000);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).filtered_pkts, 10);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 4);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).cut_pkts, 6);
	end_recording(&r);
}

TL_TEST("a cut-off counts each frame of a burst separately")
{
	struct recording r;

	start_recording(&r, cutoff(4000));
	record_flow_at(&r, TL_DIR_RX, 2, 100, 1000, 5 * TL_NS_PER_S, 3800);
	record_flow(&r, TL_DIR_RX, 1, 100, 1000);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 2);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).cut_pkts, 1);
	end_recording(&r);
}

TL_TEST("the cut-off of a flow restarts after an idle minute")
{
	struct recording r;

	start_recording(&r, cutoff(1024));
	record_flow_at(&r, TL_DIR_RX, 3, 1024, 1000, 5 * TL_NS_PER_S, 0);
	record_flow_at(&r, TL_DIR_RX, 3, 1024, 1000, 60 * TL_NS_PER_S, 0);
	record_flow_at(&r, TL_DIR_RX, 3, 1024, 1000, 121 * TL_NS_PER_S, 0);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 2);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).cut_pkts, 7);
	end_recording(&r);
}

TL_TEST("frames beyond the cut-off do not count towards the limit")
{
	struct recording r;
	struct tl_capture_cfg cfg = cutoff(1024);

	cfg.count = 3;
	start_recording(&r, cfg);
	record_flow(&r, TL_DIR_RX, 10, 1024, 1000);
	CU_ASSERT_FALSE(tl_capture_finished(r.capture));
	record_flow(&r, TL_DIR_RX, 10, 1024, 1001);
	record_flow(&r, TL_DIR_RX, 10, 1024, 1002);
	CU_ASSERT_TRUE(tl_capture_finished(r.capture));
	record_flow(&r, TL_DIR_RX, 10, 1024, 1003);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 3);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).cut_pkts, 37);
	end_recording(&r);
}

TL_TEST("frames after the end count as expired")
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){0});
	record(&r, TL_DIR_RX, 4, 60, 1);
	tl_capture_expire(r.capture);
	record(&r, TL_DIR_RX, 5, 60, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 4);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).expired_pkts, 5);
	end_recording(&r);
}

// Without a writer the slabs fill up; further frames are counted as dropped, recorded ones are complete.
TL_TEST("frames without a free slab are counted and do not affect other frames")
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.buffer_bytes = 4 << 20});
	for (int i = 0; i < 100; i++)
		record(&r, TL_DIR_RX, 64, 1514, 1);
	write_out(&r);
	struct tl_ledger_flow f = flow_of(&r, TL_DIR_RX);
	CU_ASSERT_EQUAL(f.offered_pkts, 6400);
	CU_ASSERT(f.drop_ring_pkts > 0);
	CU_ASSERT(f.written_pkts > 0);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), f.written_pkts);
	end_recording(&r);
}

// ---- statistics and clock blocks in the file

TL_TEST("the interface statistics account for all frames")
{
	struct recording r;
	struct told told[INTERFACES_MAX];
	struct tl_capture_cfg cfg = cutoff(4000);

	cfg.filter = "less 1000";
	start_recording(&r, cfg);
	record_flow(&r, TL_DIR_RX, 6, 1000, 1000); // 4 of them are within the cut-off
	record(&r, TL_DIR_RX, 3, 1001, 1);	   // filtered
	record(&r, TL_DIR_TX, 2, 60, 1);
	tl_capture_pause(r.capture, true);
	record(&r, TL_DIR_RX, 7, 60, 1);
	tl_capture_expire(r.capture);
	record(&r, TL_DIR_TX, 5, 60, 1);
	write_out(&r);
	read_statistics(r.path, told);
	CU_ASSERT_EQUAL(told[0].received, 6 + 3 + 2 + 7 + 5);
	CU_ASSERT_EQUAL(told[0].accepted, 6 + 2 + 7 + 5);
	CU_ASSERT_EQUAL(told[0].os_dropped, 0);
	CU_ASSERT_EQUAL(told[0].delivered, 4 + 2);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), 4 + 2);
	end_recording(&r);
}

// CLOCK blocks of a file: their number, the last one, and how often each record occurs.
struct clock_log {
	unsigned blocks, repeated;
	struct tl_pcapng_clock last;
	unsigned times[2][1000]; // occurrences of each comparison and step, by number
	struct tl_pcapng_clock_record step;
};

static void take_clock(void *ctx, const uint8_t *block, uint32_t bytes)
{
	struct clock_log *log = ctx;

	CU_ASSERT_EQUAL_FATAL(tl_pcapng_get_clock(block, bytes, &log->last), 0);
	log->blocks++;
	for (uint32_t i = 0; i < log->last.records; i++) {
		struct tl_pcapng_clock_record record = tl_pcapng_get_clock_record(block, i);
		CU_ASSERT_TRUE_FATAL(record.clock < 2 && record.number < 1000);
		log->repeated += log->times[record.clock][record.number]++ != 0;
		if (record.flags == TL_PCAPNG_CLOCK_STEPPED)
			log->step = record;
	}
}

static void read_clock_log(const char *path, struct clock_log *log)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err = {{0}};

	memset(log, 0, sizeof(*log));
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(path, &reader, &err), 0);
	tl_pcap_watch(reader, TL_PCAPNG_CLOCK, take_clock, log);
	while (tl_pcap_next(reader, &frame, &err) == 1) {
	}
	tl_pcap_close(reader);
}

// Add comparison number n of the TSC with CLOCK_REALTIME.
static void compare(const struct recording *r, uint64_t n, int64_t offset_ns, uint64_t bound_ns)
{
	test_clock->last = (struct tl_clock_reading){.number = n,
		.time_ns = n * TL_NS_PER_S,
		.age_ns = TL_NS_PER_S,
		.offset_ns = offset_ns,
		.half_ns = 25,
		.bound_ns = bound_ns,
		.rate_hz = 2.5e9,
		.stepped = offset_ns > (int64_t)TL_NS_PER_MS};
	tl_capture_log_clocks(r->capture);
}

TL_TEST("a recording reports the largest bound and every step of a clock")
{
	static struct clock_log log;
	struct tl_capture_stats stats;
	struct recording r;

	test_clock->last.number = 4;
	start_recording(&r, (struct tl_capture_cfg){0});
	compare(&r, 4, 9000000, 9000000); // before the recording began
	tl_capture_sample(r.capture, &stats);
	CU_ASSERT_EQUAL(stats.stamps[0].bound_max_ns, UINT64_MAX);
	compare(&r, 5, 12, 57);
	compare(&r, 5, 12, 57); // repeated
	compare(&r, 6, -3, 812);
	compare(&r, 7, 30, 60);
	tl_capture_sample(r.capture, &stats);
	CU_ASSERT_EQUAL(stats.n_stamps, 1);
	CU_ASSERT_EQUAL(stats.stamps[0].source, TL_TS_TSC);
	CU_ASSERT_EQUAL(stats.stamps[0].unit_ns, 1);
	CU_ASSERT_EQUAL(stats.stamps[0].bound_max_ns, 812);
	compare(&r, 8, 3000000, 57); // the published bound was 57 ns
	compare(&r, 9, 1, 57);
	record(&r, TL_DIR_RX, 3, 60, 1);
	write_out(&r);
	tl_capture_sample(r.capture, &stats);
	CU_ASSERT_EQUAL(stats.stamps[0].bound_max_ns, 3000000);
	CU_ASSERT_EQUAL(stats.n_steps, 1);
	CU_ASSERT_EQUAL(stats.step[0].time_ns, 8 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(stats.step[0].offset_ns, 3000000);
	read_clock_log(r.path, &log);
	CU_ASSERT_EQUAL(log.last.bound_max_ns[TL_PCAPNG_CLOCK_WALL], 3000000);
	CU_ASSERT_EQUAL(log.last.bound_max_ns[TL_PCAPNG_CLOCK_NIC], UINT64_MAX);
	CU_ASSERT_EQUAL(log.last.steps, 1);
	CU_ASSERT_EQUAL(log.step.number, 8);
	CU_ASSERT_EQUAL(log.step.offset_ns, 3000000);
	CU_ASSERT_EQUAL(log.step.rate_uhz, UINT64_C(2500000000000000));
	for (unsigned n = 0; n < 12; n++)
		CU_ASSERT_EQUAL(log.times[0][n] != 0, n >= 5 && n <= 9);
	end_recording(&r);
}

// Each CLOCK block has the new comparisons, the last one of the previous block, and all steps.
TL_TEST("the clock log has no gap between blocks")
{
	static uint8_t block[65536];
	static struct clock_log log;
	struct recording r;
	uint32_t len = 0;

	test_clock->last.number = 0;
	start_recording(&r, (struct tl_capture_cfg){0});
	compare(&r, 1, 2000000, 57);
	for (uint64_t n = 2; n <= 300; n++) {
		compare(&r, n, 1, 57);
		if (n % 10 != 0)
			continue;
		len = tl_capture_clocks_put(&r.capture->clocks, block, sizeof(block));
		CU_ASSERT_TRUE_FATAL(len != 0);
		take_clock(&log, block, len);
	}
	for (unsigned n = 1; n <= 300; n++)
		CU_ASSERT_TRUE(log.times[0][n] >= (n < 290 ? 2 : 1));
	CU_ASSERT_TRUE(log.times[0][1] >= 30);
	CU_ASSERT_TRUE(len < 4096);
	// After a long interval a block holds as many comparisons as fit, the latest ones.
	for (uint64_t n = 301; n < 900; n++)
		compare(&r, n, 1, 57);
	len = tl_capture_clocks_put(&r.capture->clocks, block, TL_PCAPNG_CLOCK_BYTES + 100 * 64);
	memset(&log, 0, sizeof(log));
	take_clock(&log, block, len);
	CU_ASSERT_EQUAL(log.last.records, 100);
	CU_ASSERT_EQUAL(log.times[0][899] + log.times[0][801] + log.times[0][1], 3);
	CU_ASSERT_EQUAL(tl_capture_clocks_put(&r.capture->clocks, block, 300), 0);
	write_out(&r);
	end_recording(&r);
}

TL_TEST("the interface statistics include drops for lack of buffer space")
{
	struct recording r;
	struct told told[INTERFACES_MAX];

	start_recording(&r, (struct tl_capture_cfg){0});
	for (int i = 0; i < 60; i++)
		record(&r, TL_DIR_RX, 64, 1514, 1);
	write_out(&r);
	read_statistics(r.path, told);
	CU_ASSERT_EQUAL(told[0].received, 3840);
	CU_ASSERT_EQUAL(told[0].os_dropped, flow_of(&r, TL_DIR_RX).drop_ring_pkts);
	CU_ASSERT_EQUAL(told[0].delivered, count_frames(r.path, NULL));
	end_recording(&r);
}

TL_TEST("the interface statistics count the port's drops once")
{
	struct tl_port *one = port;
	struct recording r;
	struct told told[INTERFACES_MAX];

	port = two_queues;
	start_recording(&r, (struct tl_capture_cfg){0});
	record(&r, TL_DIR_RX, 3, 60, 1);
	tl_capture_set_port_drops(r.capture, 17);
	write_out(&r);
	read_statistics(r.path, told);
	CU_ASSERT_EQUAL(told[0].if_dropped, 17);
	CU_ASSERT_EQUAL(told[1].received, 0);
	CU_ASSERT_EQUAL(told[1].if_dropped, UINT64_MAX);
	end_recording(&r);
	port = one;
}

static unsigned count_interfaces(const char *path)
{
	static uint8_t bytes[64 << 10];
	FILE *file = fopen(path, "r");
	uint32_t block[2];
	unsigned n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	for (size_t at = 0; at < size; at += block[1]) {
		memcpy(block, bytes + at, sizeof(block));
		CU_ASSERT_TRUE_FATAL(block[1] >= 12);
		n += block[0] == TL_PCAPNG_IDB;
	}
	return n;
}

// A capture file stamps all of its frames and has no transmitted ones.
TL_TEST("a port has one interface if all frames share one timestamp source")
{
	static const uint32_t header[] = {0xa1b23c4d, 2 | 4u << 16, 0, 0, 262144, 1};
	struct tl_port *one = port;
	struct recording r;
	char path[64], text[80];

	snprintf(path, sizeof(path), "/tmp/tl_test_capture_%d.pcap", (int)getpid());
	snprintf(text, sizeof(text), "pcap:%s", path);
	FILE *file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(header, sizeof(header), 1, file), 1);
	fclose(file);
	port = tl_test_port(text, 0, test_clock);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	start_recording(&r, (struct tl_capture_cfg){0});
	write_out(&r);
	CU_ASSERT_EQUAL(count_interfaces(r.path), 1);
	end_recording(&r);
	tl_port_close(port);
	unlink(path);
	port = one;
}

// ---- a loss, and the record after it

// Wait until the writer has returned every slab but the open one.
static void wait_for_slabs(const struct recording *r)
{
	struct tl_capture_stats stats;

	do {
		sched_yield();
		tl_capture_sample(r->capture, &stats);
	} while (stats.queues[0].slabs_used != 0);
}

TL_TEST("frames without a free slab do not count towards --count")
{
	struct tl_err err = {{0}};
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.count = 4000});
	for (int i = 0; i < 60; i++)
		record(&r, TL_DIR_RX, 64, 1514, 1);
	CU_ASSERT_EQUAL(tl_capture_start(r.capture, &err), 0);
	for (int i = 0; i < 60; i++) {
		wait_for_slabs(&r);
		record(&r, TL_DIR_RX, 64, 1514, 1);
	}
	CU_ASSERT_TRUE(tl_capture_finished(r.capture));
	r.service.finish(r.service.ctx);
	CU_ASSERT_EQUAL(tl_capture_stop(r.capture, &err), 0);
	struct tl_ledger_flow flow = flow_of(&r, TL_DIR_RX);
	CU_ASSERT(flow.drop_ring_pkts > 0);
	CU_ASSERT_EQUAL(flow.written_pkts, 4000);
	end_recording(&r);
}

// Sum of epb_dropcount over the file, and number of records with the option.
static uint64_t sum_dropcounts(const char *path, unsigned *tell)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err = {{0}};
	uint64_t told = 0;

	*tell = 0;
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(path, &reader, &err), 0);
	while (tl_pcap_next(reader, &frame, &err) == 1) {
		struct tl_pcap_option option;
		struct tl_pcap_more more;
		uint32_t at = 0;
		uint64_t dropped = 0;
		tl_pcap_get_more(reader, &more);
		while (tl_pcap_next_option(more.options, more.options_bytes, false, &at, &option) == 1)
			if (option.code == 4)
				memcpy(&dropped, option.value, sizeof(dropped));
		told += dropped;
		*tell += dropped != 0;
	}
	tl_pcap_close(reader);
	return told;
}

// epb_dropcount is in the record after the loss, and in no other.
TL_TEST("the record after a loss holds the number of lost frames")
{
	struct tl_err err = {{0}};
	struct recording r;
	unsigned tell;

	start_recording(&r, (struct tl_capture_cfg){0});
	for (int i = 0; i < 60; i++)
		record(&r, TL_DIR_RX, 64, 1514, 1);
	CU_ASSERT_EQUAL(tl_capture_start(r.capture, &err), 0);
	wait_for_slabs(&r);
	record(&r, TL_DIR_RX, 3, 60, 1);
	r.service.finish(r.service.ctx);
	CU_ASSERT_EQUAL(tl_capture_stop(r.capture, &err), 0);
	CU_ASSERT_EQUAL(sum_dropcounts(r.path, &tell), flow_of(&r, TL_DIR_RX).drop_ring_pkts);
	CU_ASSERT_EQUAL(tell, 1);
	end_recording(&r);
}

// A slab is open, but the frame is longer than any slab.
TL_TEST("the record after a frame longer than a slab counts it as lost")
{
	struct recording r;
	unsigned tell;

	start_recording(&r, (struct tl_capture_cfg){0});
	record_chain(&r, (1 << 20) + 1, 2048);
	record(&r, TL_DIR_RX, 3, 60, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(sum_dropcounts(r.path, &tell), 1);
	CU_ASSERT_EQUAL(tell, 1);
	end_recording(&r);
}

TL_TEST("the duration of a buffer follows from its size")
{
	CU_ASSERT_EQUAL(tl_capture_hold_seconds(64 << 20), 48);
	CU_ASSERT_EQUAL(tl_capture_hold_seconds(4 << 20), 2);
	CU_ASSERT_EQUAL(tl_capture_hold_seconds(UINT64_C(1) << 30), 768);
}

int main(void)
{
	return test_capture_run("capture_loss");
}
