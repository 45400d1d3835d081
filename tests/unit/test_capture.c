// SPDX-License-Identifier: BSD-3-Clause
// Recording from burst to file: recorded data is read back, and every frame is accounted for.

#include <tl_test_capture.h>

// Record a burst whose frame i has the mark marks[i], 0: none.
static void record_marked(const struct recording *r, const uint8_t *marks, unsigned n)
{
	static struct tl_burst burst;

	make_burst(&burst, n, 60, 1, 5 * TL_NS_PER_S);
	for (unsigned i = 0; i < n; i++) {
		burst.pkts[i]->hash.fdir.hi = marks[i];
		burst.pkts[i]->ol_flags |= marks[i] != 0 ? RTE_MBUF_F_RX_FDIR_ID : 0;
		*rte_pktmbuf_mtod(burst.pkts[i], uint8_t *) = marks[i];
	}
	r->service.rx(r->service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
}

TL_TEST("frames with selected marks are recorded, others count as filtered")
{
	static const bool wanted[TL_PORT_MARK_MAX + 1] = {[5] = true, [255] = true};
	struct recording r;
	struct tl_pcap_frame last;

	start_recording(&r, (struct tl_capture_cfg){.marks = wanted, .dir[TL_DIR_RX] = true});
	record_marked(&r, (const uint8_t[]){0, 5, 6, 255, 0, 4}, 6);
	record_marked(&r, (const uint8_t[]){0, 6}, 2);
	record_marked(&r, (const uint8_t[]){5, 255, 5}, 3);
	record_marked(&r, (const uint8_t[]){0, 0, 5, 5}, 4);
	record(&r, TL_DIR_RX, 3, 60, 5);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).offered_pkts, 18);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 7);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).filtered_pkts, 11);
	CU_ASSERT_EQUAL(count_frames(r.path, &last), 7);
	CU_ASSERT_EQUAL(last.ts_ns, 5 * TL_NS_PER_S + 3);
	CU_ASSERT_PTR_NULL(r.service.sent);
	end_recording(&r);
}

static struct tl_burst seen;

static void keep_burst(void *tap, struct tl_burst *burst)
{
	seen = *burst;
}

TL_TEST("selected frames keep their times, lengths and timestamp sources")
{
	static const bool wanted[TL_PORT_MARK_MAX + 1] = {[5] = true};
	static struct tl_burst burst;
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.marks = wanted, .dir[TL_DIR_RX] = true});
	r.capture->taps[0].rx_marked = keep_burst;
	make_burst(&burst, 4, 60, 1, 1000);
	for (unsigned i = 1; i < 4; i++) {
		burst.pkts[i]->hash.fdir.hi = i == 2 ? 6 : 5;
		burst.pkts[i]->ol_flags |= RTE_MBUF_F_RX_FDIR_ID;
	}
	burst.wire_bytes[3] = 1514;
	burst.unstamped = 0xc;
	burst.queue = 3;
	r.service.rx(r.service.ctx, &burst);
	CU_ASSERT_EQUAL(seen.n, 2);
	CU_ASSERT(seen.pkts[0] == burst.pkts[1] && seen.pkts[1] == burst.pkts[3]);
	CU_ASSERT(seen.ts_ns[0] == 1001 && seen.ts_ns[1] == 1003);
	CU_ASSERT(seen.wire_bytes[0] == 60 && seen.wire_bytes[1] == 1514);
	CU_ASSERT(seen.unstamped == 0x2 && seen.sent == 0);
	CU_ASSERT(seen.queue == 3 && seen.mono_ns == burst.mono_ns);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	end_recording(&r);
}

TL_TEST("marks precede filter and cut-off")
{
	static const bool wanted[TL_PORT_MARK_MAX + 1] = {[5] = true, [6] = true};
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){.marks = wanted,
				    .dir[TL_DIR_RX] = true,
				    .filter = "ether[0] != 6",
				    .cutoff_bytes = 1024,
				    .cutoff_flows = 1024});
	record_marked(&r, (const uint8_t[]){0, 5, 6, 7}, 4);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 1);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).filtered_pkts, 3);
	end_recording(&r);
}

TL_TEST("every frame of both directions reaches the file")
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

// An AF_PACKET socket delivers frames sent by the host, too.
TL_TEST("a received frame sent by the host counts as sent")
{
	struct recording r;
	static struct tl_burst burst;

	start_recording(&r, (struct tl_capture_cfg){0});
	make_burst(&burst, 5, 60, 1, 5 * TL_NS_PER_S);
	burst.sent = 1u << 1 | 1u << 4;
	r.service.rx(r.service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 3);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).written_pkts, 2);
	end_recording(&r);
}

