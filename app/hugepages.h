// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// hugepages: what the kernel has reserved for us, and what a configuration needs.

#include <stdint.h>

#include <tl_config.h>

// Megabytes of free hugepages of the default size. DPDK needs no mounted hugetlbfs with --in-memory.
uint64_t tl_hugepages_free_mb(void);

// Megabytes that a configuration takes for its recordings, connections and packets.
uint64_t tl_hugepages_need_mb(const struct tl_config *config);
