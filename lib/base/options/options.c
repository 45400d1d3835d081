// SPDX-License-Identifier: BSD-3-Clause
// Parsing of a table of options with getopt_long(), and storage of values in the fields of the table.

#include <tl_options.h>

#include <errno.h>
#include <string.h>

#include <tl_units.h>

#define LONG_ONLY 256 // getopt_long() result for the first row; incremented for each further row

static void begin(struct tl_options_reader *reader, const struct tl_command *command, int argc, char **argv, bool quiet)
{
	struct option *longs = reader->longs;
	char *letters = reader->letters;

	*reader = (struct tl_options_reader){
		.command = command, .argc = argc, .argv = argv, .quiet = quiet, .status = -1};
	if (command->until_word)
		*letters++ = '+';
	if (quiet)
		*letters++ = ':';
	for (size_t i = 0; i < command->n_options; i++) {
		const struct tl_option *option = &command->options[i];
		if (option->name == NULL)
			continue;
		*longs++ = (struct option){.name = option->name,
			.has_arg = option->value != NULL ? required_argument : no_argument,
			.val = (int)i + LONG_ONLY};
		if (option->letter != 0)
			*letters++ = option->letter;
		if (option->letter != 0 && option->value != NULL)
			*letters++ = ':';
	}
	optind = 0; // glibc: restart
	opterr = !quiet;
}

void tl_options_begin(struct tl_options_reader *reader, const struct tl_command *command, int argc, char **argv)
{
	begin(reader, command, argc, argv, false);
}

void tl_options_begin_quiet(struct tl_options_reader *reader, const struct tl_command *command, int argc, char **argv)
{
	begin(reader, command, argc, argv, true);
}

static const struct tl_option *option_of(const struct tl_command *command, int c)
{
	for (size_t i = 0; i < command->n_options; i++)
		if (c == (int)i + LONG_ONLY || (c != 0 && c == command->options[i].letter))
			return &command->options[i];
	return NULL;
}

const struct tl_option *tl_options_next(struct tl_options_reader *reader)
{
	int c = getopt_long(reader->argc, reader->argv, reader->letters, reader->longs, NULL);

	if (c == -1)
		return NULL;
	const struct tl_option *option = option_of(reader->command, c);
	if (option == NULL) { // getopt has printed the error
		reader->status = 2;
		reader->missing_value = c == ':';
		if (!reader->quiet)
			fprintf(stderr, "see `tapline %s --help`\n", reader->command->name);
	} else if (!reader->quiet && strcmp(option->name, "help") == 0) {
		reader->status = tl_options_print_help(reader->command, stdout) == 0 ? 0 : 1;
		option = NULL;
	}
	return option;
}

const char *tl_options_store(const struct tl_option_field *into, const char *value, void *options)
{
	void *field = (char *)options + into->offset;
	uint64_t n = 0;
	int rc = 0;

	switch (into->kind) {
	case TL_OPTION_FLAG:
		*(bool *)field = true;
		return NULL;
	case TL_OPTION_TEXT:
		*(const char **)field = value;
		return NULL;
	case TL_OPTION_NUMBER:
		rc = tl_parse_u64(value, into->min, into->max, &n);
		break;
	case TL_OPTION_SECONDS:
		rc = tl_parse_seconds(value, &n);
		break;
	case TL_OPTION_SIZE:
		rc = tl_parse_bytes(value, &n);
		break;
	}
	if (rc == 0 && into->max != 0 && (n < into->min || n > into->max))
		rc = -ERANGE;
	if (rc == 0)
		*(uint64_t *)field = n;
	return rc == 0 ? NULL : into->wrong;
}