TL_TEST("frames of an unselected direction are not counted as offered")
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

// Return block type and flags of the first record: the file's prologue takes one page, the slab begins with its HEAD.
static uint32_t first_record(const struct recording *r, uint32_t *out_flags)
{
	uint32_t block[32];
	FILE *file = fopen(r->path, "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fseek(file, TL_PCAPNG_ALIGN + TL_PCAPNG_HEAD_BYTES, SEEK_SET), 0);
	CU_ASSERT_EQUAL(fread(block, sizeof(block), 1, file), 1);
	fclose(file);
	CU_ASSERT_EQUAL(block[0], TL_PCAPNG_EPB);
	*out_flags = block[1] == 92 ? 0 : block[(28 + 60 + 4) / 4];
	return block[1];
}

TL_TEST("a record has options only where both directions can occur")
{
	struct recording r;
	uint32_t flags;

	start_recording(&r, (struct tl_capture_cfg){.dir = {[TL_DIR_RX] = true}});
	record(&r, TL_DIR_RX, 3, 60, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(first_record(&r, &flags), 92);
	end_recording(&r);
	start_recording(&r, (struct tl_capture_cfg){0});
	record(&r, TL_DIR_TX, 3, 60, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(first_record(&r, &flags), 104);
	CU_ASSERT_EQUAL(flags, TL_PCAPNG_OUTBOUND);
	end_recording(&r);
}

// Make a burst of different frames with all lengths around n * TL_BURST; the fourth has two segments.
static void make_mixed_burst(struct tl_burst *b, unsigned n, uint32_t step)
{
	make_burst(b, TL_BURST, 0, 0, (5 + n) * TL_NS_PER_S);
	for (unsigned i = 0; i < TL_BURST; i++) {
		uint32_t len = (n * TL_BURST + i) * step % 1515;
		uint8_t *data = (uint8_t *)rte_pktmbuf_append(b->pkts[i], (uint16_t)len);
		for (uint32_t at = 0; at < len; at++)
			data[at] = (uint8_t)(at * 7 + i + n);
		b->wire_bytes[i] = len;
	}
	struct rte_mbuf *second = rte_pktmbuf_alloc(tl_port_pool(port));
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	memset(rte_pktmbuf_append(second, 45), 0x5a, 45);
	CU_ASSERT_EQUAL(rte_pktmbuf_chain(b->pkts[3], second), 0);
	b->wire_bytes[3] += 45;
}

static void record_mixed_bursts(struct recording *r, const char *filter, uint32_t snaplen)
{
	static struct tl_burst burst;

	start_recording(r, (struct tl_capture_cfg){.filter = filter, .snaplen = snaplen});
	for (unsigned n = 0; n < 40; n++) {
		make_mixed_burst(&burst, n, n < 8 ? 1 : 757); // all short lengths, then enough for several slabs
		(n % 2 == 0 ? r->service.rx : r->service.sent)(r->service.ctx, &burst);
		rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	}
	write_out(r);
}

static bool same_frame(const struct tl_pcap_frame *a, const struct tl_pcap_frame *b)
{
	return a->cap_bytes == b->cap_bytes && a->wire_bytes == b->wire_bytes && a->ts_ns == b->ts_ns &&
	       memcmp(a->data, b->data, a->cap_bytes) == 0;
}

static void expect_content(const struct tl_pcap_frame *f)
{
	unsigned n = (unsigned)(f->ts_ns / TL_NS_PER_S) - 5, i = (unsigned)(f->ts_ns % TL_NS_PER_S);
	uint32_t first_bytes = i == 3 ? f->wire_bytes - 45 : f->wire_bytes;

	for (uint32_t at = 0; at < f->cap_bytes; at++)
		if (f->data[at] != (at < first_bytes ? (uint8_t)(at * 7 + i + n) : 0x5a)) {
			CU_FAIL("another byte");
			return;
		}
}

static void compare_recordings(const char *path, const char *other_path, unsigned frames)
{
	struct tl_pcap_reader *reader, *other;
	struct tl_pcap_frame frame, twin;
	struct tl_err err = {{0}};
	unsigned n = 0;

	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(path, &reader, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(other_path, &other, &err), 0);
	while (tl_pcap_next(reader, &frame, &err) == 1 && tl_pcap_next(other, &twin, &err) == 1) {
		CU_ASSERT_FATAL(same_frame(&frame, &twin));
		expect_content(&frame);
		n++;
	}
	CU_ASSERT_EQUAL(n, frames);
	tl_pcap_close(reader);
	tl_pcap_close(other);
}

// A filter that accepts all frames makes the recorder process them one by one.
TL_TEST("frames are recorded identically by burst and one by one")
{
	static const uint32_t snaplens[] = {0, 64, 100};
	struct recording by_burst, one_by_one;
	char path[80];

	for (unsigned i = 0; i < TL_ARRAY_LEN(snaplens); i++) {
		record_mixed_bursts(&by_burst, NULL, snaplens[i]);
		snprintf(path, sizeof(path), "%s.burst", by_burst.path);
		CU_ASSERT_EQUAL_FATAL(rename(by_burst.path, path), 0);
		record_mixed_bursts(&one_by_one, "greater 0", snaplens[i]);
		CU_ASSERT_EQUAL(flow_of(&by_burst, TL_DIR_RX).written_pkts, 20 * TL_BURST);
		CU_ASSERT_EQUAL(flow_of(&by_burst, TL_DIR_TX).written_pkts, 20 * TL_BURST);
		compare_recordings(path, one_by_one.path, 40 * TL_BURST);
		unlink(path);
		end_recording(&by_burst);
		end_recording(&one_by_one);
	}
}

TL_TEST("frames rejected by the filter count as filtered")
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

TL_TEST("the filter reads every segment and the original length")
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

TL_TEST("a frame cut to snaplen keeps its original length")
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

TL_TEST("a frame of several segments is recorded completely")
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

// Return true if the next frame of the file has len bytes as make_chain() fills them, captured to cap_bytes.
static bool next_is(struct tl_pcap_reader *reader, uint32_t len, uint32_t cap_bytes)
{
	struct tl_pcap_frame frame;

	if (tl_pcap_next(reader, &frame, NULL) != 1 || frame.cap_bytes != cap_bytes || frame.wire_bytes != len)
		return false;
	for (uint32_t i = 0; i < cap_bytes; i++)
		if (frame.data[i] != (uint8_t)(i * 7 + i / 251))
			return false;
	return true;
}

// Record frames of these lengths (terminated by 0), each in segments of 2 KiB and again in small ones.
static void record_long_frames(uint32_t snaplen, const uint32_t *lens, const char *filter)
{
	struct recording r;
	struct tl_pcap_reader *reader;
	struct tl_err err = {{0}};
	unsigned n = 0;

	start_recording(&r, (struct tl_capture_cfg){.snaplen = snaplen, .filter = filter});
	for (const uint32_t *len = lens; *len != 0; len++, n += 2) {
		record_chain(&r, *len, 2048);
		record_chain(&r, *len, *len / 200 + 1);
	}
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, n);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(r.path, &reader, &err), 0);
	for (const uint32_t *len = lens; *len != 0; len++) {
		uint32_t cap_bytes = snaplen != 0 && snaplen < *len ? snaplen : *len;
		CU_ASSERT(next_is(reader, *len, cap_bytes));
		CU_ASSERT(next_is(reader, *len, cap_bytes));
	}
	tl_pcap_close(reader);
	end_recording(&r);
}

TL_TEST("a jumbo frame is recorded byte for byte, at any snaplen")
{
	static const uint32_t lens[] = {9000, 9018, 8192, 8193, 4096, 0};
	static const uint32_t snaplens[] = {0, 5000, 4096, 4097, 2048, 2047, 64, 262144};

	for (size_t i = 0; i < TL_ARRAY_LEN(snaplens); i++)
		record_long_frames(snaplens[i], lens, NULL);
	record_long_frames(0, lens, "ether[4000] = 239 or greater 1"); // 4000 is in the second segment
}

TL_TEST("a frame of 64 KiB, and of 256 KiB, is recorded byte for byte")
{
	static const uint32_t lens[] = {65535, 65536, 65549, 262144, 0};

	record_long_frames(0, lens, NULL);
	record_long_frames(65535, lens, NULL);
}

// Longer than a slab. No port delivers such a frame; the recorder has to drop and count it.
TL_TEST("a frame larger than a slab is counted and does not affect other frames")
{
	struct recording r;
	struct tl_pcap_reader *reader;
	struct tl_err err = {{0}};

	start_recording(&r, (struct tl_capture_cfg){0});
	for (int i = 0; i < 50; i++) { // more frames than slabs
		record_chain(&r, 1000, 2048);
		record_chain(&r, (1 << 20) + 1, 2048);
		record_chain(&r, (1 << 20) - 40, 2048);
	}
	record_chain(&r, 1000, 2048);
	write_out(&r);
	struct tl_ledger_flow flow = flow_of(&r, TL_DIR_RX);
	CU_ASSERT_EQUAL(flow.written_pkts + flow.drop_ring_pkts, 151);
	CU_ASSERT(flow.drop_ring_pkts >= 100);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(r.path, &reader, &err), 0);
	for (uint64_t i = 0; i < flow.written_pkts; i++)
		CU_ASSERT(next_is(reader, 1000, 1000));
	tl_pcap_close(reader);
	end_recording(&r);
}

