// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// check: says whether a configuration is right, and how long its recordings' buffers last when a disk stalls.
//
// Threads: main. Memory: none kept. Needs no EAL.

#include <stdbool.h>

#include <tl_config.h>

// explain: and what was chosen for each port. Returns the exit status of the command.
int tl_check(const struct tl_config *config, bool explain, bool as_json);
