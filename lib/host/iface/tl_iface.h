// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// iface: whom a kernel interface must not be taken away from: the default route, and the login this process came by.
//
// Threads: any. Memory: none is kept.

#include <stdbool.h>

// Whether an IPv4 or IPv6 default route leaves by the interface. root is put before /proc: "" for this host's.
bool tl_iface_has_default_route(const char *root, const char *iface);

// Whether the interface has the address that the login of this process came in by: the third word of SSH_CONNECTION,
// its own or that of a process above it (sudo leaves it out).
bool tl_iface_carries_login(const char *iface);
