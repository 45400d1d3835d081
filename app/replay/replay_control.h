// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_control: the control socket of a replay. Verbs: pause, resume, speed X, seek POSITION, and status.
//
// Threads: main. Memory: open/close.

#include "replay_session.h"

// Execute a verb of a replay. Return 0, or -errno with a message; -ENOSYS: not a verb of replays.
int tl_replay_operate(struct tl_replay_session *s, const char *verb, const char *value, struct tl_err *err);

// Open the socket of --control, if there is one. Return 0, or -errno with a message.
int tl_replay_control_open(struct tl_replay_session *s, struct tl_err *err);
void tl_replay_control_close(struct tl_replay_session *s);

// Descriptor for poll(), readable when tl_replay_control_serve() has work; -1: no socket.
int tl_replay_control_fd(const struct tl_replay_session *s);
void tl_replay_control_serve(struct tl_replay_session *s);
