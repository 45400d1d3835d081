// SPDX-License-Identifier: BSD-3-Clause
// Data in and out of sockets.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pd.h"
#include "pd_data.h"

// ---- in

static ssize_t look_read(struct tl_pd_look *look)
{
	return tl_pd_socket_read(look->s, look->to, look->len, look->peek);
}

ssize_t tl_pd_recv(void *userdata, int fd, void *buf, size_t len, int flags)
{
	struct tl_pd_look look = {.fn = look_read, .to = buf, .len = len, .peek = (flags & MSG_PEEK) != 0};

	return tl_pd_on_socket(userdata, fd, &look, flags);
}

ssize_t tl_pd_read(void *userdata, int fd, void *buf, size_t len)
{
	return tl_pd_recv(userdata, fd, buf, len, 0);
}

ssize_t tl_pd_recvfrom(
	void *userdata, int fd, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len)
{
	if (addr_len != NULL)
		*addr_len = 0; // a stream reports no address
	return tl_pd_recv(userdata, fd, buf, len, flags);
}

static size_t iov_bytes(const struct iovec *iov, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

static ssize_t receive_into(void *userdata, int fd, const struct iovec *iov, size_t n, int flags)
{
	size_t len = iov_bytes(iov, n);
	uint8_t *bytes = malloc(len + 1);
	ssize_t rc = bytes != NULL ? tl_pd_recv(userdata, fd, bytes, len, flags) : -1;

	for (size_t i = 0, at = 0; rc > 0 && i < n && at < (size_t)rc; at += iov[i++].iov_len) {
		size_t left = (size_t)rc - at;
		memcpy(iov[i].iov_base, bytes + at, left < iov[i].iov_len ? left : iov[i].iov_len);
	}
	free(bytes);
	return rc;
}

ssize_t tl_pd_readv(void *userdata, int fd, const struct iovec *iov, int n)
{
	return receive_into(userdata, fd, iov, (size_t)n, 0);
}

ssize_t tl_pd_recvmsg(void *userdata, int fd, struct msghdr *msg, int flags)
{
	msg->msg_namelen = 0;
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	return receive_into(userdata, fd, msg->msg_iov, msg->msg_iovlen, flags);
}

// ---- out

// Send all of it, or, in a non-blocking call, as much as fits.
static ssize_t look_write(struct tl_pd_look *look)
{
	look->s->more = look->more;
	while (look->done < look->len) {
		ssize_t n = tl_pd_socket_write(look->s, look->from + look->done, look->len - look->done);
		if (n == -EAGAIN && !look->blocks && look->done > 0)
			break;
		if (n < 0)
			return n;
		look->done += (size_t)n;
	}
	return (ssize_t)look->done;
}

ssize_t tl_pd_send(void *userdata, int fd, const void *buf, size_t len, int flags)
{
	struct tl_pd_look look = {.fn = look_write, .from = buf, .len = len, .more = (flags & MSG_MORE) != 0};

	return tl_pd_on_socket(userdata, fd, &look, flags);
}

ssize_t tl_pd_write(void *userdata, int fd, const void *buf, size_t len)
{
	return tl_pd_send(userdata, fd, buf, len, 0);
}

ssize_t tl_pd_sendto(
	void *userdata, int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr, socklen_t addr_len)
{
	return tl_pd_send(userdata, fd, buf, len, flags); // a stream has its destination
}

static ssize_t send_from(void *userdata, int fd, const struct iovec *iov, size_t n, int flags)
{
	size_t len = iov_bytes(iov, n);
	uint8_t *bytes = malloc(len + 1);
	size_t at = 0;

	if (bytes == NULL)
		return -1;
	for (size_t i = 0; i < n; at += iov[i++].iov_len)
		memcpy(bytes + at, iov[i].iov_base, iov[i].iov_len);
	ssize_t rc = tl_pd_send(userdata, fd, bytes, len, flags);
	free(bytes);
	return rc;
}

ssize_t tl_pd_writev(void *userdata, int fd, const struct iovec *iov, int n)
{
	return send_from(userdata, fd, iov, (size_t)n, 0);
}

ssize_t tl_pd_sendmsg(void *userdata, int fd, const struct msghdr *msg, int flags)
{
	return send_from(userdata, fd, msg->msg_iov, msg->msg_iovlen, flags);
}
