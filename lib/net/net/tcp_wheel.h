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
void tl_tcp_rtt_sample(struct tl_tcp *c, uint64_t rtt_ns);
uint64_t tl_tcp_rto_ns(const struct tl_tcp *c); // with backoff

// HOT. Retransmission or probe timeout: RTO on loss, else PTO (RFC 8985, section 7.2).
static inline uint64_t tl_tcp_loss_timeout_ns(const struct tl_tcp *c)
{
	if (TL_UNLIKELY(c->trouble != 0))
		return tl_tcp_rto_ns(c);
	return c->pto_ns;
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
