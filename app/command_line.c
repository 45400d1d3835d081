// SPDX-License-Identifier: BSD-3-Clause
// Command-line helpers shared by the commands.

#include <tl_log.h>

#include "app.h"

int tl_misuse(const struct tl_command *command, const char *what, const char *value)
{
	tl_error("%s%s%s (see `tapline %s --help`)", what, value != NULL ? ": " : "", value != NULL ? value : "",
		command->name);
	return TL_EXIT_USAGE;
}

int tl_set_options(const struct tl_command *command, int argc, char **argv,
	const char *(*set)(void *options, int id, const char *value), void *options)
{
	struct tl_options_reader reader;
	const struct tl_option *option;

	tl_options_begin(&reader, command, argc, argv);
	while ((option = tl_options_next(&reader)) != NULL) {
		const char *wrong = option->into != NULL ? tl_options_store(option->into, optarg, options)
							 : set(options, option->id, optarg);
		if (wrong != NULL)
			return tl_misuse(command, wrong, optarg);
	}
	return reader.status;
}
