// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// filter: the compiled program. Threads: read-only after create(). Memory: libpcap's, freed in destroy().

#include <pcap/pcap.h>

#include <tl_filter.h>

struct tl_filter {
	struct bpf_program program;
};
