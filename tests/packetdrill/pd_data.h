// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_data: the calls of the table that move data: read(), write() and their families.
//
// Threads: any. Memory: the caller's.

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

ssize_t tl_pd_read(void *userdata, int fd, void *buf, size_t len);
ssize_t tl_pd_readv(void *userdata, int fd, const struct iovec *iov, int n);
ssize_t tl_pd_recv(void *userdata, int fd, void *buf, size_t len, int flags);
ssize_t tl_pd_recvfrom(
	void *userdata, int fd, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len);
ssize_t tl_pd_recvmsg(void *userdata, int fd, struct msghdr *msg, int flags);
ssize_t tl_pd_write(void *userdata, int fd, const void *buf, size_t len);
ssize_t tl_pd_writev(void *userdata, int fd, const struct iovec *iov, int n);
ssize_t tl_pd_send(void *userdata, int fd, const void *buf, size_t len, int flags);
ssize_t tl_pd_sendto(void *userdata, int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
	socklen_t addr_len);
ssize_t tl_pd_sendmsg(void *userdata, int fd, const struct msghdr *msg, int flags);
