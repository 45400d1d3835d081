// SPDX-License-Identifier: BSD-3-Clause
// Due times, text forms of speeds and rates, and the ledger's identity.

#include <errno.h>
#include <string.h>

#include <tl_replay.h>
#include <tl_test.h>

#define START_NS (UINT64_C(1700000000) * TL_NS_PER_S + 123456789)
#define TEN_HOURS_NS (UINT64_C(36000) * TL_NS_PER_S)

static struct tl_replay_schedule schedule;

static void begin(enum tl_replay_pace pace, uint64_t speed, uint64_t rate)
{
	const struct tl_replay_pacing pacing = {.pace = pace, .speed = speed, .rate = rate, .max_gap_ns = UINT64_MAX};

	tl_replay_schedule_init(&schedule, &pacing);
	tl_replay_schedule_file(&schedule, false);
}

static uint64_t next(uint64_t ts_ns)
{
	return tl_replay_schedule_next(&schedule, ts_ns, 60);
}

TL_TEST("due times over ten hours drift by nothing")
{
	const uint64_t gap_ns = 1000003; // no multiple of any unit
	uint64_t i, wrong = 0;

	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	for (i = 0; i * gap_ns < TEN_HOURS_NS; i++)
		wrong += next(START_NS + i * gap_ns) != i * gap_ns;
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(i > 35000000);
}

TL_TEST("a speed divides the time from the beginning, not each gap")
{
	begin(TL_REPLAY_RECORDED, 3 * TL_REPLAY_MILLION, 0);
	for (uint64_t i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(next(START_NS + i), i / 3); // summed gaps would stay 0
	begin(TL_REPLAY_RECORDED, TL_REPLAY_SPEED_MIN, 0);
	CU_ASSERT_EQUAL(next(START_NS), 0);
	CU_ASSERT_EQUAL(next(START_NS + TEN_HOURS_NS + 7), 100 * (TEN_HOURS_NS + 7));
	begin(TL_REPLAY_RECORDED, TL_REPLAY_SPEED_MAX, 0);
	CU_ASSERT_EQUAL(next(START_NS), 0);
	CU_ASSERT_EQUAL(next(START_NS + TEN_HOURS_NS), TEN_HOURS_NS / 100);
}

TL_TEST("times without jumps keep their distances, also out of order")
{
	static const uint64_t steps_ns = 500 * TL_NS_PER_S;

	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	schedule.pacing.max_gap_ns = 10 * TL_NS_PER_S;
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, START_NS), START_NS);
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, START_NS + 700), START_NS + 700);
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, START_NS + 300), START_NS + 300);
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, START_NS - 100), START_NS - 100);
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, START_NS - steps_ns), START_NS + 700); // the clock was set
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, START_NS - steps_ns + 40), START_NS + 740);
	tl_replay_schedule_file(&schedule, false);
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, START_NS + 2 * steps_ns), START_NS + 740 + 10 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(schedule.shortened_gaps, 1);
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, 5), 5); // in 1970
	CU_ASSERT_EQUAL(tl_replay_schedule_time(&schedule, 2), 2);
}

TL_TEST("a frame recorded before an earlier one is due with its predecessor, and counted")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	CU_ASSERT_EQUAL(next(START_NS), 0);
	CU_ASSERT_EQUAL(next(START_NS + 500), 500);
	CU_ASSERT_EQUAL(next(START_NS + 400), 500);
	CU_ASSERT_EQUAL(next(START_NS - 1), 500); // before the first frame
	CU_ASSERT_EQUAL(schedule.backward_pkts, 2);
	CU_ASSERT_EQUAL(next(START_NS + 499), 500);
	CU_ASSERT_EQUAL(next(START_NS + 501), 501); // the anchor is unchanged
	CU_ASSERT_EQUAL(schedule.backward_pkts, 3);
}

// ---- a clock that was set back

TL_TEST("behind a clock that was set back frames keep their distances, in every loop")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	for (uint64_t loop = 0; loop < 3; loop++) {
		uint64_t begin_ns = loop * 998 * TL_NS_PER_MS;
		if (loop != 0)
			tl_replay_schedule_file(&schedule, true);
		for (uint64_t i = 0; i < 500; i++)
			CU_ASSERT_EQUAL(next(START_NS + i * TL_NS_PER_MS), begin_ns + i * TL_NS_PER_MS);
		for (uint64_t i = 500; i < 1000; i++)
			CU_ASSERT_EQUAL(next(START_NS - 100 * TL_NS_PER_S + i * TL_NS_PER_MS),
				begin_ns + (i - 1) * TL_NS_PER_MS); // the first one is due with its predecessor
		CU_ASSERT_EQUAL(schedule.backward_pkts, loop + 1);
	}
	CU_ASSERT_EQUAL(schedule.rebased_files, 0);
}

