// SPDX-License-Identifier: BSD-3-Clause
// At the wire: middleboxes, intended losses, invariants of all our segments, and the trace.

#include <inttypes.h>

#include "sim.h"
#include "tcp_seg.h"

enum { OPTION_END, OPTION_NOP, OPTION_MSS, OPTION_SCALE, OPTION_SACK_PERMITTED, OPTION_SACK, OPTION_STAMP = 8 };

// ---- a middlebox that removes options from SYNs

static bool is_unwanted(const struct sim_scenario *sc, uint8_t kind)
{
	return (kind == OPTION_SCALE && sc->without_scale) || (kind == OPTION_SACK_PERMITTED && sc->without_sack) ||
	       (kind == OPTION_STAMP && sc->without_stamps);
}

static void strip(struct wire *wire, uint8_t *frame, const struct tl_pkt *pkt)
{
	const struct sim *sim = wire->user;
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(frame + pkt->l4_off);
	uint8_t *p = frame + pkt->l4_off + TL_TCP_LEN, *end = frame + pkt->payload_off;

	if ((pkt->tcp_flags & TL_TCP_SYN) == 0)
		return;
	while (p + 1 < end && p[0] != OPTION_END) {
		uint8_t len = p[0] == OPTION_NOP ? 1 : p[1];
		if (is_unwanted(sim->sc, p[0]))
			memset(p, OPTION_NOP, len);
		p += len;
	}
	uint16_t l4_len = pkt->payload_off - pkt->l4_off + pkt->payload_len;
	tcp->cksum_be = 0;
	tcp->cksum_be = tl_cksum_finish(
		tl_cksum_add(tl_cksum_pseudo(pkt->src_be, pkt->dst_be, TL_IPPROTO_TCP, l4_len), tcp, l4_len));
}

// ---- intended losses

static const struct tl_tcp_hdr *header(const uint8_t *frame, const struct tl_pkt *pkt)
{
	return (const struct tl_tcp_hdr *)(frame + pkt->l4_off);
}

// Return true for a pure window update.
static bool is_window_update(const struct sim_watch *watch, const struct tl_tcp_hdr *tcp, const struct tl_pkt *pkt)
{
	return pkt->payload_len == 0 && pkt->tcp_flags == TL_TCP_ACK && tl_be32(tcp->ack_be) == watch->last_ack &&
	       tl_be16(tcp->window_be) > watch->last_window;
}

static bool makes_hole(struct sim *sim, const struct tl_tcp_hdr *tcp, const struct tl_pkt *pkt)
{
	uint32_t at = tl_be32(tcp->seq_be) - sim->watch[0].isn - 1;

	for (unsigned i = 0; i < SIM_HOLES; i++) {
		uint64_t hole = sim->sc->hole[i];
		if (hole == 0 || (sim->holes_made & 1u << i) != 0 || at > hole || at + pkt->payload_len <= hole)
			continue;
		sim->holes_made |= 1u << i;
		return true;
	}
	return false;
}

static bool loses(struct wire *wire, unsigned from, const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct sim *sim = wire->user;
	const struct tl_tcp_hdr *tcp = header(frame, pkt);

	if (sim->sc->lose_updates && is_window_update(&sim->watch[from], tcp, pkt))
		return true;
	return from == 0 && pkt->payload_len > 0 && makes_hole(sim, tcp, pkt);
}

// ---- invariants of every segment

static void look_at_syn(struct sim_watch *watch, const struct tl_tcp_hdr *tcp, const struct tl_tcp_options *options)
{
	if (watch->has_isn)
		return;
	watch->has_isn = true;
	watch->isn = tl_be32(tcp->seq_be);
	watch->scaled = options->has_scale;
	watch->scale = options->scale;
	watch->mss = options->mss;
}

// Check that the payload is the text at its offset, and fits the window of the other end.
static void look_at_text(struct sim *sim, unsigned from, const struct wire_segment *s, const struct tl_tcp_hdr *tcp)
{
	const struct sim_watch *watch = &sim->watch[from], *other = &sim->watch[!from];
	uint32_t seq = tl_be32(tcp->seq_be), len = s->pkt->payload_len;
	uint32_t at = seq - watch->isn - 1;
	uint32_t options_len = (tcp->data_off >> 4) * 4 - TL_TCP_LEN;

	if (len > SIM_RUN_MAX ||
		memcmp(s->frame + s->pkt->payload_off, sim_text(sim, sim->app[from].out_text, at), len) != 0)
		sim_fail(sim, "side %u sends bytes at %u that are not its text's", from, at);
	if (len + options_len > (other->mss != 0 ? other->mss : TL_TCP_DEFAULT_MSS))
		sim_fail(sim, "side %u sends %u bytes, more than the MSS of %u", from, len + options_len, other->mss);
	if (len > 1 && tl_seq_lt(other->edge, seq + len))
		sim_fail(sim, "side %u sends %u bytes beyond the window", from, seq + len - other->edge);
}

