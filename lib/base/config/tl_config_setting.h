// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// config_setting: values of a replay that are kept as text.
//
// Threads: any. Memory: borrowed from the configuration.

#include <tl_config.h>

// Return the value of a key of a replay, "" of a switch that is on; NULL: not given.
const char *tl_config_setting(const struct tl_config_replay *replay, const char *key);
