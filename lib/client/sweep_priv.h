// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a sweep says beyond its runs.

#include <tl_client.h>

// The line through the medians of the best time; known only of a payload sweep.
struct tl_client_fit tl_client_slope(
	const struct tl_client_sweep *sweep, const struct tl_client_result *results, size_t count);
