// SPDX-License-Identifier: BSD-3-Clause
// Loss ledger: shapes and policers.

#include <tl_test_report.h>

// A shape of two classes. 90 frames left them, 1 bypassed them; the port accepted 85, rejected 4, and 2 are pending.
static struct tl_report_class shape_rows[3];

static struct tl_snapshot *shaped_snapshot(void)
{
	struct tl_snapshot *snap = lossless_snapshot();

	shape_rows[0] = (struct tl_report_class){.name = "wan",
		.rate_bps = 2000000,
		.ceil_bps = 2000000,
		.in_pkts = 100,
		.sent_pkts = 90,
		.queued_pkts = 3,
		.drop_limit_pkts = 4,
		.drop_late_pkts = 3};
	shape_rows[1] = (struct tl_report_class){.name = "ssh",
		.parent = "wan",
		.depth = 1,
		.rate_bps = 128000,
		.ceil_bps = 2000000,
		.prio = 1,
		.in_pkts = 20,
		.in_bytes = 2000,
		.sent_pkts = 16,
		.queued_pkts = 1,
		.drop_late_pkts = 3,
		.borrowed_bytes = 1234,
		.delay_mean_ns = 2000,
		.delay_p99_ns = 8000,
		.delay_max_ns = 9000};
	shape_rows[2] = (struct tl_report_class){.name = "rest",
		.parent = "wan",
		.depth = 1,
		.in_pkts = 80,
		.sent_pkts = 74,
		.queued_pkts = 2,
		.drop_limit_pkts = 4};
	snap->final = false;
	snap->n_shapes = 1;
	snap->shapes[0] = (struct tl_report_shape){.name = "wan",
		.port = "left",
		.bypass_pkts = 1,
		.tx_pkts = 85,
		.drop_tx_pkts = 4,
		.drop_shaped_pkts = 6,
		.n_classes = 3,
		.classes = shape_rows};
	return snap;
}

TL_TEST("a shape may be ahead of its port but not behind")
{
	struct tl_snapshot *snap = shaped_snapshot();
	struct tl_report_shape *shape = &snap->shapes[0];

	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 7;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 88; // one outside the classes
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 8;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape->drop_shaped_pkts = 7;
	shape_rows[2].sent_pkts++;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	expect_line(snap, "  BROKEN: frames are unaccounted for, or accounted for twice, between classes and port");
	free(snap);
}

TL_TEST("at the end a shape has no queued frames")
{
	struct tl_snapshot *snap = shaped_snapshot();
	struct tl_report_shape *shape = &snap->shapes[0];

	snap->final = true;
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 7;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape_rows[0].queued_pkts = 0;
	shape_rows[0].drop_end_pkts = 3;
	shape->drop_shaped_pkts = 10;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	expect_line(snap, "  ok: every frame of its classes is accounted for");
	shape->tx_pkts = 86;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape->tx_pkts = 87;
	shape->drop_shaped_pkts = 9;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("a shape reports its classes and where frames were lost")
{
	struct tl_snapshot *snap = shaped_snapshot();

	snap->ports[0].drop_shaped_pkts = 7;
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text, "shape wan on port left, queue 0"));
	CU_ASSERT_TRUE(has_line(text,
		"    ssh                   128k   2.00M            16           1           3         1,234    2.000 us    8.000 us    9.000 "
		"us"));
	CU_ASSERT_TRUE(has_line(text, "  1 frames bypassed the classes"));
	CU_ASSERT_TRUE(has_line(text, "  LOST in ssh:  drop_late_pkts 3"));
	CU_ASSERT_TRUE(has_line(text, "  LOST in rest:  drop_limit_pkts 4"));
	CU_ASSERT_PTR_NULL(strstr(text, "LOST in wan"));
	CU_ASSERT_TRUE(has_line(text, "  LOST: 7 frames dropped by class trees before sending"));
	CU_ASSERT_PTR_NULL(strstr(text, "frames that arrived")); // none of these did
	free(text);
	json_t *json = tl_report_json(snap), *shape = json_array_get(json_object_get(json, "shapes"), 0);
	const json_t *classes = json_object_get(shape, "classes"), *ssh = json_array_get(classes, 1);
	CU_ASSERT_EQUAL(integer_at(shape, "bypass_pkts"), 1);
	CU_ASSERT_TRUE(json_is_true(json_object_get(shape, "ledger_ok")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_array_get(classes, 0), "parent")));
	CU_ASSERT_STRING_EQUAL(string_at(ssh, "parent"), "wan");
	CU_ASSERT_EQUAL(integer_at(ssh, "rate_bps"), 128000);
	CU_ASSERT_EQUAL(integer_at(ssh, "ceil_bps"), 2000000);
	CU_ASSERT_EQUAL(integer_at(ssh, "prio"), 1);
	CU_ASSERT_EQUAL(integer_at(ssh, "in_pkts"), 20);
	CU_ASSERT_EQUAL(integer_at(ssh, "in_bytes"), 2000);
	CU_ASSERT_EQUAL(integer_at(ssh, "borrowed_bytes"), 1234);
	CU_ASSERT_EQUAL(integer_at(ssh, "drop_late_pkts"), 3);
	CU_ASSERT_EQUAL(integer_at(ssh, "delay_mean_ns"), 2000);
	CU_ASSERT_EQUAL(integer_at(ssh, "delay_p99_ns"), 8000);
	CU_ASSERT_EQUAL(integer_at(ssh, "delay_max_ns"), 9000);
	json_decref(json);
	free(snap);
}

