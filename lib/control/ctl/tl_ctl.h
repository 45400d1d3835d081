// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ctl: the UNIX control socket of a running appliance. A client connects, sends one line (the command), and reads one
// JSON document to the end of the stream.
//
// Threads: main only. Memory: open/close. A client that takes longer than 200 ms for its command or for the answer, and
// 1 ms for each 8 KiB of it, is dropped.

#include <stdbool.h>
#include <sys/types.h>

#include <tl_base.h>

struct tl_err;
struct tl_ctl;

#define TL_CTL_NO_GROUP ((gid_t)-1)

// A command and the credentials of its sender.
struct tl_ctl_request {
	const char *verb; // up to the first space
	const char *name; // the rest of the line, NULL when there is none
	uid_t uid;
	pid_t pid;
	bool may_operate; // root, the appliance's own user, or a member of the operators' group
};

// Answers a command: returns malloc'd text that ctl frees, or NULL if out of memory.
typedef char *tl_ctl_answer_fn(void *ctx, const struct tl_ctl_request *request);

struct tl_ctl_cfg {
	const char *path; // borrowed for the call
	gid_t operators;  // group that may operate; TL_CTL_NO_GROUP: none
	tl_ctl_answer_fn *answer;
	void *ctx;
};

// Look up a group by name. Return 0, or -ENOENT with a message.
int tl_ctl_find_group(const char *name, gid_t *out, struct tl_err *err);

// Check if the path can be opened: 0, -EBUSY if another appliance listens there or checks it, or -EEXIST if it is not a
// socket. Removes a stale socket.
int tl_ctl_check(const char *path, struct tl_err *err);

// Create the socket, mode 0660, if tl_ctl_check() allows.
int tl_ctl_open(const struct tl_ctl_cfg *cfg, struct tl_ctl **out, struct tl_err *err);

// Descriptor for poll(): readable when tl_ctl_serve() has work.
int tl_ctl_fd(const struct tl_ctl *ctl);

// Serve one waiting client; returns within the limits of its command and answer, and the time that the answer takes.
void tl_ctl_serve(struct tl_ctl *ctl);

// Remove the socket, unless its path now names another.
void tl_ctl_close(struct tl_ctl *ctl);

// Client: send the command, return the whole answer (malloc'd, caller frees) in *out. Return 0 or -errno.
int tl_ctl_ask(const char *path, const char *command, char **out, struct tl_err *err);
