// SPDX-License-Identifier: BSD-3-Clause
// Frames that a recorder returns to the ladder, and the goals of the ladder.

#include "tl_test.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include <rx_priv.h>
#include <tl_pcapfile.h>

// ---- returned frames

#define FRAME_BYTES 61
#define LATE_NS (5 * TL_NS_PER_MS)

static uint8_t recording[4096];
static uint32_t recording_bytes;
static struct tl_ladder_sink sink;
static struct tl_hist latency;

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void begin(void)
{
	tl_hist_init(&latency);
	sink = (struct tl_ladder_sink){.latency = &latency};
	recording_bytes =
		tl_pcapng_put_shb(recording, sizeof(recording), &(struct tl_pcapng_shb){.application = "tapline"});
	recording_bytes += tl_pcapng_put_idb(recording + recording_bytes, (uint32_t)sizeof(recording) - recording_bytes,
		&(struct tl_pcapng_idb){.name = "rx0"});
}

// Record a frame that was sent at sent_ns of CLOCK_MONOTONIC.
static void record(uint32_t seq, uint64_t sent_ns, uint64_t ts_ns)
{
	const struct tl_pcapng_epb epb = {
		.cap_bytes = FRAME_BYTES, .wire_bytes = FRAME_BYTES, .ts_ns = ts_ns, .flags = 1};
	uint8_t frame[FRAME_BYTES] = {0};

	tl_ladder_number(frame, seq, sent_ns);
	memcpy(tl_pcapng_put_epb(recording + recording_bytes, &epb), frame, sizeof(frame));
	recording_bytes += tl_pcapng_epb_bytes(epb.cap_bytes, epb.flags, 0);
}

// Write the recording to a pipe in parts of part bytes, and take what has come after each. Return the first error.
static int take_all(uint32_t part)
{
	int fds[2], rc = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	struct rx_returned *returned = rx_returned_create(fds[0]);
	CU_ASSERT_PTR_NOT_NULL_FATAL(returned);
	for (uint32_t at = 0; at < recording_bytes && rc == 0; at += part) {
		size_t n = tl_min_u64(part, recording_bytes - at);
		CU_ASSERT_EQUAL_FATAL(write(fds[1], recording + at, n), (ssize_t)n);
		rc = rx_returned_take(returned, &sink, 0);
	}
	close(fds[1]);
	if (rc == 0)
		CU_ASSERT_EQUAL(rx_returned_take(returned, &sink, 0), -EPIPE);
	rx_returned_destroy(returned);
	return rc;
}

TL_TEST("frames that a recorder returns are taken whole and in order, wherever the pipe divides them")
{
	for (uint32_t part = 1; part < 400; part += 7) {
		begin();
		for (uint32_t i = 0; i < 10; i++)
			record(i, 0, 1);
		CU_ASSERT_EQUAL(take_all(part), 0);
		CU_ASSERT_EQUAL(sink.pkts, 10);
		CU_ASSERT_EQUAL(sink.bytes, 10 * FRAME_BYTES);
		CU_ASSERT_EQUAL(sink.seq_sum, 45);
		CU_ASSERT_EQUAL(sink.disorder_pkts, 0);
		CU_ASSERT_EQUAL(latency.count, 0);
	}
}

TL_TEST("their latency ends at their stamps, not when they are read")
{
	uint64_t before = tl_ladder_now_ns(), real = real_ns(), after = tl_ladder_now_ns();

	begin();
	record(0, before, real + LATE_NS);
	CU_ASSERT_EQUAL(take_all(sizeof(recording)), 0);
	CU_ASSERT_EQUAL(latency.count, 1);
	CU_ASSERT(latency.min_ns > LATE_NS / 2); // the clocks are compared again
	CU_ASSERT(latency.max_ns < LATE_NS + after - before + LATE_NS / 2);
}

TL_TEST("a stamp before that of the sender, within the error of its clock, is no delay")
{
	begin();
	record(0, tl_ladder_now_ns() + TL_NS_PER_S, real_ns());
	CU_ASSERT_EQUAL(take_all(sizeof(recording)), 0);
	CU_ASSERT_EQUAL(latency.count, 1);
	CU_ASSERT_EQUAL(latency.max_ns, 0);
}

TL_TEST("a damaged recording is an error")
{
	begin();
	record(0, 0, 1);
	uint32_t second = recording_bytes;
	record(1, 0, 1);
	recording[second + 4] = 13; // its length
	CU_ASSERT_EQUAL(take_all(sizeof(recording)), -EBADMSG);
	CU_ASSERT_EQUAL(sink.pkts, 1);
}

// ---- goals

