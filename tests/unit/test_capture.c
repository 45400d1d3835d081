// SPDX-License-Identifier: BSD-3-Clause
// Tests of the recording from burst to file: what is written is read back, and every frame is accounted for.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <tl_capture.h>
#include <tl_clock.h>
#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

static struct tl_clock *test_clock;
static struct tl_port *port; // a ring device: only its pool and its name matter
static struct tl_port *two_queues;

struct recording {
	struct tl_capture *capture;
	struct tl_service service;
	char path[64];
};

static void start_recording(struct recording *r, struct tl_capture_cfg cfg)
{
	static int number;
	struct tl_err err = {{0}};
	char name[12];

	snprintf(name, sizeof(name), "cap%d", number++);
	snprintf(r->path, sizeof(r->path), "/tmp/tl_test_capture_%d.pcapng", (int)getpid());
	cfg.name = name;
	cfg.path = r->path;
	cfg.port = port;
	cfg.clock = test_clock;
	if (cfg.buffer_bytes == 0)
		cfg.buffer_bytes = 4 << 20;
	if (!cfg.dir[TL_DIR_RX] && !cfg.dir[TL_DIR_TX])
		cfg.dir[TL_DIR_RX] = cfg.dir[TL_DIR_TX] = true;
	if (tl_capture_create(&cfg, &r->capture, &err) != 0) {
		printf("# %s\n", err.text);
		CU_FAIL_FATAL("tl_capture_create");
	}
	tl_capture_service(r->capture, 0, &r->service);
}

// A burst of n frames of len bytes; the first byte of each is mark, its time ts_ns, ts_ns + 1 …
static void make_burst(struct tl_burst *b, unsigned n, uint32_t len, uint8_t mark, uint64_t ts_ns)
{
	*b = (struct tl_burst){.n = (uint16_t)n};
	for (unsigned i = 0; i < n; i++) {
		b->pkts[i] = rte_pktmbuf_alloc(tl_port_pool(port));
		CU_ASSERT_PTR_NOT_NULL_FATAL(b->pkts[i]);
		memset(rte_pktmbuf_append(b->pkts[i], (uint16_t)len), mark, len);
		b->ts_ns[i] = ts_ns + i;
		b->wire_bytes[i] = len;
	}
}

static void record(const struct recording *r, enum tl_dir dir, unsigned n, uint32_t len, uint8_t mark)
{
	static struct tl_burst burst;

	make_burst(&burst, n, len, mark, 5 * TL_NS_PER_S);
	(dir == TL_DIR_RX ? r->service.rx : r->service.sent)(r->service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
}

static void write_out(const struct recording *r)
{
	struct tl_err err = {{0}};

	r->service.finish(r->service.ctx);
	CU_ASSERT_EQUAL(tl_capture_start(r->capture, &err), 0);
	CU_ASSERT_EQUAL(tl_capture_stop(r->capture, &err), 0);
}

static struct tl_capture_flow flow_of(const struct recording *r, enum tl_dir dir)
{
	struct tl_capture_stats stats;

	tl_capture_sample(r->capture, &stats);
	const struct tl_capture_flow *f = &stats.flow[dir];
	CU_ASSERT_EQUAL(f->offered_pkts, f->written_pkts + f->filtered_pkts + f->expired_pkts + f->cut_pkts +
						 f->drop_ring_pkts + f->drop_disk_pkts);
	return *f;
}

static unsigned count_frames(const char *path, struct tl_pcap_frame *last)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err = {{0}};
	unsigned n = 0;

	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(path, &reader, &err), 0);
	while (tl_pcap_next(reader, &frame, &err) == 1) {
		n++;
		if (last != NULL)
			*last = frame;
	}
	CU_ASSERT_STRING_EQUAL(err.text, "");
	if (last != NULL)
		last->data = NULL; // the mapping goes
	tl_pcap_close(reader);
	return n;
}

static void end_recording(struct recording *r)
{
	tl_capture_destroy(r->capture);
	unlink(r->path);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
}

static void every_frame_of_both_directions_reaches_the_file(void)
{
	struct recording r;
	struct tl_pcap_frame last;

	start_recording(&r, (struct tl_capture_cfg){0});
	record(&r, TL_DIR_RX, 10, 60, 1);
	record(&r, TL_DIR_TX, 7, 1514, 2);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 10);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).written_pkts, 7);
	CU_ASSERT_EQUAL(count_frames(r.path, &last), 17);
	CU_ASSERT_EQUAL(last.cap_bytes, 1514);
	CU_ASSERT_EQUAL(last.ts_ns, 5 * TL_NS_PER_S + 6);
	end_recording(&r);
}

