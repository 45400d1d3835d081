// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_keys: keys in the terminal while a replay runs. The terminal delivers them one by one, without echo, from
// open() to close(), except while the process is stopped; it is restored before a signal ends the process, too.
//
// Threads: main. Memory: the caller's. One at a time: the terminal is the process's.

#include <stdbool.h>

#include "replay_session.h"

struct tl_replay_keys {
	bool on;
	unsigned escape; // bytes of an escape sequence so far
};

// Read keys from standard input, and print what they do, if it is a terminal and this process is in its foreground.
void tl_replay_keys_open(struct tl_replay_keys *keys);
void tl_replay_keys_close(struct tl_replay_keys *keys);

// Descriptor for poll(), readable when tl_replay_keys_read() has work; -1: no keys.
int tl_replay_keys_fd(const struct tl_replay_keys *keys);

// Do what the keys ask for. Return true if the run is to end.
bool tl_replay_keys_read(struct tl_replay_keys *keys, struct tl_replay_session *session);
