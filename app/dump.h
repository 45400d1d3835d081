// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// dump: what a command accepts, for who makes man pages and completions of it.

#include <jansson.h>

#include <tl_options.h>

// name, summary, usage, words, options[] {name, letter, value, help, choices} or {text}.
json_t *tl_dump_command(const struct tl_command *command);
