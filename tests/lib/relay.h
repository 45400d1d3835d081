// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// relay: a bad wire between two kernel interfaces, a tool of functional tests: definitions shared by its two files.

#include <stdbool.h>
#include <stdint.h>

#define FRAME_BYTES 2048u
#define HELD_MAX 8192u // per direction; with so many frames held, new ones stay in the socket

enum knob { SEED, LOSE, DOUBLE, LATE, LATE_US, DELAY_US, VLAN, OPTIONS };

struct held {
	uint64_t due_ns;
	uint64_t number; // order of arrival
	uint16_t len;
	uint8_t bytes[FRAME_BYTES];
};

// A direction: from one socket to the other.
struct way {
	int from, to;
	uint64_t numbers;      // assigned so far
	uint64_t highest_sent; // highest number sent
	uint64_t received, foreign, lost, doubled, late, reordered, sent, refused;
	uint32_t n;
	struct held *heap[HELD_MAX]; // min-heap by due time; entries from n on are free
};

struct relay {
	uint64_t option[OPTIONS];
	uint64_t rng;
	uint64_t now_ns;
	struct way way[2];
};

// Receive the frames that wait at the input of a direction.
void relay_receive(struct relay *r, struct way *way);
// Send the frames that are due.
void relay_send(struct relay *r, struct way *way);
