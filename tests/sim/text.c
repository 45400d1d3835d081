// SPDX-License-Identifier: BSD-3-Clause
// Stream contents: bytes that encode their position, generated once and copied.

#include "sim.h"

#define PERIOD 65521 // prime: a sequence number wrong by a power of two yields different bytes
#define SIDE_OFFSET 12345

uint8_t *sim_text_create(void)
{
	uint8_t *text = malloc(PERIOD + SIM_RUN_MAX);
	uint64_t word = 88172645463325252u;

	if (text == NULL)
		return NULL;
	for (unsigned i = 0; i < PERIOD + SIM_RUN_MAX; i++) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		text[i] = i < PERIOD ? (uint8_t)(word >> 32) : text[i - PERIOD];
	}
	return text;
}

const uint8_t *sim_text(const struct sim *sim, unsigned side, uint64_t at)
{
	return sim->text + (at + side * SIDE_OFFSET) % PERIOD;
}