static void a_direction_that_is_not_wanted_is_not_offered(void)
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.dir = {[TL_DIR_RX] = true}});
	CU_ASSERT_PTR_NULL(r.service.sent);
	record(&r, TL_DIR_RX, 3, 60, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 3);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).offered_pkts, 0);
	end_recording(&r);
}

static void frames_the_filter_refuses_are_counted_filtered(void)
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.filter = "ether[0] == 1"});
	record(&r, TL_DIR_RX, 5, 60, 1);
	record(&r, TL_DIR_RX, 6, 60, 2);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 5);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).filtered_pkts, 6);
	end_recording(&r);
}

static void the_filter_sees_every_segment_and_the_wire_length(void)
{
	struct recording r;
	static struct tl_burst burst;

	start_recording(&r, (struct tl_capture_cfg){.filter = "ether[1000] == 2 and len == 1234"});
	make_burst(&burst, 2, 700, 1, 5 * TL_NS_PER_S);
	memset(rte_pktmbuf_mtod(burst.pkts[1], uint8_t *), 2, 700);
	rte_pktmbuf_chain(burst.pkts[0], burst.pkts[1]);
	burst.n = 1;
	burst.wire_bytes[0] = 1400;
	r.service.rx(r.service.ctx, &burst);
	burst.wire_bytes[0] = 1234;
	r.service.rx(r.service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).filtered_pkts, 1);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 1);
	CU_ASSERT_PTR_NOT_NULL(tl_capture_filter_engine(r.capture));
	end_recording(&r);
}

static void a_snapped_frame_keeps_its_wire_length(void)
{
	struct recording r;
	struct tl_pcap_frame last;

	start_recording(&r, (struct tl_capture_cfg){.snaplen = 33});
	record(&r, TL_DIR_RX, 1, 1000, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(count_frames(r.path, &last), 1);
	CU_ASSERT_EQUAL(last.cap_bytes, 33);
	CU_ASSERT_EQUAL(last.wire_bytes, 1000);
	end_recording(&r);
}

static void a_frame_in_several_segments_is_recorded_whole(void)
{
	struct recording r;
	struct tl_pcap_frame last;
	static struct tl_burst burst;

	start_recording(&r, (struct tl_capture_cfg){0});
	make_burst(&burst, 2, 700, 9, 5 * TL_NS_PER_S);
	rte_pktmbuf_chain(burst.pkts[0], burst.pkts[1]);
	burst.n = 1;
	burst.wire_bytes[0] = 1400;
	r.service.rx(r.service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(count_frames(r.path, &last), 1);
	CU_ASSERT_EQUAL(last.cap_bytes, 1400);
	end_recording(&r);
}

static void frames_beyond_the_count_are_counted_cut(void)
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

static void frames_after_the_end_are_counted_expired(void)
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

// With the writer not running the slabs fill up; what no longer fits is counted, and what was recorded is all there.
static void frames_that_find_no_slab_are_counted_and_cost_no_other_frame(void)
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.buffer_bytes = 4 << 20});
	for (int i = 0; i < 100; i++)
		record(&r, TL_DIR_RX, 64, 1514, 1);
	write_out(&r);
	struct tl_capture_flow f = flow_of(&r, TL_DIR_RX);
	CU_ASSERT_EQUAL(f.offered_pkts, 6400);
	CU_ASSERT(f.drop_ring_pkts > 0);
	CU_ASSERT(f.written_pkts > 0);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), f.written_pkts);
	end_recording(&r);
}

