// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: the compiled program, twice. Threads: read-only after create(). Memory: freed in destroy().

#include <pcap/pcap.h>

#include <tl_filter.h>

#define FILTER_JIT "jit"
#define FILTER_INTERPRETED "bpf_filter: "

#define TL_FILTER_SNAPLEN 262144 // what a match returns: only whether it is 0 counts here
#define TL_FILTER_NOWHERE SIZE_MAX

// No frame reaches so far. Two of these added are still a positive int.
#define FILTER_OFFSET_MAX (1u << 29)

struct ebpf_insn;
struct rte_bpf;

struct tl_filter {
	struct bpf_program program;
	uint64_t (*native)(void *mbuf); // NULL: there is none
	bool reads_length;		// native code takes the length from the mbuf
	struct rte_bpf *bpf;		// owns the native code
	const char *engine;
};

// filter.c: tl_filter_create_plain() for the frames of a link type, as libpcap numbers them (DLT_).
int tl_filter_create_dlt(const char *expression, int dlt, struct tl_filter **out, struct tl_err *err);

// filter_where.c: where an expression that libpcap refuses for this reason is wrong: a word of it, or its end.
// TL_FILTER_NOWHERE: as a whole.
size_t tl_filter_where(const char *expression, int dlt, const char *reason);

// filter_native.c, or filter_no_native.c where DPDK has no rte_bpf_convert(). Returns what now runs the filter.
const char *tl_filter_make_native(struct tl_filter *filter);
void tl_filter_free_native(struct tl_filter *filter);

// filter_mend.c: corrects what rte_bpf_convert() made. Returns *n instructions, the caller's to free(); NULL: no
// memory, or more of them than a jump can span.
struct ebpf_insn *tl_filter_mend(const struct ebpf_insn *converted, uint32_t *n);
