// SPDX-License-Identifier: BSD-3-Clause
// Bookkeeping of a sent segment, after its frame has left: the copy for retransmission, transmission times, timers.

#include <string.h>

#include <rte_mbuf.h>

#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_output.h"
#include "tcp_seg.h"
#include "tcp_table.h"
#include "tcp_wheel.h"

#define STEP static inline __attribute__((always_inline)) // into settle()

// ---- the send ring

// Set the bit of the last byte of a message, clear the others. ends: the bitmap of a ring of mask + 1 bytes.
STEP void mark_msg_end(uint64_t *ends, uint32_t mask, uint32_t seq, uint32_t len)
{
	uint64_t clear = UINT64_MAX << (seq & 63);
	uint32_t at = (seq & mask) / 64, last = seq + len - 1;

	for (uint32_t words = ((seq & 63) + len - 1) / 64; TL_UNLIKELY(words > 0); words--) {
		ends[at] &= ~clear;
		clear = UINT64_MAX;
		at = (at + 1) & mask / 64;
	}
	clear &= UINT64_MAX >> (63 - (last & 63));
	ends[at] = (ends[at] & ~clear) | UINT64_C(1) << (last & 63);
}

// Copy; 8 to 32 bytes, the most frequent, by two overlapping vectors or words.
STEP void copy(uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (TL_LIKELY(len - 16 <= 16)) {
		memcpy(to, from, 16);
		memcpy(to + len - 16, from + len - 16, 16);
	} else if (len - 8 < 8) {
		memcpy(to, from, 8);
		memcpy(to + len - 8, from + len - 8, 8);
	} else {
		memcpy(to, from, len);
	}
}

STEP void ring_put(struct tl_tcp *c, uint32_t seq, const uint8_t *data, uint32_t len)
{
	uint32_t mask = c->ring_mask, at = seq & mask, room = mask + 1 - at;
	uint64_t *ends = tl_tcp_msg_ends(c);
	uint8_t *ring = c->ring;

	if (TL_LIKELY(len <= room)) {
		copy(ring + at, data, len);
	} else {
		memcpy(ring + at, data, room);
		memcpy(ring, data + room, len - room);
	}
	mark_msg_end(ends, mask, seq, len);
}

void tl_tcp_ring_put(struct tl_tcp *c, uint32_t seq, const uint8_t *data, uint32_t len)
{
	ring_put(c, seq, data, len);
}

// ---- one segment

STEP void account_sent(struct tl_tcp *c, uint32_t seq)
{
	if (TL_UNLIKELY(seq != c->snd_max))
		tl_count(&c->net->stats.tcp_retransmits, 1);
	tl_tcp_sent_note(c, seq, c->snd_nxt);
	c->snd_last = seq;
	if (tl_seq_lt(c->snd_max, c->snd_nxt))
		c->snd_max = c->snd_nxt;
	if (TL_UNLIKELY(c->persisting)) { // the window has opened
		c->persisting = false;
		c->backoff = 0;
		tl_tcp_timer_stop(c, TL_TCP_RETRANSMIT);
	}
	if (!tl_tcp_timer_is_set(c, TL_TCP_RETRANSMIT))
		tl_tcp_timer_set(c, TL_TCP_RETRANSMIT, tl_tcp_loss_timeout_ns(c));
	if (!tl_tcp_timer_is_set(c, TL_TCP_GIVE_UP))
		tl_tcp_timer_set(c, TL_TCP_GIVE_UP, c->user_timeout_ns);
	c->last_tx_ns = c->net->now_ns;
}

void tl_tcp_account_sent(struct tl_tcp *c, uint32_t seq)
{
	account_sent(c, seq);
}

// ---- notes

STEP void settle(struct tl_net *net, struct tl_tcp_note note)
{
	struct tl_tcp *c = note.c;
	struct tl_tcp_ready *r = &c->ready;

	tl_count(&net->stats.tcp_segments_tx, 1);
	c->rcv_adv = r->adv;
	c->rcv_acked = c->rcv_nxt;
	c->ack_now = false;
	ring_put(c, note.seq, note.data, note.len);
	if (note.seq == c->snd_una && net->now_ns - c->last_tx_ns > c->rto_ns)
		tl_tcp_cc_idle(c);
	c->snd_nxt = note.seq + note.len;
	account_sent(c, note.seq);
	r->few = tl_min_u32(r->few, r->snd_edge - c->snd_nxt);
}

// Settle each note from its own sequence number up to the end of the last. The refresh stays valid, with less room.
STEP void settle_notes(struct tl_net *net)
{
	const struct tl_tcp_note *note = net->tcp->note, *end = note + net->n_notes;

	net->n_notes = 0;
	for (; note < end; note++)
		settle(net, *note);
}

void tl_tcp_settle_notes(struct tl_net *net)
{
	settle_notes(net);
}

static __attribute__((noinline)) void settle_and_provide(struct tl_net *net)
{
	settle_notes(net);
	if (net->spare == NULL && tl_txq_has_room(net->cfg.tx))
		net->spare = rte_pktmbuf_alloc(net->cfg.pool);
}

void tl_net_sent(struct tl_net *net)
{
	if (net->n_notes != 0 || net->spare == NULL)
		settle_and_provide(net);
}
