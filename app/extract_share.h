// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract_share: reads at the rate that a running appliance grants in the share of a disk, beside its recordings.
//
// Threads: one. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

struct tl_err;

struct tl_extract_share {
	const char *name;     // of the share; NULL: none. Set by the caller, like the next two
	const char *socket;   // control socket of the appliance
	uint64_t rate_bytes;  // largest rate, bytes per second; 0: none
	uint64_t limit_bytes; // granted
	uint64_t read_bytes;  // so far
	int64_t credit_bytes; // below 0: more was read than was earned
	uint64_t earned_ns;   // time up to which the credit is earned
	uint64_t ask_ns;      // time of the next request; UINT64_MAX: the appliance has ended
};

// Ask the appliance for the first time. Return 0, or a negative errno with a message: no appliance, or no such share.
int tl_extract_share_join(struct tl_extract_share *share, struct tl_err *err);

// Wait until more may be read, after this many bytes in total.
void tl_extract_share_pace(struct tl_extract_share *share, uint64_t read_bytes);
