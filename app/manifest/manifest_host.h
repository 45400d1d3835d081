// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// manifest_host: facts of a host that a measurement depends on, read in some milliseconds. Whatever cannot be read is
// null. The host's name and addresses are left out: reports are handed on.
//
// Threads: main. Memory: the caller's.

#include <jansson.h>

#include "doctor_read.h"

// A new object, or NULL without memory.
json_t *tl_manifest_host(const struct tl_tree *tree);
