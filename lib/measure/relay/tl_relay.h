// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// relay: the ways in which a program can return bytes through the kernel's sockets, each in one file: blocking calls,
// epoll, epoll that never sleeps, io_uring. `tapline bench echo` runs them beside the appliance; docs/benchmarks.md
// walks through them.
//
// A relay takes the bytes of one socket and sends them all, in order, through another: datagrams of a group to a TCP
// connection, or what a TCP connection brings back to it.
//
// Threads: each call on one thread, which it holds until the connection ends. Memory: freed when it returns.

#include <stdint.h>

#include <tl_err.h>

struct tl_relay {
	const char *name;
	const char *than; // relay that it is compared with, earlier in the table; NULL: the first
	const char *why;  // why its times differ from that
	// Return what comes from in through out until out or, of a stream, in ends; they may be the same descriptor.
	// Return 0 or -errno.
	int (*run)(int in, int out);
};

// All relays, in the order of the table. Static.
const struct tl_relay *tl_relays(unsigned *n);

// Addresses in host byte order.
struct tl_relay_cfg {
	const char *ifname; // on which the group is joined
	uint32_t group;	    // 0: TCP only
	uint16_t udp_port;
	uint32_t peer;	   // with a group: the TCP server
	uint16_t tcp_port; // of the peer; without a group, the one to listen on
};

// Make the sockets, call ready() when a client may begin, and relay for one connection. Return 0, or -errno with a
// message in *err.
int tl_relay_run(const struct tl_relay *relay, const struct tl_relay_cfg *cfg, void (*ready)(void), struct tl_err *err);