static const struct tl_ladder_rung recv_rung = {.name = "recv"}, ring = {.name = "ring-v3"},
				   hash = {.name = "ring-v3-hash", .fanout = PACKET_FANOUT_HASH},
				   memory = {.name = "dpdk-memory", .own_source = true},
				   nic = {.name = "dpdk-nic", .nic = true}, tapline = {.name = "tapline"};

static struct tl_bench_rx_row row(const struct tl_ladder_rung *rung, uint32_t size, double cpu_ns, double pps)
{
	return (struct tl_bench_rx_row){.rung = rung, .size_bytes = size, .cpu_ns = cpu_ns, .received_pps = pps};
}

static struct tl_bench_rx_goal goals[TL_BENCH_RX_GOALS * TL_BENCH_SIZES_MAX];

static unsigned goals_of(struct tl_bench_rx_row rows[], unsigned n)
{
	return tl_bench_rx_goals(&(struct tl_bench_rx_result){.rows = rows, .n_rows = n}, goals);
}

TL_TEST("each goal compares two rungs by the best of those that it is about")
{
	struct tl_bench_rx_row rows[] = {row(&recv_rung, 60, 900, 1000), row(&ring, 60, 30, 2000),
		row(&hash, 60, 290, 4000), row(&memory, 60, 10, 21000), row(&nic, 60, 1, 99000),
		row(&tapline, 60, 33, 9000)};

	CU_ASSERT_EQUAL_FATAL(goals_of(rows, TL_ARRAY_LEN(rows)), 3);
	CU_ASSERT_STRING_EQUAL(goals[0].rung, "ring-v3-hash");
	CU_ASSERT_STRING_EQUAL(goals[0].than, "recv");
	CU_ASSERT_DOUBLE_EQUAL(goals[0].ratio, 290.0 / 900, 1e-9);
	CU_ASSERT(goals[0].met && !goals[0].by_rate);
	CU_ASSERT_STRING_EQUAL(goals[1].rung, "dpdk-memory");
	CU_ASSERT_STRING_EQUAL(goals[1].than, "ring-v3-hash");
	CU_ASSERT_DOUBLE_EQUAL(goals[1].ratio, 5.25, 1e-9);
	CU_ASSERT(goals[1].met && goals[1].by_rate && !goals[1].sender_bound);
	CU_ASSERT_STRING_EQUAL(goals[2].rung, "tapline");
	CU_ASSERT_STRING_EQUAL(goals[2].than, "ring-v3");
	CU_ASSERT_DOUBLE_EQUAL(goals[2].ratio, 1.1, 1e-9);
	CU_ASSERT_FALSE(goals[2].met);
	CU_ASSERT(isinf(goals[1].at_most) && goals[1].at_least > 4.9);
}

TL_TEST("a goal that is just missed is missed, and one that is just met is met")
{
	struct tl_bench_rx_row rows[] = {row(&recv_rung, 60, 900, 1000), row(&hash, 60, 310, 1000),
		row(&memory, 60, 10, 4900), row(&tapline, 60, 310, 500)};

	CU_ASSERT_EQUAL_FATAL(goals_of(rows, TL_ARRAY_LEN(rows)), 3);
	CU_ASSERT(!goals[0].met && !goals[1].met && goals[2].met);
}

TL_TEST("a goal has the doubts of its rungs")
{
	struct tl_bench_rx_row rows[] = {
		row(&recv_rung, 60, 900, 1000), row(&hash, 60, 30, 4000), row(&memory, 60, 10, 21000)};

	rows[0].noisy = true;
	rows[1].sender_bound = true;
	CU_ASSERT_EQUAL_FATAL(goals_of(rows, TL_ARRAY_LEN(rows)), 2);
	CU_ASSERT(goals[0].noisy && !goals[0].sender_bound);
	CU_ASSERT(!goals[1].noisy && goals[1].sender_bound);
}

TL_TEST("a goal needs both rungs, measured with the same frames")
{
	struct tl_bench_rx_row rows[] = {row(&recv_rung, 60, 900, 1000), row(&hash, 512, 30, 4000),
		row(&recv_rung, 512, 600, 1000), row(&tapline, 60, 9, 1000)};

	CU_ASSERT_EQUAL_FATAL(goals_of(rows, TL_ARRAY_LEN(rows)), 2);
	CU_ASSERT(goals[0].size_bytes == 60 && strcmp(goals[0].rung, "tapline") == 0);
	CU_ASSERT(goals[1].size_bytes == 512 && strcmp(goals[1].rung, "ring-v3-hash") == 0);
	snprintf(rows[0].refused, sizeof(rows[0].refused), "no");
	rows[1].cpu_ns = TL_BENCH_RX_UNKNOWN;
	CU_ASSERT_EQUAL(goals_of(rows, TL_ARRAY_LEN(rows)), 0);
}

int main(void)
{
	return tl_test_run("bench_rx");
}
