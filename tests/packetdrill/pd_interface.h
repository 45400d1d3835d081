// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_interface: interface of the library named by --so_filename: a table of calls in this order, filled in by
// packetdrill_interface_init(). They return the results of the system calls of their names, including -1 with errno
// set.
//
// Threads: packetdrill's own, and a second one for the calls that a script expects to block.
// Memory:  the table is packetdrill's; userdata is the library's, until free().

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

struct packetdrill_interface {
	void *userdata;
	void (*free)(void *userdata);
	int (*socket)(void *userdata, int domain, int type, int protocol);
	int (*bind)(void *userdata, int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(void *userdata, int fd, int backlog);
	int (*accept)(void *userdata, int fd, struct sockaddr *addr, socklen_t *len);
	int (*connect)(void *userdata, int fd, const struct sockaddr *addr, socklen_t len);
	ssize_t (*read)(void *userdata, int fd, void *buf, size_t len);
	ssize_t (*readv)(void *userdata, int fd, const struct iovec *iov, int n);
	ssize_t (*recv)(void *userdata, int fd, void *buf, size_t len, int flags);
	ssize_t (*recvfrom)(
		void *userdata, int fd, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len);
	ssize_t (*recvmsg)(void *userdata, int fd, struct msghdr *msg, int flags);
	ssize_t (*write)(void *userdata, int fd, const void *buf, size_t len);
	ssize_t (*writev)(void *userdata, int fd, const struct iovec *iov, int n);
	ssize_t (*send)(void *userdata, int fd, const void *buf, size_t len, int flags);
	ssize_t (*sendto)(void *userdata, int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
		socklen_t addr_len);
	ssize_t (*sendmsg)(void *userdata, int fd, const struct msghdr *msg, int flags);
	int (*fcntl)(void *userdata, int fd, int command, ...);
	int (*ioctl)(void *userdata, int fd, unsigned long request, ...);
	int (*close)(void *userdata, int fd);
	int (*shutdown)(void *userdata, int fd, int how);
	int (*getsockopt)(void *userdata, int fd, int level, int name, void *value, socklen_t *len);
	int (*setsockopt)(void *userdata, int fd, int level, int name, const void *value, socklen_t len);
	int (*poll)(void *userdata, struct pollfd *fds, nfds_t n, int timeout_ms);
	// Input an IP packet to the stack.
	int (*netdev_send)(void *userdata, const void *packet, size_t len);
	// Get the next IP packet of the stack. len: the room in packet, then the length; 0: none.
	int (*netdev_receive)(void *userdata, void *packet, size_t *len, long long *at_us);
	int (*usleep)(void *userdata, useconds_t us);
	int (*gettimeofday)(void *userdata, struct timeval *now, struct timezone *zone);
	int (*epoll_create)(void *userdata, int size);
	int (*epoll_ctl)(void *userdata, int epfd, int op, int fd, struct epoll_event *event);
	int (*epoll_wait)(void *userdata, int epfd, struct epoll_event *events, int most, int timeout_ms);
	int (*pipe)(void *userdata, int fds[2]);
	int (*splice)(void *userdata, int in, loff_t *in_off, int out, loff_t *out_off, size_t len, unsigned flags);
};

void packetdrill_interface_init(const char *flags, struct packetdrill_interface *table);
