// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// stop: SIGINT and SIGTERM as a flag, for commands that end in order.

#include <stdatomic.h>
#include <stdbool.h>

// Set the flag on SIGINT and SIGTERM from now on. Return the flag.
const atomic_bool *tl_stop_on_signals(void);

// Set the flag for another reason, such as a key.
void tl_stop_request(void);

bool tl_stop_requested(void);
