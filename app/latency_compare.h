// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// `tapline latency --compare A.json B.json`: a call of its own behind the same command.

#include <stdbool.h>

bool tl_latency_is_compare(int argc, char **argv);     // whether --compare is among the arguments
int tl_latency_compare_command(int argc, char **argv); // returns the exit status
