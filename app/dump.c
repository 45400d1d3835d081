// SPDX-License-Identifier: BSD-3-Clause
// Convert the option table of a command to JSON.

#include "dump.h"

static json_t *dump_option(const struct tl_command *command, const struct tl_option *option)
{
	const char letter[] = {option->letter, '\0'};
	char help[512];

	if (option->name == NULL)
		return json_pack("{s:s}", "text", option->help);
	return json_pack("{s:s, s:s, s:s?, s:s, s:s?}", "name", option->name, "letter", letter, "value", option->value,
		"help", tl_options_describe(command, option, help, sizeof(help)), "choices", option->choices);
}

json_t *tl_dump_command(const struct tl_command *command)
{
	json_t *options = json_array();

	for (size_t i = 0; i < command->n_options; i++)
		json_array_append_new(options, dump_option(command, &command->options[i]));
	return json_pack("{s:s, s:s, s:s, s:s?, s:o}", "name", command->name, "summary", command->summary, "usage",
		command->usage, "words", command->words, "options", options);
}
