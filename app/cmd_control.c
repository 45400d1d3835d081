// SPDX-License-Identifier: BSD-3-Clause
// tapline control: send a command for the recordings or a shape to a running appliance.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>

#include "app.h"

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
	.summary =
		"trigger, pause, resume or rotate the recordings of a running appliance, or change its rates; control a replay",
	.usage = "control VERB [RECORDING | REPLAY [VALUE] | VALUE] [--socket PATH]\n"
		 "control shape NAME FILE|JSON [--socket PATH]",
	.about =
		"Sends a verb to the appliance with the control socket PATH (control.socket of its configuration), for one recording\n"
		"or for all. RECORDING is its path in the configuration, or its index there, from 0.\n"
		"\n"
		"  trigger  save the data in memory and the following data (only \"mode\": \"trigger\")\n"
		"  pause    count frames instead of recording them\n"
		"  resume   continue recording\n"
		"  rotate   begin a new file\n"
		"\n"
		"shape changes the classes of the shape NAME to those of its entry in the configuration FILE, or of JSON that\n"
		"begins with \"{\": their rates and limits, and which there are. No waiting frame is lost.\n"
		"\n"
		"Verbs for a replay of the appliance, by its name in the configuration (REPLAY), and for `tapline replay --control PATH`,\n"
		"which has no name:\n"
		"\n"
		"  pause    send no frames; the due times of later frames move\n"
		"  resume   continue\n"
		"  speed X  continue at this multiple of the recorded speed, 0.01 to 100\n"
		"  seek P   continue at a time after the first frame (90s), after or before the current one (+10s; -- -10s), or\n"
		"           with the first frame of a file (file:NAME)",
	.words = "trigger pause resume rotate shape speed seek",
	TL_OPTIONS(options),
};

// Print an error reply. Return true if the appliance executed the command.
static int judge(const char *text)
{
	json_t *answer = json_loads(text, 0, NULL);
	bool ok = json_is_true(json_object_get(answer, "ok"));
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (!ok)
		tl_error("%s", error != NULL ? error : "invalid reply: is the appliance of another version?");
	json_decref(answer);
	return ok ? TL_EXIT_OK : TL_EXIT_FAILED;
}

// Return the entry of a shape: the JSON itself, or that of the name in a configuration. NULL: an error was printed.
static json_t *read_entry(const char *name, const char *file_or_json)
{
	json_error_t why;
	bool is_json = file_or_json[0] == '{';
	json_t *whole = is_json ? json_loads(file_or_json, JSON_REJECT_DUPLICATES, &why)
				: json_load_file(file_or_json, JSON_REJECT_DUPLICATES, &why);
	json_t *entries = json_object_get(whole, "shape"), *entry = entries == NULL ? json_incref(whole) : NULL, *row;
	size_t index;

	json_array_foreach (entries, index, row) {
		const char *called = json_string_value(json_object_get(row, "name"));
		if (called != NULL && strcmp(called, name) == 0 && entry == NULL)
			entry = json_incref(row);
	}
	if (whole == NULL && why.line < 0)
		tl_error("%s", why.text); // not opened, with its name
	else if (whole == NULL)
		tl_error("%s:%d: %s", is_json ? "JSON" : file_or_json, why.line, why.text);
	else if (entry == NULL)
		tl_error("%s: unknown shape \"%s\"", file_or_json, name);
	json_decref(whole);
	return entry;
}

// Build the command of a shape. NULL: an error was printed.
static char *shape_command(const char *name, const char *file_or_json)
{
	json_t *entry = read_entry(name, file_or_json);
	char *text = entry != NULL ? json_dumps(entry, JSON_COMPACT) : NULL, *command;

	if (text == NULL || asprintf(&command, "shape %s %s", name, text) < 0)
		command = NULL;
	free(text);
	json_decref(entry);
	return command;
}

// Build the command of a verb with up to two words.
static char *words_command(const char *verb, const char *first, const char *second)
{
	char *command;

	if (asprintf(&command, "%s%s%s%s%s", verb, first != NULL ? " " : "", first != NULL ? first : "",
		    second != NULL ? " " : "", second != NULL ? second : "") < 0)
		command = NULL;
	return command;
}

// Send the command, and print an error.
static int send_command(const char *socket, const char *command)
{
	struct tl_err err;
	char *answer;

	if (tl_ctl_ask(socket, command, &answer, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	int status = judge(answer);
	free(answer);
	return status;
}

int tl_cmd_control(int argc, char **argv)
{
	struct options o = {.socket = TL_DEFAULT_SOCKET};
	int status = tl_set_options(&tl_control_command, argc, argv, NULL, &o);

	if (status >= 0)
		return status;
	char **words = argv + optind;
	int n = argc - optind;
	bool is_shape = n > 0 && strcmp(words[0], "shape") == 0;
	if (n < 1)
		return tl_misuse(&tl_control_command,
			"verb missing: one of trigger, pause, resume, rotate, shape, speed, seek", NULL);
	if (is_shape && n != 3)
		return tl_misuse(&tl_control_command, "shape takes its name, and a FILE or JSON", NULL);
	bool has_value = strcmp(words[0], "speed") == 0 || strcmp(words[0], "seek") == 0;
	if (!is_shape && n > 2 + has_value)
		return tl_misuse(&tl_control_command, "one recording at a time, or all; one value", NULL);
	char *command = is_shape ? shape_command(words[1], words[2])
				 : words_command(words[0], n > 1 ? words[1] : NULL, n > 2 ? words[2] : NULL);
	status = command != NULL ? send_command(o.socket, command) : TL_EXIT_USAGE;
	free(command);
	return status;
}
