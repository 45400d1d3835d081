// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// dpdk_compat: the one file that knows DPDK versions (22.11 to 25.11).

#include <rte_version.h>

// `--no-huge` together with `--in-memory` is refused before 23.11; --no-shconf alone keeps us out of /var/run/dpdk
// there.
#define TL_DPDK_NO_HUGE_IN_MEMORY (RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0))

// net_af_packet overruns an mbuf smaller than its frame size before 26.03: the pool's room must cover the frame size.
#define TL_DPDK_AF_PACKET_CHECKS_ROOM (RTE_VERSION >= RTE_VERSION_NUM(26, 3, 0, 0))
