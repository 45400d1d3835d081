// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Results of a sweep beyond its runs.

#include <tl_client.h>

// Return the point of a sweep as in the latency report.
struct tl_latency_point tl_client_sweep_point(
	const struct tl_client_sweep *sweep, const struct tl_client_result *result);

// Write why a run is invalid, and of a sweep which: "payload_bytes 64: no echo was measured". Return text.
#define TL_CLIENT_REASON (TL_LATENCY_TEXT + 64)
const char *tl_client_reason(const struct tl_client_sweep *sweep, const struct tl_client_result *result, uint32_t k,
	char text[TL_CLIENT_REASON]);
