// SPDX-License-Identifier: BSD-3-Clause
// Runs a compiled filter over one frame.

#include "filter_priv.h"

bool tl_filter_match(const struct tl_filter *filter, const uint8_t *data, uint32_t len, uint32_t wire_bytes)
{
	return bpf_filter(filter->program.bf_insns, data, wire_bytes, len) != 0;
}
