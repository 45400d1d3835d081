// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// options: the command line of a command, from one table. The table yields the input of getopt_long(), the help, and
// through `tapline --dump-options` the OPTIONS of its man page and the shell completions (docs/generate.py).
//
// Threads: main. Memory: tables are constant; a reader is the caller's and allocates nothing.

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TL_OPTIONS_MAX 64

// Kinds of values that shells complete, in addition to words.
#define TL_CHOICES_FILE "<file>"
#define TL_CHOICES_DIRECTORY "<directory>"
#define TL_CHOICES_INTERFACE "<interface>"
#define TL_CHOICES_PCI "<pci>"

enum tl_option_kind { TL_OPTION_FLAG, TL_OPTION_TEXT, TL_OPTION_NUMBER, TL_OPTION_SECONDS, TL_OPTION_SIZE };

// Types of the fields.
#define TL_OPTION_FLAG_FIELD bool	  // set to true
#define TL_OPTION_TEXT_FIELD const char * // borrowed from argv
#define TL_OPTION_NUMBER_FIELD uint64_t	  // min..max
#define TL_OPTION_SECONDS_FIELD uint64_t  // ns, min..max
#define TL_OPTION_SIZE_FIELD uint64_t	  // bytes, min..max; max 0: any

// Destination of an option's value in the command's struct, and its range.
struct tl_option_field {
	enum tl_option_kind kind;
	size_t offset;
	const char *wrong; // message for a value out of range; not for flags and texts
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

// An option, or without a name a text between options.
struct tl_option {
	const char *name;
	char letter;			    // 0: none
	const char *value;		    // name of the value in the help; NULL: no value
	const char *help;		    // without a full stop
	int id;				    // identifier within the command
	const char *choices;		    // possible values: words, or one of TL_CHOICES_; NULL: anything
	const void *meaning;		    // private to the command
	const struct tl_option_field *into; // NULL: the command parses the value
};

#define TL_OPTION_HELP                                                                                                 \
	{                                                                                                              \
		.name = "help", .letter = 'h', .help = "this text"                                                     \
	}

struct tl_command {
	const char *name;
	const char *summary; // description in the list of commands
	const char *usage;   // one line per form, without "tapline"
	const char *about;   // paragraphs, separated by an empty line
	const char *after;   // the same, after the options; NULL: none
	const char *words;   // completions of arguments that are not options; NULL: anything
	const struct tl_option *options;
	size_t n_options;
	bool until_word; // the first word ends the options
	// Append the properties in meaning to an option's help: range, default. NULL: nothing.
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
	bool missing_value; // error with quiet: an option without its value, or an unknown one
	int status;	    // -1: continue; else exit status: 0 after the help, 2 after an error
};

// Begin with the first argument. With quiet nothing is printed: the caller receives --help like any option, and reports
// errors in argv[optind - 1] itself.
void tl_options_begin(struct tl_options_reader *reader, const struct tl_command *command, int argc, char **argv);
void tl_options_begin_quiet(struct tl_options_reader *reader, const struct tl_command *command, int argc, char **argv);

// Get the next option, its value in optarg; NULL at the end, where optind is the first word, or with a status. Print
// the help on request, and getopt()'s message for an error.
const struct tl_option *tl_options_next(struct tl_options_reader *reader);

// Store a value, which is NULL for a flag, into the command's struct. Return NULL or the error.
const char *tl_options_store(const struct tl_option_field *into, const char *value, void *options);

// Build the option's help with the properties in its meaning.
const char *tl_options_describe(
	const struct tl_command *command, const struct tl_option *option, char *text, size_t size);

// Print the help. Return 0, or -EIO.
int tl_options_print_help(const struct tl_command *command, FILE *out);
