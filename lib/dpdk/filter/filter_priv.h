// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: a compiled program for libpcap and as native code. Threads: read-only after create(). Memory: freed in
// destroy().

#include <pcap/pcap.h>

#include <tl_filter.h>

#define FILTER_JIT "jit"
#define FILTER_INTERPRETED "bpf_filter: "

#define TL_FILTER_SNAPLEN 262144 // return value of a match; only nonzero matters
#define TL_FILTER_NOWHERE SIZE_MAX

// Beyond every frame; the sum of two is still a positive int.
#define FILTER_OFFSET_MAX (1u << 29)

struct ebpf_insn;
struct rte_bpf;

struct tl_filter {
	struct bpf_program program;
	uint64_t (*native)(void *mbuf); // NULL: interpreted
	bool reads_length;		// the length is used; native code takes the mbuf's
	struct rte_bpf *bpf;		// owner of the native code
	const char *engine;
};

// filter.c: tl_filter_create_plain() for a link type (DLT_).
int tl_filter_create_dlt(const char *expression, int dlt, struct tl_filter **out, struct tl_err *err);

// filter_where.c: position of the error that libpcap reports for an expression: a word, or the end. TL_FILTER_NOWHERE:
// the whole.
size_t tl_filter_where(const char *expression, int dlt, const char *reason);

// filter_native.c, or filter_no_native.c where DPDK has no rte_bpf_convert(). Returns the engine's name.
const char *tl_filter_make_native(struct tl_filter *filter);
void tl_filter_free_native(struct tl_filter *filter);

// filter_mend.c: correct a program from rte_bpf_convert(). Returns *n instructions, the caller's to free(); NULL: out
// of memory, or too long for a jump.
struct ebpf_insn *tl_filter_mend(const struct ebpf_insn *converted, uint32_t *n);
