// SPDX-License-Identifier: BSD-3-Clause
// Native code for a compiled filter, by DPDK's converter and compiler.

#define ALLOW_EXPERIMENTAL_API // rte_bpf_convert()

#include "filter_priv.h"

#include <stdlib.h>

#include <rte_bpf.h>
#include <rte_log.h>
#include <rte_malloc.h>

// Reason why an instruction has no exact translation, or NULL.
static const char *refusal_of(const struct bpf_insn *in)
{
	switch (in->code) {
	case BPF_JMP | BPF_JA:
		return (int32_t)in->k < 0 ? FILTER_INTERPRETED "loops are not supported in native code" : NULL;
	case BPF_ALU | BPF_LSH | BPF_X: // CPUs shift modulo 32, libpcap gives 0 from 32 on
	case BPF_ALU | BPF_RSH | BPF_X:
		return FILTER_INTERPRETED "it shifts by a distance taken from the frame";
	}
	bool loads = BPF_CLASS(in->code) == BPF_LD || BPF_CLASS(in->code) == BPF_LDX;
	bool of_frame = BPF_MODE(in->code) == BPF_ABS || BPF_MODE(in->code) == BPF_IND || BPF_MODE(in->code) == BPF_MSH;
	if (loads && of_frame && in->k > FILTER_OFFSET_MAX)
		return FILTER_INTERPRETED "it reads beyond the end of any frame";
	return NULL;
}

static const char *refusal(const struct bpf_program *program)
{
	for (uint32_t i = 0; i < program->bf_len; i++) {
		const char *why = refusal_of(&program->bf_insns[i]);
		if (why != NULL)
			return why;
	}
	return NULL;
}

// Load the program. Return NULL, or the reason for a failure.
static const char *load(struct tl_filter *filter)
{
	struct rte_bpf_prm *converted = rte_bpf_convert(&filter->program);

	if (converted == NULL)
		return FILTER_INTERPRETED "DPDK cannot convert it";
	struct rte_bpf_prm prm = *converted;
	struct ebpf_insn *mended = tl_filter_mend(converted->ins, &prm.nb_ins);
	rte_free(converted);
	if (mended == NULL)
		return FILTER_INTERPRETED "it is too long";
	prm.ins = mended;
	filter->bpf = rte_bpf_load(&prm);
	free(mended);
	return filter->bpf != NULL ? NULL : FILTER_INTERPRETED "DPDK's checks refuse it";
}

const char *tl_filter_make_native(struct tl_filter *filter)
{
	struct rte_bpf_jit jit = {0};
	const char *why = refusal(&filter->program);

	rte_log_set_level_pattern("lib.bpf", RTE_LOG_CRIT); // a refusal is reported once, by us
	if (why == NULL)
		why = load(filter);
	if (why != NULL)
		return why;
	if (rte_bpf_get_jit(filter->bpf, &jit) != 0 || jit.func == NULL)
		return FILTER_INTERPRETED "DPDK has no compiler for this CPU";
	filter->native = jit.func;
	return FILTER_JIT;
}

void tl_filter_free_native(struct tl_filter *filter)
{
	rte_bpf_destroy(filter->bpf);
}
