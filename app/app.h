// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// app: the commands of tapline. Each takes its own name as argv[0] and returns the exit status: 0 success, 1 operation
// failed, 2 invalid call.

#include <tl_options.h>

#define TL_EXIT_OK 0
#define TL_EXIT_FAILED 1
#define TL_EXIT_USAGE 2

#define TL_DEFAULT_SOCKET "/run/tapline.sock" // default path of the control socket

// List of all commands, in the order of the help: tl_cmd_NAME() runs a command, tl_NAME_command describes its
// arguments.
#define TL_COMMANDS(X)                                                                                                 \
	X(run)                                                                                                         \
	X(capture)                                                                                                     \
	X(doctor)                                                                                                      \
	X(client)                                                                                                      \
	X(latency)                                                                                                     \
	X(extract)                                                                                                     \
	X(replay)                                                                                                      \
	X(meter)                                                                                                       \
	X(recover)                                                                                                     \
	X(verify)                                                                                                      \
	X(bench)                                                                                                       \
	X(bind)                                                                                                        \
	X(unbind)                                                                                                      \
	X(status)                                                                                                      \
	X(top)                                                                                                         \
	X(pps)                                                                                                         \
	X(control)

#define TL_DECLARE_COMMAND(name)                                                                                       \
	int tl_cmd_##name(int argc, char **argv);                                                                      \
	extern const struct tl_command tl_##name##_command;
TL_COMMANDS(TL_DECLARE_COMMAND)

// ---- command_line.c

// Print an error in the call, the offending value (NULL: none), and the help page. Return TL_EXIT_USAGE.
int tl_misuse(const struct tl_command *command, const char *what, const char *value);

// Store each option into *options as its row describes; pass a row without "into" to set(), which returns NULL or an
// error text. Return -1 to continue with the words, which begin at optind, else an exit status.
int tl_set_options(const struct tl_command *command, int argc, char **argv,
	const char *(*set)(void *options, int id, const char *value), void *options);
