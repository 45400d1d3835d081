// SPDX-License-Identifier: BSD-3-Clause
// Recording from burst to file: recorded data is read back, and every frame is accounted for.

#include <sched.h>
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

#include "capture_priv.h"
#include <tl_wire.h>
#include <tl_zslab.h>

static struct tl_clock *test_clock;
static struct tl_port *port; // a ring device that provides only the pool and the name
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

// Make a burst of n frames of len bytes; the first byte of each is mark, the times are ts_ns, ts_ns + 1 …
static void make_burst(struct tl_burst *b, unsigned n, uint32_t len, uint8_t mark, uint64_t ts_ns)
{
	*b = (struct tl_burst){.n = (uint16_t)n, .mono_ns = tl_clock_mono_ns(test_clock, rte_rdtsc())};
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
	CU_ASSERT_EQUAL(f->offered_pkts, f->written_pkts + f->filtered_pkts + f->expired_pkts + f->paused_pkts +
						 f->cut_pkts + f->drop_ring_pkts + f->policed_pkts + f->drop_disk_pkts);
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
		last->data = NULL; // tl_pcap_close() unmaps it
	tl_pcap_close(reader);
	return n;
}

static void end_recording(struct recording *r)
{
	tl_capture_destroy(r->capture);
	unlink(r->path);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
}

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

// Make a frame of len bytes, no two neighbours alike, in segments of at most segment_bytes.
static struct rte_mbuf *make_chain(uint32_t len, uint32_t segment_bytes)
{
	struct rte_mbuf *head = NULL, *last = NULL;
	uint32_t done = 0;

	do {
		struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(port));
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		uint32_t part = len - done < segment_bytes ? len - done : segment_bytes;
		uint8_t *data = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)part);
		CU_ASSERT_PTR_NOT_NULL_FATAL(data);
		for (uint32_t i = 0; i < part; i++)
			data[i] = (uint8_t)((done + i) * 7 + (done + i) / 251);
		done += part;
		if (head == NULL) {
			head = m;
		} else {
			last->next = m;
			head->nb_segs++;
		}
		last = m;
	} while (done < len);
	head->pkt_len = len;
	return head;
}

static void record_chain(const struct recording *r, uint32_t len, uint32_t segment_bytes)
{
	static struct tl_burst burst;

	burst = (struct tl_burst){.n = 1, .pkts = {make_chain(len, segment_bytes)}, .wire_bytes = {len}};
	r->service.rx(r->service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, 1);
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
	struct tl_capture_flow flow = flow_of(&r, TL_DIR_RX);
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

// Record n frames of len bytes of the UDP flow between 192.0.2.1:src_port and 192.0.2.2:dst_port, in the reverse
// direction for TL_DIR_TX. The original length of the last one is greater by longer_bytes.
static void record_flow_at(const struct recording *r, enum tl_dir dir, unsigned n, uint32_t len, uint16_t src_port,
	uint64_t ts_ns, uint32_t longer_bytes)
{
	static struct tl_burst burst;
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45, .ttl = 64, .proto = TL_IPPROTO_UDP};
	uint32_t ends[2] = {tl_be32(0xc0000201), tl_be32(0xc0000202)};
	uint16_t ports[2] = {tl_be16(src_port), tl_be16(2000)};

	ip.total_len_be = tl_be16((uint16_t)(len - TL_ETHER_LEN));
	ip.src_be = ends[dir];
	ip.dst_be = ends[1 - dir];
	struct tl_udp_hdr udp = {.src_port_be = ports[dir], .dst_port_be = ports[1 - dir]};
	make_burst(&burst, n, len, 1, ts_ns);
	burst.wire_bytes[n - 1] += longer_bytes;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(burst.pkts[i], uint8_t *);
		frame[12] = TL_ETHERTYPE_IPV4 >> 8;
		frame[13] = TL_ETHERTYPE_IPV4 & 0xff;
		memcpy(frame + TL_ETHER_LEN, &ip, sizeof(ip));
		memcpy(frame + TL_ETHER_LEN + TL_IPV4_LEN, &udp, sizeof(udp));
	}
	(dir == TL_DIR_RX ? r->service.rx : r->service.sent)(r->service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
}

static void record_flow(const struct recording *r, enum tl_dir dir, unsigned n, uint32_t len, uint16_t src_port)
{
	record_flow_at(r, dir, n, len, src_port, 5 * TL_NS_PER_S, 0);
}

