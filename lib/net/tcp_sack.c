// SPDX-License-Identifier: BSD-3-Clause
// Selective acknowledgment (RFC 2018): what we tell the peer about the segments we hold, and what we
// make of what it tells us (RFC 6675).

#include <string.h>

#include "tcp_priv.h"

#define OPTION_NOP 1
#define OPTION_SACK 5
#define BLOCK_LEN 8

// RFC 6675, IsLost(): more than so many segments or ranges beyond it have arrived.
#define LOST_SEGMENTS 2

// ---- the receiver

// A run of held segments without a gap, and when the last of them came.
struct run {
	struct tl_tcp_range range;
	uint32_t arrival;
};

// The run that begins at held segment i; returns where the next one begins.
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

// The latest first; of those that are too many the oldest is left out.
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
	unsigned n = 0;

	if (!c->sack || most == 0)
		return 0;
	for (unsigned i = 0; i < c->ooo_count;) {
		i = read_run(c, i, &run);
		if (tl_seq_lt(c->rcv_nxt, run.range.from)) // else its turn has come: the ACK is about to cover it
			n = insert_run(runs, n, most, &run);
	}
	if (n == 0)
		return 0;
	uint8_t *p = buf;
	*p++ = OPTION_NOP;
	*p++ = OPTION_NOP;
	*p++ = OPTION_SACK;
	*p++ = (uint8_t)(2 + n * BLOCK_LEN);
	for (unsigned i = 0; i < n; i++)
		p = write_u32(write_u32(p, runs[i].range.from), runs[i].range.to);
	return (uint8_t)(p - buf);
}

// ---- the sender

static bool is_known(const struct tl_tcp *c, const struct tl_tcp_range *block)
{
	for (unsigned i = 0; i < c->n_sacked; i++) {
		if (tl_seq_le(c->sacked[i].from, block->from) && tl_seq_le(block->to, c->sacked[i].to))
			return true;
	}
	return false;
}

static void remove_ranges(struct tl_tcp *c, unsigned from, unsigned to)
{
	memmove(&c->sacked[from], &c->sacked[to], (c->n_sacked - to) * sizeof(c->sacked[0]));
	c->n_sacked -= (uint8_t)(to - from);
}

// Where memory is short the farthest range is forgotten: its turn to matter comes last.
static void insert_range(struct tl_tcp *c, struct tl_tcp_range new)
{
	unsigned first = 0, end;

	while (first < c->n_sacked && tl_seq_lt(c->sacked[first].to, new.from))
		first++;
	for (end = first; end < c->n_sacked && tl_seq_le(c->sacked[end].from, new.to); end++) { // they touch: one range
		if (tl_seq_lt(c->sacked[end].from, new.from))
			new.from = c->sacked[end].from;
		if (tl_seq_lt(new.to, c->sacked[end].to))
			new.to = c->sacked[end].to;
	}
	remove_ranges(c, first, end);
	if (first == TL_TCP_SACKED_MAX)
		return;
	if (c->n_sacked == TL_TCP_SACKED_MAX)
		c->n_sacked--;
	memmove(&c->sacked[first + 1], &c->sacked[first], (c->n_sacked - first) * sizeof(c->sacked[0]));
	c->sacked[first] = new;
	c->n_sacked++;
}

bool tl_tcp_sack_input(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	uint32_t una = tl_seq_lt(c->snd_una, seg->ack) ? seg->ack : c->snd_una;
	struct tl_tcp_options options;
	bool news = false;

	if (!c->sack)
		return false;
	tl_tcp_options_parse(seg->hdr, &options);
	for (unsigned i = 0; i < options.n_blocks; i++) {
		const struct tl_tcp_range *block = &options.block[i];
		bool valid = tl_seq_lt(una, block->from) && tl_seq_lt(block->from, block->to) &&
			     tl_seq_le(block->to, c->snd_max);
		if (!valid || is_known(c, block)) // below una: old, or tells of what came twice (RFC 2883)
			continue;
		insert_range(c, *block);
		news = true;
	}
	return news;
}

void tl_tcp_sack_advance(struct tl_tcp *c)
{
	unsigned passed = 0;

	while (passed < c->n_sacked && tl_seq_le(c->sacked[passed].from, c->snd_una))
		passed++;
	remove_ranges(c, 0, passed);
}

void tl_tcp_sack_skip(struct tl_tcp *c)
{
	uint32_t skipped = 0;

	if (c->snd_nxt == c->snd_max)
		return;
	for (unsigned i = 0; i < c->n_sacked && tl_seq_le(c->sacked[i].from, c->snd_nxt); i++) {
		skipped += c->sacked[i].to - c->sacked[i].from;
		if (tl_seq_lt(c->snd_nxt, c->sacked[i].to))
			c->snd_nxt = c->sacked[i].to;
	}
	c->limited_bytes = skipped;
}

// The hole before range i, as far as it is lost and was not sent again; above: bytes the peer holds beyond it.
static bool lost_before(const struct tl_tcp *c, unsigned i, uint32_t above, struct tl_tcp_range *out)
{
	out->from = i > 0 ? c->sacked[i - 1].to : c->snd_una;
	out->to = c->sacked[i].from;
	if (tl_seq_lt(out->from, c->repaired))
		out->from = c->repaired;
	return (above > LOST_SEGMENTS * c->mss || c->n_sacked - i > LOST_SEGMENTS) && tl_seq_lt(out->from, out->to);
}

uint32_t tl_tcp_sack_left(const struct tl_tcp *c)
{
	uint32_t above = 0, lost = 0;
	struct tl_tcp_range hole;

	for (unsigned i = c->n_sacked; i-- > 0;) {
		above += c->sacked[i].to - c->sacked[i].from;
		if (lost_before(c, i, above, &hole))
			lost += hole.to - hole.from;
	}
	return above + lost;
}

bool tl_tcp_sack_hole(const struct tl_tcp *c, struct tl_tcp_range *out)
{
	uint32_t above = 0;
	struct tl_tcp_range hole;
	bool found = false;

	for (unsigned i = c->n_sacked; i-- > 0;) {
		above += c->sacked[i].to - c->sacked[i].from;
		if (lost_before(c, i, above, &hole)) {
			*out = hole;
			found = true;
		}
	}
	return found;
}
