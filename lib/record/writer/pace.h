// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pace: how long the writer sleeps between two polls of the lcores' rings. An lcore never wakes it.
//
// A wake-up costs some 10 us of CPU time, as much as the encoding of a hundred frames. Longer after an empty poll,
// unchanged while each sleep gathers up to a quarter of the slabs, shortest once it gathers more. The longest one
// depends on the buffer, which must not fill up when traffic begins meanwhile, as fast as an lcore encodes: 4 bytes per
// ns.
//
// Threads: the writer's.

#include <stdint.h>

#include <tl_base.h>

#define TL_WRITER_PACE_MIN_NS (200 * TL_NS_PER_US)
#define TL_WRITER_PACE_SMALL_NS (2 * TL_NS_PER_MS) // longest sleep with a small buffer
#define TL_WRITER_PACE_MAX_NS (16 * TL_NS_PER_MS)  // with any
#define TL_WRITER_PACE_BYTES_PER_NS 4

struct tl_writer_pace {
	uint64_t sleep_ns;   // the last one
	uint64_t longest_ns; // TL_WRITER_PACE_SMALL_NS .. TL_WRITER_PACE_MAX_NS
	uint32_t found;	     // slabs since then
	uint32_t many;	     // a quarter of an lcore's
};

// slabs: of an lcore, together buffer_bytes.
static inline void tl_writer_pace_init(struct tl_writer_pace *p, uint32_t slabs, uint64_t buffer_bytes)
{
	uint64_t fill_ns = buffer_bytes / TL_WRITER_PACE_BYTES_PER_NS;

	*p = (struct tl_writer_pace){.sleep_ns = TL_WRITER_PACE_MIN_NS,
		.many = slabs / 4,
		.longest_ns = tl_max_u64(tl_min_u64(fill_ns, TL_WRITER_PACE_MAX_NS), TL_WRITER_PACE_SMALL_NS)};
}

// Return the time to sleep, ns.
static inline uint64_t tl_writer_pace_next(struct tl_writer_pace *p)
{
	if (p->found > p->many)
		p->sleep_ns = TL_WRITER_PACE_MIN_NS;
	else if (p->found == 0)
		p->sleep_ns = tl_min_u64(p->sleep_ns * 2, p->longest_ns);
	p->found = 0;
	return p->sleep_ns;
}
