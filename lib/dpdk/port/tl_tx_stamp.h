// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// tx_stamp: TX stamp of one reply, or of one frame with a due time. The NIC keeps one such stamp until it is read, so
// one frame at a time is marked, and the lcore that marks it publishes the facts needed to compute a latency from the
// stamp.
//   main: offer → an lcore: take, which marks the frame; after the send call: publish → main: is_published, reads the
//   facts and the NIC's stamp; clear
//
// Threads: offer, withdraw, is_published and clear on main; is_offered, take and publish on any lcore that sends on the
// port: take and publish on the same one.
// Memory:  the owner's, main; an lcore borrows it.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

enum tl_tx_stamp_state { TL_TX_STAMP_IDLE, TL_TX_STAMP_OFFERED, TL_TX_STAMP_TAKEN, TL_TX_STAMP_PUBLISHED };

// Facts about the marked frame and its trigger, the frame that it answers.
struct tl_tx_stamp_facts {
	bool left;	    // sent by the call that began at begin_tsc
	bool stamped;	    // the NIC stamped the trigger
	uint64_t rx_ticks;  // that stamp, by the NIC's clock
	uint64_t rx_ns;	    // the same since 1970, as converted at that time
	uint64_t poll_tsc;  // return of the poll that received the trigger
	uint64_t poll_ns;   // the same since 1970
	uint64_t begin_tsc; // start of the send call
	bool is_due;	    // no trigger: the frame was due late_ns before begin_tsc; negative: after it
	int64_t late_ns;
};

struct tl_tx_stamp {
	_Atomic(int) state;
	struct tl_tx_stamp_facts facts; // valid in state PUBLISHED
};

static inline void tl_tx_stamp_offer(struct tl_tx_stamp *stamp)
{
	atomic_store_explicit(&stamp->state, TL_TX_STAMP_OFFERED, memory_order_release);
}

// Withdraw the offer, if there is one. False: an lcore has taken it, and calls publish, or has called it.
static inline bool tl_tx_stamp_withdraw(struct tl_tx_stamp *stamp)
{
	int state = TL_TX_STAMP_OFFERED;

	return atomic_compare_exchange_strong(&stamp->state, &state, TL_TX_STAMP_IDLE) || state == TL_TX_STAMP_IDLE;
}

// HOT. True if a stamp is offered.
static inline bool tl_tx_stamp_is_offered(const struct tl_tx_stamp *stamp)
{
	return atomic_load_explicit(&stamp->state, memory_order_relaxed) == TL_TX_STAMP_OFFERED;
}

// Mark the frame, before it is sent. False: another lcore has taken the offer.
static inline bool tl_tx_stamp_take(struct tl_tx_stamp *stamp, struct rte_mbuf *frame)
{
	int wanted = TL_TX_STAMP_OFFERED;

	if (!atomic_compare_exchange_strong(&stamp->state, &wanted, TL_TX_STAMP_TAKEN))
		return false;
	frame->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
	return true;
}

static inline void tl_tx_stamp_publish(struct tl_tx_stamp *stamp, const struct tl_tx_stamp_facts *facts)
{
	stamp->facts = *facts;
	atomic_store_explicit(&stamp->state, TL_TX_STAMP_PUBLISHED, memory_order_release);
}

static inline bool tl_tx_stamp_is_published(const struct tl_tx_stamp *stamp)
{
	return atomic_load_explicit(&stamp->state, memory_order_acquire) == TL_TX_STAMP_PUBLISHED;
}

// End the cycle after the facts have been read.
static inline void tl_tx_stamp_clear(struct tl_tx_stamp *stamp)
{
	atomic_store_explicit(&stamp->state, TL_TX_STAMP_IDLE, memory_order_relaxed);
}
