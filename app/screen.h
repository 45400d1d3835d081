// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// screen: pages of a command that repeats them.
//
// Threads: main. Memory: none is kept.

#include <stdbool.h>

// Write a page to stdout: on a terminal in place of the last one, clipped to its size, elsewhere below it. Return false
// if the write failed.
bool tl_screen_show(const char *page);
