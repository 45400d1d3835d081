// SPDX-License-Identifier: BSD-3-Clause
// tapline control: tells a running appliance what to do with its recordings.

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_log.h>

#include "app.h"

#define COMMAND_CHARS 4200 // a verb and a path

static const char help[] =
	"usage: tapline control VERB [RECORDING] [--socket PATH]\n"
	"\n"
	"Tells the appliance that listens on PATH, the control.socket of its configuration, what to do with a recording, or\n"
	"with all of them. RECORDING is its path as in the configuration, or its place there, counted from 0.\n"
	"\n"
	"  trigger            save what it holds, and what follows (only \"mode\": \"trigger\")\n"
	"  pause              count frames, and record none\n"
	"  resume             go on recording\n"
	"  rotate             begin a new file\n"
	"\n"
	"      --socket PATH  default " TL_DEFAULT_SOCKET "\n"
	"  -h, --help         this text\n";

static int usage(const char *what)
{
	tl_error("%s (see `tapline control --help`)", what);
	return TL_EXIT_USAGE;
}

// Whether the appliance did it; if not, says why.
static int judge(const char *text)
{
	json_t *answer = json_loads(text, 0, NULL);
	bool ok = json_is_true(json_object_get(answer, "ok"));
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (!ok)
		tl_error("%s", error != NULL ? error : "the appliance's answer is none: is it of another version?");
	json_decref(answer);
	return ok ? TL_EXIT_OK : TL_EXIT_FAILED;
}

int tl_cmd_control(int argc, char **argv)
{
	static const struct option table[] = {
		{"socket", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {0}};
	const char *path = TL_DEFAULT_SOCKET;
	char command[COMMAND_CHARS];
	struct tl_err err;
	char *answer;
	int c;

	while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (c == 's')
			path = optarg;
		else if (c == 'h')
			return fputs(help, stdout) < 0 ? TL_EXIT_FAILED : TL_EXIT_OK;
		else
			return TL_EXIT_USAGE;
	}
	int words = argc - optind;
	if (words < 1 || words > 2)
		return usage(words < 1 ? "what to do? give a verb" : "one recording at a time, or all");
	const char *recording = words == 2 ? argv[optind + 1] : "";
	int chars = snprintf(command, sizeof(command), "%s%s%s", argv[optind], words == 2 ? " " : "", recording);
	if (chars >= (int)sizeof(command))
		return usage("there is no recording of such a long name");
	if (tl_ctl_ask(path, command, &answer, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	int status = judge(answer);
	free(answer);
	return status;
}
