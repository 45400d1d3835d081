// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// nap: how long an lcore sleeps without being woken by frames, on a port whose ring gathers them.
//
// A wake-up costs some 10 us of CPU time. The kernel wakes an lcore for each block of frames: 1300 times a second at
// 330 MB/s, up to 250 times at a low rate. A nap lets several blocks gather. Its length doubles while it gathers
// little, and halves when it gathers more than a quarter of the buffer, which the lcore then fills at once.
//
// Threads: the lcore's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

#define TL_NAP_MIN_NS (500 * TL_NS_PER_US)
#define TL_NAP_FIRST_NS (4 * TL_NS_PER_MS) // the kernel hands over no partly filled block before
#define TL_NAP_SMALL_NS (8 * TL_NS_PER_MS) // longest nap with the smallest buffer that has any
#define TL_NAP_MAX_NS (16 * TL_NS_PER_MS)  // with any
#define TL_NAP_BYTES_PER_NS 2 // largest rate of a kernel interface: the longest nap must not fill the buffer

struct tl_nap {
	uint64_t ns;	     // the last one; 0: none, frames wake the lcore
	uint64_t longest_ns; // TL_NAP_SMALL_NS .. TL_NAP_MAX_NS
	uint64_t most_bytes; // to gather in one; 0: no naps
	uint64_t bytes;	     // received until it began
};

// buffer_bytes: of the recordings; 0: there are none.
static inline void tl_nap_init(struct tl_nap *n, uint64_t buffer_bytes)
{
	uint64_t fill_ns = buffer_bytes / TL_NAP_BYTES_PER_NS;

	*n = (struct tl_nap){.longest_ns = tl_min_u64(fill_ns, TL_NAP_MAX_NS),
		.most_bytes = fill_ns >= TL_NAP_SMALL_NS ? buffer_bytes / 4 : 0};
}

// Return the time to sleep, ns; 0: until a frame arrives, as after a longest nap without one. rx_bytes: received so
// far.
static inline uint64_t tl_nap_next(struct tl_nap *n, uint64_t rx_bytes)
{
	uint64_t gathered = rx_bytes - n->bytes;

	n->bytes = rx_bytes;
	if (n->most_bytes == 0 || (gathered == 0 && (n->ns == 0 || n->ns == n->longest_ns)))
		n->ns = 0;
	else if (gathered > n->most_bytes)
		n->ns = tl_max_u64(n->ns / 2, TL_NAP_MIN_NS);
	else if (n->ns == 0)
		n->ns = TL_NAP_FIRST_NS;
	else if (gathered <= n->most_bytes / 2)
		n->ns = tl_min_u64(n->ns * 2, n->longest_ns);
	return n->ns;
}
