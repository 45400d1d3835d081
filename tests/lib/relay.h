// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// relay: a bad wire between two kernel interfaces, a tool of functional tests: what its two files share.

#include <stdbool.h>
#include <stdint.h>

#define FRAME_BYTES 2048u
#define HELD_MAX 8192u // of one way; what comes while it holds so many is left in the socket

enum knob { SEED, LOSE, DOUBLE, LATE, LATE_US, DELAY_US, VLAN, OPTIONS };

struct held {
	uint64_t due_ns;
	uint64_t number; // in the order of arrival
	uint16_t len;
	uint8_t bytes[FRAME_BYTES];
};

// One direction: from one socket to the other.
struct way {
	int from, to;
	uint64_t numbers;      // given so far
	uint64_t highest_sent; // number
	uint64_t received, foreign, lost, doubled, late, reordered, sent, refused;
	uint32_t n;
	struct held *heap[HELD_MAX]; // the next that is due first; from n on: free ones
};

struct relay {
	uint64_t option[OPTIONS];
	uint64_t rng;
	uint64_t now_ns;
	struct way way[2];
};

// Takes in what waits at the beginning of a way.
void relay_receive(struct relay *r, struct way *way);
// Sends what is due.
void relay_send(struct relay *r, struct way *way);
