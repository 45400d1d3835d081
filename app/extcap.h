// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extcap: tapline as a capture program of Wireshark (docs/extract.md). Wireshark, tshark and dumpcap's callers query
// its interfaces and their options, and start it with a FIFO to record into.
//
// Threads: main. Memory: none kept.

#include <stdbool.h>

// Check whether the first argument is an extcap option and not a command.
bool tl_extcap_is_meant(const char *first_argument);

// Run the extcap call. Return the exit status.
int tl_extcap(int argc, char **argv);
