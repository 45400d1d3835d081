// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the repair of converted BPF programs: a repaired program executes the same instructions, has one exit, and has
// none of the forms that the JIT compiler gets wrong.

#include <stdlib.h>

#include <rte_bpf.h>

#include "filter_priv.h"

#define INSNS_MAX 16384
#define BYTES_PER_INSN 2
#define REG_X EBPF_REG_7
#define JSET_K (BPF_JMP | BPF_JSET | BPF_K)
#define INDIRECT (BPF_LD | BPF_IND | BPF_B)
#define EXIT (BPF_JMP | EBPF_EXIT)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

// Decode instruction i of n; its position is its constant, which identifies it in a trace.
static struct ebpf_insn decode(const uint8_t *bytes, uint32_t i, uint32_t n)
{
	static const uint8_t codes[] = {BPF_ALU | BPF_ADD | BPF_K, BPF_LD | BPF_ABS | BPF_W, INDIRECT, JSET_K,
		BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JA, EXIT};
	struct ebpf_insn in = {.code = codes[bytes[0] % sizeof(codes)], .imm = (int32_t)i + 1};
	uint32_t ahead = n - 2 - i; // the last instruction is that far away

	if (BPF_CLASS(in.code) == BPF_JMP && in.code != EXIT)
		in.off = (int16_t)(bytes[0] & 0x80 ? ahead : bytes[1] % (ahead + 1));
	return in;
}

// Forward jumps only: every instruction runs at most once, so that its position and the seed decide a test.
static bool decide(uint32_t seed, int32_t place)
{
	return ((seed ^ (uint32_t)place) * UINT32_C(0x9e3779b1) >> 16 & 1) != 0;
}

static uint32_t add(uint32_t trace, uint32_t code, int32_t place)
{
	return (trace ^ code ^ (uint32_t)place << 8) * UINT32_C(16777619);
}

// Run the original program: the trace of its executed instructions.
static uint32_t trace_original(const struct ebpf_insn *in, uint32_t seed)
{
	uint32_t trace = 0, pc = 0;

	for (; in[pc].code != EXIT; pc++) {
		bool jumps = in[pc].code == (BPF_JMP | BPF_JA);
		if (!jumps)
			trace = add(trace, in[pc].code, in[pc].imm);
		if (BPF_CLASS(in[pc].code) == BPF_JMP && (jumps || decide(seed, in[pc].imm)))
			pc += (uint32_t)in[pc].off;
	}
	return trace;
}

// The three instructions of an indirect load: A is 0, an X beyond the frame jumps to the exit, the load uses X.
static void check_indirect(const struct ebpf_insn *at, uint32_t pc, uint32_t n)
{
	require(at[0].code == (BPF_ALU | EBPF_MOV | BPF_K) && at[0].imm == 0);
	require(at[1].code == (BPF_JMP | BPF_JGT | BPF_K) && at[1].dst_reg == REG_X);
	require(at[1].imm == (int32_t)FILTER_OFFSET_MAX && pc + 2 + (uint32_t)at[1].off == n - 1);
	require(at[2].code == INDIRECT && at[2].src_reg == REG_X);
}

// Run the repaired program, with each repair interpreted as the instruction that it replaces.
static uint32_t trace_mended(const struct ebpf_insn *out, uint32_t n, uint32_t seed)
{
	uint32_t trace = 0, pc = 0;

	for (; out[pc].code != EXIT; pc++) {
		bool jumps = out[pc].code == (BPF_JMP | BPF_JA);
		int32_t place = out[pc].imm;
		uint32_t code = out[pc].code;
		require(pc + 1 < n && code != JSET_K && code != INDIRECT);
		if (code == (BPF_ALU | EBPF_MOV | BPF_K) && out[pc + 1].code == (BPF_JMP | BPF_JGT | BPF_K)) {
			check_indirect(&out[pc], pc, n);
			pc += 2;
			code = INDIRECT;
			place = out[pc].imm;
		} else if (code == (BPF_ALU | EBPF_MOV | BPF_K)) {
			require(out[++pc].code == (BPF_JMP | BPF_JSET | BPF_X));
			require(out[pc].src_reg == out[pc - 1].dst_reg);
			code = JSET_K;
		}
		if (!jumps)
			trace = add(trace, code, place);
		if (BPF_CLASS(out[pc].code) == BPF_JMP && (jumps || decide(seed, place)))
			pc += (uint32_t)out[pc].off;
	}
	require(pc == n - 1); // the only exit is the last instruction
	return trace;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t n = (uint32_t)(size / BYTES_PER_INSN) + 1, mended = n;

	if (n > INSNS_MAX)
		return 0;
	struct ebpf_insn *in = calloc(n, sizeof(*in));
	require(in != NULL);
	for (uint32_t i = 0; i + 1 < n; i++)
		in[i] = decode(&data[i * BYTES_PER_INSN], i, n);
	in[n - 1].code = EXIT;
	struct ebpf_insn *out = tl_filter_mend(in, &mended);
	require(out != NULL || n > INT16_MAX / 3);
	for (uint32_t seed = 0; out != NULL && seed < 8; seed++)
		require(trace_mended(out, mended, seed) == trace_original(in, seed));
	free(out);
	free(in);
	return 0;
}
