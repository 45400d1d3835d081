// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ctl: the UNIX control socket of a running appliance. A client connects, sends one line (the command), reads one
// JSON document and the end of the stream.
//
// Threads: main only. Memory: open/close. A slow client is given 200 ms, then dropped.

#include <tl_base.h>

struct tl_err;
struct tl_ctl;

// Answers a command: returns malloc'd text that ctl frees, or NULL for an unknown command.
typedef char *tl_ctl_answer_fn(void *ctx, const char *command);

// Whether the path is free to be opened: 0, or -EADDRINUSE when another appliance listens there, -EEXIST when a file
// that is no socket has the name. A socket that nobody listens on is removed.
int tl_ctl_check(const char *path, struct tl_err *err);

// Creates the socket, mode 0660, after tl_ctl_check().
int tl_ctl_open(const char *path, tl_ctl_answer_fn *answer, void *ctx, struct tl_ctl **out, struct tl_err *err);

// To wait on in poll(): readable when tl_ctl_serve() has work.
int tl_ctl_fd(const struct tl_ctl *ctl);

// Serves one client that waits; returns within a second.
void tl_ctl_serve(struct tl_ctl *ctl);

// Removes the socket.
void tl_ctl_close(struct tl_ctl *ctl);

// The client's side: sends command, returns the whole answer (malloc'd, caller frees) in *out. Returns 0 or -errno.
int tl_ctl_ask(const char *path, const char *command, char **out, struct tl_err *err);