static struct tl_capture_cfg cutoff(uint32_t bytes)
{
	return (struct tl_capture_cfg){.cutoff_bytes = bytes, .cutoff_flows = 1024};
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
	struct tl_capture_flow f = flow_of(&r, TL_DIR_RX);
	CU_ASSERT_EQUAL(f.offered_pkts, 6400);
	CU_ASSERT(f.drop_ring_pkts > 0);
	CU_ASSERT(f.written_pkts > 0);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), f.written_pkts);
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

static struct tl_capture_stats stats_of(const struct recording *r)
{
	struct tl_capture_stats stats;

	tl_capture_sample(r->capture, &stats);
	return stats;
}

TL_TEST("a paused recording counts skipped frames, and continues in the same file")
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){0});
	record(&r, TL_DIR_RX, 3, 60, 1);
	CU_ASSERT_STRING_EQUAL(stats_of(&r).state, "recording");
	tl_capture_pause(r.capture, true);
	CU_ASSERT_STRING_EQUAL(stats_of(&r).state, "paused");
	record(&r, TL_DIR_RX, 5, 60, 2);
	record(&r, TL_DIR_TX, 2, 60, 2);
	tl_capture_pause(r.capture, false);
	record(&r, TL_DIR_RX, 4, 60, 3);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).paused_pkts, 5);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 7);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).paused_pkts, 2);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), 7);
	end_recording(&r);
}

TL_TEST("an expired recording cannot be resumed")
{
	struct recording r;

	start_recording(&r, (struct tl_capture_cfg){0});
	tl_capture_expire(r.capture);
	tl_capture_pause(r.capture, false);
	record(&r, TL_DIR_RX, 3, 60, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).expired_pkts, 3);
	end_recording(&r);
}

static struct tl_capture_cfg waiting(const char *filter, const char *trigger, bool on_drop)
{
	return (struct tl_capture_cfg){.filter = filter,
		.trigger = {.on = true,
			.pre_ns = 100 * TL_NS_PER_S,
			.post_ns = 100 * TL_NS_PER_S,
			.filter = trigger,
			.on_drop = on_drop}};
}

TL_TEST("frames outside all trigger episodes count as expired, and no file remains")
{
	struct recording r;

	start_recording(&r, waiting(NULL, "ether[0] = 7", false));
	record(&r, TL_DIR_RX, 3, 60, 1);
	record(&r, TL_DIR_TX, 2, 60, 1);
	CU_ASSERT_STRING_EQUAL(stats_of(&r).state, "waiting");
	write_out(&r);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).expired_pkts, 3);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).expired_pkts, 2);
	CU_ASSERT_EQUAL(stats_of(&r).triggers, 0);
	CU_ASSERT_PTR_NULL(stats_of(&r).last_trigger);
	CU_ASSERT_NOT_EQUAL(access(r.path, F_OK), 0);
	end_recording(&r);
}

// A trigger frame need not pass the recording's filter.
TL_TEST("a matching frame fires the trigger")
{
	struct recording r;

	start_recording(&r, waiting("ether[0] != 7", "ether[0] = 7", false));
	record(&r, TL_DIR_RX, 3, 60, 1);
	record(&r, TL_DIR_TX, 2, 60, 7);
	write_out(&r);
	CU_ASSERT_EQUAL(stats_of(&r).triggers, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(stats_of(&r).last_trigger);
	CU_ASSERT_STRING_EQUAL(stats_of(&r).last_trigger, "filter");
	CU_ASSERT_EQUAL(strlen(stats_of(&r).last_trigger_time), strlen("2026-01-01T00:00:00.000000000Z"));
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 3);
	CU_ASSERT_EQUAL(count_frames(r.path, NULL), 3);
	end_recording(&r);
}

TL_TEST("a frame of a direction that is not recorded fires no trigger")
{
	struct tl_capture_cfg cfg = waiting(NULL, "ether[0] = 7", false);
	struct recording r;

	cfg.dir[TL_DIR_TX] = true;
	start_recording(&r, cfg);
	record(&r, TL_DIR_RX, 2, 60, 7);
	record(&r, TL_DIR_TX, 2, 60, 1);
	write_out(&r);
	CU_ASSERT_EQUAL(stats_of(&r).triggers, 0);
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_TX).expired_pkts, 2);
	end_recording(&r);
}

