// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// app: the commands of tapline. Each takes its own name as argv[0] and returns the exit status: 0 ok, 1 the work
// failed, 2 the call was wrong.

#include <tl_options.h>

#define TL_EXIT_OK 0
#define TL_EXIT_FAILED 1
#define TL_EXIT_USAGE 2

#define TL_DEFAULT_SOCKET "/run/tapline.sock" // where an appliance is asked

int tl_cmd_run(int argc, char **argv);
int tl_cmd_capture(int argc, char **argv);
int tl_cmd_doctor(int argc, char **argv);
int tl_cmd_client(int argc, char **argv);
int tl_cmd_extract(int argc, char **argv);
int tl_cmd_latency(int argc, char **argv);
int tl_cmd_recover(int argc, char **argv);
int tl_cmd_verify(int argc, char **argv);
int tl_cmd_status(int argc, char **argv);
int tl_cmd_control(int argc, char **argv);
int tl_cmd_bench(int argc, char **argv);
int tl_cmd_bind(int argc, char **argv);
int tl_cmd_unbind(int argc, char **argv);
int tl_cmd_top(int argc, char **argv);

// What each accepts. client's is in <tl_client.h>.
extern const struct tl_command tl_run_command;
extern const struct tl_command tl_capture_command;
extern const struct tl_command tl_doctor_command;
extern const struct tl_command tl_extract_command;
extern const struct tl_command tl_latency_command;
extern const struct tl_command tl_recover_command;
extern const struct tl_command tl_verify_command;
extern const struct tl_command tl_status_command;
extern const struct tl_command tl_control_command;
extern const struct tl_command tl_bench_command;
extern const struct tl_command tl_bind_command;
extern const struct tl_command tl_unbind_command;
extern const struct tl_command tl_top_command;

// ---- command_line.c

// Says what is wrong with the call, of which value (NULL: of none), and where to read more. Returns TL_EXIT_USAGE.
int tl_misuse(const struct tl_command *command, const char *what, const char *value);

// Stores each option into *options as its row says; passes a row without "into" to set(), which returns NULL or the
// error. Returns -1 to go on with the words, which begin at optind, else an exit status.
int tl_set_options(const struct tl_command *command, int argc, char **argv,
	const char *(*set)(void *options, int id, const char *value), void *options);