static void each_queue_has_its_own_account(void)
{
	static struct tl_burst burst;
	struct tl_port *one = port;
	struct tl_service second;
	struct tl_capture_stats stats;
	struct recording r;

	port = two_queues;
	start_recording(&r, (struct tl_capture_cfg){.filter = "greater 100"});
	tl_capture_service(r.capture, 1, &second);
	record(&r, TL_DIR_RX, 10, 60, 1);
	record(&r, TL_DIR_RX, 3, 120, 1);
	make_burst(&burst, 5, 120, 2, TL_NS_PER_S);
	second.rx(second.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	second.finish(second.ctx);
	write_out(&r);
	tl_capture_sample(r.capture, &stats);
	CU_ASSERT_EQUAL(stats.n_queues, 2);
	CU_ASSERT_EQUAL(stats.slabs, 4);
	CU_ASSERT_EQUAL(stats.queues[0].flow[TL_DIR_RX].offered_pkts, 13);
	CU_ASSERT_EQUAL(stats.queues[0].flow[TL_DIR_RX].filtered_pkts, 10);
	CU_ASSERT_EQUAL(stats.queues[0].flow[TL_DIR_RX].written_pkts, 3);
	CU_ASSERT_EQUAL(stats.queues[1].flow[TL_DIR_RX].offered_pkts, 5);
	CU_ASSERT_EQUAL(stats.queues[1].flow[TL_DIR_RX].filtered_pkts, 0);
	CU_ASSERT_EQUAL(stats.queues[1].flow[TL_DIR_RX].written_pkts, 5);
	CU_ASSERT_EQUAL(stats.queues[1].slabs_used, 0);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 8);
	end_recording(&r);
	port = one;
}

static void the_time_a_buffer_covers_is_that_of_full_lines(void)
{
	// 84 bytes of line for each 60: 14 880 952 frames per second at 10 Gbit/s.
	struct tl_capture_coverage c = tl_capture_cover(64 << 20, 0, 60, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(c.record_bytes, tl_pcapng_epb_bytes(60, 0));
	CU_ASSERT_EQUAL(c.bytes_per_s / c.record_bytes, 14880952);
	CU_ASSERT_EQUAL(c.ns / TL_NS_PER_US, (UINT64_C(64) << 20) * 1000000 / c.bytes_per_s);
	struct tl_capture_coverage faster = tl_capture_cover(64 << 20, 0, 60, UINT64_C(100000000000));
	CU_ASSERT_EQUAL(faster.ns / 1000, c.ns / 10000);
	// A snaplen makes records shorter, not frames.
	struct tl_capture_coverage cut = tl_capture_cover(64 << 20, 64, 1514, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(cut.record_bytes, tl_pcapng_epb_bytes(64, 0));
	CU_ASSERT_EQUAL(cut.bytes_per_s / cut.record_bytes, 812743);
}

static void a_filter_that_does_not_compile_is_an_error_before_the_file_exists(void)
{
	struct tl_capture *capture;
	struct tl_err err = {{0}};
	struct tl_capture_cfg cfg = {.name = "bad",
		.path = "/tmp/tl_test_capture_bad.pcapng",
		.filter = "tcp and and",
		.buffer_bytes = 4 << 20,
		.port = port,
		.clock = test_clock};

	CU_ASSERT(tl_capture_create(&cfg, &capture, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "tcp and and"));
	CU_ASSERT_NOT_EQUAL(access(cfg.path, F_OK), 0);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"every frame of both directions reaches the file", every_frame_of_both_directions_reaches_the_file},
		{"a direction that is not wanted is not offered", a_direction_that_is_not_wanted_is_not_offered},
		{"frames the filter refuses are counted filtered", frames_the_filter_refuses_are_counted_filtered},
		{"the filter sees every segment, and the length on the wire",
			the_filter_sees_every_segment_and_the_wire_length},
		{"a snapped frame keeps its wire length", a_snapped_frame_keeps_its_wire_length},
		{"a frame in several segments is recorded whole", a_frame_in_several_segments_is_recorded_whole},
		{"frames beyond the count are counted cut", frames_beyond_the_count_are_counted_cut},
		{"frames after the end are counted expired", frames_after_the_end_are_counted_expired},
		{"frames that find no slab are counted and cost no other frame",
			frames_that_find_no_slab_are_counted_and_cost_no_other_frame},
		{"each queue has its own account", each_queue_has_its_own_account},
		{"the time a buffer covers is that of full lines", the_time_a_buffer_covers_is_that_of_full_lines},
		{"a filter that does not compile is an error before the file exists",
			a_filter_that_does_not_compile_is_an_error_before_the_file_exists},
	};

	tl_test_eal_start();
	test_clock = tl_clock_create();
	port = tl_test_port("vdev:net_ring_c", 1, test_clock);
	two_queues = tl_test_port_queues("vdev:net_null_c", 2, 0, test_clock);
	if (port == NULL || two_queues == NULL)
		return 1;
	return tl_test_main("capture", tests, TL_ARRAY_LEN(tests));
}
