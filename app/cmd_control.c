// SPDX-License-Identifier: BSD-3-Clause
// tapline control: send a command for the recordings to a running appliance.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>

#include "app.h"

#define COMMAND_CHARS 4200 // a verb and a path

struct options {
	const char *socket;
};

static const struct tl_option options[] = {
	{"socket", 0, "PATH", "control socket of the appliance (default " TL_DEFAULT_SOCKET ")",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, socket)},
	TL_OPTION_HELP,
};

const struct tl_command tl_control_command = {
	.name = "control",
	.summary = "trigger, pause, resume or rotate the recordings of a running appliance",
	.usage = "control VERB [RECORDING] [--socket PATH]",
	.about =
		"Sends a verb to the appliance with the control socket PATH (control.socket of its configuration), for one recording\n"
		"or for all. RECORDING is its path in the configuration, or its index there, from 0.\n"
		"\n"
		"  trigger  save the data in memory and the following data (only \"mode\": \"trigger\")\n"
		"  pause    count frames instead of recording them\n"
		"  resume   continue recording\n"
		"  rotate   begin a new file",
	.words = "trigger pause resume rotate",
	TL_OPTIONS(options),
};

// Print an error reply. Return true if the appliance executed the command.
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
	struct options o = {.socket = TL_DEFAULT_SOCKET};
	char command[COMMAND_CHARS];
	struct tl_err err;
	char *answer;
	int status = tl_set_options(&tl_control_command, argc, argv, NULL, &o);

	if (status >= 0)
		return status;
	int words = argc - optind;
	if (words < 1 || words > 2)
		return tl_misuse(&tl_control_command,
			words < 1 ? "verb missing: one of trigger, pause, resume, rotate"
				  : "one recording at a time, or all",
			NULL);
	const char *recording = words == 2 ? argv[optind + 1] : "";
	int chars = snprintf(command, sizeof(command), "%s%s%s", argv[optind], words == 2 ? " " : "", recording);
	if (chars >= (int)sizeof(command))
		return tl_misuse(&tl_control_command, "recording name too long", NULL);
	if (tl_ctl_ask(o.socket, command, &answer, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	status = judge(answer);
	free(answer);
	return status;
}