TL_TEST("a jump back by a second is disorder, beyond it the clock was set")
{
	for (uint64_t set = 0; set < 2; set++) {
		begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
		next(START_NS);
		next(START_NS + 2 * TL_NS_PER_S);
		CU_ASSERT_EQUAL(next(START_NS + TL_NS_PER_S - set), 2 * TL_NS_PER_S);
		CU_ASSERT_EQUAL(next(START_NS + TL_NS_PER_S + 100), 2 * TL_NS_PER_S + set * 101);
		CU_ASSERT_EQUAL(schedule.backward_pkts, 2 - set);
	}
}

TL_TEST("stray frames of long ago neither flood nor stall what follows")
{
	for (unsigned strays = 1; strays < 4; strays++) {
		begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
		for (uint64_t i = 0; i < 100; i++) {
			for (unsigned k = 0; k < strays && i != 0; k++)
				CU_ASSERT_EQUAL(next(0), (i - 1) * TL_NS_PER_MS);
			CU_ASSERT_EQUAL(next(START_NS + i * TL_NS_PER_MS), i * TL_NS_PER_MS);
		}
		CU_ASSERT_EQUAL(schedule.backward_pkts, 99);
	}
}

TL_TEST("stray frames of different times are stray, whatever their order")
{
	static const uint64_t strays[][3] = {{300, 200, 100}, {100, 200, 300}, {200, 100, 300}, {300, 100, 200}};

	for (size_t i = 0; i < TL_ARRAY_LEN(strays); i++) {
		begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
		next(START_NS);
		CU_ASSERT_EQUAL(next(START_NS + 10), 10);
		for (size_t k = 0; k < TL_ARRAY_LEN(strays[i]); k++)
			CU_ASSERT_TRUE(next(strays[i][k] * TL_NS_PER_S) <= 10 + 200 * TL_NS_PER_S);
		uint64_t due_ns = next(START_NS + 300 * TL_NS_PER_S);
		CU_ASSERT_EQUAL(due_ns, 300 * TL_NS_PER_S);
	}
}

TL_TEST("a stray frame hides no disorder, and no clock that is set after it")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	next(START_NS);
	next(START_NS + 10);
	CU_ASSERT_EQUAL(next(0), 10);
	CU_ASSERT_EQUAL(next(START_NS + 5), 10); // the old clock's, out of order
	CU_ASSERT_EQUAL(next(START_NS + 12), 12);
	CU_ASSERT_EQUAL(next(0), 12);
	CU_ASSERT_EQUAL(next(START_NS - 100 * TL_NS_PER_S), 12); // set back by 100 s
	CU_ASSERT_EQUAL(next(START_NS - 100 * TL_NS_PER_S + 7), 19);
	CU_ASSERT_EQUAL(schedule.backward_pkts, 4);
}

TL_TEST("a clock that was set back passes its old time without a trace")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	next(START_NS);
	for (uint64_t i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(next(START_NS - 100 * TL_NS_PER_S + i * TL_NS_PER_S), i * TL_NS_PER_S);
	CU_ASSERT_EQUAL(next(START_NS + 2000 * TL_NS_PER_S), 2100 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(schedule.backward_pkts, 1);
}

// The clock is 1970's for a minute. The old one has gone on meanwhile, or is set to the time before.
TL_TEST("a clock that is put right again continues at its own time, and never before what was sent")
{
	for (uint64_t right = 0; right < 2; right++) {
		uint64_t again_ns = START_NS + 5 + right * 90 * TL_NS_PER_S;
		uint64_t due_ns = right ? 5 + 90 * TL_NS_PER_S : 60 * TL_NS_PER_S;
		begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
		next(START_NS);
		CU_ASSERT_EQUAL(next(0), 0);
		CU_ASSERT_EQUAL(next(60 * TL_NS_PER_S), 60 * TL_NS_PER_S);
		CU_ASSERT_EQUAL(next(again_ns), due_ns);
		CU_ASSERT_EQUAL(next(again_ns + 7), due_ns + 7);
	}
}

TL_TEST("a stray frame at the end of a file moves neither the next file nor the next loop")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	next(START_NS);
	next(START_NS + 10);
	next(0);
	tl_replay_schedule_file(&schedule, false);
	CU_ASSERT_EQUAL(next(START_NS + 25), 25); // the next file goes on
	next(0);
	tl_replay_schedule_file(&schedule, false);
	CU_ASSERT_EQUAL(next(START_NS - 1000 * TL_NS_PER_S), 25); // the next file begins earlier
	CU_ASSERT_EQUAL(next(START_NS - 1000 * TL_NS_PER_S + 10), 35);
	CU_ASSERT_EQUAL(schedule.rebased_files, 1);
	next(0);
	tl_replay_schedule_file(&schedule, true);
	CU_ASSERT_EQUAL(next(START_NS), 35);
	CU_ASSERT_EQUAL(next(START_NS + 10), 45);
	CU_ASSERT_EQUAL(schedule.rebased_files, 1);
	CU_ASSERT_EQUAL(schedule.backward_pkts, 3);
}

