// SPDX-License-Identifier: BSD-3-Clause
// tapline top: print the rates of a running appliance, updated in place.

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_top.h>

#include "app.h"
#include "screen.h"

struct options {
	const char *socket;
	uint64_t interval_ns;
	uint64_t pages; // 0: unlimited
};

static const struct tl_option options[] = {
	{"socket", 0, "PATH", "control socket of the appliance (default " TL_DEFAULT_SOCKET ")",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, socket)},
	{"interval", 0, "S", "seconds between two samples, 0.1 to 3600 (default 1)",
		TL_INTO(SECONDS, struct options, interval_ns, "--interval takes a number of seconds from 0.1 to 3600",
			TL_NS_PER_S / 10, 3600 * TL_NS_PER_S)},
	{"once", 0, NULL, "one page, over one interval"},
	{"count", 'n', "N", "end after N pages",
		TL_INTO(NUMBER, struct options, pages, "-n takes a whole number from 1", 1, UINT32_MAX)},
	TL_OPTION_HELP,
};

const struct tl_command tl_top_command = {
	.name = "top",
	.summary = "show the rates of a running appliance",
	.usage = "top [--socket PATH] [--interval S] [--once | -n N]",
	.about =
		"Shows the rates per second of the appliance with the control socket PATH (control.socket of its configuration),\n"
		"until it is interrupted: on a terminal in place, otherwise page by page.",
	.words = "",
	TL_OPTIONS(options),
};

// Set --once, the option without a field.
static const char *set_once(void *ctx, int id, const char *value)
{
	((struct options *)ctx)->pages = 1;
	return NULL;
}

// Return -1 to continue, else an exit status.
static int parse(int argc, char **argv, struct options *o)
{
	int status = tl_set_options(&tl_top_command, argc, argv, set_once, o);

	if (status >= 0)
		return status;
	return optind == argc ? -1 : tl_misuse(&tl_top_command, "unexpected", argv[optind]);
}

// Return the current status of the appliance, or NULL with a message in *err.
static json_t *ask(const char *socket, struct tl_err *err)
{
	char *answer;

	if (tl_ctl_ask(socket, "status", &answer, err) != 0)
		return NULL;
	json_t *status = json_loads(answer, 0, NULL);
	free(answer);
	if (!json_is_object(status)) {
		json_decref(status);
		tl_fail(err, -EPROTO, "invalid reply on %s: not a tapline of this version", socket);
		return NULL;
	}
	return status;
}

static bool show_status(const json_t *before, const json_t *now, const struct tl_err *err)
{
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	if (out == NULL)
		return false;
	if (now != NULL)
		tl_top_print(out, before, now);
	else
		fprintf(out, "%s; waiting\n", err->text);
	fclose(out);
	bool shown = tl_screen_show(page);
	free(page);
	return shown;
}

static int watch(const struct options *o)
{
	const struct timespec interval = {
		.tv_sec = (time_t)(o->interval_ns / TL_NS_PER_S), .tv_nsec = (long)(o->interval_ns % TL_NS_PER_S)};
	struct tl_err err = {{0}};
	json_t *before = ask(o->socket, &err), *now = before;
	bool shown = true;

	if (before == NULL) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	for (uint64_t page = 0; shown && (o->pages == 0 || page < o->pages); page++) {
		nanosleep(&interval, NULL);
		now = ask(o->socket, &err); // NULL: appliance down; it may come back
		shown = show_status(before, now, &err);
		json_decref(before);
		before = now;
	}
	json_decref(before);
	return shown && now != NULL ? TL_EXIT_OK : TL_EXIT_FAILED;
}

int tl_cmd_top(int argc, char **argv)
{
	struct options o = {.socket = TL_DEFAULT_SOCKET, .interval_ns = TL_NS_PER_S};
	int status = parse(argc, argv, &o);

	return status >= 0 ? status : watch(&o);
}
