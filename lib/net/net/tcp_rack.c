// SPDX-License-Identifier: BSD-3-Clause
// Loss detection by time (RACK, RFC 8985): transmission times of all bytes in flight. A byte is lost if another that
// was sent sufficiently later has arrived.

#include <string.h>

#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_seg.h"

#define REORDER_PERSIST 16 // recoveries (section 6.2, step 4)
#define DUP_THRESHOLD 3
#define AHEAD_NS 1000 // upper bound for how far transmission times of retransmissions run ahead of the clock

// ---- transmission times

static struct tl_tcp_sent *sent_at(struct tl_tcp *c, unsigned i)
{
	return &c->flight->sent[(c->sent_first + i) & (TL_TCP_SENT_MAX - 1)];
}

static uint32_t seq_min(uint32_t a, uint32_t b)
{
	return tl_seq_lt(a, b) ? a : b;
}

// Append a run; merge it with the last if it has the same time.
static unsigned append(struct tl_tcp_sent *list, unsigned n, uint32_t begin, struct tl_tcp_sent run)
{
	if (!tl_seq_lt(begin, run.to))
		return n;
	if (n > 0 && list[n - 1].at_ns == run.at_ns && list[n - 1].again == run.again)
		n--;
	list[n] = run;
	return n + 1;
}

