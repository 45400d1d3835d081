// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What both ends of the control socket share.

#include <sys/socket.h>
#include <sys/un.h>

struct tl_err;

#define TL_CTL_COMMAND_MAX 4608 // a verb and a path

// Fills the address; -ENAMETOOLONG with a sentence.
int tl_ctl_address(const char *path, struct sockaddr_un *out, struct tl_err *err);

// A connected stream socket with both timeouts set, or -errno.
int tl_ctl_connect(const struct sockaddr_un *address, unsigned timeout_ms);
void tl_ctl_set_timeouts(int fd, unsigned timeout_ms);
