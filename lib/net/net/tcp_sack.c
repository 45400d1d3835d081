// SPDX-License-Identifier: BSD-3-Clause
// Selective acknowledgment (RFC 2018, 2883): SACK and D-SACK blocks that we send, ranges that the peer reports. Loss
// detection from them is in tcp_rack.c.

#include <string.h>

#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_ooo.h"
#include "tcp_seg.h"

#define OPTION_NOP 1
#define OPTION_SACK 5
#define BLOCK_LEN 8

// ---- the receiver

// A contiguous run of held segments and its latest arrival number.
struct run {
	struct tl_tcp_range range;
	uint32_t arrival;
};

// Read the run that begins at held segment i; return the index of the next.
static unsigned read_run(const struct tl_tcp *c, unsigned i, struct run *out)
{
	*out = (struct run){{c->ooo[i].seq, tl_tcp_held_end(&c->ooo[i])}, c->ooo[i].arrival};
	while (++i < c->ooo_count && tl_seq_le(c->ooo[i].seq, out->range.to)) {
		out->range.to = tl_tcp_held_end(&c->ooo[i]);
		if (tl_seq_lt(out->arrival, c->ooo[i].arrival))
			out->arrival = c->ooo[i].arrival;
	}
	return i;
}

// Insert by arrival, the latest first; drop the oldest of too many.
static unsigned insert_run(struct run *runs, unsigned n, unsigned most, const struct run *new)
{
	unsigned i = n < most ? n : most;

	while (i > 0 && tl_seq_lt(runs[i - 1].arrival, new->arrival)) {
		if (i < most)
			runs[i] = runs[i - 1];
		i--;
	}
	if (i < most)
		runs[i] = *new;
	return n < most ? n + 1 : most;
}

static uint8_t *write_u32(uint8_t *p, uint32_t value)
{
	*p++ = (uint8_t)(value >> 24);
	*p++ = (uint8_t)(value >> 16);
	*p++ = (uint8_t)(value >> 8);
	*p++ = (uint8_t)value;
	return p;
}

uint8_t tl_tcp_sack_write(const struct tl_tcp *c, uint32_t room, uint8_t buf[TL_TCP_SACK_MAX])
{
	unsigned fit = c->stamped ? TL_TCP_SACK_BLOCKS - 1 : TL_TCP_SACK_BLOCKS;
	unsigned most = room < 4 + BLOCK_LEN ? 0 : tl_min_u32((room - 4) / BLOCK_LEN, fit);
	struct run runs[TL_TCP_SACK_BLOCKS], run;
	unsigned n = 0, before = c->dsack_due;

	if (!c->sack || most == 0)
		return 0;
	most -= before;
	for (unsigned i = 0; i < c->ooo_count;) {
		i = read_run(c, i, &run);
		if (tl_seq_lt(c->rcv_nxt, run.range.from)) // otherwise the ACK is about to cover it
			n = insert_run(runs, n, most, &run);
	}
	if (before + n == 0)
		return 0;
	tl_count(&c->net->stats.tcp_sacks_tx, 1);
	uint8_t *p = buf;
	*p++ = OPTION_NOP;
	*p++ = OPTION_NOP;
	*p++ = OPTION_SACK;
	*p++ = (uint8_t)(2 + (before + n) * BLOCK_LEN);
	if (before > 0)
		p = write_u32(write_u32(p, c->dsack.from), c->dsack.to);
	for (unsigned i = 0; i < n; i++)
		p = write_u32(write_u32(p, runs[i].range.from), runs[i].range.to);
	return (uint8_t)(p - buf);
}

void tl_tcp_dsack(struct tl_tcp *c, uint32_t from, uint32_t to)
{
	if (!c->sack)
		return;
	c->dsack = (struct tl_tcp_range){from, to};
	c->dsack_due = true;
}

void tl_tcp_dsack_held(struct tl_tcp *c, uint32_t from, uint32_t to)
{
	struct run run;

	for (unsigned i = 0; i < c->ooo_count && !c->dsack_due;) {
		i = read_run(c, i, &run);
		uint32_t first = tl_seq_lt(from, run.range.from) ? run.range.from : from;
		uint32_t end = tl_seq_lt(to, run.range.to) ? to : run.range.to;
		if (tl_seq_lt(first, end))
			tl_tcp_dsack(c, first, end);
	}
}

// ---- the sender

static bool is_known(const struct tl_tcp *c, const struct tl_tcp_range *range)
{
	for (unsigned i = 0; i < c->n_sacked; i++) {
		if (tl_seq_le(c->flight->sacked[i].from, range->from) && tl_seq_le(range->to, c->flight->sacked[i].to))
			return true;
	}
	return false;
}

