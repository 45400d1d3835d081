// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Memory that a connection borrows while data is in flight or out of order (tcp_lend.c).
//
// Threads: the lcore that owns the net; tl_tcp_lend_init() and tl_tcp_lend_fini() on main.

#include "tcp_table.h"

#define TL_TCP_OOO_MAX 64    // segments held per connection: a window of 64 KiB, and some to spare
#define TL_TCP_SACKED_MAX 32 // SACKed ranges stored per connection
#define TL_TCP_SENT_MAX 32   // runs in flight stored per connection; a power of two

// Data in flight.
struct tl_tcp_flight {
	struct tl_tcp_sent sent[TL_TCP_SENT_MAX];      // ring of runs
	struct tl_tcp_range sacked[TL_TCP_SACKED_MAX]; // ranges above snd_una that the peer holds, sorted
	uint8_t ring[];				       // unacknowledged bytes; tl_tcp_msg_ends() behind them
};

int tl_tcp_lend_init(struct tl_net *net, uint32_t slots);
void tl_tcp_lend_fini(struct tl_tcp_table *table);

static inline void *tl_tcp_pool_get(struct tl_tcp_pool *pool)
{
	void *block = pool->free;

	if (TL_LIKELY(block != NULL))
		pool->free = *(void **)block;
	return block;
}

static inline void tl_tcp_pool_put(struct tl_tcp_pool *pool, void *block)
{
	*(void **)block = pool->free;
	pool->free = block;
}

static inline struct tl_tcp_pool *tl_tcp_flights_of(const struct tl_tcp *c)
{
	return c->own_buffer ? &c->net->tcp->owned : &c->net->tcp->flights;
}

// HOT. Borrow a flight for c. False: all are in use.
static inline bool tl_tcp_flight_take(struct tl_tcp *c)
{
	if (c->flight == NULL)
		c->flight = tl_tcp_pool_get(tl_tcp_flights_of(c));
	return TL_LIKELY(c->flight != NULL);
}

// HOT. Return it. The ring must be empty and nothing in flight.
static inline void tl_tcp_flight_give(struct tl_tcp *c)
{
	if (c->flight == NULL)
		return;
	tl_tcp_pool_put(tl_tcp_flights_of(c), c->flight);
	c->flight = NULL;
	c->sent_first = 0;
	c->n_sent = 0;
	c->n_sacked = 0;
}

// Bitmap behind the ring, one bit per byte: set for the last byte of each message.
static inline uint64_t *tl_tcp_msg_ends(const struct tl_tcp *c)
{
	return (uint64_t *)(void *)(c->flight->ring + c->ring_mask + 1);
}

// HOT. True if tl_tcp_flight_take() would succeed.
static inline bool tl_tcp_has_flight(const struct tl_tcp *c)
{
	return c->flight != NULL || tl_tcp_flights_of(c)->free != NULL;
}
