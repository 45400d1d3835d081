// SPDX-License-Identifier: BSD-3-Clause
// Replacement for filter_native.c where DPDK was built without libpcap, and so without rte_bpf_convert().

#include "filter_priv.h"

const char *tl_filter_make_native(struct tl_filter *filter)
{
	return FILTER_INTERPRETED "this DPDK was built without libpcap";
}

void tl_filter_free_native(struct tl_filter *filter)
{
}
