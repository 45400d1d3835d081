// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client sweep: a series of measurements with different payloads or rates. Pure.
//
// Threads: any. Memory: the caller's.

#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>

#define TL_CLIENT_POINTS 64

enum tl_client_axis { TL_CLIENT_AXIS_NONE, TL_CLIENT_AXIS_PAYLOAD, TL_CLIENT_AXIS_RATE };

// Values to measure at; with axis NONE there is one run, as configured, and n is 1.
struct tl_client_sweep {
	enum tl_client_axis axis;
	size_t n;
	uint64_t at[TL_CLIENT_POINTS];
};

// Parse "64", "16,64,256", or "16:1472:5": the last is the number of values at equal distances. Each is in [min, max]
// and greater than the one before. Fills n and at. Returns 0, -EINVAL, -ERANGE.
int tl_client_sweep_parse(const char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep);