TL_TEST("a policer has coloured each frame of its class")
{
	struct tl_snapshot *snap = shaped_snapshot();

	shape_rows[0].queued_pkts = shape_rows[1].queued_pkts = shape_rows[2].queued_pkts = 0;
	shape_rows[0].sent_pkts = snap->shapes[0].tx_pkts = 92;
	snap->shapes[0].drop_tx_pkts = 1;
	snap->shapes[0].drop_shaped_pkts = 8;
	shape_rows[1].sent_pkts = 15;
	shape_rows[2].sent_pkts = 77;
	shape_rows[1].drop_police_pkts = shape_rows[0].drop_police_pkts = 1;
	shape_rows[1].drop_late_pkts = shape_rows[0].drop_late_pkts = 4;
	shape_rows[0].drop_limit_pkts = shape_rows[2].drop_limit_pkts = 3;
	snap->final = true;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	shape_rows[1].is_policed = true;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	shape_rows[1].green_pkts = 12;
	shape_rows[1].yellow_pkts = 5;
	shape_rows[1].red_pkts = 3;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	char *text = text_of(tl_report_ledger_text, snap);
	CU_ASSERT_TRUE(has_line(text, "  policer of ssh: 12 green, 5 yellow, 3 red"));
	CU_ASSERT_TRUE(has_line(text, "  LOST in ssh:  drop_police_pkts 1  drop_late_pkts 4"));
	CU_ASSERT_PTR_NULL(strstr(text, "policer of rest"));
	free(text);
	json_t *json = tl_report_json(snap), *shape = json_array_get(json_object_get(json, "shapes"), 0);
	const json_t *classes = json_object_get(shape, "classes"), *ssh = json_array_get(classes, 1);
	CU_ASSERT_TRUE(json_is_true(json_object_get(shape, "policed")));
	CU_ASSERT_TRUE(json_is_true(json_object_get(ssh, "policed")));
	CU_ASSERT_TRUE(json_is_false(json_object_get(json_array_get(classes, 2), "policed")));
	CU_ASSERT_EQUAL(integer_at(ssh, "yellow_pkts"), 5);
	json_decref(json);
	shape_rows[1].red_pkts = 2;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	snap->final = false; // a frame may be in between
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	free(snap);
}

TL_TEST("a policer has coloured each message of its echo")
{
	struct tl_snapshot *snap = lossless_snapshot();
	struct tl_report_echo *echo = &snap->echoes[0];

	snap->final = true;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	echo->is_policed = true;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	echo->green_msgs = echo->received_msgs - 3;
	echo->red_msgs = 3;
	CU_ASSERT_TRUE(tl_report_ledger_ok(snap));
	echo->yellow_msgs = 1;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	echo->yellow_msgs = 0;
	echo->is_policed = false;
	CU_ASSERT_FALSE(tl_report_ledger_ok(snap));
	free(snap);
}

int main(void)
{
	return tl_test_run("report_shape");
}
