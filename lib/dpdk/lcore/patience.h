// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// patience: how long an lcore with idle "adaptive" polls in vain before it may sleep: through the gaps between frames
// as long as traffic lasts, and a moment if another thread needs its CPU.
//
// A sleep costs each frame that ends it a wake-up by the kernel, tens of microseconds.
//
// Threads: the lcore's. All times are of the monotonic clock, ns.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

#define TL_PATIENCE_MIN_NS (50 * TL_NS_PER_US)	   // as long as some hundred polls
#define TL_PATIENCE_GAP_MAX_NS (50 * TL_NS_PER_MS) // a longer gap is a pause of the traffic
#define TL_PATIENCE_WINDOW_NS TL_NS_PER_S	   // gaps are forgotten after one to two of them
#define TL_PATIENCE_TAKEN_NS (500 * TL_NS_PER_US)  // between two empty polls: another thread had the CPU
#define TL_PATIENCE_SHARE_SHIFT 4		   // at most 1/16 of the time may be taken while polling in vain
#define TL_PATIENCE_CREDIT_NS (128 * TL_NS_PER_MS) // of that account: 8 ms may be taken at once
#define TL_PATIENCE_DEBT_MAX_NS TL_NS_PER_S

struct tl_patience {
	uint64_t frame_ns;    // the last frame
	uint64_t window_ns;   // beginning of the window
	uint64_t gaps_ns[2];  // longest gap of the window before, and of this one
	uint64_t woken_ns;    // the last time that a frame of this queue or another ended a sleep
	uint64_t empty_ns;    // the empty poll before; 0: a frame or a sleep came between
	uint64_t balanced_ns; // when what was taken will be 1/16 of the time
};

// Charge the time since an empty poll, where it is long, to another thread.
static inline void tl_patience_charge(struct tl_patience *p, uint64_t now_ns)
{
	uint64_t taken_ns = p->empty_ns != 0 ? now_ns - p->empty_ns : 0;

	if (TL_LIKELY(taken_ns <= TL_PATIENCE_TAKEN_NS))
		return;
	uint64_t balanced_ns = tl_max_u64(p->balanced_ns, now_ns) + (taken_ns << TL_PATIENCE_SHARE_SHIFT);
	p->balanced_ns = tl_min_u64(balanced_ns, now_ns + TL_PATIENCE_DEBT_MAX_NS);
}

static inline void tl_patience_note_frames(struct tl_patience *p, uint64_t now_ns)
{
	uint64_t gap_ns = now_ns - p->frame_ns;

	if (now_ns - p->window_ns >= TL_PATIENCE_WINDOW_NS) {
		p->gaps_ns[0] = now_ns - p->window_ns < 2 * TL_PATIENCE_WINDOW_NS ? p->gaps_ns[1] : 0;
		p->gaps_ns[1] = 0;
		p->window_ns = now_ns;
	}
	if (gap_ns <= TL_PATIENCE_GAP_MAX_NS)
		p->gaps_ns[1] = tl_max_u64(p->gaps_ns[1], gap_ns);
	tl_patience_charge(p, now_ns);
	p->frame_ns = now_ns;
	p->empty_ns = 0;
}

// After an empty poll: tell whether the lcore may sleep.
static inline bool tl_patience_is_over(struct tl_patience *p, uint64_t now_ns)
{
	uint64_t patience_ns = 2 * tl_max_u64(p->gaps_ns[0], p->gaps_ns[1]);

	tl_patience_charge(p, now_ns);
	p->empty_ns = now_ns;
	if (p->balanced_ns > now_ns + TL_PATIENCE_CREDIT_NS)
		patience_ns = 0;
	return now_ns - p->frame_ns >= tl_max_u64(patience_ns, TL_PATIENCE_MIN_NS) &&
	       now_ns - p->woken_ns >= TL_PATIENCE_MIN_NS;
}

// After a sleep. woken: a frame ended it; where that is another lcore's, it may be handed over at any moment.
static inline void tl_patience_note_sleep(struct tl_patience *p, bool woken, uint64_t now_ns)
{
	p->empty_ns = 0;
	if (woken)
		p->woken_ns = now_ns;
}