static void remove_ranges(struct tl_tcp *c, unsigned from, unsigned to)
{
	memmove(&c->flight->sacked[from], &c->flight->sacked[to], (c->n_sacked - to) * sizeof(c->flight->sacked[0]));
	c->n_sacked -= (uint8_t)(to - from);
}

// Insert a range, merging neighbours. With a full table the farthest range is dropped: it matters last.
static void insert_range(struct tl_tcp *c, struct tl_tcp_range new)
{
	unsigned first = 0, end;

	while (first < c->n_sacked && tl_seq_lt(c->flight->sacked[first].to, new.from))
		first++;
	for (end = first; end < c->n_sacked && tl_seq_le(c->flight->sacked[end].from, new.to);
		end++) { // adjacent or overlapping
		if (tl_seq_lt(c->flight->sacked[end].from, new.from))
			new.from = c->flight->sacked[end].from;
		if (tl_seq_lt(new.to, c->flight->sacked[end].to))
			new.to = c->flight->sacked[end].to;
	}
	remove_ranges(c, first, end);
	if (first == TL_TCP_SACKED_MAX)
		return;
	if (c->n_sacked == TL_TCP_SACKED_MAX)
		c->n_sacked--;
	memmove(&c->flight->sacked[first + 1], &c->flight->sacked[first],
		(c->n_sacked - first) * sizeof(c->flight->sacked[0]));
	c->flight->sacked[first] = new;
	c->n_sacked++;
}

// True if the first block is below the ACK, or part of the second (RFC 2883, section 4).
static bool is_dsack(const struct tl_tcp_options *options, const struct tl_tcp_seg *seg)
{
	const struct tl_tcp_range *block = options->block;

	if (options->n_blocks == 0)
		return false;
	if (tl_seq_le(block[0].to, seg->ack))
		return true;
	return options->n_blocks > 1 && tl_seq_le(block[1].from, block[0].from) && tl_seq_le(block[0].to, block[1].to);
}

bool tl_tcp_sack_input(struct tl_tcp *c, struct tl_tcp_seg *seg)
{
	uint32_t una = tl_seq_lt(c->snd_una, seg->ack) ? seg->ack : c->snd_una;
	struct tl_tcp_options options;
	bool news = false;

	if (!c->sack)
		return false;
	tl_tcp_options_parse(seg->hdr, &options);
	seg->dsack = is_dsack(&options, seg);
	if (seg->dsack) {
		tl_count(&c->net->stats.tcp_dsacks_rx, 1);
		if (!c->probing) // a D-SACK for a tail probe is expected
			tl_tcp_rack_dsack(c);
	}
	for (unsigned i = 0; i < options.n_blocks; i++) {
		const struct tl_tcp_range *block = &options.block[i];
		bool valid = c->flight != NULL && tl_seq_lt(una, block->from) && tl_seq_lt(block->from, block->to) &&
			     tl_seq_le(block->to, c->snd_max);
		if (!valid || is_known(c, block)) // below una: old, or a D-SACK
			continue;
		tl_tcp_rack_sacked(c, block, seg);
		insert_range(c, *block);
		news = true;
	}
	if (news)
		tl_count(&c->net->stats.tcp_sacks_rx, 1);
	return news;
}

void tl_tcp_sack_advance(struct tl_tcp *c)
{
	unsigned passed = 0;

	while (passed < c->n_sacked && tl_seq_le(c->flight->sacked[passed].from, c->snd_una))
		passed++;
	remove_ranges(c, 0, passed);
}

void tl_tcp_sack_skip(struct tl_tcp *c)
{
	uint32_t skipped = 0;

	if (c->snd_nxt == c->snd_max)
		return;
	for (unsigned i = 0; i < c->n_sacked && tl_seq_le(c->flight->sacked[i].from, c->snd_nxt); i++) {
		skipped += c->flight->sacked[i].to - c->flight->sacked[i].from;
		if (tl_seq_lt(c->snd_nxt, c->flight->sacked[i].to))
			c->snd_nxt = c->flight->sacked[i].to;
	}
	c->limited_bytes = skipped;
}

uint32_t tl_tcp_sacked_bytes(const struct tl_tcp *c)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < c->n_sacked && tl_seq_le(c->flight->sacked[i].to, c->snd_nxt); i++)
		bytes += c->flight->sacked[i].to - c->flight->sacked[i].from;
	return bytes;
}
