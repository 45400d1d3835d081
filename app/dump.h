// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// dump: the options of a command as JSON, for the generators of man pages and completions.

#include <jansson.h>

#include <tl_options.h>

// Return an object with name, summary, usage, words, options[] {name, letter, value, help, choices} or {text}.
json_t *tl_dump_command(const struct tl_command *command);
