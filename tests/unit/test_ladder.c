// SPDX-License-Identifier: BSD-3-Clause
// Frames of the ladder's sender, their counts in a sink, and the table of rungs.

#include "tl_test.h"

#include <stdlib.h>
#include <string.h>

#include <tl_ladder.h>

static const uint8_t to[6] = {2, 0, 0, 0, 0, 1}, from[6] = {2, 0, 0, 0, 0, 2};
static uint8_t frame[TL_LADDER_SIZE_MAX];

static unsigned at16(unsigned offset)
{
	return (unsigned)frame[offset] << 8 | frame[offset + 1];
}

// RFC 1071: the ones' complement sum over a header with its checksum is all ones.
static unsigned header_sum(void)
{
	unsigned sum = 0;

	for (unsigned i = 14; i < 34; i += 2)
		sum += at16(i);
	return (sum & 0xffff) + (sum >> 16);
}

TL_TEST("a frame is a UDP datagram of its size")
{
	static const uint32_t sizes[] = {TL_LADDER_SIZE_MIN, 61, 512, TL_LADDER_SIZE_MAX};

	for (unsigned i = 0; i < TL_ARRAY_LEN(sizes); i++) {
		tl_ladder_frame(frame, sizes[i], to, from);
		CU_ASSERT_EQUAL(memcmp(frame, to, 6), 0);
		CU_ASSERT_EQUAL(memcmp(frame + 6, from, 6), 0);
		CU_ASSERT_EQUAL(at16(12), 0x0800);
		CU_ASSERT_EQUAL(at16(16), sizes[i] - 14);
		CU_ASSERT_EQUAL(at16(38), sizes[i] - 34);
		CU_ASSERT_EQUAL(at16(36), TL_LADDER_UDP_PORT);
		CU_ASSERT_EQUAL(at16(40), 0);
		CU_ASSERT_EQUAL(header_sum(), 0xffff);
	}
}

TL_TEST("sequence numbers are spread over the flows")
{
	bool seen[256] = {false};
	unsigned flows = 0;

	tl_ladder_frame(frame, 60, to, from);
	for (uint32_t seq = 0; seq < 3 * TL_LADDER_FLOWS; seq++) {
		tl_ladder_number(frame, seq, 0);
		flows += !seen[frame[35]];
		seen[frame[35]] = true;
	}
	CU_ASSERT_EQUAL(flows, TL_LADDER_FLOWS);
	CU_ASSERT_EQUAL(header_sum(), 0xffff); // the flow number is in the UDP header, which has no checksum
}

// ---- sinks

static struct tl_ladder_sink sink;
static struct tl_hist latency;

static void begin(bool any)
{
	tl_hist_init(&latency);
	sink = (struct tl_ladder_sink){.any = any, .latency = &latency};
	tl_ladder_frame(frame, 60, to, from);
}

static void take(uint32_t seq)
{
	tl_ladder_number(frame, seq, 0);
	tl_ladder_take(&sink, frame, 60);
}

TL_TEST("a sink counts only frames with a sequence number")
{
	begin(false);
	take(0);
	take(1);
	frame[TL_LADDER_HEADERS] ^= 1;
	tl_ladder_take(&sink, frame, 60);
	tl_ladder_take(&sink, frame, 20);
	CU_ASSERT_EQUAL(sink.pkts, 2);
	CU_ASSERT_EQUAL(sink.bytes, 120);
	CU_ASSERT_EQUAL(sink.foreign_pkts, 2);
	CU_ASSERT_EQUAL(sink.disorder_pkts, 0);
	CU_ASSERT_EQUAL(sink.latency->count, 0);
}

TL_TEST("a frame after a later one is out of order")
{
	begin(false);
	take(0);
	take(2);
	CU_ASSERT_EQUAL(sink.disorder_pkts, 0);
	take(1);
	CU_ASSERT_EQUAL(sink.disorder_pkts, 1);
	CU_ASSERT_EQUAL(sink.seq_sum, 3);
}

TL_TEST("a duplicate is out of order")
{
	begin(false);
	take(4);
	take(4);
	CU_ASSERT_EQUAL(sink.disorder_pkts, 1);
	CU_ASSERT_EQUAL(sink.seq_sum, 8);
}

TL_TEST("a restarted source is in order")
{
	begin(false);
	take(0);
	take(1);
	take(0);
	take(1);
	CU_ASSERT_EQUAL(sink.disorder_pkts, 0);
}

TL_TEST("foreign traffic needs no sequence numbers")
{
	begin(true);
	memset(frame, 0xff, sizeof(frame));
	tl_ladder_take(&sink, frame, 14);
	tl_ladder_take(&sink, frame, 1514);
	CU_ASSERT_EQUAL(sink.pkts, 2);
	CU_ASSERT_EQUAL(sink.bytes, 1528);
	CU_ASSERT_EQUAL(sink.foreign_pkts, 0);
	CU_ASSERT_EQUAL(sink.disorder_pkts, 0);
}

TL_TEST("a stamp becomes a latency")
{
	uint64_t stamp_ns = tl_ladder_now_ns() - 5000;

	begin(false);
	tl_ladder_number(frame, 0, stamp_ns);
	tl_ladder_take(&sink, frame, 60);
	CU_ASSERT_EQUAL(latency.count, 1);
	CU_ASSERT(latency.min_ns >= 5000);
	CU_ASSERT(latency.max_ns <= tl_ladder_now_ns() - stamp_ns);
}

// ---- table

TL_TEST("each rung is compared with an earlier one")
{
	unsigned n;
	const struct tl_ladder_rung *rungs = tl_ladder_rungs(&n);

	CU_ASSERT(n > 20);
	CU_ASSERT_PTR_NULL(rungs[0].than);
	for (unsigned i = 1; i < n; i++) {
		unsigned found = 0;
		for (unsigned k = 0; k < i; k++) {
			found += strcmp(rungs[k].name, rungs[i].than) == 0;
			CU_ASSERT(strcmp(rungs[k].name, rungs[i].name) != 0);
		}
		CU_ASSERT_EQUAL(found, 1);
	}
}

int main(void)
{
	return tl_test_run("ladder");
}
