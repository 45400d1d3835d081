// SPDX-License-Identifier: BSD-3-Clause
// Classes of a recording: text, JSON, and their identities.

#include "report_priv.h"

#include <tl_json.h>

// Frames offered to the recording, neither left out before the classes nor counted by them. Frames that a trigger did
// not save are in expired_pkts, too, after a class has counted them.
static int64_t police_open(const struct tl_report_capture *capture)
{
	struct tl_ledger_flow total = tl_report_total(capture);
	uint64_t open = total.offered_pkts - total.filtered_pkts - total.paused_pkts - total.cut_pkts;

	for (uint32_t i = 0; i < capture->n_classes; i++)
		open -= capture->classes[i].matched_pkts;
	return (int64_t)(open - capture->unmatched_pkts);
}

bool tl_report_police_ok(const struct tl_report_capture *capture, bool final)
{
	struct tl_ledger_flow total = tl_report_total(capture);
	uint64_t yellow = 0, red = 0;
	int64_t open = police_open(capture);
	bool ok = true;

	for (uint32_t i = 0; i < capture->n_classes; i++) {
		const struct tl_report_police *cls = &capture->classes[i];
		int64_t waiting = tl_report_unaccounted(&tl_report_police_table, cls);
		ok = ok && (waiting == 0 || (!final && waiting > 0));
		yellow += cls->yellow_pkts;
		red += cls->red_pkts;
	}
	if (capture->n_classes == 0 || !final)
		return ok && (capture->n_classes == 0 || open >= 0);
	return ok && open >= 0 && (uint64_t)open <= total.expired_pkts && yellow == total.yellow_pkts &&
	       red == total.policed_pkts;
}

static json_t *police_class_json(const struct tl_report_police *cls)
{
	const struct tl_report_table *table = &tl_report_police_table;
	json_t *object = json_pack("{s:s, s:b}", "name", cls->name, "default", cls->is_default);

	for (size_t i = 0; i < table->n; i++)
		json_object_set_new(
			object, table->counters[i].name, tl_json_number(tl_report_value(&table->counters[i], cls)));
	return object;
}

json_t *tl_report_police_json(const struct tl_report_capture *capture)
{
	json_t *classes = json_array();

	for (uint32_t i = 0; i < capture->n_classes; i++)
		json_array_append_new(classes, police_class_json(&capture->classes[i]));
	return classes;
}

static void police_print_class(FILE *out, const struct tl_report_police *cls)
{
	char n[4][TL_REPORT_GROUPED];

	fprintf(out, "  class %-20s %15s whole %15s cut %15s not recorded", cls->name,
		tl_report_grouped(cls->green_pkts, n[0]), tl_report_grouped(cls->yellow_pkts, n[1]),
		tl_report_grouped(cls->red_pkts, n[2]));
	if (cls->overflow_pkts != 0)
		fprintf(out, "  %s without a meter of their own", tl_report_grouped(cls->overflow_pkts, n[3]));
	fputc('\n', out);
}

void tl_report_police_text(FILE *out, const struct tl_report_capture *capture, bool final)
{
	char n[TL_REPORT_GROUPED];

	if (capture->n_classes == 0)
		return;
	for (uint32_t i = 0; i < capture->n_classes; i++)
		police_print_class(out, &capture->classes[i]);
	if (!capture->classes[capture->n_classes - 1].is_default)
		fprintf(out, "  %-26s %15s whole\n", "no class", tl_report_grouped(capture->unmatched_pkts, n));
	if (!tl_report_police_ok(capture, final))
		fprintf(out,
			"  BROKEN: frames are unaccounted for, or accounted for twice, between recording and classes\n");
}
