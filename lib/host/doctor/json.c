// SPDX-License-Identifier: BSD-3-Clause
// A report as JSON.

#include "doctor_priv.h"

#include <jansson.h>

json_t *tl_doctor_json(const struct tl_doctor_report *report, const struct tl_facts *facts)
{
	json_t *checks = json_array();
	char fix[TL_FILL_BYTES];

	for (size_t i = 0; i < report->n; i++) {
		const struct tl_check *check = report->checks[i];
		const struct tl_finding *finding = &report->findings[i];
		json_array_append_new(
			checks, json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", check->id, "verdict",
					tl_verdict_name(finding->verdict), "read", finding->read, "why", check->why,
					"fix", tl_doctor_fill(check->fix, facts, fix, sizeof(fix))));
	}
	return json_pack("{s:o, s:i, s:i, s:i, s:i}", "checks", checks, "ok", (int)report->counts[TL_VERDICT_OK],
		"warn", (int)report->counts[TL_VERDICT_WARN], "fail", (int)report->counts[TL_VERDICT_FAIL], "unknown",
		(int)report->counts[TL_VERDICT_UNKNOWN]);
}