TL_TEST("frames of equal times are due together")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	CU_ASSERT_EQUAL(next(0), 0);
	CU_ASSERT_EQUAL(next(0), 0);
	CU_ASSERT_EQUAL(next(0), 0);
	CU_ASSERT_EQUAL(schedule.backward_pkts, 0);
}

TL_TEST("a loop begins when the one before ended, after a thousand loops as well")
{
	const uint64_t length_ns = 1234567891;

	begin(TL_REPLAY_RECORDED, 2 * TL_REPLAY_MILLION, 0);
	for (uint64_t loop = 0; loop < 1001; loop++) {
		if (loop != 0)
			tl_replay_schedule_file(&schedule, true);
		CU_ASSERT_EQUAL(next(START_NS), loop * length_ns / 2);
		CU_ASSERT_EQUAL(next(START_NS + length_ns), (loop + 1) * length_ns / 2);
	}
	CU_ASSERT_EQUAL(schedule.backward_pkts, 0);
	CU_ASSERT_EQUAL(schedule.rebased_files, 0);
}

TL_TEST("at half the speed loops take twice the time")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION / 2, 0);
	for (uint64_t loop = 0; loop < 3; loop++) {
		if (loop != 0)
			tl_replay_schedule_file(&schedule, true);
		CU_ASSERT_EQUAL(next(START_NS), loop * 2002);
		CU_ASSERT_EQUAL(next(START_NS + 3), loop * 2002 + 6);
		CU_ASSERT_EQUAL(next(START_NS + 1001), (loop + 1) * 2002);
	}
}

TL_TEST("the next file keeps its distance in time")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	next(START_NS);
	next(START_NS + 10);
	tl_replay_schedule_file(&schedule, false);
	CU_ASSERT_EQUAL(next(START_NS + 25), 25);
	CU_ASSERT_EQUAL(schedule.rebased_files, 0);
}

TL_TEST("a file that begins earlier continues from the end of its predecessor")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_MILLION, 0);
	next(START_NS);
	next(START_NS + 10);
	tl_replay_schedule_file(&schedule, false);
	CU_ASSERT_EQUAL(next(77), 10);
	CU_ASSERT_EQUAL(next(177), 110);
	CU_ASSERT_EQUAL(schedule.rebased_files, 1);
	CU_ASSERT_EQUAL(schedule.backward_pkts, 0);
}

TL_TEST("gaps beyond --max-gap are shortened, and no others")
{
	const struct tl_replay_pacing pacing = {
		.pace = TL_REPLAY_RECORDED, .speed = TL_REPLAY_MILLION / 2, .max_gap_ns = 100};

	tl_replay_schedule_init(&schedule, &pacing);
	CU_ASSERT_EQUAL(next(START_NS), 0);
	CU_ASSERT_EQUAL(next(START_NS + 100), 200);
	CU_ASSERT_EQUAL(next(START_NS + 201), 400); // 101 ns after: one above the limit
	CU_ASSERT_EQUAL(next(START_NS + 211), 420);
	CU_ASSERT_EQUAL(next(UINT64_MAX), 620);
	CU_ASSERT_EQUAL(schedule.shortened_gaps, 2);
}

