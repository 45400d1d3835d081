// SPDX-License-Identifier: BSD-3-Clause
// Selective acknowledgment (RFC 2018): what we tell the peer about the segments we hold.

#include "tcp_priv.h"

#define OPTION_NOP 1
#define OPTION_SACK 5
#define BLOCK_LEN 8

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
	unsigned most = room < 4 + BLOCK_LEN ? 0 : tl_min_u32((room - 4) / BLOCK_LEN, TL_TCP_SACK_BLOCKS);
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
