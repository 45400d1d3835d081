// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pace: how long the writer sleeps between two polls of the lcores' rings. An lcore never wakes it.
//
// A wake-up costs some 10 us of CPU time, as much as the encoding of a hundred frames. Longer after an empty poll,
// unchanged while each sleep gathers one slab, shortest once it gathers more.
//
// Threads: the writer's.

#include <stdint.h>

#include <tl_base.h>

#define TL_WRITER_PACE_MIN_NS (200 * TL_NS_PER_US)
#define TL_WRITER_PACE_MAX_NS (2 * TL_NS_PER_MS)

struct tl_writer_pace {
	uint64_t sleep_ns; // the last one
	uint32_t found;	   // slabs since then
};

static inline void tl_writer_pace_init(struct tl_writer_pace *p)
{
	*p = (struct tl_writer_pace){.sleep_ns = TL_WRITER_PACE_MIN_NS};
}

// Return the time to sleep, ns.
static inline uint64_t tl_writer_pace_next(struct tl_writer_pace *p)
{
	if (p->found > 1)
		p->sleep_ns = TL_WRITER_PACE_MIN_NS;
	else if (p->found == 0)
		p->sleep_ns = tl_min_u64(p->sleep_ns * 2, TL_WRITER_PACE_MAX_NS);
	p->found = 0;
	return p->sleep_ns;
}
