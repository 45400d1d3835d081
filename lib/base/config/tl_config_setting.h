// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// config_setting: values of a replay that are kept as text.
//
// Threads: any. Memory: borrowed from the configuration.

#include <tl_config.h>

// Return the value of a key of a replay, "" of a switch that is on; NULL: not given.
const char *tl_config_setting(const struct tl_config_replay *replay, const char *key);

// True for a replay of sessions, which the lcore of its port plays.
static inline bool tl_config_has_sessions(const struct tl_config_replay *replay)
{
	return tl_config_setting(replay, "sessions") != NULL;
}

// Return the replay of sessions on a port; NULL: none.
static inline const struct tl_config_replay *tl_config_sessions_from(const struct tl_config *config, uint32_t port)
{
	const struct tl_config_replay *replay = tl_config_replay_from(config, port);

	return replay != NULL && tl_config_has_sessions(replay) ? replay : NULL;
}