static void note_window(struct sim *sim, unsigned from, const struct tl_tcp_hdr *tcp)
{
	struct sim_watch *watch = &sim->watch[from];
	bool scaled = watch->scaled && sim->watch[!from].scaled && (tcp->flags & TL_TCP_SYN) == 0;
	uint32_t window = (uint32_t)tl_be16(tcp->window_be) << (scaled ? watch->scale : 0);
	uint32_t edge = tl_be32(tcp->ack_be) + window;

	if (!watch->has_edge || tl_seq_lt(watch->edge, edge))
		watch->edge = edge;
	watch->has_edge = true;
	watch->last_ack = tl_be32(tcp->ack_be);
	watch->last_window = tl_be16(tcp->window_be);
}

// ---- the trace

static void print_options(const struct tl_tcp_options *options, uint32_t base)
{
	if (options->mss != 0)
		printf(" mss %u", options->mss);
	if (options->has_scale)
		printf(" scale %u", options->scale);
	if (options->sack_permitted)
		printf(" sackOK");
	if (options->has_stamp)
		printf(" stamp %u echo %u", options->stamp, options->echo);
	for (unsigned i = 0; i < options->n_blocks; i++)
		printf(" [%u,%u)", options->block[i].from - base, options->block[i].to - base);
}

// Print a line per segment: seconds, direction, flags, stream offsets, ACK, window, options, and its fate.
static void trace(const struct sim *sim, const struct wire_segment *s, const struct tl_tcp_hdr *tcp,
	const struct tl_tcp_options *options)
{
	static const char FLAGS[] = "FSRPAU";
	char flags[sizeof(FLAGS)] = "";
	unsigned n = 0;
	uint32_t at = tl_be32(tcp->seq_be) - sim->watch[s->from].isn;
	uint32_t acked = tl_be32(tcp->ack_be) - sim->watch[!s->from].isn;

	for (unsigned i = 0; FLAGS[i] != '\0'; i++) {
		if ((tcp->flags & 1 << i) != 0)
			flags[n++] = FLAGS[i];
	}
	printf("%12.6f %s %-3s %u:%u(%u) ack %u win %u", (double)(sim->wire->now_ns % (1000 * TL_NS_PER_S)) / 1e9,
		s->from == 0 ? "0>1" : "1>0", flags, at, at + s->pkt->payload_len, s->pkt->payload_len, acked,
		tl_be16(tcp->window_be));
	print_options(options, sim->watch[!s->from].isn);
	if (s->lost)
		printf("  LOST\n");
	else
		printf("  +%" PRIu64 " us%s\n", (s->at_ns - sim->wire->now_ns) / TL_NS_PER_US,
			s->damaged ? " DAMAGED" : "");
}

static void look(struct wire *wire, const struct wire_segment *s)
{
	struct sim *sim = wire->user;
	const struct tl_tcp_hdr *tcp = header(s->frame, s->pkt);
	struct tl_tcp_options options;

	tl_tcp_options_parse(tcp, &options);
	if ((tcp->flags & TL_TCP_SYN) != 0)
		look_at_syn(&sim->watch[s->from], tcp, &options);
	if ((tcp->flags & (TL_TCP_ACK | TL_TCP_RST)) == TL_TCP_ACK)
		note_window(sim, s->from, tcp);
	if (sim->net[s->from] != NULL && s->pkt->payload_len > 0)
		look_at_text(sim, s->from, s, tcp);
	if (sim->trace)
		trace(sim, s, tcp, &options);
}

void sim_look_init(struct sim *sim)
{
	const struct sim_scenario *sc = sim->sc;

	sim->wire->user = sim;
	sim->wire->look = look;
	sim->wire->loses = loses;
	if (sc->without_sack || sc->without_stamps || sc->without_scale)
		sim->wire->alter = strip;
}
