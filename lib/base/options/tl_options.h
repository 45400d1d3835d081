// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// options: the command line of a command, said once. From its table come what getopt_long() accepts, the help, and by
// `tapline --dump-options` the OPTIONS of its man page and the completions of shells (docs/generate.py).
//
// Threads: main. Memory: tables are constant; a reader is the caller's and holds nothing of its own.

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TL_OPTIONS_MAX 64

// What shells offer as a value beside words.
#define TL_CHOICES_FILE "<file>"
#define TL_CHOICES_DIRECTORY "<directory>"
#define TL_CHOICES_INTERFACE "<interface>"
#define TL_CHOICES_PCI "<pci>"

enum tl_option_kind { TL_OPTION_FLAG, TL_OPTION_TEXT, TL_OPTION_NUMBER, TL_OPTION_SECONDS, TL_OPTION_SIZE };

// Types of their fields.
#define TL_OPTION_FLAG_FIELD bool	  // set to true
#define TL_OPTION_TEXT_FIELD const char * // borrowed from argv
#define TL_OPTION_NUMBER_FIELD uint64_t	  // min..max
#define TL_OPTION_SECONDS_FIELD uint64_t  // ns, min..max
#define TL_OPTION_SIZE_FIELD uint64_t	  // bytes

// Destination of an option's value in the command's struct, and its range.
struct tl_option_field {
	enum tl_option_kind kind;
	size_t offset;
	const char *wrong; // error about a value out of range; not for flags and texts
	uint64_t min, max;
};

// TL_INTO(FLAG, struct options, json); after the member: the error and the range.
#define TL_INTO(KIND, type, member, ...)                                                                               \
	.into = &(const struct tl_option_field)                                                                        \
	{                                                                                                              \
		TL_OPTION_##KIND,                                                                                      \
			_Generic(((type *)NULL)->member, TL_OPTION_##KIND##_FIELD                                      \
				 : offsetof(type, member)),                                                            \
			##__VA_ARGS__                                                                                  \
	}

// An option, or where it has no name a text between options.
struct tl_option {
	const char *name;
	char letter;			    // 0: none
	const char *value;		    // what the help calls it; NULL: it takes none
	const char *help;		    // without a full stop
	int id;				    // what the command knows it by
	const char *choices;		    // of values: words, or one of TL_CHOICES_; NULL: anything
	const void *meaning;		    // the command's own
	const struct tl_option_field *into; // NULL: the command reads the value itself
};

#define TL_OPTION_HELP                                                                                                 \
	{                                                                                                              \
		.name = "help", .letter = 'h', .help = "this text"                                                     \
	}

struct tl_command {
	const char *name;
	const char *summary; // in the list of commands
	const char *usage;   // a line for each form, without "tapline"
	const char *about;   // paragraphs, with an empty line between
	const char *after;   // the same, behind the options; NULL: none
	const char *words;   // choices of what is no option; NULL: anything
	const struct tl_option *options;
	size_t n_options;
	bool until_word; // the first word ends the options
	// Adds to an option's help what its meaning says: range, default. NULL: nothing.
	void (*describe)(const struct tl_option *option, char *text, size_t size);
};

#define TL_OPTIONS(table) .options = table, .n_options = sizeof(table) / sizeof(table[0])

struct tl_options_reader {
	const struct tl_command *command;
	int argc;
	char **argv;
	struct option longs[TL_OPTIONS_MAX + 1];
	char letters[2 * TL_OPTIONS_MAX + 3];
	bool quiet;
	bool missing_value; // what was wrong, with quiet: an option without its value, or none of ours
	int status; // -1: go on; else what the program ends with, as help was printed (0) or the call was wrong (2)
};

// Begins with the first argument. With quiet nothing is printed: the caller gets --help like any option, and says
// itself what is wrong with argv[optind - 1].
void tl_options_begin(struct tl_options_reader *reader, const struct tl_command *command, int argc, char **argv);
void tl_options_begin_quiet(struct tl_options_reader *reader, const struct tl_command *command, int argc, char **argv);

// The next option, its value in optarg; NULL at the end, where optind is the first word, or with a status. Prints the
// help where it is asked for, and getopt()'s sentence about what is wrong.
const struct tl_option *tl_options_next(struct tl_options_reader *reader);

// Store a value, which is NULL for a flag, into the command's struct. Returns NULL or the error.
const char *tl_options_store(const struct tl_option_field *into, const char *value, void *options);

// The option's help with what its meaning adds.
const char *tl_options_describe(
	const struct tl_command *command, const struct tl_option *option, char *text, size_t size);

// What --help prints. Returns 0, or -EIO.
int tl_options_print_help(const struct tl_command *command, FILE *out);
