// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recover_report: what became of each file of `tapline recover`, as text or as JSON.
//
// Threads: main. Memory: an outcome's texts are the caller's.

#include <stdbool.h>

#include <jansson.h>

#include <tl_recover.h>

// What became of a file. The words are those of the JSON.
enum tl_outcome {
	TL_OUTCOME_WHOLE,     // needed nothing
	TL_OUTCOME_RECOVERED, // changed, or only its name
	TL_OUTCOME_REMOVED,   // nothing was recorded in it
	TL_OUTCOME_BUSY,      // somebody is writing it
	TL_OUTCOME_FOREIGN,   // another program's
	TL_OUTCOME_FAILED,
	TL_OUTCOMES
};

struct tl_recovered {
	const char *path;
	const char *name; // what it is called now; NULL: as before, or not known before it is done
	enum tl_outcome outcome;
	const char *why; // of the last three
	bool dry_run;
	const struct tl_recover_report *report; // of the first three
};

void tl_recovered_print(const struct tl_recovered *file);
json_t *tl_recovered_json(const struct tl_recovered *file);

// {"files": [...], "whole": 1, "recovered": 2, ...}; takes files over. NULL without memory.
json_t *tl_recovered_summary(json_t *files, const unsigned counts[TL_OUTCOMES]);