// Drops caused by a slow disk must not extend the episode.
TL_TEST("a drop does not extend an episode")
{
	struct recording r;

	start_recording(&r, waiting(NULL, NULL, true));
	tl_capture_trigger(r.capture, TL_TRIGGER_DROP);
	CU_ASSERT_EQUAL(tl_capture_triggered(r.capture, true), 0);
	CU_ASSERT_EQUAL(stats_of(&r).triggers, 0);
	CU_ASSERT_STRING_EQUAL(stats_of(&r).state, "saving");
	tl_capture_trigger(r.capture, TL_TRIGGER_SIGNAL);
	CU_ASSERT_NOT_EQUAL(tl_capture_triggered(r.capture, true), 0);
	CU_ASSERT_EQUAL(tl_capture_triggered(r.capture, false), 0); // each trigger is served once
	CU_ASSERT_EQUAL(stats_of(&r).triggers, 1);
	tl_capture_trigger(r.capture, TL_TRIGGER_DROP);
	CU_ASSERT_NOT_EQUAL(tl_capture_triggered(r.capture, false), 0);
	CU_ASSERT_STRING_EQUAL(stats_of(&r).last_trigger, "drop");
	write_out(&r);
	end_recording(&r);
}

// Fill the slabs of a recording without a writer.
TL_TEST("a frame without buffer space fires the trigger if configured")
{
	for (int wanted = 0; wanted < 2; wanted++) {
		struct recording r;
		start_recording(&r, waiting(NULL, NULL, wanted != 0));
		for (int i = 0; i < 60; i++)
			record(&r, TL_DIR_RX, 64, 1514, 1);
		CU_ASSERT(stats_of(&r).flow[TL_DIR_RX].drop_ring_pkts > 0);
		write_out(&r);
		CU_ASSERT_EQUAL(stats_of(&r).triggers, (uint64_t)wanted);
		CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts != 0, wanted != 0);
		end_recording(&r);
	}
}

TL_TEST("every trigger is reported")
{
	struct recording r;

	start_recording(&r, waiting(NULL, NULL, false));
	CU_ASSERT(tl_capture_has_triggers(r.capture));
	record(&r, TL_DIR_RX, 3, 60, 1);
	atomic_store(
		tl_capture_trigger_slot(r.capture, TL_TRIGGER_ECHO_LATENCY), tl_clock_mono_ns(test_clock, rte_rdtsc()));
	write_out(&r);
	CU_ASSERT_STRING_EQUAL(stats_of(&r).last_trigger, "echo_latency");
	CU_ASSERT_EQUAL(flow_of(&r, TL_DIR_RX).written_pkts, 3);
	end_recording(&r);
}

// ---- statistics and clock blocks in the file

#define INTERFACES_MAX 4

// Counters of the last statistics block of an interface; UINT64_MAX: absent.
struct told {
	uint64_t received, if_dropped, accepted, os_dropped, delivered;
};

static void read_counter(struct told *told, const struct tl_pcap_option *option)
{
	uint64_t *const counters[] = {[4] = &told->received,
		[5] = &told->if_dropped,
		[6] = &told->accepted,
		[7] = &told->os_dropped,
		[8] = &told->delivered};

	if (option->code >= 4 && option->code < TL_ARRAY_LEN(counters))
		memcpy(counters[option->code], option->value, sizeof(uint64_t));
}

static void read_statistics(const char *path, struct told told[INTERFACES_MAX])
{
	static uint8_t bytes[8 << 20];
	FILE *file = fopen(path, "r");
	uint32_t block[3]; // type, length, interface

	memset(told, 0xff, INTERFACES_MAX * sizeof(*told));
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	for (size_t at = 0; at < size; at += block[1]) {
		struct tl_pcap_option option;
		uint32_t option_at = 0;
		memcpy(block, bytes + at, sizeof(block));
		CU_ASSERT_TRUE_FATAL(block[1] >= 12);
		if (block[0] != TL_PCAPNG_ISB)
			continue;
		CU_ASSERT_TRUE_FATAL(block[2] < INTERFACES_MAX);
		while (tl_pcap_next_option(bytes + at + 20, block[1] - 24, false, &option_at, &option) == 1)
			read_counter(&told[block[2]], &option);
	}
}

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

// ---- classes

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
	struct tl_capture_flow f = flow_of(&r, TL_DIR_RX);
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
	struct tl_capture_flow f = flow_of(&r, TL_DIR_RX);
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
	struct tl_capture_flow flow = flow_of(&r, TL_DIR_RX);
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
	tl_test_eal_start();
	test_clock = tl_clock_create();
	port = tl_test_port("vdev:net_ring_c", 1, test_clock);
	two_queues = tl_test_port_queues("vdev:net_null_c", 2, 1, test_clock);
	if (port == NULL || two_queues == NULL)
		return 1;
	return tl_test_run("capture");
}
