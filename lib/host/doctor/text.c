// SPDX-License-Identifier: BSD-3-Clause
// A report as text: one line for each check, with reason and fix below if there is one.

#include "doctor_priv.h"

#include <string.h>

#define NAME_COLUMNS 16

static const char *const colour_of[TL_VERDICTS] = {"\033[32m", "\033[2m", "\033[33m", "\033[1;31m"};

static int group_chars(const struct tl_check *check)
{
	return (int)(strchr(check->id, '.') - check->id);
}

static void print_heading(const struct tl_doctor_report *report, size_t index, FILE *out)
{
	int chars = group_chars(report->checks[index]);

	if (index == 0 || strncmp(report->checks[index]->id, report->checks[index - 1]->id, (size_t)chars + 1) != 0)
		fprintf(out, "%s%.*s\n", index == 0 ? "" : "\n", chars, report->checks[index]->id);
}

void tl_doctor_print(const struct tl_doctor_report *report, const struct tl_facts *facts, bool colours, FILE *out)
{
	char fix[TL_FILL_BYTES];

	for (size_t i = 0; i < report->n; i++) {
		const struct tl_check *check = report->checks[i];
		enum tl_verdict verdict = report->findings[i].verdict;
		print_heading(report, i, out);
		fprintf(out, "  %s%-7s%s  %-*s  %s\n", colours ? colour_of[verdict] : "", tl_verdict_name(verdict),
			colours ? "\033[0m" : "", NAME_COLUMNS, check->id + group_chars(check) + 1,
			report->findings[i].read);
		if (verdict >= TL_VERDICT_WARN)
			fprintf(out, "           why: %s\n           fix: %s\n", check->why,
				tl_doctor_fill(check->fix, facts, fix, sizeof(fix)));
	}
	fprintf(out, "\n%u ok, %u warn, %u fail, %u unknown\n", report->counts[TL_VERDICT_OK],
		report->counts[TL_VERDICT_WARN], report->counts[TL_VERDICT_FAIL], report->counts[TL_VERDICT_UNKNOWN]);
}
