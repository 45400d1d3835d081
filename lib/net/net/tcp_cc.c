// SPDX-License-Identifier: BSD-3-Clause
// Congestion control: slow start and congestion avoidance (RFC 5681), limited transmit (RFC 3042), NewReno (RFC 6582),
// retransmission of losses found by RACK (RFC 8985, 6675). Without cwnd: only the pacing of retransmissions.

#include "tcp_loss.h"
#include "tcp_output.h"
#include "tcp_wheel.h"

#define INITIAL_SEGMENTS 10 // RFC 6928
#define DUP_ACK_THRESHOLD 3
#define NO_SSTHRESH (UINT32_C(1) << 30)
#define BURST_SEGMENTS 2 // lost segments retransmitted at once without cwnd: no faster than slow start

static uint32_t flight(const struct tl_tcp *c)
{
	return c->snd_nxt - c->snd_una;
}

// RFC 6928, section 2.
static uint32_t initial_window(const struct tl_tcp *c)
{
	uint32_t most = 2u * c->mss > 14600 ? 2u * c->mss : 14600;

	return tl_min_u32(INITIAL_SEGMENTS * c->mss, most);
}

void tl_tcp_cc_start(struct tl_tcp *c)
{
	if (c->without_cwnd)
		c->cwnd = TL_TCP_NO_CWND;
	else
		c->cwnd = c->syn_lost ? c->mss : initial_window(c); // RFC 5681, section 3.1
	c->ssthresh = NO_SSTHRESH;
}

static bool is_unbounded(const struct tl_tcp *c)
{
	return c->cwnd == TL_TCP_NO_CWND;
}

static void halve_ssthresh(struct tl_tcp *c, uint32_t outstanding)
{
	c->ssthresh = outstanding / 2 > 2u * c->mss ? outstanding / 2 : 2u * c->mss;
}

// Grow cwnd by RFC 5681, section 3.1, equation (2) and the byte-counting form of (3), up to the send buffer.
static void grow(struct tl_tcp *c, uint32_t acked)
{
	if (tl_tcp_cc_is_grown(c))
		return;
	if (c->cwnd < c->ssthresh) {
		c->cwnd += tl_min_u32(acked, c->mss);
		return;
	}
	c->cwnd_acked += acked;
	if (c->cwnd_acked >= c->cwnd) {
		c->cwnd_acked -= c->cwnd;
		c->cwnd += c->mss;
	}
}

static void leave_recovery(struct tl_tcp *c)
{
	uint32_t left = flight(c) > c->mss ? flight(c) : c->mss;

	if (!is_unbounded(c))
		c->cwnd = tl_min_u32(c->ssthresh, left + c->mss); // RFC 6582, section 3.2, step 3: no burst
	c->cwnd_acked = 0;
	c->in_recovery = false;
	c->post_loss = !c->sack;
	tl_tcp_rack_recovered(c);
}

// True if cwnd allows another segment after n retransmissions. The receive window is not checked: it covered them
// before.
static bool pipe_has_room(const struct tl_tcp *c, unsigned n)
{
	if (is_unbounded(c))
		return n < BURST_SEGMENTS;
	return c->cwnd + c->limited_bytes >= flight(c) + c->mss;
}

// Retransmit lost segments as far as cwnd allows, at least the first of a recovery (RFC 6675, section 5).
static void retransmit_lost(struct tl_tcp *c, bool at_least_one)
{
	struct tl_tcp_lost lost;

	for (unsigned n = 0;; n++) {
		tl_tcp_rack_detect_loss(c, &lost);
		c->limited_bytes = tl_tcp_sacked_bytes(c) + lost.bytes;
		if (lost.bytes == 0 || !((at_least_one && n == 0) || pipe_has_room(c, n)))
			break;
		if (tl_tcp_retransmit(c, lost.first.from, lost.first.to - lost.first.from) == 0)
			break;
	}
	if (lost.wait_ns > 0)
		tl_tcp_timer_set(c, TL_TCP_REORDER, lost.wait_ns);
	else
		tl_tcp_timer_stop(c, TL_TCP_REORDER);
}

static void deflate(struct tl_tcp *c, uint32_t acked)
{
	c->cwnd = c->cwnd > acked ? c->cwnd - acked : 0;
	if (acked >= c->mss)
		c->cwnd += c->mss;
	if (c->cwnd < c->mss)
		c->cwnd = c->mss;
}

