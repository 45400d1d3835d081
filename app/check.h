// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// check: validate a configuration, and report how long its recordings' buffers absorb a disk stall.
//
// Threads: main. Memory: none kept. Requires no EAL.

#include <stdbool.h>

#include <tl_config.h>

// Check a configuration. explain: also print the choices made for each port. Return the exit status of the command.
int tl_check(const struct tl_config *config, bool explain, bool as_json);
