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

// Copy 8 to 32 bytes, the most frequent, by two overlapping vectors or words.
#define IS_FEW(len) ((len)-8 <= 24)
STEP void copy_few(uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (TL_LIKELY(len >= 16)) {
		memcpy(to, from, 16);
		memcpy(to + len - 16, from + len - 16, 16);
	} else {
		memcpy(to, from, 8);
		memcpy(to + len - 8, from + len - 8, 8);
	}
}

STEP void copy(uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (TL_LIKELY(IS_FEW(len)))
		copy_few(to, from, len);
	else
		memcpy(to, from, len);
}

STEP void ring_put(struct tl_tcp *c, uint32_t seq, const uint8_t *data, uint32_t len)
{
	uint32_t mask = c->ring_mask, at = seq & mask, room = mask + 1 - at;
	uint64_t *ends = tl_tcp_msg_ends(c);
	uint8_t *ring = c->flight->ring;

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
	r->plain_ack = 0;
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

static __attribute__((noinline)) void alloc_spare(struct tl_net *net)
{
	net->spare = rte_pktmbuf_alloc(net->cfg.pool);
}

// Allocate the spare mbuf, of which there is none: the latest that this lcore freed, if there is one. Its lengths are
// set when it is filled. rte_pktmbuf_alloc() has a call in its middle, which saves registers, and sets fields of
// reception.
static __attribute__((noinline)) void provide(struct tl_net *net)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(net->cfg.pool, rte_lcore_id());

	if (!tl_txq_has_room(net->cfg.tx))
		return;
	if (TL_UNLIKELY(cache == NULL || cache->len == 0)) {
		alloc_spare(net);
		return;
	}
	struct rte_mbuf *m = cache->objs[--cache->len];
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL;
	m->tx_offload = 0;
	net->spare = m;
}

static __attribute__((noinline)) void settle_and_provide(struct tl_net *net)
{
	settle_notes(net);
	provide(net);
}

// True if nothing of the connection was in flight before.
STEP bool is_alone(const struct tl_tcp *c, struct tl_tcp_note note)
{
	return note.seq == c->snd_una && note.seq == c->snd_max && (c->conditions & ~TL_TCP_ACK_NOW) == TL_TCP_CALM;
}

// The head of an ACK of all that is in flight, one run, by which no timer is set and nothing is sent: cwnd has grown,
// the RTT is known, the application waits for no room, and our window need not reopen. Each change of the connection
// calls tl_tcp_ready_stop() or tl_tcp_ready_refresh(), which discard it. 0: such an ACK takes a closer look.
STEP uint32_t plain_ack_of(const struct tl_tcp *c)
{
	bool is_calm = c->srtt_ns != 0 && tl_tcp_cc_is_grown(c) && c->ops->room == NULL;

	return is_calm && c->rcv_adv - c->rcv_nxt >= c->window_half ? c->peer_head : 0;
}

// The last steps of settle_few() for a seldom used connection, whose deadline is before due_ns.
static __attribute__((noinline)) void arm_early_and_provide(struct tl_net *net, struct tl_tcp *c, uint64_t deadline_ns)
{
	tl_tcp_timer_arm(c, deadline_ns);
	provide(net);
}

static __attribute__((noinline)) void arm_and_provide(struct tl_net *net, struct tl_tcp *c, uint64_t deadline_ns)
{
	if (TL_LIKELY(tl_tcp_timer_defer(c, &net->tcp->wheel, net->now_ns, deadline_ns)))
		provide(net);
	else
		arm_early_and_provide(net, c, deadline_ns);
}

// The same for one that paused: cwnd restarts.
static __attribute__((noinline)) void restart_and_provide(struct tl_net *net, struct tl_tcp *c, uint64_t deadline_ns)
{
	tl_tcp_cc_idle(c);
	c->ready.plain_ack = plain_ack_of(c);
	if (deadline_ns < c->due_ns)
		arm_and_provide(net, c, deadline_ns);
	else
		provide(net);
}

// Settle the only note, of few bytes: the steps of settle() for one that is alone.
static __attribute__((noinline)) void settle_few(struct tl_net *net)
{
	struct tl_tcp_note note = net->tcp->note[0];
	struct tl_tcp *c = note.c;
	struct tl_tcp_flight *flight = c->flight;
	uint32_t at = note.seq & c->ring_mask, end = note.seq + note.len;
	uint64_t now_ns = net->now_ns;

	if (at + note.len > c->ring_mask + 1 || !is_alone(c, note)) {
		settle_and_provide(net);
		return;
	}
	tl_count(&net->stats.tcp_segments_tx, 1);
	net->n_notes = 0;
	copy_few(flight->ring + at, note.data, note.len);
	mark_msg_end(tl_tcp_msg_ends(c), c->ring_mask, note.seq, note.len);
	flight->sent[0] = (struct tl_tcp_sent){.at_ns = tl_max_u64(now_ns, c->again_ns), .to = end};
	c->n_sent = 1;
	c->deadline_ns[TL_TCP_RETRANSMIT] = now_ns + c->pto_ns;
	c->deadline_ns[TL_TCP_GIVE_UP] = now_ns + c->user_timeout_ns;
	c->rcv_adv = c->ready.adv;
	c->rcv_acked = c->rcv_nxt;
	c->ack_now = false;
	c->snd_nxt = end;
	c->snd_max = end;
	c->snd_last = note.seq;
	c->ready.few = tl_min_u32(c->ready.few, c->ready.snd_edge - end);
	c->ready.plain_ack = plain_ack_of(c);
	if (TL_UNLIKELY(note.len != c->ready.len))
		tl_tcp_ready_set_len(c, note.len);
	uint64_t deadline_ns = tl_min_u64(now_ns + c->pto_ns, now_ns + c->user_timeout_ns);
	bool paused = now_ns - c->last_tx_ns > c->rto_ns;
	c->last_tx_ns = now_ns;
	if (TL_UNLIKELY(paused))
		restart_and_provide(net, c, deadline_ns);
	else if (TL_UNLIKELY(deadline_ns < c->due_ns))
		arm_and_provide(net, c, deadline_ns);
	else
		provide(net);
}

void tl_net_sent(struct tl_net *net)
{
	if (net->n_notes == 0) {
		if (net->spare == NULL)
			provide(net);
	} else if (net->n_notes == 1 && IS_FEW(net->tcp->note[0].len)) {
		settle_few(net);
	} else {
		settle_and_provide(net);
	}
}
