// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extcap: tapline as one of Wireshark's capture programs (docs/wireshark.md): Wireshark, tshark and dumpcap's callers
// ask it for interfaces and their options, and start it with a FIFO to record into.
//
// Threads: main. Memory: none kept.

#include <stdbool.h>

// Whether this first argument is Wireshark's and no command.
bool tl_extcap_is_meant(const char *first_argument);

// Returns the exit status.
int tl_extcap(int argc, char **argv);