static uint64_t gap_ns(const struct tl_tcp_sent *list, unsigned i)
{
	uint64_t a_ns = list[i].at_ns, b_ns = list[i + 1].at_ns;

	return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

// Merge the two neighbouring runs that are closest in time; the later time stays, marked as inexact or not.
static unsigned join_nearest(struct tl_tcp_sent *list, unsigned n, bool inexact)
{
	unsigned at = 0;

	for (unsigned i = 1; i + 1 < n; i++) {
		if (gap_ns(list, i) < gap_ns(list, at))
			at = i;
	}
	list[at + 1].at_ns = tl_max_u64(list[at].at_ns, list[at + 1].at_ns);
	list[at + 1].again |= inexact || list[at].again;
	memmove(&list[at], &list[at + 1], (n - at - 1) * sizeof(list[0]));
	return n - 1;
}

static void store(struct tl_tcp *c, const struct tl_tcp_sent *list, unsigned n)
{
	c->sent_first = 0;
	c->n_sent = (uint8_t)n;
	memcpy(c->flight->sent, list, n * sizeof(list[0]));
}

void tl_tcp_sent_again(struct tl_tcp *c, uint32_t from, uint32_t to)
{
	struct tl_tcp_sent list[TL_TCP_SENT_MAX + 2];
	uint32_t begin = c->snd_una;
	unsigned n = 0;

	if (c->flight == NULL) // FIN without a buffer
		return;
	for (unsigned i = 0; i < c->n_sent && tl_seq_lt(begin, from); i++) {
		struct tl_tcp_sent run = *sent_at(c, i);
		run.to = seq_min(run.to, from);
		n = append(list, n, begin, run);
		begin = run.to;
	}
	uint64_t latest_ns = c->n_sent > 0 ? sent_at(c, c->n_sent - 1)->at_ns : 0;
	uint64_t at_ns = tl_max_u64(tl_max_u64(latest_ns, c->again_ns), c->net->now_ns) + 1;
	c->again_ns = at_ns + 1;
	n = append(list, n, from, (struct tl_tcp_sent){.at_ns = at_ns, .to = to, .again = true});
	for (unsigned i = 0; i < c->n_sent; i++)
		n = append(list, n, to, *sent_at(c, i));
	while (n >= TL_TCP_SENT_MAX) // keep one free for new data: it must not make old data look new
		n = join_nearest(list, n, true);
	store(c, list, n);
}

// The times of evenly spaced segments stay close, some sixteenth of the flight: they count as exact, for RTT samples
// and deliveries.
void tl_tcp_sent_thin(struct tl_tcp *c, struct tl_tcp_sent run)
{
	struct tl_tcp_sent list[TL_TCP_SENT_MAX];
	unsigned n = c->n_sent;

	for (unsigned i = 0; i < n; i++)
		list[i] = *sent_at(c, i);
	n = join_nearest(list, n, false);
	list[n++] = run;
	store(c, list, n);
}

// ---- arrivals (section 6.2, steps 1 to 3)

// True if the first was sent after the second. Within a burst sequence numbers decide.
static bool sent_after(uint64_t at_ns, uint32_t to, uint64_t than_ns, uint32_t than_to)
{
	return at_ns > than_ns || (at_ns == than_ns && tl_seq_lt(than_to, to));
}

// True if the ACK answers the original transmission, not the retransmission (step 2).
static bool is_of_original(const struct tl_tcp *c, const struct tl_tcp_sent *run, uint32_t echo)
{
	uint32_t sent_stamp = (uint32_t)(run->at_ns >> TL_TCP_STAMP_SHIFT) + c->stamp_offset;

	if (!run->again)
		return false;
	return tl_tcp_since_ns(c, run->at_ns) + AHEAD_NS < c->rack.min_rtt_ns ||
	       (c->stamped && tl_seq_lt(echo, sent_stamp));
}

static void delivered(struct tl_tcp *c, const struct tl_tcp_sent *run, uint32_t to, uint32_t echo)
{
	struct tl_tcp_rack *rack = &c->rack;

	if (is_of_original(c, run, echo))
		return;
	if (!run->again && tl_seq_lt(to, rack->highest))
		rack->reordering = true;
	if (tl_seq_lt(rack->highest, to))
		rack->highest = to;
	if (sent_after(run->at_ns, to, rack->at_ns, rack->to)) {
		rack->at_ns = run->at_ns;
		rack->to = to;
		rack->rtt_ns = tl_tcp_since_ns(c, run->at_ns);
	}
}

// Account for the part of a run that was not SACKed before.
void tl_tcp_rack_acked(struct tl_tcp *c, const struct tl_tcp_sent *run, struct tl_tcp_range part, uint32_t echo)
{
	for (unsigned i = 0; i < c->n_sacked && tl_seq_lt(part.from, part.to); i++) {
		if (tl_seq_lt(part.from, c->flight->sacked[i].from))
			delivered(c, run, seq_min(c->flight->sacked[i].from, part.to), echo);
		if (tl_seq_lt(part.from, c->flight->sacked[i].to))
			part.from = c->flight->sacked[i].to;
	}
	if (tl_seq_lt(part.from, part.to))
		delivered(c, run, part.to, echo);
}

void tl_tcp_rack_sacked(struct tl_tcp *c, const struct tl_tcp_range *block, const struct tl_tcp_seg *seg)
{
	uint32_t begin = tl_seq_lt(c->snd_una, seg->ack) ? seg->ack : c->snd_una;

	for (unsigned i = 0; i < c->n_sent && tl_seq_lt(begin, block->to); i++) {
		const struct tl_tcp_sent *run = sent_at(c, i);
		uint32_t from = tl_seq_lt(begin, block->from) ? block->from : begin;
		tl_tcp_rack_acked(c, run, (struct tl_tcp_range){from, seq_min(run->to, block->to)}, seg->echo);
		begin = run->to;
	}
}

// ---- the reordering window (step 4)

void tl_tcp_rack_dsack(struct tl_tcp *c)
{
	struct tl_tcp_rack *rack = &c->rack;

	if (rack->in_round && tl_seq_lt(c->snd_una, rack->round))
		return; // once per round trip
	rack->in_round = true;
	rack->round = c->snd_nxt;
	rack->persist = REORDER_PERSIST;
	if (rack->mult < UINT8_MAX)
		rack->mult++;
}

void tl_tcp_rack_recovered(struct tl_tcp *c)
{
	if (c->rack.persist > 0 && --c->rack.persist == 0)
		c->rack.mult = 0;
}

static uint64_t reorder_ns(const struct tl_tcp *c)
{
	const struct tl_tcp_rack *rack = &c->rack;
	bool many = c->n_sacked >= DUP_THRESHOLD || tl_tcp_sacked_bytes(c) > (DUP_THRESHOLD - 1) * c->mss;

	if (!rack->reordering && (c->in_recovery || c->post_loss || many))
		return 0;
	return tl_min_u64((rack->mult + 1u) * (rack->min_rtt_ns / 4), c->srtt_ns);
}

// ---- lost bytes (step 5)

// Check a part of a run that the peer has not received. Bytes sent at now_ns are in flight.
static void check_part(
	const struct tl_tcp *c, uint64_t at_ns, struct tl_tcp_range part, uint64_t limit_ns, struct tl_tcp_lost *out)
{
	uint64_t age_ns = tl_tcp_since_ns(c, at_ns);

	if (age_ns == 0 || !sent_after(c->rack.at_ns, c->rack.to, at_ns, part.to))
		return;
	if (age_ns < limit_ns) {
		out->wait_ns = tl_max_u64(out->wait_ns, limit_ns - age_ns);
		return;
	}
	if (out->bytes == 0)
		out->first = part;
	out->bytes += part.to - part.from;
}

void tl_tcp_rack_detect_loss(struct tl_tcp *c, struct tl_tcp_lost *out)
{
	uint64_t limit_ns = c->rack.rtt_ns + reorder_ns(c);
	uint32_t at = c->snd_una;
	unsigned next = 0; // first SACKed range not passed yet

	*out = (struct tl_tcp_lost){0};
	for (unsigned i = 0; i < c->n_sent; i++) {
		const struct tl_tcp_sent *run = sent_at(c, i);
		uint32_t end = seq_min(run->to, c->snd_nxt); // bytes beyond are sent again anyway
		while (tl_seq_lt(at, end)) {
			while (next < c->n_sacked && tl_seq_le(c->flight->sacked[next].to, at))
				next++;
			uint32_t hole_to = next < c->n_sacked ? seq_min(c->flight->sacked[next].from, end) : end;
			if (tl_seq_lt(at, hole_to)) {
				check_part(c, run->at_ns, (struct tl_tcp_range){at, hole_to}, limit_ns, out);
				at = hole_to;
			} else {
				at = seq_min(c->flight->sacked[next].to, end);
			}
		}
	}
}
