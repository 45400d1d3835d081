// SPDX-License-Identifier: BSD-3-Clause
// Corrections of programs from rte_bpf_convert(), DPDK 22.11 to 26.07.
//
// 1. A load at X + k uses register 0 instead of X's.
// 2. Such a load adds X without a bound, so that an X near 2^32 wraps into the frame; in libpcap it is beyond the
// frame's end, and ends the filter with "no match".
// 3. The test of bits against a constant is correct, but the x86 compiler emits a one-byte constant where four belong.
// A constant in a register is compiled correctly.
// 4. Several exits are correct, but the x86 compiler jumps back from all to the first with a short jump even at a
// distance of 129 or 130 bytes. Here all jump forward to the last.

#include "filter_priv.h"

#include <stdlib.h>

#include <rte_bpf.h>

// Registers that the converter uses for cBPF's.
#define REG_A EBPF_REG_0
#define REG_X EBPF_REG_7
#define REG_SCRATCH EBPF_REG_8

#define GROWTH_MAX 3

static bool is_indirect_load(const struct ebpf_insn *in)
{
	return BPF_CLASS(in->code) == BPF_LD && BPF_MODE(in->code) == BPF_IND;
}

static bool is_exit(const struct ebpf_insn *in)
{
	return in->code == (BPF_JMP | EBPF_EXIT);
}

static bool is_jump(const struct ebpf_insn *in)
{
	return BPF_CLASS(in->code) == BPF_JMP && !is_exit(in);
}

// Replace one instruction by up to GROWTH_MAX; join() sets its jumps. Return their number.
static uint32_t mend_one(const struct ebpf_insn *in, bool is_last, struct ebpf_insn *out)
{
	static const struct ebpf_insn give_0 = {.code = BPF_ALU | EBPF_MOV | BPF_K, .dst_reg = REG_A};
	struct ebpf_insn *next = out;

	if (is_indirect_load(in)) {
		*next++ = give_0; // A is overwritten next
		*next++ = (struct ebpf_insn){
			.code = BPF_JMP | BPF_JGT | BPF_K, .dst_reg = REG_X, .imm = FILTER_OFFSET_MAX};
		*next = *in;
		next++->src_reg = REG_X;
	} else if (in->code == (BPF_JMP | BPF_JSET | BPF_K)) {
		*next++ =
			(struct ebpf_insn){.code = BPF_ALU | EBPF_MOV | BPF_K, .dst_reg = REG_SCRATCH, .imm = in->imm};
		*next++ = (struct ebpf_insn){
			.code = BPF_JMP | BPF_JSET | BPF_X, .dst_reg = in->dst_reg, .src_reg = REG_SCRATCH};
	} else if (is_exit(in) && !is_last) {
		*next++ = (struct ebpf_insn){.code = BPF_JMP | BPF_JA};
	} else {
		*next++ = *in;
	}
	return (uint32_t)(next - out);
}

// Set a jump; offsets count from the next instruction.
static void set_jump(struct ebpf_insn *out, uint32_t from, uint32_t to)
{
	out[from].off = (int16_t)((int32_t)to - (int32_t)from - 1);
}

// Set all jumps. at[i]: start of instruction i in out; at[n]: end of out.
static void join(const struct ebpf_insn *in, uint32_t n, const uint32_t *at, struct ebpf_insn *out)
{
	uint32_t end = at[n] - 1;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t last = at[i + 1] - 1;
		if (is_jump(&in[i]))
			set_jump(out, last, at[(int32_t)i + 1 + in[i].off]);
		else if (is_indirect_load(&in[i]))
			set_jump(out, last - 1, end);
		else if (is_exit(&in[i]) && last != end)
			set_jump(out, last, end);
	}
}

struct ebpf_insn *tl_filter_mend(const struct ebpf_insn *converted, uint32_t *n)
{
	struct ebpf_insn *out = calloc(*n, GROWTH_MAX * sizeof(*out));
	uint32_t *at = calloc(*n + 1, sizeof(*at));
	bool done = false;

	if (out != NULL && at != NULL) {
		for (uint32_t i = 0; i < *n; i++)
			at[i + 1] = at[i] + mend_one(&converted[i], i + 1 == *n, &out[at[i]]);
		done = at[*n] <= INT16_MAX;
	}
	if (done) {
		join(converted, *n, at, out);
		*n = at[*n];
	} else {
		free(out);
		out = NULL;
	}
	free(at);
	return out;
}
