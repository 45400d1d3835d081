// SPDX-License-Identifier: BSD-3-Clause
// Text of --help from a table of options.

#include <tl_options.h>

#include <errno.h>
#include <string.h>

#define WIDTH 112   // columns per line
#define LEFT_MAX 32 // for an option with its value; a longer one gets a separate line
#define DESCRIBED 512

const char *tl_options_describe(
	const struct tl_command *command, const struct tl_option *option, char *text, size_t size)
{
	int used = snprintf(text, size, "%s", option->help);

	if (command->describe != NULL && used >= 0 && (size_t)used < size)
		command->describe(option, text + used, size - (size_t)used);
	return text;
}

static size_t left_of(const struct tl_option *option, char left[64])
{
	int used = option->letter != 0 ? snprintf(left, 64, "  -%c, ", option->letter) : snprintf(left, 64, "      ");

	used += snprintf(left + used, 64 - (size_t)used, "--%s%s%s", option->name, option->value != NULL ? " " : "",
		option->value != NULL ? option->value : "");
	return (size_t)used;
}

// Compute the first column of the options' help.
static size_t column_of(const struct tl_command *command)
{
	size_t column = 0;
	char left[64];

	for (size_t i = 0; i < command->n_options; i++) {
		size_t chars = command->options[i].name != NULL ? left_of(&command->options[i], left) : 0;
		if (chars > column && chars <= LEFT_MAX)
			column = chars;
	}
	return column + 2;
}

// Print text from this column on, wrapped between words.
static void print_wrapped(const char *text, size_t column, FILE *out)
{
	const size_t width = WIDTH - column;

	while (strlen(text) > width) {
		size_t chars = width;
		while (chars > 1 && text[chars] != ' ')
			chars--;
		fprintf(out, "%.*s\n%*s", (int)chars, text, (int)column, "");
		text += chars + 1;
	}
	fprintf(out, "%s\n", text);
}

static void print_option(const struct tl_command *command, const struct tl_option *option, size_t column, FILE *out)
{
	char left[64], text[DESCRIBED];
	size_t chars = left_of(option, left);

	fprintf(out, "%s", left);
	if (chars + 2 > column)
		fprintf(out, "\n%*s", (int)column, "");
	else
		fprintf(out, "%*s", (int)(column - chars), "");
	print_wrapped(tl_options_describe(command, option, text, sizeof(text)), column, out);
}

static void print_usage(const char *usage, FILE *out)
{
	const char *lead = "usage: ";

	for (size_t chars; *usage != '\0'; usage += chars + (usage[chars] == '\n')) {
		chars = strcspn(usage, "\n");
		fprintf(out, "%stapline %.*s\n", lead, (int)chars, usage);
		lead = "       ";
	}
}

int tl_options_print_help(const struct tl_command *command, FILE *out)
{
	size_t column = column_of(command);

	print_usage(command->usage, out);
	fprintf(out, "\n%s\n\n", command->about);
	for (size_t i = 0; i < command->n_options; i++) {
		if (command->options[i].name != NULL)
			print_option(command, &command->options[i], column, out);
		else
			fprintf(out, "\n%s\n\n", command->options[i].help);
	}
	if (command->after != NULL)
		fprintf(out, "\n%s\n", command->after);
	return fflush(out) == 0 ? 0 : -EIO;
}
