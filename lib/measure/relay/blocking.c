// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls, the plainest way: the thread sleeps in recv() and is woken for each message. One thread serves one
// connection.

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "relay_priv.h"

static int send_all(int out, const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(out, bytes, n, MSG_NOSIGNAL);
		if (sent < 0)
			return -errno;
		bytes += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int relay_blocking(int in, int out)
{
	uint8_t *room = malloc(RELAY_ROOM_BYTES);
	ssize_t n = 0;
	int rc = room == NULL ? -ENOMEM : 0;

	while (rc == 0 && (n = recv(in, room, RELAY_ROOM_BYTES, 0)) > 0)
		rc = send_all(out, room, (size_t)n);
	if (rc == 0 && n < 0)
		rc = -errno;
	free(room);
	return rc;
}