TL_TEST("a gap is from the latest frame so far, not from one out of order")
{
	const struct tl_replay_pacing pacing = {
		.pace = TL_REPLAY_RECORDED, .speed = TL_REPLAY_MILLION, .max_gap_ns = TL_NS_PER_S};

	tl_replay_schedule_init(&schedule, &pacing);
	CU_ASSERT_EQUAL(next(START_NS), 0);
	CU_ASSERT_EQUAL(next(START_NS + 2 * TL_NS_PER_S), TL_NS_PER_S); // shortened
	CU_ASSERT_EQUAL(next(START_NS + TL_NS_PER_S / 2), TL_NS_PER_S);
	CU_ASSERT_EQUAL(next(START_NS + 2 * TL_NS_PER_S + 100), TL_NS_PER_S + 100);
	CU_ASSERT_EQUAL(next(START_NS + TL_NS_PER_S + 200), TL_NS_PER_S + 100); // disorder
	CU_ASSERT_EQUAL(next(START_NS + 3 * TL_NS_PER_S + 100), 2 * TL_NS_PER_S + 100);
	CU_ASSERT_EQUAL(schedule.shortened_gaps, 1);
	CU_ASSERT_EQUAL(schedule.backward_pkts, 2);
}

TL_TEST("the longest time at the slowest speed is due at the latest")
{
	begin(TL_REPLAY_RECORDED, TL_REPLAY_SPEED_MIN, 0);
	CU_ASSERT_EQUAL(next(0), 0);
	CU_ASSERT_EQUAL(next(UINT64_MAX), TL_REPLAY_DUE_MAX);
	tl_replay_schedule_file(&schedule, true);
	CU_ASSERT_EQUAL(next(0), TL_REPLAY_DUE_MAX);
	CU_ASSERT_EQUAL(next(UINT64_MAX), TL_REPLAY_DUE_MAX); // 1168 years
	begin(TL_REPLAY_RECORDED, TL_REPLAY_SPEED_MAX, 0);
	next(0);
	next(UINT64_C(1) << 63);
	tl_replay_schedule_file(&schedule, true);
	next(0);
	CU_ASSERT_EQUAL(next((UINT64_C(1) << 63) + 10), UINT64_MAX / 100); // recorded time beyond 64 bits
	begin(TL_REPLAY_RECORDED, TL_REPLAY_SPEED_MAX, 0);
	CU_ASSERT_EQUAL(next(0), 0);
	CU_ASSERT_EQUAL(next(UINT64_C(4291747200) * TL_NS_PER_S), UINT64_C(42917472) * TL_NS_PER_S); // 2106
}

TL_TEST("a rate of frames ignores the recorded times")
{
	begin(TL_REPLAY_PPS, 0, 3 * TL_REPLAY_MILLION);
	CU_ASSERT_EQUAL(next(START_NS), 0);
	CU_ASSERT_EQUAL(next(5), 333333333);
	CU_ASSERT_EQUAL(next(START_NS), 666666666);
	CU_ASSERT_EQUAL(next(5), TL_NS_PER_S); // thirds of a second, rounded separately, would be short by 1
	CU_ASSERT_EQUAL(schedule.backward_pkts, 0);
}

TL_TEST("a rate in bits counts the frame's bits on the wire")
{
	begin(TL_REPLAY_BPS, 0, UINT64_C(10000000000) * TL_REPLAY_MILLION);
	CU_ASSERT_EQUAL(tl_replay_schedule_next(&schedule, 0, 60), 0);
	CU_ASSERT_EQUAL(tl_replay_schedule_next(&schedule, 0, 14), 67);	   // 84 bytes at 10 Gbit/s: 67.2 ns
	CU_ASSERT_EQUAL(tl_replay_schedule_next(&schedule, 0, 1514), 134); // the short one was padded
	CU_ASSERT_EQUAL(tl_replay_schedule_next(&schedule, 0, 60), 134 + 1230);
}

TL_TEST("at line rate every frame is due at once")
{
	begin(TL_REPLAY_LINE, 0, 0);
	CU_ASSERT_EQUAL(next(START_NS), 0);
	CU_ASSERT_EQUAL(next(START_NS + TEN_HOURS_NS), 0);
}

// ---- text

