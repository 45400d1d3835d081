// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: which frames a recording keeps, in tcpdump's syntax, compiled by libpcap for Ethernet.
//
// Threads: create/destroy on main; match on one or many lcores at once (read-only). Memory: create/destroy.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;
struct tl_filter;

// Compiles. Returns 0 or -EINVAL with libpcap's reason; -ENOMEM.
int tl_filter_create(const char *expression, struct tl_filter **out, struct tl_err *err);
void tl_filter_destroy(struct tl_filter *filter);

// HOT. Whether the frame passes: len contiguous bytes at data of a frame of wire_bytes.
bool tl_filter_match(const struct tl_filter *filter, const uint8_t *data, uint32_t len, uint32_t wire_bytes);
