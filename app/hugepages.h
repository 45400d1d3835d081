// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// hugepages: what the kernel has reserved for us.

#include <stdint.h>

// Megabytes of free hugepages of the default size. DPDK needs no mounted hugetlbfs with --in-memory.
uint64_t tl_hugepages_free_mb(void);
