// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ctl: the UNIX control socket of a running appliance. A client connects, sends one line (the command), reads one
// JSON document and the end of the stream.
//
// Threads: main only. Memory: open/close. A client has 200 ms in all, then it is dropped.

#include <stdbool.h>
#include <sys/types.h>

#include <tl_base.h>

struct tl_err;
struct tl_ctl;

#define TL_CTL_NO_GROUP ((gid_t)-1)

// A command and its sender, as the kernel names it.
struct tl_ctl_request {
	const char *verb; // up to the first space
	const char *name; // the rest of the line, NULL when there is none
	uid_t uid;
	pid_t pid;
	bool may_operate; // root, the appliance's own user, or a member of the operators' group
};

// Answers a command: returns malloc'd text that ctl frees, or NULL when there is no memory for it.
typedef char *tl_ctl_answer_fn(void *ctx, const struct tl_ctl_request *request);

struct tl_ctl_cfg {
	const char *path; // borrowed for the call
	gid_t operators;  // whose members may operate; TL_CTL_NO_GROUP: nobody else
	tl_ctl_answer_fn *answer;
	void *ctx;
};

// Find a group by its name. Returns 0, or -ENOENT with a sentence.
int tl_ctl_find_group(const char *name, gid_t *out, struct tl_err *err);

// Whether the path is free to be opened: 0, or -EADDRINUSE when another appliance listens there, -EEXIST when a file
// that is no socket has the name, -EBUSY while another process is looking there. A socket that nobody listens on is
// removed.
int tl_ctl_check(const char *path, struct tl_err *err);

// Creates the socket, mode 0660, as tl_ctl_check() allows.
int tl_ctl_open(const struct tl_ctl_cfg *cfg, struct tl_ctl **out, struct tl_err *err);

// To wait on in poll(): readable when tl_ctl_serve() has work.
int tl_ctl_fd(const struct tl_ctl *ctl);

// Serves one client that waits; returns within 200 ms and the time of the answer.
void tl_ctl_serve(struct tl_ctl *ctl);

// Removes the socket, unless another one has its name.
void tl_ctl_close(struct tl_ctl *ctl);

// The client's side: sends command, returns the whole answer (malloc'd, caller frees) in *out. Returns 0 or -errno.
int tl_ctl_ask(const char *path, const char *command, char **out, struct tl_err *err);
