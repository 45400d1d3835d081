// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// reach: finds classes that no frame can reach, as those before them match all their frames.
//
// Threads: main. Memory: the caller's; texts are borrowed.

#include <stdint.h>

struct tl_err;

#define TL_REACH_MAX 16 // classes that are compared with each other: each pair is compiled

struct tl_reach {
	struct {
		const char *name, *match;
	} of[TL_REACH_MAX];
	uint32_t n;
};

// Add the class that follows those added before. match: its expression, which compiles; "": any frame. Return 0, also
// if there are TL_REACH_MAX, or -EINVAL with a message: one before is known to match all its frames.
int tl_reach_add(struct tl_reach *reach, const char *name, const char *match, struct tl_err *err);
