// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The client's sockets, all non-blocking: a UDP socket, a stream connection, or both, and the coming and going of the
// connection.

#include <tl_client.h>

struct tl_client_link {
	const struct tl_client_cfg *cfg;
	int udp_fd;    // -1 in TCP mode
	int listen_fd; // -1 but in MULTICAST mode
	int conn_fd;   // -1 when there is no connection
	bool connecting;
	uint64_t connections; // established so far
	uint64_t retry_at_ns; // when to try to connect again
	int last_error;	      // why the last attempt failed, 0 when nothing has
};

// Opens what can be opened without the peer. Returns 0 or -errno and the sentence.
int tl_client_link_open(struct tl_client_link *link, const struct tl_client_cfg *cfg, struct tl_err *err);
void tl_client_link_close(struct tl_client_link *link);

// The sockets messages leave by and echoes arrive at; -1 without a connection.
int tl_client_link_send_fd(const struct tl_client_link *link);
int tl_client_link_recv_fd(const struct tl_client_link *link);

// The connection has ended; poll() gets the next one.
void tl_client_link_lost(struct tl_client_link *link);

// Waits until there is something to read, room to write (when want_write), or timeout_ns have passed; accepts and makes
// connections.
void tl_client_link_poll(struct tl_client_link *link, uint64_t timeout_ns, bool want_write);

uint64_t tl_client_now_ns(void); // CLOCK_MONOTONIC

// How a user writes it; returns buf.
char *tl_client_endpoint_text(struct tl_client_endpoint at, char buf[TL_ENDPOINT6_TEXT]);
