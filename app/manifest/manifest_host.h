// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// manifest_host: host facts that a measurement depends on, read within milliseconds. Unreadable facts are null. The
// host's name and addresses are left out: reports are passed on.
//
// Threads: main. Memory: the caller's.

#include <jansson.h>

#include "doctor_read.h"

// Return a new object; NULL: out of memory.
json_t *tl_manifest_host(const struct tl_tree *tree);
