// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client link: carries messages out and echoes back, and says when. What is behind it, a transport, is a table of
// functions: the kernel's sockets are one (tl_client_kernel), a port of our own another (dclient).
//
// Threads: that of tl_client_run(). Memory: open() allocates, close() frees; cfg is borrowed for the link's life.

#include <sys/types.h>

#include <tl_client.h>

// What every transport keeps for who uses it.
struct tl_client_link {
	const struct tl_client_ops *ops;
	const struct tl_client_cfg *cfg;
	struct tl_client_sources sources;
	uint64_t lead_ns;     // a message is given to send() so long before it is due; 0: when it is
	uint64_t due_ns;      // of the message that send() is given, CLOCK_MONOTONIC
	uint64_t connections; // established so far
	const char *why;      // the last attempt failed, static; NULL: nothing has
};

// When what was read arrived, where cfg->timestamps asks for that.
struct tl_client_arrival {
	uint64_t stamp_ns; // of the part that came last; 0: there is none
	bool shared;	   // more is waiting behind it, which the stamp may belong to
};

// When something sent left: what, by its number on the socket. A datagram's is how many were sent before it; in a
// stream it is the last byte's distance from the connection's begin. Both wrap.
struct tl_client_departure {
	uint32_t id;
	uint64_t stamp_ns;
};

struct tl_client_ops {
	const char *name;

	// Opens what can be opened without the peer. Returns 0 and *out, which the caller closes, or -errno and the
	// sentence; -EOPNOTSUPP: the interface cannot stamp as cfg->timestamps asks.
	int (*open)(const struct tl_client_cfg *cfg, struct tl_client_link **out, struct tl_err *err);
	void (*close)(struct tl_client_link *link);

	// Whether messages can leave and echoes arrive: without a connection they cannot.
	bool (*is_up)(const struct tl_client_link *link);

	// Return bytes, or -errno: -EAGAIN: not now. A stream that has ended gives 0 to receive().
	ssize_t (*send)(struct tl_client_link *link, const void *data, size_t len);
	ssize_t (*receive)(struct tl_client_link *link, void *data, size_t room, struct tl_client_arrival *arrival);

	// The next stamp of something sent. expected: some are known to be missing yet. Returns whether there was one.
	bool (*departed)(struct tl_client_link *link, bool expected, struct tl_client_departure *departure);

	// Nothing is sent any more: completes the link's sources. May be NULL.
	void (*finish)(struct tl_client_link *link);

	// The connection has ended; poll() gets the next one.
	void (*lost)(struct tl_client_link *link);

	// Waits until there is something to read, room to write (when want_write), or timeout_ns have passed; accepts
	// and makes connections.
	void (*poll)(struct tl_client_link *link, uint64_t timeout_ns, bool want_write);
};

extern const struct tl_client_ops tl_client_kernel; // what a run without cfg->transport uses

const struct tl_client_ops *tl_client_transport(const struct tl_client_cfg *cfg);

uint64_t tl_client_now_ns(void); // CLOCK_MONOTONIC

// How a user writes it; returns buf.
char *tl_client_endpoint_text(struct tl_client_endpoint at, char buf[TL_ENDPOINT6_TEXT]);
