// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// explain: the choices made for each port of a configuration on this host, and their reasons: receive path, the CPU
// that polls each queue, and the idle behaviour of an lcore.
//
// Threads: main. Memory: the caller's. Requires no EAL.

#include <jansson.h>

#include <tl_config.h>

#include "plan.h"

// Return a list of ports; NULL: out of memory.
json_t *tl_explain_json(const struct tl_config *config, const struct tl_plan *plan);

// Print the same as text on stdout.
void tl_explain_print(const struct tl_config *config, const struct tl_plan *plan);
