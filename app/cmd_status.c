// SPDX-License-Identifier: BSD-3-Clause
// tapline status: print the counters of a running appliance.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_text.h>

#include "app.h"

struct options {
	const char *socket;
	bool json;
};

static const struct tl_option options[] = {
	{"socket", 0, "PATH", "control socket of the appliance (default " TL_DEFAULT_SOCKET ")",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, socket)},
	{"json", 0, NULL, "print the appliance's reply unchanged", TL_INTO(FLAG, struct options, json)},
	TL_OPTION_HELP,
};

const struct tl_command tl_status_command = {
	.name = "status",
	.summary = "show the counters of a running appliance or replay",
	.usage = "status [--socket PATH] [--json]",
	.about =
		"Prints the counters of the appliance with the control socket PATH (control.socket of its configuration), or of the\n"
		"replay with --control PATH.",
	.words = "",
	TL_OPTIONS(options),
};

// Print the median and tail of a distribution: "residence_ns  703  p99 2303  max 21184".
static void print_times(const char *name, const json_t *times)
{
	const json_t *p50 = json_object_get(times, "p50");

	if (json_is_integer(p50))
		printf("    %-24s %20" JSON_INTEGER_FORMAT "  p99 %" JSON_INTEGER_FORMAT "  max %" JSON_INTEGER_FORMAT
		       "\n",
			name, json_integer_value(p50), json_integer_value(json_object_get(times, "p99")),
			json_integer_value(json_object_get(times, "max")));
}

// Print the stage times of an echo with stages, and the last message over the residence limit.
static void print_stages(const json_t *echo)
{
	const json_t *outliers = json_object_get(echo, "outliers");
	const json_t *last = json_array_get(outliers, json_array_size(outliers) - 1);
	const char *name;
	json_t *times;
	char key[48];

	json_object_foreach (json_object_get(echo, "stages_ns"), name, times) {
		snprintf(key, sizeof(key), "%s_ns", name);
		if (json_object_get(echo, key) == NULL) // the send call is reported without stages, too
			print_times(key, times);
	}
	if (last != NULL)
		printf("    %-24s %20" JSON_INTEGER_FORMAT "\n", "last_outlier_residence_ns",
			json_integer_value(json_object_get(last, "residence_ns")));
}

// Print an object as one row: every number and word; of nested objects only distributions.
static void print_object(const char *kind, json_t *object)
{
	const char *key;
	json_t *value;

	printf("%s\n", kind);
	json_object_foreach (object, key, value) {
		if (json_is_integer(value))
			printf("    %-24s %20" JSON_INTEGER_FORMAT "\n", key, json_integer_value(value));
		else if (json_is_string(value))
			printf("    %-24s %20s\n", TL_PRINTABLE(key), TL_PRINTABLE(json_string_value(value)));
		else if (json_is_boolean(value))
			printf("    %-24s %20s\n", key, json_is_true(value) ? "yes" : "no");
		else if (json_is_object(value))
			print_times(key, value);
	}
	print_stages(object);
}

// Print a row, and each of its classes.
static void print_row(const char *title, json_t *row)
{
	size_t index;
	json_t *cls;

	print_object(title, row);
	json_array_foreach (json_object_get(row, "classes"), index, cls)
		print_object("class", cls);
}

static void print_status(json_t *status)
{
	static const struct {
		const char *key, *title;
	} sections[] = {{"replays", "replay"}, {"ports", "port"}, {"captures", "recording"}, {"echoes", "echo"},
		{"shapes", "shape"}};
	size_t index;
	json_t *row;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		json_array_foreach (json_object_get(status, sections[i].key), index, row)
			print_row(sections[i].title, row);
	if (json_object_get(status, "ledger_ok") != NULL) // of an appliance
		printf("ledger\n    %-24s %20s\n", "holds",
			json_is_true(json_object_get(status, "ledger_ok")) ? "yes" : "no");
}

static int show(const char *answer, bool as_json)
{
	json_error_t why;
	json_t *status = json_loads(answer, 0, &why);
	const char *error = json_string_value(json_object_get(status, "error"));

	if (status == NULL)
		tl_error("the appliance's answer is not JSON (%s): is it a tapline of another version?", why.text);
	else if (error != NULL)
		tl_error("the appliance has no status to give: %s", error);
	else if (as_json)
		printf("%s\n", answer);
	else
		print_status(status);
	json_decref(status);
	return status != NULL && error == NULL ? TL_EXIT_OK : TL_EXIT_FAILED;
}

int tl_cmd_status(int argc, char **argv)
{
	struct options o = {.socket = TL_DEFAULT_SOCKET};
	char *answer;
	struct tl_err err;
	int status = tl_set_options(&tl_status_command, argc, argv, NULL, &o);

	if (status >= 0)
		return status;
	if (optind != argc)
		return tl_misuse(&tl_status_command, "unexpected", argv[optind]);
	if (tl_ctl_ask(o.socket, "status", &answer, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	status = show(answer, o.json);
	free(answer);
	return status;
}
