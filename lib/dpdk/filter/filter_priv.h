// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: a compiled program for libpcap and as native code. Threads: read-only after create(). Memory: freed in
// destroy().

#include <pcap/pcap.h>

#include <tl_filter.h>
#include <tl_link.h>

#define FILTER_JIT "jit"
#define FILTER_INTERPRETED "bpf_filter: "

#define FILTER_REJECTS_ALL "rejects all packets" // libpcap's reason to refuse a constant expression

#define TL_FILTER_SNAPLEN 262144 // return value of a match; only nonzero matters
#define TL_FILTER_NOWHERE SIZE_MAX

// Beyond every frame; the sum of two is still a positive int.
#define FILTER_OFFSET_MAX (1u << 29)

struct ebpf_insn;
struct rte_bpf;

// An expression with inner(...) terms: each term is compiled for raw IP packets, and the rest for frames, once per set
// of terms that hold.
struct filter_inner {
	enum tl_link link; // of the frames
	uint32_t n;
	struct tl_filter *term[TL_FILTER_INNER_MAX];
	struct tl_filter *rest[1 << TL_FILTER_INNER_MAX]; // bit i: term i holds; NULL: no frame matches
};

struct tl_filter {
	struct filter_inner *inner; // NULL: no such terms; otherwise of the fields below only the engine is used
	struct bpf_program program;
	uint64_t (*native)(void *mbuf); // NULL: interpreted
	bool reads_length;		// the length is used; native code takes the mbuf's
	struct rte_bpf *bpf;		// owner of the native code
	const char *engine;
};

// filter.c: tl_filter_create_plain() for a link type (DLT_).
int tl_filter_create_dlt(const char *expression, int dlt, struct tl_filter **out, struct tl_err *err);
// Same for text, which has spaces or a placeholder where expression has what is compiled apart: its positions are the
// same. Without inner(...).
int tl_filter_create_part(
	const char *expression, const char *text, int dlt, struct tl_filter **out, struct tl_err *err);
const char *tl_filter_make_all_native(struct tl_filter *filter); // returns the engine

// filter_inner.c: expressions with inner(...).
bool tl_filter_has_inner(const char *expression);
int tl_filter_create_inner(const char *expression, int dlt, struct tl_filter **out, struct tl_err *err);
const char *tl_filter_inner_make_native(struct filter_inner *inner);
void tl_filter_inner_destroy(struct filter_inner *inner);

// filter_inner_dp.c: HOT. Same as tl_filter_match() for an mbuf of one segment, and as tl_filter_match_bytes().
bool tl_filter_match_inner(const struct filter_inner *inner, const struct rte_mbuf *m, uint32_t wire_bytes);
bool tl_filter_match_inner_bytes(
	const struct filter_inner *inner, const uint8_t *data, uint32_t cap_bytes, uint32_t wire_bytes);

// filter_where.c: position of the error that libpcap reports for an expression: a word, or the end. TL_FILTER_NOWHERE:
// the whole.
size_t tl_filter_where(const char *expression, int dlt, const char *reason);

// filter_native.c, or filter_no_native.c where DPDK has no rte_bpf_convert(). Return the engine's name.
const char *tl_filter_make_native(struct tl_filter *filter);
void tl_filter_free_native(struct tl_filter *filter);

// filter_mend.c: correct a program from rte_bpf_convert(). Return *n instructions, the caller's to free(); NULL: out
// of memory, or too long for a jump.
struct ebpf_insn *tl_filter_mend(const struct ebpf_insn *converted, uint32_t *n);
