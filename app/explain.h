// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// explain: what a configuration makes of each port on this host, and why: how its frames come in, which CPU polls each
// queue, and what an lcore does while none arrive.
//
// Threads: main. Memory: the caller's. Needs no EAL.

#include <jansson.h>

#include <tl_config.h>

#include "plan.h"

// A list of ports; NULL: no memory.
json_t *tl_explain_json(const struct tl_config *config, const struct tl_plan *plan);

// The same as text on stdout.
void tl_explain_print(const struct tl_config *config, const struct tl_plan *plan);
