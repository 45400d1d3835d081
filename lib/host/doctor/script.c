// SPDX-License-Identifier: BSD-3-Clause
// Shell script that corrects warnings and failures.

#include "doctor_priv.h"

#include <string.h>

static const char preamble[] =
	"#!/bin/sh\n"
	"# Made by tapline doctor --fix-script: read it, then run it as root. It may run again; nothing is rebooted.\n"
	"# What it sets is gone after the next boot.\n"
	"set -eu\n";

static const char set_to_name[] = "set_to ";

static const char keep[] =
	"\n# What it found is kept here, the first time; `sh SCRIPT undo` restores it.\n"
	"undo=${TL_UNDO:-/run/tapline-doctor-undo.sh}\n"
	"if [ \"${1:-}\" = undo ]; then\n"
	"\t[ ! -e \"$undo\" ] || sh \"$undo\"\n"
	"\trm -f \"$undo\"\n"
	"\texit\n"
	"fi\n"
	"\n# keep FILE: its value, of a choice the word in brackets.\n"
	"keep() {\n"
	"\tif [ ! -r \"$1\" ] || grep -qsF \">'$1'\" \"$undo\"; then return; fi\n"
	"\tvalue=$(cat \"$1\")\n"
	"\tcase $value in *\\[*\\]*) value=${value#*\\[} value=${value%%\\]*} ;; esac\n"
	"\techo \"echo '$value' 2>/dev/null >'$1' || echo '$1 does not take $value' >&2\" >>\"$undo\"\n"
	"}\n";

static const char set_to[] = "\n# set_to FILE VALUE: prints a message if the host refuses.\n"
			     "set_to() {\n"
			     "\tkeep \"$1\"\n"
			     "\techo \"$2\" 2>/dev/null >\"$1\" || echo \"$1 does not take $2\" >&2\n"
			     "}\n";

static const char set_at_least[] = "\n# set_at_least FILE NUMBER: never lowers it.\n"
				   "set_at_least() {\n"
				   "\tkeep \"$1\"\n"
				   "\t[ \"$(cat \"$1\")\" -ge \"$2\" ] || echo \"$2\" >\"$1\"\n"
				   "}\n";

static bool is_bad(const struct tl_doctor_report *report, size_t index)
{
	return report->findings[index].verdict >= TL_VERDICT_WARN;
}

// True if the script calls the shell function: only then it is written.
static bool calls(const struct tl_doctor_report *report, const char *function)
{
	for (size_t i = 0; i < report->n; i++)
		if (is_bad(report, i) && report->checks[i]->script != NULL &&
			(strstr(report->checks[i]->script, function) != NULL ||
				(report->checks[i]->print_steps != NULL && function == set_to_name)))
			return true;
	return false;
}

static void print_step(
	const struct tl_check *check, const struct tl_finding *finding, const struct tl_facts *facts, FILE *out)
{
	char text[TL_FILL_BYTES];

	fprintf(out, "\n# %s (%s): %s\n", check->id, tl_verdict_name(finding->verdict), finding->read);
	if (check->script != NULL)
		fprintf(out, "%s\n", tl_doctor_fill(check->script, facts, text, sizeof(text)));
	else
		fprintf(out, "# By hand: %s\n", tl_doctor_fill(check->fix, facts, text, sizeof(text)));
	if (check->print_steps != NULL)
		check->print_steps(facts, out);
}

static void print_cmdline(const struct tl_doctor_report *report, const struct tl_facts *facts, FILE *out)
{
	char text[TL_FILL_BYTES];
	bool any = false;

	for (size_t i = 0; i < report->n; i++) {
		if (!is_bad(report, i) || report->checks[i]->cmdline == NULL)
			continue;
		if (!any)
			fprintf(out,
				"\n# To last: add to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, and reboot when it\n"
				"# suits:\n");
		any = true;
		fprintf(out, "#   %s\n", tl_doctor_fill(report->checks[i]->cmdline, facts, text, sizeof(text)));
	}
}

void tl_doctor_print_script(const struct tl_doctor_report *report, const struct tl_facts *facts, FILE *out)
{
	fputs(preamble, out);
	if (calls(report, set_to_name) || calls(report, "keep ") || calls(report, "set_at_least ") ||
		calls(report, "$undo"))
		fputs(keep, out);
	if (calls(report, set_to_name))
		fputs(set_to, out);
	if (calls(report, "set_at_least "))
		fputs(set_at_least, out);
	for (size_t i = 0; i < report->n; i++)
		if (is_bad(report, i))
			print_step(report->checks[i], &report->findings[i], facts, out);
	print_cmdline(report, facts, out);
}
