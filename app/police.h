// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// police: the classes of a recording, from the entries of "classes".
//
// Threads: main. Memory: the texts of the classes are those of the configuration.

#include <stdint.h>

#include <jansson.h>

#include <tl_config.h>
#include <tl_police.h>

struct tl_err;

// Check the expressions and rates of all classes. Return 0, or -EINVAL with file, line and path.
int tl_police_check_all(const struct tl_config *config, struct tl_err *err);

// Fill the classes of a recording. Return their number.
uint32_t tl_police_list(const struct tl_config_capture *capture, struct tl_police_class out[TL_POLICE_CLASSES_MAX]);

// Return the memory of the classes on each recorded queue.
uint64_t tl_police_bytes(const struct tl_config_capture *capture);

// Print a line per class of the recordings of a port, or return their array.
void tl_police_print(const struct tl_config *config, uint32_t port);
json_t *tl_police_json(const struct tl_config *config, uint32_t port);
