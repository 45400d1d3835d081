// SPDX-License-Identifier: BSD-3-Clause
// Option tables: accepted command lines, and help.

#include <stdlib.h>
#include <string.h>

#include <tl_options.h>
#include <tl_test.h>

static const struct tl_option rows[] = {
	{"write", 'w', "FILE", "where to", 'w'},
	{"quiet", 0, NULL, "say nothing", 'q'},
	{.help = "Of numbers:"},
	{"count", 'n', "N",
		"how many of those there, however long it takes until the last of them has been seen by anybody "
		"at all",
		'n'},
	TL_OPTION_HELP,
};

static void describe(const struct tl_option *option, char *text, size_t size)
{
	if (option->id == 'n')
		snprintf(text, size, " (default 7)");
}

static const struct tl_command command = {
	.name = "copy",
	.summary = "copy things",
	.usage = "copy THING... -w FILE\ncopy --quiet",
	.about = "Copies things.",
	.after = "That is all.",
	TL_OPTIONS(rows),
	.describe = describe,
};

// Parse "copy WORDS"; seen gets the ids, each with its value.
static int read_words(bool quiet, bool until_word, char *words, char *seen, struct tl_options_reader *reader)
{
	static char name[] = "copy";
	struct tl_command copy = command;
	const struct tl_option *option;
	char *argv[16] = {name}, *rest;
	int argc = 1;

	copy.until_word = until_word;
	for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	*seen = '\0';
	if (quiet)
		tl_options_begin_quiet(reader, &copy, argc, argv);
	else
		tl_options_begin(reader, &copy, argc, argv);
	while ((option = tl_options_next(reader)) != NULL)
		sprintf(seen + strlen(seen), "%c%s ", option->id != 0 ? option->id : '?', optarg != NULL ? optarg : "");
	return argc - optind;
}

TL_TEST("options and values are read in order")
{
	struct tl_options_reader reader;
	char words[] = "-w a thing --quiet --count=3 -nb", seen[64];

	CU_ASSERT_EQUAL(read_words(false, false, words, seen, &reader), 1);
	CU_ASSERT_STRING_EQUAL(seen, "wa q n3 nb ");
	CU_ASSERT_EQUAL(reader.status, -1);
}

TL_TEST("the first operand ends the options of commands with that property")
{
	struct tl_options_reader reader;
	char words[] = "-w a thing --quiet", seen[64];

	CU_ASSERT_EQUAL(read_words(false, true, words, seen, &reader), 2);
	CU_ASSERT_STRING_EQUAL(seen, "wa ");
}

TL_TEST("invalid use has exit status 2")
{
	struct tl_options_reader reader;
	char unknown[] = "--loud", valueless[] = "--count", value[] = "--quiet=x", seen[64];

	read_words(true, false, unknown, seen, &reader);
	CU_ASSERT_EQUAL(reader.status, 2);
	CU_ASSERT_FALSE(reader.missing_value);
	read_words(true, false, valueless, seen, &reader);
	CU_ASSERT_EQUAL(reader.status, 2);
	CU_ASSERT_TRUE(reader.missing_value);
	read_words(true, false, value, seen, &reader);
	CU_ASSERT_EQUAL(reader.status, 2);
}

TL_TEST("--help is parsed like any other option")
{
	struct tl_options_reader reader;
	char words[] = "--help", seen[64];

	read_words(true, false, words, seen, &reader);
	CU_ASSERT_STRING_EQUAL(seen, "? ");
	CU_ASSERT_EQUAL(reader.status, -1);
}

// Store a value as a row of the table specifies. Return the error or NULL.
static const char *store(struct tl_option_field into, const char *value, void *field)
{
	return tl_options_store(&into, value, field);
}

TL_TEST("a value is stored in the field of its table row")
{
	struct {
		uint64_t before;
		const char *text;
		uint64_t number;
		bool flag;
	} o = {.before = 7};

	CU_ASSERT_PTR_NULL(store((struct tl_option_field){TL_OPTION_FLAG, offsetof(typeof(o), flag)}, NULL, &o));
	CU_ASSERT_PTR_NULL(store((struct tl_option_field){TL_OPTION_TEXT, offsetof(typeof(o), text)}, "", &o));
	CU_ASSERT_PTR_NULL(
		store((struct tl_option_field){TL_OPTION_SIZE, offsetof(typeof(o), number), "wrong"}, "64K", &o));
	CU_ASSERT_TRUE(o.flag);
	CU_ASSERT_STRING_EQUAL(o.text, "");
	CU_ASSERT_EQUAL(o.number, 65536);
	CU_ASSERT_EQUAL(o.before, 7);
}

TL_TEST("a value out of range is refused and not stored")
{
	const struct tl_option_field number = {TL_OPTION_NUMBER, 0, "number", 2, 5};
	const struct tl_option_field seconds = {TL_OPTION_SECONDS, 0, "seconds", 100000000, 3000000000};
	uint64_t n = 1;

	CU_ASSERT_STRING_EQUAL(store(number, "1", &n), "number");
	CU_ASSERT_STRING_EQUAL(store(number, "6", &n), "number");
	CU_ASSERT_STRING_EQUAL(store(seconds, "0.099", &n), "seconds");
	CU_ASSERT_STRING_EQUAL(store(seconds, "3.1", &n), "seconds");
	CU_ASSERT_STRING_EQUAL(store(seconds, "soon", &n), "seconds");
	CU_ASSERT_STRING_EQUAL(store((struct tl_option_field){TL_OPTION_SIZE, .wrong = "size"}, "1Q", &n), "size");
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_PTR_NULL(store(number, "5", &n));
	CU_ASSERT_EQUAL(n, 5);
	CU_ASSERT_PTR_NULL(store(seconds, "3", &n));
	CU_ASSERT_EQUAL(n, 3000000000);
	CU_ASSERT_PTR_NULL(store(seconds, "0.1", &n));
	CU_ASSERT_EQUAL(n, 100000000);
}

TL_TEST("help lists the entire table")
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(tl_options_print_help(&command, out), 0);
	fclose(out);
	CU_ASSERT_STRING_EQUAL(text,
		"usage: tapline copy THING... -w FILE\n"
		"       tapline copy --quiet\n"
		"\n"
		"Copies things.\n"
		"\n"
		"  -w, --write FILE  where to\n"
		"      --quiet       say nothing\n"
		"\n"
		"Of numbers:\n"
		"\n"
		"  -n, --count N     how many of those there, however long it takes until the last of them has been seen by\n"
		"                    anybody at all (default 7)\n"
		"  -h, --help        this text\n"
		"\n"
		"That is all.\n");
	free(text);
}

int main(void)
{
	return tl_test_run("options");
}