TL_TEST("speeds are decimals from a hundredth to a hundred")
{
	uint64_t speed;

	CU_ASSERT_EQUAL(tl_replay_parse_speed("1", &speed), 0);
	CU_ASSERT_EQUAL(speed, TL_REPLAY_MILLION);
	CU_ASSERT_EQUAL(tl_replay_parse_speed("0.333333", &speed), 0);
	CU_ASSERT_EQUAL(speed, 333333);
	CU_ASSERT_EQUAL(tl_replay_parse_speed("0.01", &speed), 0);
	CU_ASSERT_EQUAL(tl_replay_parse_speed("100", &speed), 0);
	static const char *const wrong[] = {
		"", "0", "0.009", "100.000001", "-1", "1x", "1.", ".5", "1.1234567", "1e2", "9999999999999"};
	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++)
		CU_ASSERT_EQUAL(tl_replay_parse_speed(wrong[i], &speed), -EINVAL);
}

static void expect_rate(const char *text, enum tl_replay_pace pace, uint64_t rate)
{
	struct tl_replay_pacing pacing = {0};

	CU_ASSERT_EQUAL(tl_replay_parse_rate(text, 10000000000, &pacing), 0);
	CU_ASSERT_EQUAL(pacing.pace, pace);
	CU_ASSERT_EQUAL(pacing.rate, rate);
}

TL_TEST("rates have a unit")
{
	struct tl_replay_pacing pacing;

	expect_rate("1000pps", TL_REPLAY_PPS, 1000 * TL_REPLAY_MILLION);
	expect_rate("2.5Mpps", TL_REPLAY_PPS, 2500000 * TL_REPLAY_MILLION);
	expect_rate("0.5pps", TL_REPLAY_PPS, TL_REPLAY_MILLION / 2);
	expect_rate("9kbps", TL_REPLAY_BPS, 9000 * TL_REPLAY_MILLION);
	expect_rate("100Gbps", TL_REPLAY_BPS, UINT64_C(100000000000) * TL_REPLAY_MILLION);
	expect_rate("12.5%", TL_REPLAY_BPS, UINT64_C(1250000000) * TL_REPLAY_MILLION);
	static const char *const wrong[] = {
		"", "5", "0pps", "pps", "5 pps", "100.1%", "0%", "5Tbps", "5ppsx", "1001Gbps"};
	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++)
		CU_ASSERT_EQUAL(tl_replay_parse_rate(wrong[i], 10000000000, &pacing), -EINVAL);
	CU_ASSERT_EQUAL(tl_replay_parse_rate("40%", 0, &pacing), -ENODATA);
}

TL_TEST("the frames of a burst are due at once, bursts apart")
{
	const struct tl_replay_pacing pacing = {.pace = TL_REPLAY_BURSTS, .burst_pkts = 3, .burst_gap_ns = 1000};

	tl_replay_schedule_init(&schedule, &pacing);
	for (uint64_t i = 0; i < 30; i++)
		CU_ASSERT_EQUAL(tl_replay_schedule_next(&schedule, i * TL_NS_PER_S, 60), i / 3 * 1000);
}

// ---- the ledger

TL_TEST("each counter of the ledger is a part of the read frames")
{
	struct tl_replay_ledger ledger = {0};
	uint64_t *counters = (uint64_t *)&ledger;
	struct tl_counter rows[TL_REPLAY_COUNTERS];
	uint64_t sums[2] = {0};

	CU_ASSERT_EQUAL_FATAL(sizeof(ledger), TL_REPLAY_COUNTERS * sizeof(uint64_t));
	CU_ASSERT_TRUE(tl_replay_ledger_ok(&ledger));
	for (size_t i = TL_REPLAY_WHOLES; i < TL_REPLAY_COUNTERS; i++) {
		counters[i] += i;
		CU_ASSERT_FALSE(tl_replay_ledger_ok(&ledger));
		*(i % 2 == 0 ? &ledger.read_pkts : &ledger.added_pkts) += i;
		sums[i % 2] += i;
		CU_ASSERT_TRUE(tl_replay_ledger_ok(&ledger));
	}
	tl_replay_ledger_rows(&ledger, rows);
	CU_ASSERT_STRING_EQUAL(rows[0].name, "read_pkts");
	CU_ASSERT_EQUAL(rows[0].value, sums[0]);
	CU_ASSERT_STRING_EQUAL(rows[1].name, "added_pkts");
	CU_ASSERT_EQUAL(rows[1].value, sums[1]);
	CU_ASSERT_STRING_EQUAL(rows[11].name, "refused_pkts");
	CU_ASSERT_EQUAL(rows[11].value, 11);
	CU_ASSERT_STRING_EQUAL(rows[TL_REPLAY_COUNTERS - 1].name, "drop_end_pkts");
}

int main(void)
{
	return tl_test_run("replay_schedule");
}
