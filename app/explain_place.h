// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// explain_place: the reason for the CPU of each queue, and what it shares with others, for --explain.
//
// Threads: main. Memory: the caller's.

#include <jansson.h>

#include "plan.h"

struct tl_facts;

// Add cpu_why, core_shared_with, cache_shared_with, node_shared_with and warnings to the row of a queue.
void tl_explain_place_json(json_t *row, const struct tl_config *config, const struct tl_plan *plan,
	const struct tl_facts *facts, uint32_t port, uint32_t queue);

// Print the same as lines below that of the queue.
void tl_explain_place_print(const struct tl_config *config, const struct tl_plan *plan, const struct tl_facts *facts,
	uint32_t port, uint32_t queue);
