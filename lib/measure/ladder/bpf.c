// SPDX-License-Identifier: BSD-3-Clause
// bpf(2) without a library: two programs of a few instructions.

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ladder_bpf.h"

int ladder_bpf(int command, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

int ladder_bpf_load(enum bpf_prog_type type, const struct bpf_insn *code, uint32_t n)
{
	union bpf_attr attr = {.prog_type = type};

	attr.insns = (uintptr_t)code;
	attr.insn_cnt = n;
	attr.license = (uintptr_t) "Dual BSD/GPL";
	return ladder_bpf(BPF_PROG_LOAD, &attr);
}
