// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// iface: kernel interfaces: requests to their drivers, and the uses that forbid their removal: the default route, and
// the login of this process.
//
// Threads: any. Memory: none is kept.

#include <stdbool.h>
#include <stdint.h>

// True if an IPv4 or IPv6 default route uses the interface. root is prepended to /proc: "" for this host's.
bool tl_iface_has_default_route(const char *root, const char *iface);

// Find the interface that has an address, as inet_ntop() writes it, and write its name, of IF_NAMESIZE bytes. False:
// none in this network namespace has it.
bool tl_iface_with_address(const char *address, char *name);

struct tl_iface_carrier {
	bool on;
	uint32_t downs; // times that it was lost since the interface was made
};

// Read the carrier of an interface and its count, which agree. Return 0 or -errno: -ENOTSUP before Linux 4.16.
int tl_iface_carrier(const char *iface, struct tl_iface_carrier *out);

// Remove the ingress queueing discipline of an interface, with its filters. Return 0 or -errno: -ENOENT, -EPERM.
int tl_iface_remove_ingress(const char *iface);

// True if the interface has the local address of this process's login: the third word of SSH_CONNECTION, its own or
// that of an ancestor (sudo removes it).
bool tl_iface_carries_login(const char *iface);

// Send an ethtool request (linux/ethtool.h, a struct that begins with its command) to the interface's driver. The
// answer replaces it. Return 0 or -errno: -ENODEV, -EOPNOTSUPP, -EPERM.
int tl_iface_ethtool(const char *iface, void *request);