TL_TEST("an empty frame is recorded")
{
	struct recording r;
	struct tl_pcap_frame last;

	start_recording(&r, (struct tl_capture_cfg){0});
	record_chain(&r, 0, 2048);
	record(&r, TL_DIR_TX, 1, 0, 0);
	write_out(&r);
	CU_ASSERT_EQUAL(count_frames(r.path, &last), 2);
	CU_ASSERT_EQUAL(last.cap_bytes, 0);
	CU_ASSERT_EQUAL(last.wire_bytes, 0);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 1);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).written_pkts, 1);
	end_recording(&r);

	start_recording(&r, (struct tl_capture_cfg){.filter = "ether[0] = 0 or ip or less 0", .snaplen = 64});
	record_chain(&r, 0, 2048);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).filtered_pkts, 1); // a read beyond the frame is no match (bpf(4))
	end_recording(&r);
}

// Queue 0: 10 frames rejected by the filter, 1 sent, 3 received; queue 1: 5 received, with earlier times.
static void record_two_queues(struct recording *r, struct tl_capture_cfg cfg)
{
	static struct tl_burst burst;
	struct tl_service second;

	cfg.filter = "greater 100";
	start_recording(r, cfg);
	tl_capture_service(r->capture, 1, &second);
	record(r, TL_DIR_RX, 10, 60, 1);
	record(r, TL_DIR_TX, 1, 120, 1);
	record(r, TL_DIR_RX, 3, 120, 1);
	make_burst(&burst, 5, 120, 2, TL_NS_PER_S);
	second.rx(second.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	second.finish(second.ctx);
	write_out(r);
}

static void check_two_queues(const struct recording *r)
{
	struct tl_capture_stats stats;

	tl_capture_sample(r->capture, &stats);
	CU_ASSERT_EQUAL(stats.n_queues, 2);
	CU_ASSERT_EQUAL(stats.slabs, 4);
	CU_ASSERT_EQUAL(stats.queues[0].flow[TL_DIR_RX].offered_pkts, 13);
	CU_ASSERT_EQUAL(stats.queues[0].flow[TL_DIR_RX].filtered_pkts, 10);
	CU_ASSERT_EQUAL(stats.queues[0].flow[TL_DIR_RX].written_pkts, 3);
	CU_ASSERT_EQUAL(stats.queues[0].flow[TL_DIR_TX].written_pkts, 1);
	CU_ASSERT_EQUAL(stats.queues[1].flow[TL_DIR_RX].offered_pkts, 5);
	CU_ASSERT_EQUAL(stats.queues[1].flow[TL_DIR_RX].filtered_pkts, 0);
	CU_ASSERT_EQUAL(stats.queues[1].flow[TL_DIR_RX].written_pkts, 5);
	CU_ASSERT_EQUAL(stats.queues[1].slabs_used, 0);
	CU_ASSERT_EQUAL(stats.late_pkts, 0);
	CU_ASSERT_EQUAL(flow_of(r, TL_DIR_RX).written_pkts, 8);
	CU_ASSERT_EQUAL(flow_of(r, TL_DIR_TX).written_pkts, 1);
}

TL_TEST("each queue has its own counters")
{
	struct tl_port *one = port;
	struct recording r;

	port = two_queues;
	record_two_queues(&r, (struct tl_capture_cfg){0});
	check_two_queues(&r);
	end_recording(&r);
	port = one;
}

// Decompress the units of the file into out. Return the number of bytes.
static size_t unpack_file(const char *path, uint8_t *out, size_t size)
{
	static uint8_t packed[1 << 20];
	struct tl_zslab_unpacker *unpacker = tl_zslab_unpacker_create();
	struct tl_zslab_unit unit;
	size_t used = 0, at = 0, slabs = 0;
	FILE *file = fopen(path, "r");

	CU_ASSERT_TRUE_FATAL(file != NULL && unpacker != NULL);
	size_t bytes = fread(packed, 1, sizeof(packed), file);
	fclose(file);
	for (; at < bytes; at += unit.unit_bytes) {
		CU_ASSERT_EQUAL_FATAL(tl_zslab_look(packed + at, bytes - at, &unit), 0);
		CU_ASSERT_EQUAL_FATAL(
			tl_zslab_unpack(unpacker, packed + at, &unit, out + used, (uint32_t)(size - used)),
			unit.content_bytes);
		used += unit.content_bytes;
		slabs += unit.slab;
	}
	CU_ASSERT_TRUE(slabs > 0);
	tl_zslab_unpacker_destroy(unpacker);
	return used;
}

// Check that all 9 frames are there, and in a merged file those of queue 1 before the others.
static void check_frames(struct tl_pcap_reader *reader, bool sorted)
{
	struct tl_pcap_frame frame;
	struct tl_err err = {{0}};
	uint64_t last_ns = 0;
	unsigned n = 0;

	for (; tl_pcap_next(reader, &frame, &err) == 1; n++) {
		CU_ASSERT_TRUE(!sorted || frame.ts_ns >= last_ns);
		CU_ASSERT_EQUAL(frame.cap_bytes, 120);
		CU_ASSERT_EQUAL(frame.data[119], frame.ts_ns < 2 * TL_NS_PER_S ? 2 : 1);
		last_ns = frame.ts_ns;
	}
	CU_ASSERT_EQUAL(n, 9);
	CU_ASSERT_STRING_EQUAL(err.text, "");
}

static void check_form(struct tl_capture_cfg cfg)
{
	static uint8_t unpacked[4 << 20];
	struct tl_pcap_reader *reader;
	struct tl_err err = {{0}};
	struct recording r;

	cfg.compress_level = 1;
	cfg.compress_threads = 2;
	record_two_queues(&r, cfg);
	check_two_queues(&r);
	if (cfg.form == TL_RECODE_ZSTD) {
		size_t bytes = unpack_file(r.path, unpacked, sizeof(unpacked));
		CU_ASSERT_EQUAL_FATAL(tl_pcap_open_memory(unpacked, bytes, "unpacked", &reader, &err), 0);
	} else {
		CU_ASSERT_EQUAL_FATAL(tl_pcap_open(r.path, &reader, &err), 0);
	}
	check_frames(reader, cfg.order_window_ns != 0);
	tl_pcap_close(reader);
	end_recording(&r);
}

TL_TEST("each file format is readable and keeps the counters of each queue")
{
	static const enum tl_recode_form forms[] = {TL_RECODE_PCAPNG, TL_RECODE_PCAP, TL_RECODE_ZSTD};
	struct tl_port *one = port;

	port = two_queues;
	for (size_t i = 0; i < TL_ARRAY_LEN(forms); i++) {
		check_form((struct tl_capture_cfg){.form = forms[i]});
		check_form((struct tl_capture_cfg){.form = forms[i], .order_window_ns = 100 * TL_NS_PER_MS});
	}
	port = one;
}

TL_TEST("the time covered by a buffer is computed at line rate")
{
	// 84 bytes on the line per frame of 60: 14 880 952 frames per second at 10 Gbit/s.
	struct tl_capture_coverage c = tl_capture_cover(64 << 20, 0, 60, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(c.record_bytes, tl_pcapng_epb_bytes(60, 0, 0));
	CU_ASSERT_EQUAL(c.bytes_per_s / c.record_bytes, 14880952);
	CU_ASSERT_EQUAL(c.ns / TL_NS_PER_US, (UINT64_C(64) << 20) * 1000000 / c.bytes_per_s);
	struct tl_capture_coverage faster = tl_capture_cover(64 << 20, 0, 60, UINT64_C(100000000000));
	CU_ASSERT_EQUAL(faster.ns / 1000, c.ns / 10000);
	// A snaplen shortens records, not frames on the line.
	struct tl_capture_coverage cut = tl_capture_cover(64 << 20, 64, 1514, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(cut.record_bytes, tl_pcapng_epb_bytes(64, 0, 0));
	CU_ASSERT_EQUAL(cut.bytes_per_s / cut.record_bytes, 812743);
}

TL_TEST("a filter that does not compile is an error before the file is created")
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
	cfg.filter = NULL;
	cfg.trigger = (struct tl_capture_trigger_cfg){.on = true, .filter = "udp or or"};
	CU_ASSERT(tl_capture_create(&cfg, &capture, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "udp or or"));
	CU_ASSERT_NOT_EQUAL(access(cfg.path, F_OK), 0);
}

int main(void)
{
	return test_capture_run("capture");
}
