// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: which frames a recording keeps, in tcpdump's syntax, compiled by libpcap for Ethernet and from there to
// native code by DPDK. Where that cannot be, libpcap's interpreter gives the same verdicts, slower. For frames out of
// files of other link types, which say what an expression means there, it is compiled by link type.
//
// Threads: create/destroy on main; match on one or many lcores at once: a filter does not change after create().
// Memory:  create/destroy; the native code lies in pages of its own. EAL must run, except for check(),
// create_plain() and all of tl_filter_links, of which each has one thread at a time.

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

// ---- frames of any link type

struct tl_filter_links;

// Returns as tl_filter_check() does: an expression is one if it is for any link type that tl_link.h names.
int tl_filter_links_create(const char *expression, struct tl_filter_links **out, struct tl_err *err);
void tl_filter_links_destroy(struct tl_filter_links *links);

// Compiles for a link type, by its LINKTYPE_ number, unless that is done. Returns as tl_filter_check() does; libpcap
// refuses what a link type has not, such as Ethernet addresses where there are none.
int tl_filter_links_add(struct tl_filter_links *links, uint32_t linktype, struct tl_err *err);

// As tl_filter_match_bytes(), for a frame of this link type: 1, 0, or what tl_filter_links_add() returns.
int tl_filter_links_match(struct tl_filter_links *links, uint32_t linktype, const uint8_t *data, uint32_t cap_bytes,
	uint32_t wire_bytes, struct tl_err *err);

// libpcap's name of a link type, "?" if it has none. Static.
const char *tl_filter_linktype_name(uint32_t linktype);
