// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client link: sends messages, receives echoes, and reports their times. A transport is a table of functions: kernel
// sockets are one (tl_client_kernel), a host on a DPDK port another (dclient).
//
// Threads: that of tl_client_run(). Memory: open() allocates, close() frees; cfg is borrowed for the link's life.

#include <sys/types.h>

#include <tl_client.h>

// Common part of every transport, for its user.
struct tl_client_link {
	const struct tl_client_ops *ops;
	const struct tl_client_cfg *cfg;
	struct tl_client_sources sources;
	uint64_t lead_ns;     // time before its due time that a message is passed to send(); 0: at its due time
	uint64_t due_ns;      // of the message passed to send(), CLOCK_MONOTONIC
	uint64_t connections; // established so far
	const char *why;      // cause of the last failed attempt, static; NULL: none failed
};

// Arrival time of data read, if cfg->timestamps requests it.
struct tl_client_arrival {
	uint64_t stamp_ns; // of the last part; 0: none
	bool shared;	   // later data is queued that the stamp may belong to
};

// Departure time of a packet, by its identifier on the socket: of a datagram, the number sent before it; in a stream
// the last byte's distance from the start of the connection. Both wrap.
struct tl_client_departure {
	uint32_t id;
	uint64_t stamp_ns;
};

struct tl_client_ops {
	const char *name;

	// Open everything that does not need the peer. Return 0 and *out, which the caller closes, or -errno with a
	// message; -EOPNOTSUPP: the interface cannot stamp as requested by cfg->timestamps.
	int (*open)(const struct tl_client_cfg *cfg, struct tl_client_link **out, struct tl_err *err);
	void (*close)(struct tl_client_link *link);

	// True if messages can leave and echoes arrive: without a connection they cannot.
	bool (*is_up)(const struct tl_client_link *link);

	// Return bytes, or -errno: -EAGAIN: not now. At the end of a stream receive() returns 0.
	ssize_t (*send)(struct tl_client_link *link, const void *data, size_t len);
	ssize_t (*receive)(struct tl_client_link *link, void *data, size_t room, struct tl_client_arrival *arrival);

	// Read the next departure stamp. expected: some are still missing. Return whether there was one.
	bool (*departed)(struct tl_client_link *link, bool expected, struct tl_client_departure *departure);

	// Complete the link's sources after the last send. May be NULL.
	void (*finish)(struct tl_client_link *link);

	// Handle the end of the connection; poll() establishes the next one.
	void (*lost)(struct tl_client_link *link);

	// Wait until data can be read, or written (when want_write), or timeout_ns have passed; accept and establish
	// connections.
	void (*poll)(struct tl_client_link *link, uint64_t timeout_ns, bool want_write);
};

extern const struct tl_client_ops tl_client_kernel; // transport of a run without cfg->transport

const struct tl_client_ops *tl_client_transport(const struct tl_client_cfg *cfg);

// Format an endpoint as on the command line; returns buf.
char *tl_client_endpoint_text(struct tl_client_endpoint at, char buf[TL_ENDPOINT6_TEXT]);
