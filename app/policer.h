// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// policer: "police" of echoes and classes of shapes: from the configuration to a policer, and to `tapline run
// --explain`.
//
// Threads: main. Memory: the caller's.

#include <stdint.h>

#include <jansson.h>

#include <tl_config.h>
#include <tl_policer.h>

struct tl_meter_cfg tl_policer_meter(const struct tl_config_meter *meter, uint32_t overhead_bytes);

// Fill *out. False: absent.
bool tl_policer_describe(const struct tl_config_policer *policer, uint32_t overhead_bytes, struct tl_policer_cfg *out);

// Format a rate and its burst: "50.0Mbit/s with bursts of 15000 bytes". things: what the meter counts as packets.
#define TL_POLICER_RATE_TEXT 96
const char *tl_policer_rate_text(const struct tl_config_meter *meter, uint64_t rate, uint64_t burst, const char *things,
	char text[TL_POLICER_RATE_TEXT]);

// Print rates and actions, without the end of the line, or return them; null: absent.
void tl_policer_print(const struct tl_config_policer *policer, const char *things);
json_t *tl_policer_json(const struct tl_config_policer *policer);

// Print a line per echo of a port with a policer, or return their array.
void tl_policer_print_echoes(const struct tl_config *config, uint32_t port);
json_t *tl_policer_echoes_json(const struct tl_config *config, uint32_t port);
