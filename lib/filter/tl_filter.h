// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: which frames a recording keeps, in tcpdump's syntax, compiled by libpcap for Ethernet and from there to
// native code by DPDK. Where that cannot be, libpcap's interpreter gives the same verdicts, slower.
//
// Threads: create/destroy on main; match on one or many lcores at once: a filter does not change after create().
// Memory:  create/destroy; the native code lies in pages of its own. EAL must run, except for check() and
// create_plain().

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct rte_mbuf;
struct tl_err;
struct tl_filter;

// Whether the expression is one. Returns 0 or -EINVAL with libpcap's reason and the place; -ENOMEM.
int tl_filter_check(const char *expression, struct tl_err *err);

// Compiles. Returns as tl_filter_check() does: that no native code can be had is no failure.
int tl_filter_create(const char *expression, struct tl_filter **out, struct tl_err *err);

// The same for tl_filter_match_bytes() only, run by libpcap's interpreter. EAL need not run.
int tl_filter_create_plain(const char *expression, struct tl_filter **out, struct tl_err *err);
void tl_filter_destroy(struct tl_filter *filter);

// What runs the filter: "jit", or "bpf_filter: " and why. Static.
const char *tl_filter_engine(const struct tl_filter *filter);

// HOT. Whether the frame passes: the mbuf, in one segment or several, holds the whole of it or, where it was cut, the
// first pkt_len of its wire_bytes. A field beyond pkt_len does not match; a length in the filter means wire_bytes.
bool tl_filter_match(const struct tl_filter *filter, const struct rte_mbuf *m, uint32_t wire_bytes);

// As tl_filter_match(), for the first cap_bytes of a frame in one piece of memory.
bool tl_filter_match_bytes(
	const struct tl_filter *filter, const uint8_t *data, uint32_t cap_bytes, uint32_t wire_bytes);