// Retransmit the next hole after a partial ACK (RFC 6582, section 3.2, step 3).
static bool partial_ack(struct tl_tcp *c, uint32_t acked)
{
	bool first = !c->partial_acked;

	c->partial_acked = true;
	if (!is_unbounded(c))
		deflate(c, acked);
	tl_tcp_retransmit(c, c->snd_una, c->mss);
	return first;
}

// Leave the post-loss phase when the flight at the last loss is acknowledged. Without SACK that takes one more byte:
// duplicate ACKs for retransmitted segments must not look like a new loss.
static void leave_post_loss(struct tl_tcp *c)
{
	if (c->without_cwnd && tl_seq_le(c->recover, c->snd_una))
		c->cwnd = TL_TCP_NO_CWND; // all retransmitted
	if (c->sack ? tl_seq_lt(c->snd_una, c->recover) : tl_seq_le(c->snd_una, c->recover))
		return;
	c->post_loss = false;
	tl_tcp_rack_recovered(c);
}

bool tl_tcp_cc_grow(struct tl_tcp *c, uint32_t acked)
{
	if (TL_UNLIKELY(c->post_loss))
		leave_post_loss(c);
	if (TL_LIKELY(!c->in_recovery)) {
		grow(c, acked);
		return true;
	}
	if (tl_seq_lt(c->snd_una, c->recover))
		return c->sack || partial_ack(c, acked);
	leave_recovery(c);
	return true;
}

static void enter_recovery(struct tl_tcp *c)
{
	halve_ssthresh(c, tl_min_u32(flight(c), c->cwnd)); // without the share of limited transmit
	c->limited_bytes = 0;
	c->recover = c->snd_max;
	c->in_recovery = true;
	c->partial_acked = false;
	c->probing = false;
	if (!is_unbounded(c))
		c->cwnd = c->ssthresh + (c->sack ? 0 : DUP_ACK_THRESHOLD * c->mss);
	if (c->sack)
		retransmit_lost(c, true);
	else
		tl_tcp_retransmit(c, c->snd_una, c->mss);
}

void tl_tcp_cc_repair(struct tl_tcp *c)
{
	struct tl_tcp_lost lost;

	tl_tcp_rack_detect_loss(c, &lost);
	if (lost.bytes > 0 && !c->in_recovery && !c->post_loss)
		enter_recovery(c);
	else
		retransmit_lost(c, false);
}

void tl_tcp_cc_resume(struct tl_tcp *c)
{
	if (c->sack)
		retransmit_lost(c, true);
	else if (c->in_recovery)
		tl_tcp_retransmit(c, c->snd_una, c->mss);
}

void tl_tcp_cc_probe_repaired(struct tl_tcp *c)
{
	if (is_unbounded(c))
		return;
	halve_ssthresh(c, tl_min_u32(flight(c), c->cwnd));
	c->cwnd = c->ssthresh;
}

void tl_tcp_cc_dup_ack(struct tl_tcp *c)
{
	if (c->in_recovery) {
		if (!is_unbounded(c))
			c->cwnd += c->mss; // a segment has left the network
		return;
	}
	if (c->dup_acks == DUP_ACK_THRESHOLD)
		return;
	if (++c->dup_acks < DUP_ACK_THRESHOLD)
		c->limited_bytes += c->mss;
	else if (!c->post_loss) // else the duplicates answer retransmissions
		enter_recovery(c);
}

// Discard the state of the flight after a timeout.
static void reset_flight(struct tl_tcp *c)
{
	tl_tcp_timer_stop(c, TL_TCP_REORDER);
	c->cwnd_acked = 0;
	c->recover = c->snd_max;
	c->in_recovery = false;
	c->post_loss = true;
	c->probing = false;
	c->dup_acks = 0;
	c->limited_bytes = 0;
	c->n_sacked = 0; // the peer may have discarded it (RFC 2018, section 8)
}

void tl_tcp_cc_timeout(struct tl_tcp *c)
{
	if (c->backoff == 0) // RFC 5681, section 3.1: once per loss
		halve_ssthresh(c, flight(c));
	c->cwnd = c->mss;
	reset_flight(c);
}

void tl_tcp_cc_resend(struct tl_tcp *c)
{
	c->cwnd = tl_min_u32(c->cwnd, initial_window(c));
	reset_flight(c);
	c->snd_nxt = c->snd_una;
}

uint32_t tl_tcp_cc_after_pause(const struct tl_tcp *c)
{
	return is_unbounded(c) ? c->cwnd : tl_min_u32(c->cwnd, initial_window(c));
}

void tl_tcp_cc_idle(struct tl_tcp *c)
{
	c->cwnd = tl_tcp_cc_after_pause(c);
}
