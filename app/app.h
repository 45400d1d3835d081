// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// app: the commands of tapline. Each takes its own name as argv[0] and returns the exit status: 0 ok, 1 the work
// failed, 2 the call was wrong.

#include <tl_options.h>

#define TL_EXIT_OK 0
#define TL_EXIT_FAILED 1
#define TL_EXIT_USAGE 2

#define TL_DEFAULT_SOCKET "/run/tapline.sock" // where an appliance is asked

// Every command, in the order of the help: tl_cmd_NAME() runs it, tl_NAME_command is what it accepts.
#define TL_COMMANDS(X)                                                                                                 \
	X(run)                                                                                                         \
	X(capture)                                                                                                     \
	X(doctor)                                                                                                      \
	X(client)                                                                                                      \
	X(latency)                                                                                                     \
	X(extract)                                                                                                     \
	X(replay)                                                                                                      \
	X(recover)                                                                                                     \
	X(verify)                                                                                                      \
	X(bench)                                                                                                       \
	X(bind)                                                                                                        \
	X(unbind)                                                                                                      \
	X(status)                                                                                                      \
	X(top)                                                                                                         \
	X(control)

#define TL_DECLARE_COMMAND(name)                                                                                       \
	int tl_cmd_##name(int argc, char **argv);                                                                      \
	extern const struct tl_command tl_##name##_command;
TL_COMMANDS(TL_DECLARE_COMMAND)

// ---- command_line.c

// Says what is wrong with the call, of which value (NULL: of none), and where to read more. Returns TL_EXIT_USAGE.
int tl_misuse(const struct tl_command *command, const char *what, const char *value);

// Stores each option into *options as its row says; passes a row without "into" to set(), which returns NULL or the
// error. Returns -1 to go on with the words, which begin at optind, else an exit status.
int tl_set_options(const struct tl_command *command, int argc, char **argv,
	const char *(*set)(void *options, int id, const char *value), void *options);
