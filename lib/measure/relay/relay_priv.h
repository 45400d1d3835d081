// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// relay internals.

#include "tl_relay.h"

#define RELAY_ROOM_BYTES (256 << 10) // of one read

int relay_blocking(int in, int out);
int relay_epoll(int in, int out);
int relay_epoll_busy(int in, int out);
int relay_uring(int in, int out);
