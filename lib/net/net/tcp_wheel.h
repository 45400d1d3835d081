// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Timers of connections: deadlines per connection, and the timer wheel that runs them (tcp_wheel.c, tcp_timer.c).
//
// Threads: the lcore that owns the net.

#include "tcp_conn.h"

#define TL_TCP_TICK_SHIFT 18   // 262 µs per tick
#define TL_TCP_ROUND_SHIFT 12  // 4096 ticks, 1.07 s, per round
#define TL_TCP_NEAR_SLOTS 8192 // one tick each: two rounds
#define TL_TCP_FAR_SLOTS 1024  // one round each
#define TL_TCP_ARM_TICKS 16    // 4.2 ms: insertion of later deadlines may be deferred by this

LIST_HEAD(tl_tcp_slot, tl_tcp);

// Connections due within one round.
struct tl_tcp_far {
	struct tl_tcp_slot slot;
	uint32_t n;
};

struct tl_tcp_wheel {
	uint64_t tick;				// current tick
	uint32_t quota;				// connections to cascade per tick of this round
	uint32_t armed_last;			// index of the list in armed[] that is visited last, of the tick before
	uint64_t visits;			// connections visited so far
	struct tl_tcp *armed[TL_TCP_ARM_TICKS]; // deferred insertions, by tick
	struct tl_tcp_slot near[TL_TCP_NEAR_SLOTS];
	struct tl_tcp_far far[TL_TCP_FAR_SLOTS];
};

// ---- tcp_wheel.c

// Register a deadline before due_ns: insert c now, or check it after TL_TCP_ARM_TICKS.
void tl_tcp_timer_arm(struct tl_tcp *c, uint64_t deadline_ns);
// Insert c into the wheel for its earliest deadline.
void tl_tcp_wheel_insert(struct tl_tcp *c);
void tl_tcp_timers_stop(struct tl_tcp *c);

// ---- tcp_timer.c

// Run the expired timers of c and insert it for the next.
void tl_tcp_wake(struct tl_tcp *c);
void tl_tcp_keepalive_start(struct tl_tcp *c);
// HOT. Update SRTT and RTO (RFC 6298, section 2). Only here the backoff ends: retransmitted data gives no sample
// (Karn's algorithm).
void tl_tcp_rtt_sample(struct tl_tcp *c, uint64_t rtt_ns);
uint64_t tl_tcp_rto_ns(const struct tl_tcp *c); // with backoff

#define TL_TCP_PROBE_MIN_NS (10 * TL_NS_PER_MS) // below this an ACK may still be delayed by the peer

// RTO and probe timeout for the SRTT, after a sample. The floor is the rule on short paths: there a sample changes
// neither of them while SRTT + 4 RTTVAR stays within short_ns, which leaves room for the margin's own floor.
static inline void tl_tcp_rtt_use(struct tl_tcp *c, uint64_t rtt_ns)
{
	if (TL_UNLIKELY(rtt_ns < c->rack.min_rtt_ns))
		c->rack.min_rtt_ns = rtt_ns;
	if (TL_LIKELY(c->srtt_ns + 4 * c->rttvar_ns <= c->short_ns))
		return;
	uint64_t least_ns = UINT64_C(1) << TL_TCP_TICK_SHIFT;
	uint64_t rto_ns = c->srtt_ns + tl_max_u64(4 * c->rttvar_ns, least_ns);
	uint64_t floor_ns = tl_min_u64(c->rto_min_ns, TL_TCP_PROBE_MIN_NS / 2);

	c->short_ns = rto_ns <= floor_ns ? floor_ns - least_ns : 0;
	c->rto_ns = tl_min_u64(tl_max_u64(rto_ns, c->rto_min_ns), TL_TCP_RTO_MAX_NS);
	c->pto_ns = c->sack ? tl_min_u64(tl_max_u64(2 * c->srtt_ns, TL_TCP_PROBE_MIN_NS), c->rto_ns) : c->rto_ns;
}

// Exponentially weighted moving average with weight 1/2^shift for the new sample; up rounds up.
static inline uint64_t tl_tcp_ewma(uint64_t old_ns, uint64_t new_ns, unsigned shift, unsigned up)
{
	uint64_t rest = (UINT64_C(1) << shift) - 1;

	return old_ns + (uint64_t)((int64_t)(new_ns - old_ns + up * rest) >> shift);
}

// HOT. Update SRTT and RTO by a sample that is not the first, with 1/2^shift of its weight.
static inline __attribute__((always_inline)) void tl_tcp_rtt_smooth(struct tl_tcp *c, uint64_t rtt_ns, unsigned shift)
{
	rtt_ns = tl_max_u64(rtt_ns, 1);
	uint64_t error_ns = tl_magnitude((int64_t)(rtt_ns - c->srtt_ns));

	c->rttvar_ns = tl_tcp_ewma(c->rttvar_ns, error_ns, 2 + shift, 0);
	c->srtt_ns = tl_tcp_ewma(c->srtt_ns, rtt_ns, 3 + shift, 1);
	tl_tcp_rtt_use(c, rtt_ns);
}

// HOT. Retransmission or probe timeout: RTO on loss, else PTO (RFC 8985, section 7.2).
static inline uint64_t tl_tcp_loss_timeout_ns(const struct tl_tcp *c)
{
	if (TL_UNLIKELY(c->trouble != 0))
		return tl_tcp_rto_ns(c);
	return c->pto_ns;
}

// HOT. Let the wheel look at a deadline before due_ns after TL_TCP_ARM_TICKS. False: it is earlier, nothing was done.
#define TL_TCP_ARM_NS ((uint64_t)TL_TCP_ARM_TICKS << TL_TCP_TICK_SHIFT)
static inline __attribute__((always_inline)) bool tl_tcp_timer_defer(
	struct tl_tcp *c, struct tl_tcp_wheel *wheel, uint64_t now_ns, uint64_t deadline_ns)
{
	uint64_t looked_at_ns = now_ns + TL_TCP_ARM_NS;

	if (TL_UNLIKELY(deadline_ns < looked_at_ns))
		return false;
	c->due_ns = looked_at_ns;
	if (c->armed)
		return true;
	struct tl_tcp **list = &wheel->armed[wheel->armed_last];
	c->armed = true;
	c->armed_next = *list;
	*list = c;
	return true;
}

// HOT. Usually one store: the wheel changes only if c must wake earlier.
static inline void tl_tcp_timer_set(struct tl_tcp *c, enum tl_tcp_timer timer, uint64_t after_ns)
{
	uint64_t deadline_ns = c->net->now_ns + after_ns;

	c->deadline_ns[timer] = deadline_ns;
	if (TL_UNLIKELY(deadline_ns < c->due_ns))
		tl_tcp_timer_arm(c, deadline_ns);
}

static inline void tl_tcp_timer_stop(struct tl_tcp *c, enum tl_tcp_timer timer)
{
	c->deadline_ns[timer] = TL_TCP_TIMER_OFF;
}

static inline bool tl_tcp_timer_is_set(const struct tl_tcp *c, enum tl_tcp_timer timer)
{
	return c->deadline_ns[timer] != TL_TCP_TIMER_OFF;
}
