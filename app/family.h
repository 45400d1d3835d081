// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// family: print the documented capabilities of a PCI port's NIC family, and the port's deviations from them.
//
// Threads: main. Memory: none.

#include <tl_port.h>

// Find the directory of the capability files. False: not found.
bool tl_family_directory(char *dir, size_t size);

void tl_print_family(const struct tl_port *port);
