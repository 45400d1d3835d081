// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// app: the commands of tapline. Each takes its own name as argv[0] and returns the exit status: 0 ok, 1 the work
// failed, 2 the call was wrong.

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
int tl_cmd_status(int argc, char **argv);
int tl_cmd_control(int argc, char **argv);
int tl_cmd_bench(int argc, char **argv);
int tl_cmd_bind(int argc, char **argv);
int tl_cmd_unbind(int argc, char **argv);
int tl_cmd_top(int argc, char **argv);
