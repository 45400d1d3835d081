// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Internals shared by the files of ctl.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <tl_ctl.h>

struct tl_err;

#define TL_CTL_COMMAND_MAX (16u << 20) // bytes of a verb and a path, or of a shape with its classes

struct tl_ctl {
	int fd;
	struct sockaddr_un address;
	struct stat file; // identity of the socket
	uid_t owner;
	gid_t operators;
	unsigned client_ms; // limit for the command of a client, and for its answer, beside the bytes transferred
	tl_ctl_answer_fn *answer;
	void *ctx;
};

// Fill the address; -ENAMETOOLONG with a message.
int tl_ctl_address(const char *path, struct sockaddr_un *out, struct tl_err *err);

// Return a connected stream socket with both timeouts set, or -errno.
int tl_ctl_connect(const struct sockaddr_un *address, unsigned timeout_ms);

// Enlarge a text whose *size bytes are full with used ones and a NUL, up to max bytes. Return false if it cannot be.
bool tl_ctl_reserve(char **text, size_t *size, size_t used, size_t max);

// ctl_listen.c: listen on ctl->address and set the socket in ctl. Return 0, or -errno and a message.
int tl_ctl_listen(struct tl_ctl *ctl, struct tl_err *err);

// Serve the client connected to fd.
void tl_ctl_serve_client(const struct tl_ctl *ctl, int fd);
