// SPDX-License-Identifier: BSD-3-Clause
// Congestion control: slow start and avoidance (RFC 5681), limited transmit (RFC 3042), NewReno (RFC 6582),
// recovery by SACK (RFC 6675).

#include "tcp_priv.h"

#define INITIAL_SEGMENTS 10 // RFC 6928
#define DUP_ACK_THRESHOLD 3
#define NO_SSTHRESH (UINT32_C(1) << 30)

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
	c->cwnd = c->syn_lost ? c->mss : initial_window(c); // RFC 5681, section 3.1
	c->ssthresh = NO_SSTHRESH;
	c->recover = c->iss;
}

static void halve_ssthresh(struct tl_tcp *c, uint32_t outstanding)
{
	c->ssthresh = outstanding / 2 > 2u * c->mss ? outstanding / 2 : 2u * c->mss;
}

// RFC 5681, section 3.1, equations (2) and the byte counting form of (3). A cwnd beyond the send buffer says nothing.
static void grow(struct tl_tcp *c, uint32_t acked)
{
	if (c->cwnd >= c->send_limit + c->mss)
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

	c->cwnd = tl_min_u32(c->ssthresh, left + c->mss); // RFC 6582, section 3.2, step 3: no burst
	c->cwnd_acked = 0;
	c->in_recovery = false;
}

// The first unacknowledged segment once more, as far as the peer lacks it.
static void retransmit_first(struct tl_tcp *c)
{
	uint32_t most = c->n_sacked > 0 ? c->sacked[0].from - c->snd_una : c->mss;

	c->repaired = c->snd_una + tl_tcp_retransmit(c, c->snd_una, most);
}

// Whether cwnd has room for another segment in the network. The peer's window was open for what is sent again.
static bool pipe_has_room(const struct tl_tcp *c)
{
	return c->cwnd + c->limited_bytes >= flight(c) + c->mss;
}

// RFC 6675, section 5: as much of what is lost as cwnd allows. Each hole goes once; if that is lost, too, the timer
// sees.
static void fill_holes(struct tl_tcp *c)
{
	struct tl_tcp_range hole;

	c->limited_bytes = tl_tcp_sack_left(c);
	while (pipe_has_room(c) && tl_tcp_sack_hole(c, &hole)) {
		uint32_t sent = tl_tcp_retransmit(c, hole.from, hole.to - hole.from);
		if (sent == 0)
			return;
		c->repaired = hole.from + sent;
		c->limited_bytes = tl_tcp_sack_left(c);
	}
}

// A partial ACK with SACK: what begins here is lost even if little beyond has arrived.
static void sack_partial_ack(struct tl_tcp *c)
{
	if (tl_seq_le(c->repaired, c->snd_una))
		retransmit_first(c);
	fill_holes(c);
}

// RFC 6582, section 3.2, step 3: the next hole is known at once.
static bool partial_ack(struct tl_tcp *c, uint32_t acked)
{
	bool first = !c->partial_acked;

	c->partial_acked = true;
	c->cwnd = c->cwnd > acked ? c->cwnd - acked : 0;
	if (acked >= c->mss)
		c->cwnd += c->mss;
	if (c->cwnd < c->mss)
		c->cwnd = c->mss;
	retransmit_first(c);
	return first;
}

bool tl_tcp_cc_acked(struct tl_tcp *c, uint32_t acked)
{
	c->dup_acks = 0;
	c->limited_bytes = 0;
	if (!c->in_recovery) {
		grow(c, acked);
		return true;
	}
	if (tl_seq_lt(c->snd_una, c->recover)) {
		if (!c->by_sack)
			return partial_ack(c, acked);
		sack_partial_ack(c);
		return true;
	}
	leave_recovery(c);
	return true;
}

static void enter_recovery(struct tl_tcp *c)
{
	halve_ssthresh(c, tl_min_u32(flight(c), c->cwnd)); // without what limited transmit added
	c->limited_bytes = 0;
	c->recover = c->snd_max;
	c->in_recovery = true;
	c->partial_acked = false;
	c->by_sack = c->n_sacked > 0;
	c->cwnd = c->by_sack ? c->ssthresh : c->ssthresh + DUP_ACK_THRESHOLD * c->mss;
	retransmit_first(c);
	if (c->by_sack)
		fill_holes(c);
}

// Whether the peer's blocks leave no doubt about the first segment, however few they were.
static bool first_is_lost(struct tl_tcp *c)
{
	struct tl_tcp_range hole;

	c->repaired = c->snd_una;
	return tl_tcp_sack_hole(c, &hole) && hole.from == c->snd_una;
}

void tl_tcp_cc_dup_ack(struct tl_tcp *c)
{
	if (c->in_recovery) {
		if (c->by_sack)
			fill_holes(c);
		else
			c->cwnd += c->mss; // a segment has left the network
		return;
	}
	if (c->dup_acks == DUP_ACK_THRESHOLD)
		return;
	c->dup_acks++;
	if (c->n_sacked > 0 && first_is_lost(c))
		c->dup_acks = DUP_ACK_THRESHOLD;
	// Beyond recover: else the duplicates are echoes of what we sent twice. With SACK they are not.
	bool beyond = c->n_sacked > 0 ? tl_seq_le(c->recover, c->snd_una) : tl_seq_lt(c->recover, c->snd_una);
	if (c->dup_acks < DUP_ACK_THRESHOLD)
		c->limited_bytes += c->mss;
	else if (beyond)
		enter_recovery(c);
}

void tl_tcp_cc_timeout(struct tl_tcp *c)
{
	if (c->backoff == 0) // RFC 5681, section 3.1: once for the same loss
		halve_ssthresh(c, flight(c));
	c->cwnd = c->mss;
	c->cwnd_acked = 0;
	c->recover = c->snd_max;
	c->in_recovery = false;
	c->dup_acks = 0;
	c->limited_bytes = 0;
	c->n_sacked = 0; // the peer may have thrown it away (RFC 2018, section 8)
}

// RFC 5681, section 4.1: after a pause the ACKs that would clock a large window out are gone.
void tl_tcp_cc_idle(struct tl_tcp *c)
{
	c->cwnd = tl_min_u32(c->cwnd, initial_window(c));
}
