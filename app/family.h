// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// family: prints what is documented of a PCI port's family of NICs, and where the port differs from it.
//
// Threads: main. Memory: none.

#include <tl_port.h>

// Find the directory of the capability files. False: there is none.
bool tl_family_directory(char *dir, size_t size);

void tl_print_family(const struct tl_port *port);
