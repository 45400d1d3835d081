// SPDX-License-Identifier: BSD-3-Clause
// Recording: pauses, episodes and the events that trigger them.

#include <tl_test_capture.h>

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

int main(void)
{
	return test_capture_run("capture_trigger");
}
