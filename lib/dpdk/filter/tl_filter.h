// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: frame filters in tcpdump's syntax, compiled by libpcap for Ethernet and then to native code by DPDK. Where
// that is impossible, libpcap's interpreter gives the same results more slowly. For files of other link types an
// expression is compiled per link type.
//
// inner(EXPRESSION) in an expression is a term: EXPRESSION, about the innermost IP packet of a frame (tl_encap.h), as
// if it were a frame without link header (libpcap's raw IP). The innermost packet of a frame without tunnel is its own.
//
// Threads: create/destroy on main; match on one or many lcores at once: a filter does not change after create().
// Memory:  create/destroy; the native code has pages of its own. EAL must run, except for check(), covers(),
//          create_plain() and all of tl_filter_links, each of which is used by one thread at a time.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

#define TL_FILTER_INNER_MAX 4 // inner(...) terms in an expression

struct rte_mbuf;
struct tl_err;
struct tl_filter;

// Check an expression. Return 0, -EINVAL with libpcap's reason and the position, or -ENOMEM.
int tl_filter_check(const char *expression, struct tl_err *err);

// Return true if libpcap's optimizer proves that each frame of the second expression matches the first one. False for
// long expressions, those about tags and tunnels, which shift offsets, and those that do not compile. EAL need not run.
bool tl_filter_covers(const char *first, const char *second);

// Return true if it proves that no frame matches both. The first one is not about tags and tunnels. False for long
// expressions, and those that do not compile. EAL need not run.
bool tl_filter_excludes(const char *first, const char *second);

// Compile. Return the codes of tl_filter_check(): without native code the filter is interpreted.
int tl_filter_create(const char *expression, struct tl_filter **out, struct tl_err *err);

// Compile for tl_filter_match_bytes() only, with libpcap's interpreter. EAL need not run.
int tl_filter_create_plain(const char *expression, struct tl_filter **out, struct tl_err *err);
void tl_filter_destroy(struct tl_filter *filter);

// The engine of the filter: "jit", or "bpf_filter: " and the reason. Static.
const char *tl_filter_engine(const struct tl_filter *filter);

// HOT. True if the frame matches: the mbuf, of one or more segments, holds the whole frame or the first pkt_len of its
// wire_bytes. A field beyond pkt_len does not match; `len` in an expression is wire_bytes.
bool tl_filter_match(const struct tl_filter *filter, const struct rte_mbuf *m, uint32_t wire_bytes);

// Same as tl_filter_match(), for the first cap_bytes of a frame in contiguous memory.
bool tl_filter_match_bytes(
	const struct tl_filter *filter, const uint8_t *data, uint32_t cap_bytes, uint32_t wire_bytes);

// ---- frames of any link type

struct tl_filter_links;

// Compile for each link type in turn: an expression is valid if it is for any type in tl_link.h. Return the codes of
// tl_filter_check().
int tl_filter_links_create(const char *expression, struct tl_filter_links **out, struct tl_err *err);
void tl_filter_links_destroy(struct tl_filter_links *links);

// Compile for a link type, by its LINKTYPE_ number, once. Return the codes of tl_filter_check(); libpcap refuses
// fields that a link type lacks, such as Ethernet addresses.
int tl_filter_links_add(struct tl_filter_links *links, uint32_t linktype, struct tl_err *err);

// Same as tl_filter_match_bytes(), for a frame of this link type: 1, 0, or the error of tl_filter_links_add().
int tl_filter_links_match(struct tl_filter_links *links, uint32_t linktype, const uint8_t *data, uint32_t cap_bytes,
	uint32_t wire_bytes, struct tl_err *err);

// libpcap's name of a link type, "?" if it has none. Static.
const char *tl_filter_linktype_name(uint32_t linktype);
