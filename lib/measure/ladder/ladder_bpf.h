// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ladder internals: bpf(2). Apart from ladder_priv.h, because libpcap's headers have a struct bpf_insn, too.

#include <linux/bpf.h>
#include <stdint.h>

// Call bpf(2). Return its result or -errno.
int ladder_bpf(int command, union bpf_attr *attr);

// Load a program. Return its descriptor or -errno.
int ladder_bpf_load(enum bpf_prog_type type, const struct bpf_insn *code, uint32_t n);
