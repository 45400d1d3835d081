// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recover_report: the outcome of each file of `tapline recover`, as text or as JSON.
//
// Threads: main. Memory: an outcome's texts belong to the caller.

#include <stdbool.h>

#include <jansson.h>

#include <tl_recover.h>

// Outcome of a file. The words are those of the JSON.
enum tl_outcome {
	TL_OUTCOME_WHOLE,     // complete and unchanged
	TL_OUTCOME_RECOVERED, // changed, or only renamed
	TL_OUTCOME_REMOVED,   // removed, without recorded data
	TL_OUTCOME_BUSY,      // being written by a process
	TL_OUTCOME_FOREIGN,   // written by another program
	TL_OUTCOME_FAILED,
	TL_OUTCOMES
};

struct tl_recovered {
	const char *path;
	const char *name; // new name; NULL: unchanged, or not known yet
	enum tl_outcome outcome;
	const char *why; // reason, for the last three
	bool dry_run;
	const struct tl_recover_report *report; // for the first three
};

void tl_recovered_print(const struct tl_recovered *file);
json_t *tl_recovered_json(const struct tl_recovered *file);

// Return {"files": [...], "whole": 1, "recovered": 2, ...}; takes over files. NULL: out of memory.
json_t *tl_recovered_summary(json_t *files, const unsigned counts[TL_OUTCOMES]);
